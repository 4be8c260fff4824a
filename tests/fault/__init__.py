"""Injected faults, and the conditions that must hold after each: ``make fault``; see docs/reliability.md."""
