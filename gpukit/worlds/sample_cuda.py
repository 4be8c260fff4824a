"""Sampling of RR sets on a GPU: the sets of ``sample_cpu.py``, to the bit.

A block advances many sets at once. Their frontier is one queue of (set, element) pairs in the block's own part of
global memory; the block takes as many pairs as it has threads, whatever sets they belong to, and starts new sets when
the queue runs low, so that all threads stay busy although sets differ in size by five orders of magnitude. A hash
table of pairs, also the block's own, tells which elements a set already has. Blocks share nothing but the ticket of
the next set.
"""

import numba
from numba import cuda, int32, int64, uint32, uint64

from gpukit.device.philox import draw4
from gpukit.device.select import for_kernels, register_limit
from gpukit.worlds import rule
from gpukit.worlds.rule import CALLS_PER_ROW

BLOCK, REGISTERS = 128, 64
"""Threads in a block, and the registers each may take."""

STAGE = 4 * BLOCK
"""Live edges a block holds in shared memory between finding and following them."""

OVERFLOW, TICKET, MEMBER_TAIL, CONTROL = 0, 1, 2, 4
"""Places in ``control``: a flag, sets started, members packed; its length."""

USED, KIDS, GOT, FULL, OFFSET, BASE = 0, 1, 2, 3, 4, 5
"""Places in a block's shared counters."""

draw_root, live_edges, lt_choice = (for_kernels(f) for f in (rule.draw_root, rule.live_edges, rule.lt_choice))


@cuda.jit(device=True)
def _insert(table, base, mask, key):
    """Insert a nonzero key into a block's table; return 1 if it was absent, 0 if present, -1 if the table is full."""
    slot = (key * uint64(0x9E3779B97F4A7C15)) >> uint64(32) & mask
    for _ in range(4096):
        found = cuda.atomic.cas(table, base + int64(slot), uint64(0), key)
        if found == uint64(0):
            return 1
        if found == key:
            return 0
        slot = (slot + uint64(1)) & mask
    return -1


@cuda.jit(device=True)
def _follow(indices, edge, owner, shift, table, table_base, mask, queue, ranks, queue_base, sizes, set_base, shared):
    """Add the tail of a live edge to its set and the queue, unless the set has it."""
    u = int64(indices[edge]) + shift
    key = uint64(owner) << uint64(32) | uint64(u + 1)
    absent = _insert(table, table_base, mask, key)
    if absent > 0:
        rank = cuda.atomic.add(sizes, set_base + owner, 1)
        place = cuda.atomic.add(shared, USED, 1)
        if place < ranks.shape[1]:
            queue[queue_base + place] = key
            ranks[cuda.blockIdx.x, place] = rank
    elif absent < 0:
        shared[FULL] = 1


@cuda.jit(cache=True, **register_limit(REGISTERS))
def sample(
    rows, indices, accept, thresholds, lt_kind, lt_constant, lt_prefix, roots, n, rounds, seed, tag, root_tag,
    first, count, group, table, queue, ranks, sizes, starts, set_base, entries, entry_base, counts, control,
):  # fmt: skip
    """Draw the RR sets first … first + count - 1 and pack them; any grid, 256 threads a block at most.

    A thread owns one pair of the queue at a time: it reads the vertex's row (16 bytes) and a few thresholds and writes
    the live edges to shared memory. Then it owns one live edge: it reads the tail (one 32-byte sector), does one 64-bit
    compare-and-swap in the block's table and, for a new element, an atomic add on the size of the set, which is the
    rank of the element in it. When its sets are done, the block takes a place for all their members at once and writes
    each there: 12 bytes read, 8 written, one atomic add for the occurrence counter.

    Parameters
    ----------
    rows … root_tag, first, count
        As in :func:`gpukit.worlds.sample_cpu.sample`.
    group : int
        Sets a block starts at a time.
    table : uint64 array, shape (blocks * slots,), slots a power of two
        Hash tables of pairs; cleared here.
    queue : uint64 array, shape (blocks * c,)
        All pairs of a block in the order of discovery, owner << 32 | element + 1; the frontier is what is left of them.
    ranks : int32 array, shape (blocks, c)
        Rank of each pair's element in its set.
    sizes, starts : int32 and int64 arrays
        Size and first entry of each set, written from ``set_base`` on.
    entries : int64 array
        set << 32 | element for each member, written from ``entry_base`` on; room for all pairs must be left.
    counts : int32 array, shape (n * rounds,)
        Occurrence counters, increased.
    control : int64 array, shape (4,)
        Zero at the start. ``MEMBER_TAIL`` ends as the number of members. ``OVERFLOW`` is set if a queue or table was
        too small: then neither entries nor counters are of use.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    capacity = ranks.shape[1]
    queue_base = int64(cuda.blockIdx.x) * capacity
    slots = len(table) // cuda.gridDim.x
    table_base = int64(cuda.blockIdx.x) * slots
    mask = uint64(slots - 1)
    shared = cuda.shared.array(8, int64)
    stage_edge = cuda.shared.array(STAGE, uint32)
    stage_owner = cuda.shared.array(STAGE, int32)
    stage_shift = cuda.shared.array(STAGE, int32)
    live = cuda.local.array(64, uint32)
    for i in range(tid, slots, block_size):
        table[table_base + i] = uint64(0)
    if tid < 8:
        shared[tid] = 0
    cuda.syncthreads()
    head, used = int64(0), int64(0)
    exhausted, full = False, False
    while True:
        if not exhausted and used - head < block_size:
            if tid == 0:
                shared[GOT] = cuda.atomic.add(control, TICKET, group)
            cuda.syncthreads()
            ticket = shared[GOT]
            got = min(int64(group), int64(count) - ticket)
            exhausted = got < group
            for i in range(tid, got, block_size):
                root = int64(draw_root(n, roots, seed, root_tag, first + ticket + i))
                sizes[set_base + ticket + i] = rounds
                for t in range(rounds):
                    place = used + int64(i) * rounds + t
                    key = uint64(ticket + i) << uint64(32) | uint64(root + int64(t) * n + 1)
                    if place < capacity:
                        queue[queue_base + place] = key
                        ranks[cuda.blockIdx.x, place] = t
                    if _insert(table, table_base, mask, key) < 0:
                        shared[FULL] = 1
            used += max(got, 0) * rounds
        if tid == 0:
            shared[USED] = used
            shared[KIDS] = 0
        cuda.syncthreads()
        if used > capacity or full:
            if tid == 0:
                control[OVERFLOW] = 1
            break
        if exhausted and head == used:
            break
        if tid < used - head:
            key = queue[queue_base + head + tid]
            owner = int64(key >> uint64(32))
            element = int64(key & uint64(0xFFFFFFFF)) - 1
            t = 0 if rounds == 1 else element // n
            shift = int64(t) * n
            v = element - shift
            row, draw, round_tag = v, 0, tag + (t << 8)
            while True:
                start, length = rows[row, 0], rows[row, 1]
                found = 0
                if lt_kind >= 0:
                    chosen = lt_choice(
                        lt_kind, int64(length), int64(start), lt_constant, lt_prefix,
                        seed, round_tag, first + owner, v, 0,
                    )  # fmt: skip
                    if chosen >= 0:
                        live[0] = uint32(chosen)
                        found = 1
                elif length > 0:
                    words = draw4(seed, round_tag, first + owner, v, draw)
                    found = live_edges(
                        length, rows[row, 2], start, draw, accept, thresholds,
                        seed, round_tag, first + owner, v, words, live,
                    )  # fmt: skip
                if found > 0:
                    place = cuda.atomic.add(shared, KIDS, found)
                    for j in range(found):
                        edge = int64(start) + int64(live[j])
                        if place + j < STAGE:
                            stage_edge[place + j] = edge
                            stage_owner[place + j] = owner
                            stage_shift[place + j] = shift
                        else:
                            _follow(
                                indices, edge, owner, shift, table, table_base, mask,
                                queue, ranks, queue_base, sizes, set_base, shared,
                            )  # fmt: skip
                row = int64(rows[row, 3])
                if row == 0:
                    break
                draw += CALLS_PER_ROW
        cuda.syncthreads()
        for j in range(tid, min(shared[KIDS], STAGE), block_size):
            _follow(
                indices, int64(stage_edge[j]), int64(stage_owner[j]), int64(stage_shift[j]), table, table_base, mask,
                queue, ranks, queue_base, sizes, set_base, shared,
            )  # fmt: skip
        cuda.syncthreads()
        head = min(head + block_size, used)
        # Only here: where edges are followed, a thread may set the flag before another one looks at it.
        used, full = shared[USED], shared[FULL] > 0
        cuda.syncthreads()
    cuda.syncthreads()
    used = min(used, capacity)
    if tid == 0:
        shared[OFFSET] = 0
        shared[BASE] = int64(entry_base) + cuda.atomic.add(control, MEMBER_TAIL, used)
    cuda.syncthreads()
    for i in range(tid, used, block_size):
        if ranks[cuda.blockIdx.x, i] == 0:
            s = set_base + int64(queue[queue_base + i] >> uint64(32))
            starts[s] = shared[BASE] + cuda.atomic.add(shared, OFFSET, int64(sizes[s]))
    cuda.syncthreads()
    for i in range(tid, used, block_size):
        key = queue[queue_base + i]
        s = set_base + int64(key >> uint64(32))
        element = int64(key & uint64(0xFFFFFFFF)) - 1
        place = starts[s] + int64(ranks[cuda.blockIdx.x, i])
        if 0 <= place < len(entries):
            entries[place] = s << 32 | element
        cuda.atomic.add(counts, element, 1)


_u32, _u64, _i32, _i64 = numba.uint32[::1], numba.uint64[::1], numba.int32[::1], numba.int64[::1]
_int, _seed = numba.int64, numba.uint64

KERNELS = {
    "sample": (
        sample,
        (
            numba.uint32[:, ::1],
            _i32,
            _u32,
            _u64,
            _int,
            _seed,
            _u32,
            _u64,
            _int,
            _int,
            _seed,
            _int,
            _int,
            _int,
            _int,
            _int,
        )
        + (_u64, _u64, numba.int32[:, ::1], _i32, _i64, _int, _i64, _int, _i32, _i64),
    ),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
