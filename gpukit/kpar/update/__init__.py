"""Indexes that follow a graph that changes: ``paths.py`` makes one, ``once.py`` and ``open_index.py`` change it."""
