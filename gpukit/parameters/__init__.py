"""What each system can be asked: its ``Params``, the one declaration of its parameters.

``option.py`` says what a declaration holds, and checks values; a module for each system has its ``Params``. Options of
commands, the help, the checks of Python, and the configuration of the workflow come from them. Nothing large is
imported here, so that help is quick, and so that a command can set its threads before numba is imported.
"""
