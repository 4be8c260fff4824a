"""Core and truss decomposition of a whole graph on the current GPU: the kernels and their launches."""

from typing import Any

import numpy as np
from numba import int32, int64

from gpukit.device.arrays import Buffer, xp
from gpukit.device.kernels import cuda, kernel
from gpukit.device.launch import cooperative_grid, launch
from gpukit.diversity.network_cuda import ROW_THREADS, find, over, views
from gpukit.diversity.scores_cuda import CudaNetwork
from gpukit.errors import DeviceError
from gpukit.graph.csr import Graph
from gpukit.wording import spelled

BLOCK, REGISTERS = 256, 64
NONE = 0x7FFFFFFF
QUEUED, LEAST, CONTROL = 0, 1, 8
"""Places in ``control``: elements queued; the lowest living number (three slots, used in rotation). Then its length."""


_i32, _i64 = "int32[::1]", "int64[::1]"


@kernel((_i64, _i32, _i32, _i32, _i32, _i64), max_registers=REGISTERS)
def core_levels(indptr, indices, degree, coreness, queue, control):
    """Write the coreness of each vertex; cooperative, any grid.

    In each round one thread per vertex queues the vertex if its degree has fallen to the level. Then ``ROW_THREADS``
    threads per queued vertex decrement the degrees of its neighbours. Each round reads 8 bytes per vertex; all rounds
    together make one atomic add per arc.

    Parameters
    ----------
    indptr, indices
        The graph.
    degree : int32 array, shape (n,)
        The degrees at the start; overwritten.
    coreness : int32 array, shape (n,)
        -1 at the start.
    queue : int32 array, shape (n,)
    control : int64 array, shape (CONTROL,)
        0, then the largest int32, at the start.
    """
    grid = cuda.cg.this_grid()
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    n = len(degree)
    level, done, round_ = int64(0), int64(0), int64(0)
    while done < n:
        least = int64(NONE)
        for v in range(thread, n, threads):
            if coreness[v] < 0:
                if degree[v] <= level:
                    coreness[v] = level
                    queue[cuda.atomic.add(control, QUEUED, 1)] = v
                else:
                    least = min(least, int64(degree[v]))
        if least < control[LEAST + round_ % 3]:
            cuda.atomic.min(control, LEAST + round_ % 3, least)
        grid.sync()
        end = control[QUEUED]
        if end == done:
            level = max(level, control[LEAST + round_ % 3])
        else:
            for q in range(done + thread // ROW_THREADS, end, threads // ROW_THREADS):
                v = queue[q]
                for p in range(indptr[v] + thread % ROW_THREADS, indptr[v + 1], ROW_THREADS):
                    cuda.atomic.add(degree, indices[p], -1)
            done = end
        if thread == 0:
            control[LEAST + (round_ + 1) % 3] = NONE
        grid.sync()
        round_ += 1


@kernel((_i64, _i32, _i32, _i32, _i32, _i32, _i32, _i32, _i32, _i64), max_registers=REGISTERS)
def truss_levels(indptr, tails, heads, edge_of, edges, support, gone, trussness, queue, control):
    """Write the trussness of each edge; cooperative, any grid (PKT: Kabir and Madduri, 2017).

    Rounds are as in :func:`core_levels`, with edges and supports. ``ROW_THREADS`` threads per queued edge look for its
    triangles: they search for the entries of the shorter row in the longer one. If two edges of a triangle are queued,
    the lower one decrements the third. A triangle costs at most two atomic adds, once.

    Parameters
    ----------
    indptr : int64 array, shape (n + 1,)
    tails, heads : int32 arrays, shape (m,)
        Arcs by rank, ascending.
    edge_of : int32 array, shape (m,)
        Edge of each arc: the place of the arc from its lower end.
    edges : int32 array, shape (m / 2,)
        The places of the edges.
    support : int32 array, shape (m,)
        Triangles of each edge at its place; overwritten.
    gone : int32 array, shape (m,)
        Zeros at the start; the round in which an edge was queued.
    trussness : int32 array, shape (m,)
        The result, at the edges' places.
    queue : int32 array, shape (m / 2,)
    control : int64 array, shape (CONTROL,)
        0, then the largest int32, at the start.
    """
    grid = cuda.cg.this_grid()
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    level, done, round_ = int64(0), int64(0), int32(1)
    while done < len(edges):
        least = int64(NONE)
        for x in range(thread, len(edges), threads):
            e = edges[x]
            if gone[e] == 0:
                if support[e] <= level:
                    gone[e] = round_
                    trussness[e] = level + 2
                    queue[cuda.atomic.add(control, QUEUED, 1)] = e
                else:
                    least = min(least, int64(support[e]))
        if least < control[LEAST + round_ % 3]:
            cuda.atomic.min(control, LEAST + round_ % 3, least)
        grid.sync()
        end = control[QUEUED]
        if end == done:
            level = max(level, control[LEAST + round_ % 3])
        else:
            for x in range(done + thread // ROW_THREADS, end, threads // ROW_THREADS):
                e = queue[x]
                u, w = tails[e], heads[e]
                a, a_end, b, b_end = indptr[u], indptr[u + 1], indptr[w], indptr[w + 1]
                if a_end - a > b_end - b:
                    a, a_end, b, b_end = b, b_end, a, a_end
                for p in range(a + thread % ROW_THREADS, a_end, ROW_THREADS):
                    f = edge_of[p]
                    if f != e and (gone[f] == 0 or gone[f] == round_):
                        place = find(heads, b, b_end, heads[p])
                        if place >= 0:
                            g = edge_of[place]
                            if gone[g] == 0:
                                if gone[f] == 0 or e < f:
                                    cuda.atomic.add(support, g, -1)
                                if gone[f] == 0:
                                    cuda.atomic.add(support, f, -1)
                            elif gone[g] == round_ and gone[f] == 0 and e < g:
                                cuda.atomic.add(support, f, -1)
            done = end
        if thread == 0:
            control[LEAST + (round_ + 1) % 3] = NONE
        grid.sync()
        round_ += 1


@kernel((_i64, _i32, _i32, _i64, _i32))
def arc_edges(indptr, tails, heads, up, edge_of):
    """Write the edge of each arc: the place of the arc from its lower end; any grid, one thread per arc."""
    for p in range(cuda.grid(1), len(heads), cuda.gridsize(1)):
        u = heads[p]
        edge_of[p] = p if u > tails[p] else find(heads, up[u], indptr[u + 1], tails[p])


def core_on_gpu(graph: Graph) -> np.ndarray:
    """Return the coreness (int32, n) of each vertex."""
    degree, coreness = Buffer(np.diff(graph.indptr).astype(np.int32)), Buffer(graph.n, np.int32, -1)
    queue = Buffer(graph.n, np.int32)
    _cooperative(core_levels, Buffer(graph.indptr), Buffer(graph.indices), degree, coreness, queue)
    return coreness.host()


def truss_on_gpu(graph: Graph) -> tuple[Any, Any, Any]:
    """Return tails, heads (internal ids) and trussness (int32) of the edges, on the GPU and in the order of ranks.

    Raises
    ------
    DeviceError
        If the graph does not fit.
    """
    if graph.m >= 2**31:
        raise DeviceError(
            f"the graph has {graph.m:,} arcs, the GPU takes {2**31 - 1:,}; use {spelled('device', 'cpu')}"
        )
    network = CudaNetwork(graph)
    indptr, tails, heads, up, support = network.arcs
    edge_of = Buffer(graph.m, np.int32)
    over(graph.m, arc_edges, indptr, tails, heads, up, edge_of)
    edges = Buffer(xp.flatnonzero(heads.array > tails.array).astype(np.int32))
    gone, trussness = Buffer(graph.m, np.int32, 0), Buffer(graph.m, np.int32)
    queue = Buffer(max(1, graph.m // 2), np.int32)
    _cooperative(truss_levels, indptr, tails, heads, edge_of, edges, support, gone, trussness, queue)
    order, places = network.ids.array, edges.array
    return order[tails.array[places]], order[heads.array[places]], trussness.array[places]


def _cooperative(kernel: Any, *buffers: Buffer) -> None:
    control = np.full(CONTROL, NONE, np.int64)
    control[QUEUED] = 0
    arguments = views((*buffers, Buffer(control)))
    block = 32 if xp is np else BLOCK
    launch(kernel, cooperative_grid(kernel, block, arguments), block, *arguments)
