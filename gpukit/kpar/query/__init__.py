"""A query once graph and index are prepared: ``answer.py`` is the host algorithm of both devices."""
