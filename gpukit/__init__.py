"""gpukit: five GPU graph papers as one toolkit; see README.md for the map."""

import os

__version__ = "0.1.0"

# Small launches are meant to be small; numba would warn about each of them.
os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")
