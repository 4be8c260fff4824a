"""``python -m gpukit`` is the command ``gpukit``."""

from gpukit.cli.app import program

program()
