"""The interface for NetworkX: functions, conversions, and whether the backend can and should run."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpukit.nx.cluster import average_clustering, clustering, generalized_degree, transitivity, triangles
from gpukit.nx.core import core_number, k_core, k_corona, k_crust, k_shell, k_truss, onion_layers
from gpukit.nx.graph import NodeRows, convert_from_nx, convert_to_nx, not_rows
from gpukit.nx.pagerank import pagerank

__all__ = [
    "average_clustering",
    "can_run",
    "clustering",
    "convert_from_nx",
    "convert_to_nx",
    "core_number",
    "generalized_degree",
    "k_core",
    "k_corona",
    "k_crust",
    "k_shell",
    "k_truss",
    "onion_layers",
    "pagerank",
    "should_run",
    "transitivity",
    "triangles",
]

SMALL = 1000
"""Number of nodes and edges below which NetworkX may finish before a graph is converted (measured: at most 500)."""

FEW = 10
"""NetworkX can compute single nodes. It is faster if fewer than one in ``FEW`` nodes are requested."""

_WEIGHT = {"clustering": 2, "average_clustering": 2}
"""Position of ``weight`` among the arguments of functions that support no weights here."""

_NODES = ("average_clustering", "clustering", "generalized_degree", "triangles")
"""Functions whose second argument is a selection of nodes."""


def can_run(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool | str:
    """Return True, or the reason why a function cannot run with these arguments."""
    graph = _argument(args, kwargs, 0, "G")
    if not isinstance(graph, NodeRows) and (problem := not_rows(graph)):
        return problem
    if name in _WEIGHT and _argument(args, kwargs, _WEIGHT[name], "weight") is not None:
        return "weighted clustering is left to NetworkX"
    if name in ("average_clustering", "clustering", "transitivity") and graph.is_directed():
        return "directed graphs are left to NetworkX"
    return True


def should_run(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool | str:
    """Return True, or the reason why NetworkX is likely to be faster."""
    graph = _argument(args, kwargs, 0, "G")
    nodes = _argument(args, kwargs, 1, "nodes") if name in _NODES else None
    if nodes is not None:
        asked = 1 if nodes in graph else len(nodes) if hasattr(nodes, "__len__") else len(graph)
        if asked * FEW < len(graph):
            return f"only {asked} of {len(graph)} nodes are asked for, and all would be counted"
    if len(graph) < SMALL and len(graph) + graph.number_of_edges() < SMALL:
        return f"the graph is small: fewer than {SMALL} nodes and edges"
    return True


def _argument(args: Sequence[Any], kwargs: Mapping[str, Any], place: int, name: str) -> Any:
    return args[place] if len(args) > place else kwargs.get(name)
