"""What a round did to the mRR sets on a GPU: the dead are marked, and sets found that hold one or lack roots."""

from collections import namedtuple

from numba import int32, int64, uint32

from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.merit.hashed_cuda import AHEAD
from gpukit.merit.rule import root_count
from gpukit.papers.merit.table_cuda import at, contiguous_run, hashed, load_ahead, may_contain, ring_of
from gpukit.papers.merit.update_cuda import CHANGED, GROWN, POLLUTED, SAME

BATCH = 64
"""Sets that a block looks through together."""

FILTER_BITS = 18
FILTER_WORDS = 1 << FILTER_BITS - 5
"""Size of the filter of the dead: with 25,000 of them, it may contain one in eleven living vertices, too."""


class RingSets(namedtuple("RingSets", "starts sizes roots entries")):
    """The sets: first entry in its ring, members and roots of each, and all rings."""


class Changes(namedtuple("Changes", "flags load changed control")):
    """What the round did.

    Attributes
    ----------
    flags : uint8 array
        To each set: ``SAME``, ``GROWN`` or ``POLLUTED``.
    load : int32 array
        Changed sets of each segment; zero at the start.
    changed : int32 array
        The segments that have any, in any order.
    control : int64 array
        ``control[CHANGED]``, zero at the start, receives their number.
    """


@device
def find_marked(starts, sizes, entries, segments, low, high, marks, found):
    """Look through up to BATCH sets low … for members v with ``marks[v] == 1``; one block.

    Ends with ``found[q]`` nonzero where set low + q has one. A warp owns a set; two barriers.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    length = int64(len(entries) // segments)
    for q in range(tid, BATCH, block_size):
        found[q] = 0
    cuda.syncthreads()
    for q in range(tid // 32, min(int64(BATCH), high - low), (block_size + 31) // 32):
        r = low + q
        ring, start = ring_of(entries, r, segments, length), int64(starts[r])
        for i in range(tid % 32, sizes[r], 32):
            if marks[entries[at(ring, start + i)]] == 1:
                found[q] = 1
    cuda.syncthreads()


_u8, _u32, _i32, _i64 = "uint8[::1]", "uint32[::1]", "int32[::1]", "int64[::1]"
_int = "int64"


@kernel(
    (
        _u8, _u32, _int, _int, "uint64", *5 * (_int,),
        group(RingSets, _i32, _i32, _i32, _i32), group(Changes, _u8, _i32, _i32, _i64),
    )
)  # fmt: skip
def discover(dead, filter_of, living, eta, seed, root_tag, first, segments, low, high, sets, changes):
    """Flag what the round did to the sets low … high - 1, and list the segments with sets that changed; any grid.

    Algorithm 3, lines 7 to 13, for the vertices that died. A warp owns a set and reads its members (4 bytes each,
    contiguous, ``AHEAD`` at a time). It reads a member's dead flag (1 byte, at a random address) only if a filter in
    shared memory may contain the member. ``filter_of`` is a hash filter of the vertices that died since the sets were
    last looked at (:func:`mark_dead`): several vertices share a bit.
    """
    tid, block_size = int64(cuda.threadIdx.x), int64(cuda.blockDim.x)
    bits, filter_ = FILTER_BITS, cuda.shared.array(FILTER_WORDS, uint32)
    found = cuda.shared.array(BATCH, int32)
    got = cuda.local.array(AHEAD, int32)
    length = int64(len(sets.entries) // segments)
    x = tid
    while x < FILTER_WORDS:
        filter_[x] = filter_of[x]
        x += block_size
    place = int64(low) + cuda.blockIdx.x * BATCH
    while place < high:
        count = min(int64(BATCH), int64(high) - place)
        x = tid
        while x < BATCH:
            found[x] = 0
            x += block_size
        cuda.syncthreads()
        # Which sets hold a dead vertex.
        q = tid // 32
        while q < count:
            r = place + q
            ring, size = ring_of(sets.entries, r, segments, length), int64(sets.sizes[r])
            start, done = int64(sets.starts[r]), int64(0)
            while done < size and found[q] == 0:
                entries, piece = contiguous_run(ring, start, done, size)
                last, i = uint32(piece - 1), uint32(tid % 32)
                while i <= last and found[q] == 0:
                    if load_ahead(entries, i, uint32(32), last, got):
                        doubt = uint32(0)
                        for j in range(AHEAD):
                            doubt |= may_contain(filter_, got[j], bits) << uint32(j)
                        while doubt != 0:
                            j = cuda.ffs(doubt) - 1
                            doubt &= uint32(doubt - uint32(1))
                            if dead[entries[min(uint32(i + j * 32), last)]] != 0:
                                found[q] = 1
                    i = uint32(i + AHEAD * 32)
                done += piece
            q += (block_size + 31) // 32
        cuda.syncthreads()
        # Which of the others lack roots; the segments of all that changed.
        q = tid
        while q < count:
            r = place + q
            flag = SAME
            if found[q] != 0:
                flag = POLLUTED
            elif root_count(living, eta, seed, root_tag, first + r) != sets.roots[r]:
                flag = GROWN
            changes.flags[r] = flag
            if flag != SAME and cuda.atomic.add(changes.load, r % segments, 1) == 0:
                changes.changed[cuda.atomic.add(changes.control, CHANGED, 1)] = r % segments
            q += block_size
        cuda.syncthreads()
        place += cuda.gridDim.x * BATCH


@kernel((_i32, _int, _int, _u8, _u32, "uint32[:, ::1]"))
def mark_dead(deaths, before, died, dead, filter_of, visited):
    """Mark the vertices ``deaths[before:died]`` as dead, in the filter and every bitmap too; any grid.

    A thread owns a pair of vertex and bitmap; that of the first bitmap marks the vertex elsewhere.
    """
    for i in range(cuda.grid(1), (died - before) * visited.shape[0], cuda.gridsize(1)):
        v, row = int64(deaths[before + i // visited.shape[0]]), i % visited.shape[0]
        if row == 0:
            dead[v] = 1
            bit = hashed(v, FILTER_BITS)
            cuda.atomic.or_(filter_of, bit >> 5, uint32(uint32(1) << uint32(bit & 31)))
        cuda.atomic.or_(visited, (row, v >> 5), uint32(uint32(1) << uint32(v & 31)))
