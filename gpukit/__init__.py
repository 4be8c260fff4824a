"""gpukit: five GPU graph papers as one toolkit; see README.md for the map."""

__version__ = "0.1.0"
