"""Faults on purpose, and what has to hold after each: ``make fault``; docs/reliability.md says more."""
