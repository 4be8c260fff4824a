"""Queries on a prepared graph and index; ``answer.py`` is the host algorithm of both devices."""
