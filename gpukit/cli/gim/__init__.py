"""``gpukit gim``."""
