"""The command line: one module per group of commands.

A command parses options, reads files, calls, and writes files.
"""
