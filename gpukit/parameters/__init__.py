"""The parameters of each system: its ``Params`` is their only declaration.

``option.py`` defines declarations and checks values; one module per system has its ``Params``. Options of commands, the
help, the checks of Python, and the configuration of the workflow come from them. Nothing large is imported here, so
that help is fast, and a command can set its threads before Numba is imported.
"""
