"""Core and truss decomposition of a whole graph on the current GPU, equal to that on the CPU."""

from typing import Any

import numpy as np

from gpukit.device.arrays import Buffer, cooperative_grid, xp
from gpukit.device.launch import launch
from gpukit.diversity.decompose_cuda import BLOCK, CONTROL, NONE, QUEUED, arc_edges, core_levels, truss_levels
from gpukit.diversity.decomposition import by_id
from gpukit.diversity.scores_cuda import CudaNetwork
from gpukit.errors import DeviceError
from gpukit.graph.csr import Graph


def core_on_gpu(graph: Graph) -> np.ndarray:
    """Return the coreness (int32, n) of each vertex."""
    degree, coreness = Buffer(np.diff(graph.indptr).astype(np.int32)), Buffer(graph.n, np.int32, -1)
    queue = Buffer(graph.n, np.int32)
    _cooperative(core_levels, Buffer(graph.indptr), Buffer(graph.indices), degree, coreness, queue)
    return coreness.host()


def truss_on_gpu(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return tails, heads and trussness (int32) of the edges, by internal ids.

    Raises
    ------
    DeviceError
        If the graph does not fit.
    """
    if graph.m >= 2**31:
        raise DeviceError(f"the graph has {graph.m:,} arcs, the GPU takes {2**31 - 1:,}; use --device cpu")
    network = CudaNetwork(graph)
    indptr, tails, heads, up, support = network.arcs
    edge_of = Buffer(graph.m, np.int32)
    network.over(graph.m, arc_edges, indptr, tails, heads, up, edge_of)
    edges = Buffer(xp.flatnonzero(heads.array > tails.array).astype(np.int32))
    gone, trussness = Buffer(graph.m, np.int32, 0), Buffer(graph.m, np.int32)
    queue = Buffer(max(1, graph.m // 2), np.int32)
    _cooperative(truss_levels, indptr, tails, heads, edge_of, edges, support, gone, trussness, queue)
    order, places = network.ids.array, edges.array
    return by_id(order[tails.array[places]], order[heads.array[places]], trussness.array[places], xp)


def _cooperative(kernel: Any, *buffers: Buffer) -> None:
    control = np.full(CONTROL, NONE, np.int64)
    control[QUEUED] = 0
    arguments = tuple(one.view for one in (*buffers, Buffer(control)))
    block = 32 if xp is np else BLOCK
    launch(kernel, cooperative_grid(kernel, block, arguments), block, *arguments)
