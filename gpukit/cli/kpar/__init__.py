"""``gpukit kpar``."""
