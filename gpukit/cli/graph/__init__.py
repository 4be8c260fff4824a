"""``gpukit graph``."""
