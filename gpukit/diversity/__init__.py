"""Structural diversity search (Huang, Huang, Xu, Choi, Peng: GPU-accelerated Structural Diversity Search in Graphs).

``search.py``: algorithm 1, on any device. ``bounds.py``: its upper bounds. ``scores.py`` (CPU), ``scores_cuda.py`` (one
GPU) and ``scores_devices.py`` (several GPUs, balanced by ``balance.py``, section 6): the network and the scores of
chosen vertices (section 5). ``egos.py``: ego-networks in CSR (section 4). ``decomposition.py``: cores and trusses of a
whole graph. ``index.py``: the contexts of every vertex for every k, and searches in them. ``papers/diversity`` has what
only rebuilds the paper.

The kernels of ``scores.py`` are in ``contexts_cpu.py`` and ``decomposition_cpu.py``. Those of ``scores_cuda.py`` are in
``network_cuda.py`` (the graph by rank) and ``contexts_cuda.py`` (an ego-network for each team of blocks). The latter
uses ``teams_cuda.py``, ``matrix_cuda.py``, ``cores_cuda.py`` and ``truss_cuda.py``.
"""

from gpukit.diversity.decomposition import Decomposition, decompose
from gpukit.diversity.index import Index, build_index
from gpukit.diversity.networks import make_network
from gpukit.diversity.problem import Contexts, Params, Result, as_undirected, ignores_directions
from gpukit.diversity.scores import Network, build_network
from gpukit.diversity.search import ego_trussness, search

__all__ = [
    "Contexts",
    "Decomposition",
    "Index",
    "Network",
    "Params",
    "Result",
    "as_undirected",
    "build_index",
    "build_network",
    "decompose",
    "ego_trussness",
    "ignores_directions",
    "make_network",
    "search",
]
