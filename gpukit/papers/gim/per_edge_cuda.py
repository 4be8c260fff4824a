"""The sampler of the gIM paper on a GPU: a block (one warp, by default) per set, a draw per in-edge.

``--sampler scan``, for comparison; :mod:`gpukit.worlds.sample_cuda` is faster. It draws the same sets, to the bit.
"""

from collections import namedtuple
from dataclasses import dataclass

import numpy as np
from numba import int32, int64, uint32

from gpukit.device.arrays import Buffer, multiprocessors, xp
from gpukit.device.kernels import cuda, group, kernel
from gpukit.device.launch import launch
from gpukit.device.philox import draw4
from gpukit.device.select import for_kernels
from gpukit.worlds import room, rule
from gpukit.worlds.graph_cuda import Batch
from gpukit.worlds.rule import CALLS_PER_ROW
from gpukit.worlds.sample_cuda import MEMBER_TAIL, OUTPUT, OVERFLOW, SAMPLES, step
from gpukit.worlds.tables import MAX_LIVE

SHARED_QUEUE = 384
"""Frontier elements of a set in shared memory (gIM, section 3.6); more stay in global memory."""

draw_root = for_kernels(rule.draw_root)


class EdgeTables(namedtuple("EdgeTables", "indptr indices accept lt_kind lt_prefix roots n rounds")):
    """What the sampler reads of a graph: its in-edges, in their own order, each with its probability minus one."""


class SearchMemory(namedtuple("SearchMemory", "visited found")):
    """Working space of all blocks.

    Attributes
    ----------
    visited : uint32 array, shape (blocks, ceil(n * rounds / 32))
        Bitmaps, zero at the start and at the end.
    found : int32 array, shape (blocks, c)
        The elements of a block's set in the order of discovery.
    """


@step
def _enqueue_root(space, queue, element, used, shared):
    """Mark the root visited and make it the last element of the queue (algorithm 3, lines 1 to 7)."""
    block = cuda.blockIdx.x
    cuda.atomic.or_(space.visited, (block, element >> 5), uint32(1) << uint32(element & 31))
    if used < SHARED_QUEUE:
        queue[used] = element
    if used < space.found.shape[1]:
        space.found[block, used] = element
    shared[0] = used + 1


@step
def _is_live(tables, samples, e, j, uniform, round_tag, sample, v):
    """Return whether the j-th in-edge of a vertex, edge e of the graph, is live (algorithm 3, line 18).

    Under LT (section 3.7) it is live if the vertex's one number falls between two consecutive prefix sums.
    """
    if tables.lt_kind >= 0:
        hit = uniform <= tables.lt_prefix[e] and (j == 0 or uniform > tables.lt_prefix[e - 1])
    else:
        draw = (j // MAX_LIVE) * CALLS_PER_ROW + (j % MAX_LIVE >> 2)
        words = draw4(samples.seed, round_tag, sample, v, draw)
        word = words[0]
        if j & 3 == 1:
            word = words[1]
        elif j & 3 == 2:
            word = words[2]
        elif j & 3 == 3:
            word = words[3]
        hit = word <= tables.accept[e]
    return hit


@step
def _enqueue(space, queue, u, shared):
    """Append a vertex to the queue unless it was visited (algorithm 3, lines 19 to 22, by an atomic test-and-set).

    ``found`` has every vertex, also those that do not fit into the shared queue. It replaces the reservoir of
    algorithms 4 and 5.
    """
    block = cuda.blockIdx.x
    bit = uint32(1) << uint32(u & 31)
    if cuda.atomic.or_(space.visited, (block, u >> 5), bit) & bit == 0:
        place = cuda.atomic.add(shared, 0, 1)
        if place < SHARED_QUEUE:
            queue[place] = u
        if place < space.found.shape[1]:
            space.found[block, place] = u


@step
def _pack(space, out, owner, used, control, shared):
    """Write the set to the entries and clear its bitmap (algorithm 6, lines 3 to 11; algorithm 3, line 13)."""
    tid, block_size, block = cuda.threadIdx.x, cuda.blockDim.x, cuda.blockIdx.x
    kept = min(used, space.found.shape[1])
    if tid == 0:
        shared[1] = int64(out.entry_base) + cuda.atomic.add(control, MEMBER_TAIL, kept)
        out.sizes[out.set_base + owner] = kept
        out.starts[out.set_base + owner] = shared[1]
        if used > space.found.shape[1] or shared[1] + kept > len(out.entries):
            control[OVERFLOW] = 1
    cuda.syncthreads()
    place = shared[1]
    for j in range(tid, kept, block_size):
        element = space.found[block, j]
        space.visited[block, element >> 5] = 0
        if place + kept <= len(out.entries):
            out.entries[place + j] = int64(out.set_base + owner) << 32 | element
            cuda.atomic.add(out.counts, element, 1)
    cuda.syncthreads()


_int, _u32, _i32, _words = "int64", "uint32[::1]", "int32[::1]", "uint64[::1]"
TABLES = group(EdgeTables, "int64[::1]", _i32, _u32, _int, _u32, _words, _int, _int)
SPACE = group(SearchMemory, "uint32[:, ::1]", "int32[:, ::1]")


@kernel((TABLES, SAMPLES, SPACE, OUTPUT, "int64[::1]"))
def sample_per_edge(tables, samples, space, out, control):
    """Draw RR sets as gIM does (Algorithms 3 to 6, slips repaired); any grid and block.

    A block owns one set at a time (gIM: one warp). Its threads share the in-edges of one frontier vertex: under IC each
    draws for its edges, under LT each looks for the drawn number among its prefix sums. The first 384 elements of the
    frontier are in shared memory, the rest in global memory. Reads 8 bytes per in-edge; two barriers per vertex.

    Parameters
    ----------
    tables : EdgeTables
    samples : gpukit.worlds.reverse.Samples
    space : SearchMemory
    out : gpukit.worlds.block_cuda.Output
    control : int64 array, shape (4,)
        Zero at the start. ``OVERFLOW`` is set if a set had more than c elements or the entries were too few.
    """
    block, tid, block_size = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
    queue = cuda.shared.array(SHARED_QUEUE, int32)
    shared = cuda.shared.array(4, int64)
    capacity = space.found.shape[1]
    for owner in range(block, samples.size, cuda.gridDim.x):
        root = draw_root(tables.n, tables.roots, samples.seed, samples.root_tag, samples.first + owner)
        used = 0
        for t in range(tables.rounds):
            shift = int64(t) * int64(tables.n)
            head = used
            cuda.syncthreads()
            if tid == 0:
                _enqueue_root(space, queue, int64(root) + shift, used, shared)
            cuda.syncthreads()
            used = int(shared[0])
            while head < used and used <= capacity:
                element = int64(queue[head]) if head < SHARED_QUEUE else int64(space.found[block, head])
                head += 1
                v = element - shift
                start, stop = int64(tables.indptr[v]), int64(tables.indptr[v + 1])
                round_tag = samples.tag + (t << 8)
                uniform = draw4(samples.seed, round_tag, samples.first + owner, v, 0)[0]
                cuda.syncthreads()
                for e in range(start + tid, stop, block_size):
                    if _is_live(tables, samples, e, e - start, uniform, round_tag, samples.first + owner, v):
                        _enqueue(space, queue, int64(tables.indices[e]) + shift, shared)
                cuda.syncthreads()
                used = int(shared[0])
        _pack(space, out, owner, used, control, shared)


@dataclass(frozen=True)
class PerEdge:
    """The paper's sampler, for collections on a GPU (:class:`gpukit.worlds.collection.Sampler`).

    Attributes
    ----------
    block, grid : int
        Threads of a block, a multiple of 32 (gIM: one warp), and blocks (gIM, Fig. 8); 0 blocks: as many as the GPU
        runs at once.
    """

    block: int = 32
    grid: int = 0

    def __call__(self, batch: Batch) -> None:
        """Draw a batch, in as many blocks as have room for their bitmaps and lists."""
        graph, tables, count = batch.graph, batch.graph.tables, batch.samples.size
        elements = tables.n * tables.rounds
        words, space = (elements + 31) // 32, room.PAIR * batch.pairs // 4
        blocks = self.grid or (2 if xp is np else 32 * multiprocessors())
        blocks = max(1, min(blocks, count, space // (elements + words)))
        longest = min(elements, max(1024, space // blocks - words))
        visited, found = Buffer((blocks, words), np.uint32, 0), Buffer((blocks, longest), np.int32)
        edges = EdgeTables(
            graph.indptr.view, tables.indices, tables.accept, tables.lt_kind, tables.lt_prefix, tables.roots,
            tables.n, tables.rounds,
        )  # fmt: skip
        work = SearchMemory(visited.view, found.view)
        launch(sample_per_edge, blocks, self.block, edges, batch.samples, work, batch.out, batch.control)
