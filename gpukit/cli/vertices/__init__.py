"""Vertices that people name, on the command line or in files."""
