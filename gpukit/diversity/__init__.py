"""Structural diversity search (Huang, Huang, Xu, Choi, Peng: GPU-accelerated Structural Diversity Search in Graphs).

``bounds.py``: upper bounds (section 3, phase 1). ``egos.py``: ego-networks in CSR (section 4). ``scores.py``, with the
kernels in ``contexts_cpu.py``, and ``scores_cuda.py``, with those in ``contexts_cuda.py``: the three models (section
5). ``balance.py`` and ``scores_devices.py``: the balance of work among GPUs (section 6). ``search.py``: algorithm 1.
``decomposition.py``: cores and trusses of a whole graph. ``baselines.py``: what the paper compares with. On a GPU
``contexts_cuda.py`` stands on ``teams_cuda.py``, ``matrix_cuda.py``, ``truss_cuda.py`` and ``cores_cuda.py``;
``network_cuda.py`` prepares what it reads, ``egos_cuda.py`` and ``decomposition_cuda.py`` have kernels and launches of
their own, and ``baselines_cuda.py`` the ablation without GPU extraction.
"""

from gpukit.diversity.decomposition import Decomposition, decompose
from gpukit.diversity.networks import make_network
from gpukit.diversity.problem import Contexts, Params, Result, as_undirected
from gpukit.diversity.scores import Network, build_network
from gpukit.diversity.search import ego_trussness, search

__all__ = [
    "Contexts",
    "Decomposition",
    "Network",
    "Params",
    "Result",
    "as_undirected",
    "build_network",
    "decompose",
    "ego_trussness",
    "make_network",
    "search",
]
