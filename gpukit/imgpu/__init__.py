"""IMGPU: greedy influence maximisation over Monte-Carlo worlds.

Source: Liu, Li, Li, Peng, Liao, Lu, "IMGPU: GPU-accelerated influence maximization in large-scale social networks",
IEEE Transactions on Parallel and Distributed Systems 25(1), 2014.

=============================  =====================================================================================
part of the paper              file
=============================  =====================================================================================
Algorithm 2 (BUTA)             ``run.py``; ``fixed_cpu.py``, ``fixed_cuda.py`` if worlds are kept for all seeds
lines 4 to 14, for R worlds    ``count_cpu.py``, ``count_cuda.py``
line 5, 3.2.2 (PPreZER)        :mod:`gpukit.worlds.blocks`; ``world_cpu.py``, ``world_cuda.py``
line 6, 3.2.2 (components)     ``condense_cpu.py``; none on a GPU
lines 7 to 13, equation 1      ``reach_cpu.py``, a rule of our own (``reach.py``); ``search_cuda.py``, short searches
Algorithm 3, 4.1 to 4.3        ``papers/imgpu/levels_cpu.py``, ``papers/imgpu/levels_cuda.py``
3 (R, number of worlds)        ``optimism.py`` if no number is given: a rule of our own
5 (competitors)                ``papers/imgpu/baselines.py``
=============================  =====================================================================================

A *world* is one live-edge sample of the graph (``world.py``). ``worlds_cpu.py`` and ``worlds_cuda.py`` hold the worlds
of a graph on a device. docs/imgpu.md has the proof of the rule.
"""

from gpukit.imgpu.problem import Result
from gpukit.imgpu.run import maximise
from gpukit.parameters.imgpu import Params

__all__ = ["Params", "Result", "maximise"]
