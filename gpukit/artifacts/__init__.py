"""Artifacts: the HDF5 files that commands read and write. Only this part of gpukit imports h5py.

``layout.py`` is the table of kinds, and ``store.py`` writes and reads all of them. ``lock.py`` lets one process at a
time update a file. ``graph.py``, ``results.py`` and ``ppr.py`` are the typed interfaces. Every reading verifies the
checksums. ``structure.py`` and ``bounds.py`` check structure and value ranges at every reading, and ``checks.py`` the
meaning of the numbers. ``verify.py``, ``diff.py`` and ``describe.py`` implement ``gpukit verify``, ``diff`` and
``inspect``.
"""

from gpukit.artifacts.artifact import Artifact, Header
from gpukit.artifacts.graph import GraphFile, graph_artifact, read_graph, read_graph_file, write_graph
from gpukit.artifacts.ppr import (
    irw_artifact,
    read_irw,
    read_pagerank,
    read_topk,
    topk_artifact,
    write_pagerank,
)
from gpukit.artifacts.results import (
    RRSets,
    SeedSet,
    metrics_artifact,
    read_metrics,
    read_rrsets,
    read_seeds,
    rrsets_artifact,
    seeds_artifact,
    write_metrics,
    write_rrsets,
    write_seeds,
)
from gpukit.artifacts.store import make, put, read, read_header, write

__all__ = [
    "Artifact",
    "GraphFile",
    "Header",
    "RRSets",
    "SeedSet",
    "graph_artifact",
    "irw_artifact",
    "make",
    "metrics_artifact",
    "put",
    "read",
    "read_graph",
    "read_graph_file",
    "read_header",
    "read_irw",
    "read_metrics",
    "read_pagerank",
    "read_rrsets",
    "read_seeds",
    "read_topk",
    "rrsets_artifact",
    "seeds_artifact",
    "topk_artifact",
    "write",
    "write_graph",
    "write_metrics",
    "write_pagerank",
    "write_rrsets",
    "write_seeds",
]
