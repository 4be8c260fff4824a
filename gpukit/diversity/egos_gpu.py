"""Ego-networks in CSR on the current GPU: the arrays of :func:`gpukit.diversity.egos.extract`."""

from typing import Any

import numpy as np

from gpukit.device.arrays import Buffer, free_memory, xp
from gpukit.device.launch import launch
from gpukit.device.memory import check_budget
from gpukit.diversity.egos import EgoNetworks
from gpukit.diversity.egos_cuda import PARTS, aggregate, ego_rows, list_triangles
from gpukit.diversity.network_cuda import LANES
from gpukit.graph.csr import Graph

BLOCK, BLOCKS = 128, 1 << 14
"""Threads in a block, and most blocks of a launch."""


def _over(threads: int, kernel: Any, *arguments: Any) -> None:
    """Launch a kernel with about so many threads."""
    if threads:
        blocks = 2 if xp is np else min(-(-threads // BLOCK), BLOCKS)
        launch(kernel, blocks, 16 if xp is np else BLOCK, *arguments)


def extract(graph: Graph, centres: np.ndarray, *, memory: int | None = None) -> EgoNetworks:
    """Return the ego-networks of vertices of an undirected graph on the current GPU, in their order.

    Parameters
    ----------
    graph : Graph
        Undirected.
    centres : integer array
        Internal ids.
    memory : int, optional
        Bytes of device memory to use at most; most of what is free if not given.

    Raises
    ------
    DeviceError
        If they do not fit.
    """
    memory = int(0.9 * free_memory()) if memory is None else memory
    centres = np.asarray(centres, np.int32)
    node_begin = np.zeros(len(centres) + 1, np.int64)
    np.cumsum(np.diff(graph.indptr)[centres], out=node_begin[1:])
    rows = int(node_begin[-1])
    advice = "give fewer --vertices at a time, or use --device cpu"
    needs = {"the graph": graph.indptr.nbytes + graph.indices.nbytes, "row starts": (16 * PARTS + 4) * rows}
    check_budget(needs, memory, "the GPU", advice)
    sources = (Buffer(centres), Buffer(node_begin), Buffer(graph.indptr), Buffer(graph.indices))
    arguments = [one.view for one in sources]
    starts, nodes = Buffer(rows * PARTS + 1, np.int64, 0), Buffer(max(1, rows), np.int32)
    _over(rows * PARTS, ego_rows, *arguments, starts.view, nodes.view, nodes.view, False)
    starts = Buffer(xp.cumsum(starts.array))
    size = int(starts.array[-1])
    check_budget({**needs, "edges": 4 * size}, memory, "the GPU", advice)
    targets = Buffer(max(1, size), np.int32)
    _over(rows * PARTS, ego_rows, *arguments, starts.view, nodes.view, targets.view, True)
    indptr = Buffer(xp.ascontiguousarray(starts.array[::PARTS])).host()
    return EgoNetworks(centres, node_begin, nodes.host(rows), indptr, targets.host(size))


def extract_scatter(graph: Graph) -> EgoNetworks:
    """Return the ego-networks of all vertices of an undirected graph, by scatter and aggregation on the current GPU."""
    indptr, indices = Buffer(graph.indptr), Buffer(graph.indices)
    tails = Buffer(np.repeat(np.arange(graph.n, dtype=np.int32), np.diff(graph.indptr)))
    cursor, keys = Buffer(1, np.int64, 0), Buffer(np.empty(0, np.int64))
    arguments = (indptr.view, indices.view, tails.view, cursor.view)
    _over(graph.m * LANES, list_triangles, *arguments, keys.view)
    edges = int(cursor.array[0])
    keys = Buffer(max(1, edges), np.int64)
    cursor.array.fill(0)
    _over(graph.m * LANES, list_triangles, *arguments, keys.view)
    keys = Buffer(xp.sort(keys.array[:edges]))
    edge_begin = Buffer(xp.searchsorted(keys.array, xp.arange(graph.n + 1, dtype=np.int64) << 32))
    starts, degrees = Buffer(graph.m + 1, np.int64, 2 * edges), Buffer(graph.m + 1, np.int32, 0)
    targets = Buffer(max(1, 2 * edges), np.int32)
    settings = (edge_begin.view, keys.view, starts.view, degrees.view, targets.view)
    _over(graph.n * BLOCK, aggregate, indptr.view, indices.view, tails.view, *settings)
    centres = np.arange(graph.n, dtype=np.int32)
    return EgoNetworks(centres, graph.indptr, graph.indices, starts.host(), targets.host(2 * edges))
