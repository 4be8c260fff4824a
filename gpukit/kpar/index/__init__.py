"""The index of inverted random walks: ``build.py``, and its kernels ``build_cpu.py`` and ``build_cuda.py``."""
