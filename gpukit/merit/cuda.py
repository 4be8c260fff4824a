"""mRR sets on a GPU: generation, discovery and update in segments; the sets of ``cpu.py``, to the bit.

A segment is a ring in global memory that one block at a time writes to. A set is a record (its number, its size, its
members), and its members are the queue of its own search. A set that changes is written again at the head; clean sets
stay where they are. When more than half of a ring is taken, the block goes once round, moving the records that still
count to the head. A record may take a quarter of a ring, so that a quarter is free then, and copies never meet what they
come from. Where three eighths of a ring still count, or a record is larger, ``OVERFLOW`` is set and the host makes larger
rings.
"""

import numba
from numba import cuda, int32, int64, uint32, uint64

from gpukit.device.philox import draw4
from gpukit.device.select import for_kernels, register_limit, simulated
from gpukit.merit import rule
from gpukit.merit.rule import SEQUENCE, root_count
from gpukit.worlds.rule import CALLS_PER_ROW, biased, word_of
from gpukit.worlds.rule import live_edges as _live_edges
from gpukit.worlds.rule import lt_choice as _lt_choice

BLOCK, REGISTERS = 64, 64
"""Threads of a block when there are as many blocks as the GPU holds, and the registers each may take."""

STAGE = 1024
"""Live edges a block holds in shared memory between finding and following them."""

HEADER = 2
"""Entries of a record before its members: the number of the set, and its size."""

HEAD, USED, LIVE = 0, 1, 2
"""Places in the state of a segment: where to write, entries from the oldest record on, entries that count."""

OVERFLOW, PROBES, MEMBERS, CONTROL = 0, 1, 2, 4
"""Places in ``control``: a flag, vertices whose in-edges were drawn, members of all sets; its length."""

SAME, GROWN, POLLUTED = 0, 1, 2
"""What the round did to a set: nothing, further roots, a dead member."""

BATCH = 64
"""Sets that a block looks through together."""

_TAIL, _KIDS = 0, 1

live_edges = for_kernels(_live_edges)
living_choice = rule.make_living_choice(_lt_choice.py_func) if simulated() else rule.living_choice


@cuda.jit(device=True)
def wrapped(place, length):
    """Return a place in a ring for one below twice its length."""
    return place - length if place >= length else place


@cuda.jit(device=True)
def _mark(visited, v):
    """Set the bit of a vertex in the bitmap of this block; return whether it was clear."""
    bit = uint32(uint32(1) << uint32(v & 31))
    return cuda.atomic.or_(visited, (cuda.blockIdx.x, v >> 5), bit) & bit == 0


@cuda.jit(device=True)
def _start_again(visited, dead):
    """Set the bitmap of this block to the dead vertices; for after a search that found no room."""
    for word in range(cuda.threadIdx.x, visited.shape[1], cuda.blockDim.x):
        bits = uint32(0)
        for v in range(32 * word, min(32 * word + 32, len(dead))):
            if dead[v] != 0:
                bits |= uint32(uint32(1) << uint32(v & 31))
        visited[cuda.blockIdx.x, word] = bits


@cuda.jit(device=True)
def _follow(indices, edge, visited, ring, base, data, length, limit, shared):
    """Append the tail of a live edge to the set, unless it is dead or in it."""
    u = int64(indices[edge])
    if _mark(visited, u):
        place = cuda.atomic.add(shared, _TAIL, 1)
        if place < limit:
            ring[base + wrapped(data + place, length)] = u


@cuda.jit(cache=True, **register_limit(REGISTERS))
def advance(
    rows, indices, accept, thresholds, lt_kind, lt_constant, lt_prefix,
    dead, living, eta, living_in, raw, seed, tag, root_tag, first, segments, begin, have, end,
    order, group, flags, starts, sizes, roots, cursors, ring, state, visited, control,
):  # fmt: skip
    """Make the sets begin … end - 1 sets of the current round; those from ``have`` on are new. Any grid and block.

    Block b owns segment ``order[group * grid + b]`` and its sets, r ≡ segment modulo ``segments``, one after the other.
    Its threads share the draws for roots, then the queue: a thread takes a vertex, reads its row (16 bytes) and
    thresholds and writes live edges to shared memory; then it takes a live edge, reads its tail (a 32-byte sector) and
    sets a bit in the block's bitmap with one atomic. Members are written once (4 bytes), and read once to clear the
    bitmap. Sets flagged ``SAME`` are not touched.

    Parameters
    ----------
    rows … lt_prefix, dead, living, eta, living_in, raw, seed, tag, root_tag
        As in :func:`gpukit.merit.cpu.advance`.
    first, segments : int
        Set r has the id ``first + r`` and lies in segment r mod ``segments``.
    order : int32 array
        Segments by load; empty: as they come.
    group : int
        Which part of ``order`` this launch takes.
    flags : uint8 array
        What happened to the sets below ``have`` (:func:`discover`).
    starts, sizes, roots : int32 arrays
        First entry in its ring, members and roots of each set. Roots are the first members.
    cursors : int64 array
        Words of its root sequence that each set has used.
    ring : int32 array, shape (segments * length,)
    state : int64 array, shape (segments, 4)
        See ``HEAD``, ``USED``, ``LIVE``.
    visited : uint32 array, shape (blocks, ceil(n / 32))
        Bitmaps; the bits of dead vertices are set, no others, at the start and at the end.
    control : int64 array, shape (CONTROL,)
        ``PROBES`` and ``MEMBERS`` are increased. ``OVERFLOW`` is set if a ring was too short: then no set is of use,
        and nothing is done where it is set before.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    shared = cuda.shared.array(4, int64)
    stage = cuda.shared.array(STAGE, uint32)
    live = cuda.local.array(64, uint32)
    segment = int64(group) * cuda.gridDim.x + cuda.blockIdx.x
    if segment >= segments or control[OVERFLOW] != 0:
        return
    if len(order) > 0:
        segment = int64(order[segment])
    n = int64(len(dead))
    length = int64(len(ring) // segments)
    base = segment * length
    limit = length // 4 - HEADER
    head, used, kept = state[segment, HEAD], state[segment, USED], state[segment, LIVE]
    probes, grown = int64(0), int64(0)
    cuda.syncthreads()
    r = int64(begin) + (segment - int64(begin)) % int64(segments)
    while r < end:
        change = POLLUTED if r >= have else int(flags[r])
        if change == SAME:
            r += segments
            continue
        sample = int64(first) + r
        wanted = root_count(living, eta, seed, root_tag, sample)
        if r < have and change == POLLUTED:
            kept -= int64(sizes[r]) + HEADER
            grown -= int64(sizes[r])
            cuda.syncthreads()
            if lane == 0:
                starts[r] = -1
            cuda.syncthreads()
        if 2 * used > length and 8 * kept <= 3 * length:
            source = wrapped(head - used + length, length)
            left = used
            while left > 0:
                number = ring[base + source]
                record = int64(ring[base + wrapped(source + 1, length)]) + HEADER
                if starts[number] == wrapped(source + HEADER, length):
                    for i in range(lane, record, width):
                        ring[base + wrapped(head + i, length)] = ring[base + wrapped(source + i, length)]
                    cuda.syncthreads()
                    if lane == 0:
                        starts[number] = wrapped(head + HEADER, length)
                    head = wrapped(head + record, length)
                else:
                    used -= record
                source = wrapped(source + record, length)
                left -= record
                cuda.syncthreads()
        if 2 * used > length or wanted > limit:
            if lane == 0:
                control[OVERFLOW] = 1
            break
        data = wrapped(head + HEADER, length)
        known, size, cursor, old = int64(0), int64(0), int64(0), int64(0)
        if change == GROWN:
            known, size, cursor, old = int64(roots[r]), int64(sizes[r]), cursors[r], int64(starts[r])
            for i in range(lane, known, width):
                v = ring[base + wrapped(old + i, length)]
                ring[base + wrapped(data + i, length)] = v
                _mark(visited, v)
        if lane == 0:
            shared[_TAIL] = known
        cuda.syncthreads()
        found = known
        while found < wanted:
            # As many draws as roots are missing: each gives one at most, so none is drawn beyond the last.
            chunk = min(int64(width), wanted - found)
            if lane < chunk:
                word = cursor + lane
                product = uint64(word_of(draw4(seed, root_tag, sample, SEQUENCE, word >> 2), word & 3)) * uint64(n)
                v = int64(product >> uint64(32))
                if not biased(product, n) and _mark(visited, v):
                    ring[base + wrapped(data + cuda.atomic.add(shared, _TAIL, 1), length)] = v
            cuda.syncthreads()
            cursor += chunk
            found = shared[_TAIL]
            cuda.syncthreads()
        for i in range(known + lane, size, width):
            # A member that was drawn as a root stands among the roots already.
            v = ring[base + wrapped(old + i, length)]
            if _mark(visited, v):
                place = cuda.atomic.add(shared, _TAIL, 1)
                if place < limit:
                    ring[base + wrapped(data + place, length)] = v
        cuda.syncthreads()
        tail = shared[_TAIL]
        one, two = known, tail
        probes += wanted - known - tail
        while tail <= limit:
            ahead = wanted - one
            take = min(int64(width), ahead + tail - two)
            if take == 0:
                break
            if lane == 0:
                shared[_KIDS] = 0
            cuda.syncthreads()
            if lane < take:
                v = int64(ring[base + wrapped(data + (one + lane if lane < ahead else two + lane - ahead), length)])
                row, draw = v, 0
                while True:
                    start, degree = rows[row, 0], rows[row, 1]
                    hits = 0
                    if lt_kind >= 0:
                        chosen = living_choice(
                            lt_kind, int64(degree), int64(start), lt_constant, lt_prefix,
                            seed, tag, sample, v, indices, dead, living_in, raw,
                        )  # fmt: skip
                        if chosen >= 0:
                            live[0] = uint32(chosen)
                            hits = 1
                    elif degree > 0:
                        words = draw4(seed, tag, sample, v, draw)
                        hits = live_edges(
                            degree, rows[row, 2], start, draw, accept, thresholds,
                            seed, tag, sample, v, words, live,
                        )  # fmt: skip
                    if hits > 0:
                        place = cuda.atomic.add(shared, _KIDS, hits)
                        for j in range(hits):
                            edge = int64(start) + int64(live[j])
                            if place + j < STAGE:
                                stage[place + j] = edge
                            else:
                                _follow(indices, edge, visited, ring, base, data, length, limit, shared)
                    row = int64(rows[row, 3])
                    if row == 0 or lt_kind >= 0:
                        break
                    draw += CALLS_PER_ROW
            cuda.syncthreads()
            for j in range(lane, min(shared[_KIDS], STAGE), width):
                _follow(indices, int64(stage[j]), visited, ring, base, data, length, limit, shared)
            cuda.syncthreads()
            one += min(take, ahead)
            two += take - min(take, ahead)
            tail = shared[_TAIL]
            cuda.syncthreads()
        if tail > limit:
            _start_again(visited, dead)
            if lane == 0:
                control[OVERFLOW] = 1
            break
        probes += tail
        for i in range(lane, tail, width):
            v = int64(ring[base + wrapped(data + i, length)])
            bit = uint32(uint32(1) << uint32(v & 31))
            cuda.atomic.and_(visited, (cuda.blockIdx.x, v >> 5), uint32(uint32(0xFFFFFFFF) ^ bit))
        cuda.syncthreads()
        if lane == 0:
            ring[base + head] = r
            ring[base + wrapped(head + 1, length)] = tail
            starts[r], sizes[r], roots[r], cursors[r] = data, tail, wanted, cursor
        head = wrapped(head + tail + HEADER, length)
        used += tail + HEADER
        kept += tail + HEADER
        grown += tail
        if change == GROWN:
            kept -= size + HEADER
            grown -= size
        r += segments
        cuda.syncthreads()
    if lane == 0:
        state[segment, HEAD], state[segment, USED], state[segment, LIVE] = head, used, kept
        cuda.atomic.add(control, PROBES, probes)
        cuda.atomic.add(control, MEMBERS, grown)


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
        base, start = r % segments * length, int64(starts[r])
        for i in range(lane % 32, sizes[r], 32):
            if marks[ring[base + wrapped(start + i, length)]] == wanted:
                found[q] = 1
    cuda.syncthreads()


@cuda.jit(cache=True)
def discover(
    dead, living, eta, seed, root_tag, first, segments, low, high, starts, sizes, roots, ring, flags, load
):  # fmt: skip
    """Flag what the round did to the sets low … high - 1, and count the polluted ones of each segment; any grid.

    A warp owns a set and reads its members (4 bytes) and whether they are dead (1 byte).
    """
    found = cuda.shared.array(BATCH, int32)
    for place in range(low + cuda.blockIdx.x * BATCH, high, cuda.gridDim.x * BATCH):
        scan_batch(starts, sizes, ring, segments, place, high, dead, 1, found)
        for q in range(cuda.threadIdx.x, min(int64(BATCH), int64(high) - place), cuda.blockDim.x):
            r = place + q
            flag = SAME
            if found[q] != 0:
                flag = POLLUTED
                cuda.atomic.add(load, r % segments, 1)
            elif root_count(living, eta, seed, root_tag, first + r) != roots[r]:
                flag = GROWN
            flags[r] = flag
        cuda.syncthreads()


@cuda.jit(cache=True)
def bury(vertices, dead, visited):
    """Mark vertices as dead, in every bitmap too; any grid. A thread owns a pair of vertex and bitmap."""
    for i in range(cuda.grid(1), len(vertices) * visited.shape[0], cuda.gridsize(1)):
        v = int64(vertices[i // visited.shape[0]])
        dead[v] = 1
        cuda.atomic.or_(visited, (i % visited.shape[0], v >> 5), uint32(uint32(1) << uint32(v & 31)))


_u8, _u32, _u64, _i32, _i64 = (t[::1] for t in (numba.uint8, numba.uint32, numba.uint64, numba.int32, numba.int64))
_int, _seed, _bool = numba.int64, numba.uint64, numba.boolean

KERNELS = {
    "advance": (
        advance,
        (numba.uint32[:, ::1], _i32, _u32, _u64, _int, _seed, _u32)
        + (_u8, _int, _int, _i32, _bool, _seed, *(_int,) * 7)
        + (_i32, _int, _u8, _i32, _i32, _i32, _i64, _i32, numba.int64[:, ::1], numba.uint32[:, ::1], _i64),
    ),
    "discover": (
        discover,
        (_u8, _int, _int, _seed, *(_int,) * 5, _i32, _i32, _i32, _i32, _u8, _i32),
    ),
    "bury": (bury, (_i32, _u8, numba.uint32[:, ::1])),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
