"""Recognising and reading files of edges."""
