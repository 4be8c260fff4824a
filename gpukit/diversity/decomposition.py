"""Core and truss decomposition of a whole graph."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpukit.device.select import Device
from gpukit.diversity import decomposition_cpu
from gpukit.diversity.contexts_cpu import Edges, Rows, mirror
from gpukit.diversity.scores import build_network
from gpukit.graph.csr import Graph


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Cores and trusses of an undirected graph.

    Attributes
    ----------
    coreness : int32 array, shape (n,)
        Largest k such that the k-core (maximal subgraph of degrees >= k) contains the vertex, by internal id.
    tails, heads : int32 arrays, shape (edges,)
        The edges, lower internal id first, ascending.
    trussness : int32 array, shape (edges,)
        Largest k such that the k-truss contains the edge, at least 2. The k-truss is the maximal subgraph in which each
        edge is in >= k - 2 triangles.
    """

    coreness: np.ndarray
    tails: np.ndarray
    heads: np.ndarray
    trussness: np.ndarray


def decompose(graph: Graph, device: Device | None = None) -> Decomposition:
    """Return the cores and trusses of an undirected graph; one CPU thread, or one GPU.

    Parameters
    ----------
    graph : Graph
        Undirected.
    device : Device, optional
        The CPU if not given.

    Raises
    ------
    DeviceError
        If the graph does not fit on the GPU.
    """
    return Decomposition(core_numbers(graph, device), *truss_numbers(graph, device))


def core_numbers(graph: Graph, device: Device | None = None) -> np.ndarray:
    """Return the coreness of each vertex; parameters and errors as for :func:`decompose`."""
    if device is not None and device.kind == "cuda":
        from gpukit.diversity.decomposition_cuda import core_on_gpu

        return core_on_gpu(graph)
    return decomposition_cpu.coreness(graph.indptr, graph.indices)


def truss_numbers(
    graph: Graph, device: Device | None = None, k_max: int = decomposition_cpu.ALL
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return tails, heads and trussness of the edges; parameters and errors as for :func:`decompose`.

    ``k_max`` caps the trussness: larger values are reported as ``k_max``. It saves work if only one k is of interest.
    """
    if device is not None and device.kind == "cuda":
        from gpukit.device.arrays import xp
        from gpukit.diversity.decomposition_cuda import truss_on_gpu

        low, high, found = truss_on_gpu(graph)
        return _by_id(low, high, xp.minimum(found, k_max), xp)
    network = build_network(graph)
    tails = np.repeat(np.arange(graph.n, dtype=np.int32), np.diff(network.indptr))
    higher = network.indices > tails
    edges = Edges(tails[higher], network.indices[higher], network.indptr, network.indices, np.empty_like(tails))
    # An edge is numbered at its lower end; its number is copied to the other end.
    edges.edge_of[higher] = np.arange(len(edges.tails), dtype=np.int32)
    mirror(Rows(network.indptr, network.indices, network.up, edges.edge_of))
    support, (stack, trussness) = network.support[higher], np.empty((2, len(edges.tails)), np.int32)
    decomposition_cpu.peel_edges(graph.n, len(support), edges, support, stack, trussness, k_max)
    return _by_id(network.order[edges.tails], network.order[edges.heads], trussness, np)


def _by_id(tails: Any, heads: Any, trussness: Any, xp: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return edges in ascending order, in host memory; ``tails`` and ``heads`` are internal ids, arrays of ``xp``."""
    low, high = xp.minimum(tails, heads), xp.maximum(tails, heads)
    order = xp.argsort(low.astype(np.int64) << 32 | high)
    low, high, trussness = low[order], high[order], trussness[order]
    return (low, high, trussness) if xp is np else (low.get(), high.get(), trussness.get())
