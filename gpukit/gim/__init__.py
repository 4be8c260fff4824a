"""gIM: influence maximisation by reverse-reachable sets.

Source: Shahrouz, Salehkaleybar, Hashemi, "gIM: GPU accelerated RIS-based influence maximization algorithm", IEEE
Transactions on Parallel and Distributed Systems, 2021.

==========================  ==================================================================================
part of the paper           file
==========================  ==================================================================================
2.5, algorithms 1 and 2     ``imm.py`` (sizes in ``bounds.py``); ``opim.py`` needs far fewer sets
3.2 to 3.6, algorithms 3-6  :mod:`gpukit.worlds.sample_cpu` and ``sample_cuda``, which skip dead edges
3.7 (LT)                    :mod:`gpukit.worlds.rule`
3.8, algorithm 7            :mod:`gpukit.worlds.cover_cpu` and ``cover_cuda``, by an index
4.8 (several rounds)        ``rounds`` of :class:`Params`, everywhere
==========================  ==================================================================================

Beyond it: weighted roots, forced and forbidden seeds (``problem.py``), a budget (``budget.py``), shards
(``shards.py``), simple seed sets to compare with (``baselines.py``). ``run.py`` puts the parts together; docs/gim.md
has the proofs. :mod:`gpukit.papers.gim` has the paper's own versions of the parts that are improved here; nothing here
imports it.
"""

from gpukit.gim.problem import Result, Step
from gpukit.gim.run import maximise
from gpukit.parameters.gim import Params

__all__ = ["Params", "Result", "Step", "maximise"]
