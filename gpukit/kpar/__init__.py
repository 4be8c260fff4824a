"""kPAR: top-k personalised PageRank (Shi, Yang, Jin, Xiao, Yang, PVLDB 13(1), 2019), on CPU and GPU.

``rank.py`` PageRank and the PRO-rank list (section 3.2); ``index.py`` inverted random walks (3.3); ``problem.py``
constants, schedule of δ and coefficients of the bounds (3.4, repaired); ``query.py`` batches of queries;
``query_cpu.py`` adaptive forward push, candidates and estimates (algorithms 2 to 4); ``bounds.py`` the stop test;
``refine_cpu.py`` a second look at near ties; ``weights.py`` edge weights as transition probabilities; ``rule.py`` the
scalar steps that both devices share; ``rank_cpu.py`` and ``index_cpu.py`` the kernels of ranking and indexing;
``groups.py`` what they take as one; ``threads.py`` shares queries among CPU threads; ``run.py`` each step on the device
that was chosen; ``engine.py`` answers many callers at once; ``direct.py`` and ``direct_cpu.py`` answer without an
index.

On a GPU: ``rank_cuda.py`` and ``index_cuda.py``, on ``rows_cuda.py`` and ``weights_cuda.py``; ``query_cuda.py`` is the
kernel of a query, of ``team_cuda.py`` (blocks that work together), ``sweep_cuda.py`` (balanced passes over rows,
section 4), ``push_cuda.py``, ``estimate_cuda.py``, ``select_cuda.py`` (the k best), ``stop_cuda.py`` (the stop test)
and ``refine_cuda.py`` (near ties); ``lists_cuda.py`` has the lists that a query makes of the vertices it met. Many
queries begin in ``ahead_cuda.py`` (pushes) and ``together_cuda.py`` (start lists read once for several).
``prepared_cuda.py`` launches them, in the room of ``space_cuda.py``. ``papers/kpar`` rebuilds the paper.

The truth and the judge are in :mod:`gpukit.evaluate.ppr`. docs/kpar.md explains the method and where it differs from
the text.
"""

from gpukit.kpar.index import Index, build_index
from gpukit.kpar.problem import Params, Result, Sources
from gpukit.kpar.query import Prepared, query
from gpukit.kpar.rank import Rank, rank

__all__ = ["Index", "Params", "Prepared", "Rank", "Result", "Sources", "build_index", "query", "rank"]
