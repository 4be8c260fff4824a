"""Structural diversity search (Huang, Huang, Xu, Choi, Peng: GPU-accelerated Structural Diversity Search in Graphs).

``bounds.py``: upper bounds (section 3, phase 1). ``egos.py``: ego-networks in CSR (section 4). ``scores.py`` and
``cpu.py``: the three models (section 5) and the balance of work (section 6). ``search.py``: algorithm 1.
``decompose.py``: cores and trusses of a whole graph. ``baselines.py``: what the paper compares with.
"""

from gpukit.diversity.problem import Contexts, Params, Result, as_undirected
from gpukit.diversity.scores import Network, build_network
from gpukit.diversity.search import search

__all__ = [
    "Contexts",
    "Network",
    "Params",
    "Result",
    "as_undirected",
    "build_network",
    "search",
]
