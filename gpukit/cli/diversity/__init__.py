"""``gpukit diversity``."""
