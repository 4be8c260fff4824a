"""``gpukit merit``."""
