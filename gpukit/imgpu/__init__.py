"""IMGPU: greedy influence maximisation over Monte-Carlo worlds.

Source: Liu, Li, Li, Peng, Liao, Lu, "IMGPU: GPU-accelerated influence maximization in large-scale social networks",
IEEE Transactions on Parallel and Distributed Systems 25(1), 2014.

============================  ======================================================================================
part of the paper             file
============================  ======================================================================================
Algorithm 2 (BUTA)            ``run.py``; ``fixed_cpu.py`` and ``fixed_cuda.py`` where worlds are kept for all seeds
line 5, 3.2.2 (PPreZER)       :mod:`gpukit.worlds.blocks`
line 6, 3.2.2 (components)    ``world_cpu.py``, ``world_cuda.py``
equation 1, appendix C        ``reach_cpu.py``, ``reach_cuda.py``: a rule of our own in place of the missing labels
4.1 to 4.3 (R, K, U)          ``reach_cuda.py``, ``levels_cpu.py``
5 (what it compares with)     ``baselines.py``
============================  ======================================================================================

``simulate_cpu.py`` and ``count_cuda.py`` go from world ids to sums; ``worlds_cpu.py`` and ``worlds_cuda.py`` hold the
worlds of a graph on a device. docs/imgpu.md has the proof.
"""

from gpukit.imgpu.problem import Params, Result
from gpukit.imgpu.run import maximise

__all__ = ["Params", "Result", "maximise"]
