"""The sampler of the gIM paper on a GPU: a block (one warp, by default) per set, a draw per in-edge.

``--sampler scan``, for comparison; ``sample_cuda.py`` is faster. It draws the sets of ``sample_cpu.py`` with scan
tables, to the bit.
"""

import numba
from numba import cuda, int32, int64, uint32

from gpukit.device.philox import draw4
from gpukit.device.select import for_kernels
from gpukit.worlds import rule
from gpukit.worlds.rule import CALLS_PER_ROW
from gpukit.worlds.sample_cuda import MEMBER_TAIL, OVERFLOW
from gpukit.worlds.tables import MAX_LIVE

SHARED_QUEUE = 384
"""Frontier elements of a set in shared memory (gIM, section 3.6); more stay in global memory."""

draw_root = for_kernels(rule.draw_root)


@cuda.jit(cache=True)
def sample_scan(
    indptr, indices, accept, lt_kind, lt_prefix, roots, n, rounds, seed, tag, root_tag,
    first, count, visited, found, sizes, starts, set_base, entries, entry_base, counts, control,
):  # fmt: skip
    """Draw the RR sets first … first + count - 1 as gIM does (Algorithms 3 to 6, slips repaired); any grid and block.

    A block owns one set at a time (gIM: one warp). Its threads share the in-edges of one frontier vertex: under IC each
    draws for its edges, under LT each looks for the drawn number among its prefix sums. The first 384 elements of the
    frontier are in shared memory, the rest in global memory. Reads 8 bytes per in-edge; two barriers per vertex.

    Parameters
    ----------
    indptr, indices, accept, lt_kind, lt_prefix, roots, n, rounds, seed, tag, root_tag, first, count
        As in :func:`gpukit.worlds.sample_cuda.sample`, for tables of :func:`gpukit.worlds.tables.build_scan_tables`.
    visited : uint32 array, shape (blocks, ceil(n * rounds / 32))
        Bitmaps, zero at the start and at the end.
    found : int32 array, shape (blocks, c)
        The elements of a block's set in the order of discovery.
    sizes, starts, set_base, entries, entry_base, counts
        As in :func:`gpukit.worlds.sample_cuda.sample`.
    control : int64 array, shape (4,)
        Zero at the start. ``OVERFLOW`` is set if a set had more than c elements or ``entries`` was too small.
    """
    block, tid, block_size = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
    queue = cuda.shared.array(SHARED_QUEUE, int32)
    shared = cuda.shared.array(4, int64)
    capacity = found.shape[1]
    for owner in range(block, count, cuda.gridDim.x):
        root = draw_root(n, roots, seed, root_tag, first + owner)
        used = 0
        for t in range(rounds):
            shift = int64(t) * int64(n)
            head = used
            cuda.syncthreads()
            if tid == 0:
                element = int64(root) + shift
                cuda.atomic.or_(visited, (block, element >> 5), uint32(1) << uint32(element & 31))
                if used < SHARED_QUEUE:
                    queue[used] = element
                if used < capacity:
                    found[block, used] = element
                shared[0] = used + 1
            cuda.syncthreads()
            used = int(shared[0])
            while head < used and used <= capacity:
                element = int64(queue[head]) if head < SHARED_QUEUE else int64(found[block, head])
                head += 1
                v = element - shift
                start, stop = int64(indptr[v]), int64(indptr[v + 1])
                uniform = draw4(seed, tag + (t << 8), first + owner, v, 0)[0]
                cuda.syncthreads()
                for e in range(start + tid, stop, block_size):
                    j = e - start
                    if lt_kind >= 0:
                        hit = uniform <= lt_prefix[e] and (j == 0 or uniform > lt_prefix[e - 1])
                    else:
                        words = draw4(
                            seed,
                            tag + (t << 8),
                            first + owner,
                            v,
                            (j // MAX_LIVE) * CALLS_PER_ROW + (j % MAX_LIVE >> 2),
                        )
                        word = words[0]
                        if j & 3 == 1:
                            word = words[1]
                        elif j & 3 == 2:
                            word = words[2]
                        elif j & 3 == 3:
                            word = words[3]
                        hit = word <= accept[e]
                    if hit:
                        u = int64(indices[e]) + shift
                        bit = uint32(1) << uint32(u & 31)
                        if cuda.atomic.or_(visited, (block, u >> 5), bit) & bit == 0:
                            place = cuda.atomic.add(shared, 0, 1)
                            if place < SHARED_QUEUE:
                                queue[place] = u
                            if place < capacity:
                                found[block, place] = u
                cuda.syncthreads()
                used = int(shared[0])
        kept = min(used, capacity)
        if tid == 0:
            shared[1] = int64(entry_base) + cuda.atomic.add(control, MEMBER_TAIL, kept)
            sizes[set_base + owner] = kept
            starts[set_base + owner] = shared[1]
            if used > capacity or shared[1] + kept > len(entries):
                control[OVERFLOW] = 1
        cuda.syncthreads()
        place = shared[1]
        for j in range(tid, kept, block_size):
            element = found[block, j]
            visited[block, element >> 5] = 0
            if place + kept <= len(entries):
                entries[place + j] = int64(set_base + owner) << 32 | element
                cuda.atomic.add(counts, element, 1)
        cuda.syncthreads()


_u32, _u64, _i32, _i64 = numba.uint32[::1], numba.uint64[::1], numba.int32[::1], numba.int64[::1]
_int, _seed = numba.int64, numba.uint64

KERNELS = {
    "sample_scan": (
        sample_scan,
        (_i64, _i32, _u32, _int, _u32, _u64, _int, _int, _seed, _int, _int, _int, _int)
        + (numba.uint32[:, ::1], numba.int32[:, ::1], _i32, _i64, _int, _i64, _int, _i32, _i64),
    ),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
