"""What only rebuilds the paper: the methods that it compares with, and kPAR as printed.

``baselines.py``: FORA+ and Monte Carlo, on GPUs ``baselines_cuda.py`` with the kernels of ``fora_cuda.py``.
``query.py`` and ``query_cpu.py``: queries with the printed stop test or walks as a last resort, and with checks of
every round. No system imports this folder.
"""
