"""The command line: one module per group of commands. A command parses, reads, calls and writes; it joins all rooms."""
