"""gpukit: five GPU graph papers as one toolkit; see README.md for an overview.

``import gpukit as gk`` gives one function per question, and the classes of their results. They are imported on first
use, so this import is fast, and a command imports only what it needs.
"""

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpukit import errors as errors
    from gpukit.api.campaign import Campaign, seed_minimization
    from gpukit.api.diversity import structural_diversity
    from gpukit.api.diversity_index import DiversityIndex
    from gpukit.api.files import load
    from gpukit.api.graph import Graph, read_edges, read_graph
    from gpukit.api.in_memory import from_arrow, from_edges, from_networkx, from_pandas, from_scipy
    from gpukit.api.pagerank import PageRankIndex
    from gpukit.api.pagerank_direct import personalized_pagerank
    from gpukit.api.results import Diversity, Seeds, Spread, TopK
    from gpukit.api.seeds import influence_maximization, simulated_seeds
    from gpukit.api.spread import estimate_spread

__version__ = "0.1.0"

__all__ = [
    "Campaign",
    "Diversity",
    "DiversityIndex",
    "Graph",
    "PageRankIndex",
    "Seeds",
    "Spread",
    "TopK",
    "estimate_spread",
    "from_arrow",
    "from_edges",
    "from_networkx",
    "from_pandas",
    "from_scipy",
    "influence_maximization",
    "load",
    "personalized_pagerank",
    "read_edges",
    "read_graph",
    "seed_minimization",
    "simulated_seeds",
    "structural_diversity",
]

_HOMES = {
    "campaign": ("Campaign", "seed_minimization"),
    "diversity": ("structural_diversity",),
    "diversity_index": ("DiversityIndex",),
    "files": ("load",),
    "graph": ("Graph", "read_edges", "read_graph"),
    "in_memory": ("from_arrow", "from_edges", "from_networkx", "from_pandas", "from_scipy"),
    "pagerank": ("PageRankIndex",),
    "pagerank_direct": ("personalized_pagerank",),
    "results": ("Diversity", "Seeds", "Spread", "TopK"),
    "seeds": ("influence_maximization", "simulated_seeds"),
    "spread": ("estimate_spread",),
}
"""The names in each module of ``gpukit.api``."""

# Small launches are intended here; Numba would warn about each of them.
os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")


def __getattr__(name: str) -> Any:
    """Import an attribute on its first use."""
    if name == "errors":
        return importlib.import_module("gpukit.errors")
    for module, names in _HOMES.items():
        if name in names:
            found = globals()[name] = getattr(importlib.import_module(f"gpukit.api.{module}"), name)
            return found
    raise AttributeError(f"module 'gpukit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
