"""kPAR: top-k personalised PageRank (Shi, Yang, Jin, Xiao, Yang, PVLDB 13(1), 2019), on CPU and GPU.

``problem.py``: the problem, its constants, the schedule of δ and the coefficients of the bounds (3.4, repaired).
``rank.py``: PageRank and the PRO-rank list (3.2). ``index/``: inverted random walks (3.3). ``query/``: adaptive forward
push, candidates, estimates, the stop test (algorithms 2 to 4), and the refinement of near ties. ``batch/``: many
queries on a GPU. ``update/``: indexes of graphs that change. ``direct.py``: answers without an index. ``engine.py``:
concurrent answers to many callers. ``run.py``: each step on the chosen device.

``rule.py``: the scalar steps that both devices share. ``groups.py``: groups of kernel arguments. ``weights.py``: edge
weights as transition probabilities. ``rows_cuda.py``: rows of a CSR on a GPU. ``threads.py``: distribution of queries
to CPU threads.

In ``query/``: ``answer.py`` the host algorithm, ``answer_cpu.py`` and ``answer_cuda.py`` its kernels. On the CPU
``bounds.py`` the stop test, and ``refine_cpu.py`` near ties. On a GPU ``team_cuda.py`` (blocks that work together),
``sweep_cuda.py`` (balanced passes over rows, section 4), ``push_cuda.py``, ``lists_cuda.py`` (of the vertices met),
``estimate_cuda.py``, ``starts_cuda.py`` (start lists), ``select_cuda.py`` (the k best), ``stop_cuda.py`` and
``refine_cuda.py``. In ``batch/``: ``prepared_cuda.py`` launches, in the room of ``workspace_cuda.py``; many queries
begin in ``push_cuda.py`` and ``starts_cuda.py`` (start lists read once for several). ``papers/kpar`` rebuilds the
paper.

The truth and the judge are in :mod:`gpukit.evaluate.ppr`. docs/kpar.md explains the method and its differences from the
paper.
"""

from gpukit.kpar.index.build import Index, build_index
from gpukit.kpar.problem import Params, Result, Sources
from gpukit.kpar.query.answer import Prepared, query
from gpukit.kpar.rank import Rank, rank

__all__ = ["Index", "Params", "Prepared", "Rank", "Result", "Sources", "build_index", "query", "rank"]
