"""Vertices that users name, on the command line or in files."""
