"""Code that only rebuilds the paper: its competitors, and its own methods where gpukit uses another one.

``baselines.py``: BC-Div and PGL-Div. ``baselines_cuda.py``: the ablation NoGPUEgo. ``scatter_cuda.py``: extraction by
algorithm 2. Full decompositions (algorithms 4 to 7) are in the kernels of the search, because the rest of the code is
the same.
"""
