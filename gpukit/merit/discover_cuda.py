"""What a round did to the mRR sets on a GPU: the dead are marked, and sets found that hold one or lack roots."""

import numba
from numba import cuda, int32, int64, uint32

from gpukit.merit.rule import root_count
from gpukit.merit.table_cuda import AHEAD, ask, at, hashed, ring_of, straight, suspect
from gpukit.merit.update_cuda import CHANGED, GROWN, POLLUTED, SAME

BATCH = 64
"""Sets that a block looks through together."""

FILTER_BITS = 18
FILTER_WORDS = 1 << FILTER_BITS - 5
"""Size of the filter of the dead: with 25,000 of them, one in eleven living vertices is suspected too."""


@cuda.jit(device=True)
def scan_batch(starts, sizes, ring, segments, low, high, marks, wanted, found):
    """Look through up to BATCH sets low … for members v with ``marks[v] == wanted``; one block.

    Ends with ``found[q]`` nonzero where set low + q has one. Sets of size 0 in ``found``'s place stay zero. A warp owns
    a set; two barriers.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    length = int64(len(ring) // segments)
    for q in range(lane, BATCH, width):
        found[q] = 0
    cuda.syncthreads()
    for q in range(lane // 32, min(int64(BATCH), high - low), (width + 31) // 32):
        r = low + q
        base, start = ring_of(r, segments, length), int64(starts[r])
        for i in range(lane % 32, sizes[r], 32):
            if marks[ring[at(base, start + i, length)]] == wanted:
                found[q] = 1
    cuda.syncthreads()


@cuda.jit(cache=True)
def discover(
    dead, filter_of, living, eta, seed, root_tag, first, segments, low, high, starts, sizes, roots, ring, flags, load,
    changed, control,
):  # fmt: skip
    """Flag what the round did to the sets low … high - 1, and list the segments with sets that changed; any grid.

    A warp owns a set and reads its members (4 bytes, side by side, ``AHEAD`` at a time), and whether they are dead (1
    byte, anywhere) only where a filter in shared memory lets it suspect so. ``filter_of`` has a bit, shared with
    others, for each vertex that died since the sets were last looked at (:func:`bury`). ``load`` (zero at the start)
    receives the changed sets of each segment, ``changed`` the segments in any order, and ``control[CHANGED]`` (zero at
    the start) their number.
    """
    lane, width = int64(cuda.threadIdx.x), int64(cuda.blockDim.x)
    bits, filter_ = FILTER_BITS, cuda.shared.array(FILTER_WORDS, uint32)
    found = cuda.shared.array(BATCH, int32)
    got = cuda.local.array(AHEAD, int32)
    length = int64(len(ring) // segments)
    x = lane
    while x < FILTER_WORDS:
        filter_[x] = filter_of[x]
        x += width
    place = int64(low) + cuda.blockIdx.x * BATCH
    while place < high:
        count = min(int64(BATCH), int64(high) - place)
        x = lane
        while x < BATCH:
            found[x] = 0
            x += width
        cuda.syncthreads()
        q = lane // 32
        while q < count:
            r = place + q
            base, size = ring_of(r, segments, length), int64(sizes[r])
            start, done = int64(starts[r]), int64(0)
            while done < size and found[q] == 0:
                entries, piece = straight(ring, base, start, done, size, length)
                last, i = uint32(piece - 1), uint32(lane % 32)
                while i <= last and found[q] == 0:
                    if ask(entries, i, uint32(32), last, got):
                        doubt = uint32(0)
                        for j in range(AHEAD):
                            doubt |= suspect(filter_, got[j], bits) << uint32(j)
                        while doubt != 0:
                            j = cuda.ffs(doubt) - 1
                            doubt &= uint32(doubt - uint32(1))
                            if dead[entries[min(uint32(i + j * 32), last)]] != 0:
                                found[q] = 1
                    i = uint32(i + AHEAD * 32)
                done += piece
            q += (width + 31) // 32
        cuda.syncthreads()
        q = lane
        while q < count:
            r = place + q
            flag = SAME
            if found[q] != 0:
                flag = POLLUTED
            elif root_count(living, eta, seed, root_tag, first + r) != roots[r]:
                flag = GROWN
            flags[r] = flag
            if flag != SAME and cuda.atomic.add(load, r % segments, 1) == 0:
                changed[cuda.atomic.add(control, CHANGED, 1)] = r % segments
            q += width
        cuda.syncthreads()
        place += cuda.gridDim.x * BATCH


@cuda.jit(cache=True)
def bury(vertices, count, dead, filter_of, visited):
    """Mark the first vertices as dead, in the filter and every bitmap too; any grid.

    A thread owns a pair of vertex and bitmap; that of the first bitmap marks the vertex elsewhere.
    """
    for i in range(cuda.grid(1), count * visited.shape[0], cuda.gridsize(1)):
        v, row = int64(vertices[i // visited.shape[0]]), i % visited.shape[0]
        if row == 0:
            dead[v] = 1
            bit = hashed(v, FILTER_BITS)
            cuda.atomic.or_(filter_of, bit >> 5, uint32(uint32(1) << uint32(bit & 31)))
        cuda.atomic.or_(visited, (row, v >> 5), uint32(uint32(1) << uint32(v & 31)))


_u8, _u32, _u64, _i32, _i64 = (t[::1] for t in (numba.uint8, numba.uint32, numba.uint64, numba.int32, numba.int64))
_int, _seed, _bool = numba.int64, numba.uint64, numba.boolean

KERNELS = {
    "discover": (
        discover,
        (_u8, _u32, _int, _int, _seed, *(_int,) * 5, _i32, _i32, _i32, _i32, _u8, _i32, _i32, _i64),
    ),
    "bury": (bury, (_i32, _int, _u8, _u32, numba.uint32[:, ::1])),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
