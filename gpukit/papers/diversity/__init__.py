"""What only rebuilds the paper: the methods that it compares with, and its own where another one is used here.

``baselines.py``: BC-Div and PGL-Div. ``baselines_cuda.py``: the ablation NoGPUEgo. ``scatter_cuda.py``: extraction by
algorithm 2. Full decompositions (algorithms 4 to 7) are in the kernels of the search, which share all else with them.
"""
