"""Indexes that follow a graph: ``paths.py`` makes one, ``open_index.py`` changes it, ``patched.py`` serves queries."""
