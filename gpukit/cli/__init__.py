"""The command line: one module a command group; parse, read, call, write. The only place where all parts meet."""
