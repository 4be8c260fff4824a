"""mRR sets on a GPU: generation, discovery and update in segments; the sets of ``cpu.py``, to the bit.

A segment is a ring in global memory that one block at a time writes to. A set is a record (its number, its size, its
members), and its members are the queue of its own search. A set that changes is written again at the head; clean sets
stay where they are. When more than half of a ring is taken, the block goes once round, moving the records that still
count to the head. A record may take a quarter of a ring, so that a quarter is free then, and copies never meet what
they come from. Where three eighths of a ring still count, or a record is larger, ``OVERFLOW`` is set and the host makes
larger rings.

Most searches have few vertices to look at at a time, so a block advances several sets at once, one in each of its
*slots*, and shares its threads among all that wait, whatever set they belong to.
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

SLOTS = 8
"""Sets that a block advances at once at most; a power of two."""

STAGE = 512
"""Live edges a block holds in shared memory between finding and following them."""

HEADER = 2
"""Entries of a record before its members: the number of the set, and its size."""

HEAD, USED, LIVE = 0, 1, 2
"""Places in the state of a segment: where to write, entries from the oldest record on, entries that count."""

OVERFLOW, PROBES, MEMBERS, CHANGED, CONTROL = 0, 1, 2, 3, 4
"""Places in ``control``: a flag, vertices whose in-edges were drawn, members of all sets, segments with sets that the
round changed; its length."""

SAME, GROWN, POLLUTED = 0, 1, 2
"""What the round did to a set: nothing, further roots, a dead member."""

BATCH = 64
"""Sets that a block looks through together."""

_SEGMENT, _HEAD, _USED, _LIVE, _SET, _CHANGE, _WANTED, _KNOWN, _SIZE, _OLD, _DATA, _CURSOR = range(12)
_TAIL, _ONE, _TWO, _FIRST, _PENDING, _PROBES, _GROWN, _FIELDS = range(12, 20)
"""Rows of a block's table in shared memory, a column a slot: the segment and its state; the set at hand, what it needs
(roots wanted, known; size and place before; place now; words used); its search (members found, queue from ``_ONE`` to
the roots' end and from ``_TWO`` to ``_TAIL``; threads from ``_FIRST`` on take ``_PENDING`` vertices); sums."""

_TOTAL, _KIDS, _STOP = 0, 1, 2
"""Places in a block's other shared counters."""

live_edges = for_kernels(_live_edges)
living_choice = rule.make_living_choice(_lt_choice.py_func) if simulated() else rule.living_choice


@cuda.jit(device=True)
def wrapped(place, length):
    """Return a place in a ring for one below twice its length."""
    return place - length if place >= length else place


@cuda.jit(device=True)
def _mark(visited, row, v):
    """Set the bit of a vertex in a bitmap; return whether it was clear."""
    bit = uint32(uint32(1) << uint32(v & 31))
    return cuda.atomic.or_(visited, (row, v >> 5), bit) & bit == 0


@cuda.jit(device=True)
def _start_again(visited, row, dead):
    """Set a bitmap to the dead vertices; one block; for after a search that found no room."""
    for word in range(cuda.threadIdx.x, visited.shape[1], cuda.blockDim.x):
        bits = uint32(0)
        for v in range(32 * word, min(32 * word + 32, len(dead))):
            if dead[v] != 0:
                bits |= uint32(uint32(1) << uint32(v & 31))
        visited[row, word] = bits


@cuda.jit(device=True)
def _append(v, visited, row, ring, length, limit, table, slot):
    """Append a vertex to the set in a slot, unless it is dead or in it."""
    if _mark(visited, row, v):
        place = cuda.atomic.add(table, (_TAIL, slot), 1)
        if place < limit:
            ring[table[_SEGMENT, slot] * length + wrapped(table[_DATA, slot] + place, length)] = v


@cuda.jit(device=True)
def _turn(ring, length, starts, table, slot):
    """Go once round the ring of a slot, moving the records that count to its head; one block."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    base = table[_SEGMENT, slot] * length
    head, used = table[_HEAD, slot], table[_USED, slot]
    source, left = wrapped(head - used + length, length), used
    cuda.syncthreads()
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
    if lane == 0:
        table[_HEAD, slot], table[_USED, slot] = head, used
    cuda.syncthreads()


@cuda.jit(cache=True, **register_limit(REGISTERS))
def advance(
    rows, indices, accept, thresholds, lt_kind, lt_constant, lt_prefix,
    dead, living, eta, living_in, raw, seed, tag, root_tag, first, segments, slots, begin, have, end,
    order, listed, group, flags, starts, sizes, roots, cursors, ring, state, visited, control,
):  # fmt: skip
    """Make the sets begin … end - 1 sets of the current round; those from ``have`` on are new. Any grid.

    Slot s of block b owns a segment, the one at (group * grid + b) * slots + s of those listed, and its sets, r ≡
    segment modulo ``segments``, one after the other. The threads of a block share the slots' draws for roots and
    copies, each slot a part of them, then the queues of all slots: a thread takes a vertex, reads its row (16 bytes)
    and thresholds and writes live edges to shared memory; then it takes a live edge, reads its tail (a 32-byte sector)
    and sets a bit in the slot's bitmap with one atomic. Members are written once (4 bytes), and read once to clear the
    bitmap. Sets flagged ``SAME`` are not touched.

    Parameters
    ----------
    rows … lt_prefix, dead, living, eta, living_in, raw, seed, tag, root_tag
        As in :func:`gpukit.merit.cpu.advance`.
    first, segments : int
        Set r has the id ``first + r`` and lies in segment r mod ``segments``.
    slots : int
        Sets a block advances at once: a power of two, at most ``SLOTS``.
    order : int32 array
        Segments to take; empty: consecutive ones from that of set ``begin`` on.
    listed : int
        How many segments to take.
    group : int
        Which part of them this launch takes.
    flags : uint8 array
        What happened to the sets below ``have`` (:func:`discover`).
    starts, sizes, roots : int32 arrays
        First entry in its ring, members and roots of each set. Roots are the first members.
    cursors : int64 array
        Words of its root sequence that each set has used.
    ring : int32 array, shape (segments * length,)
    state : int64 array, shape (segments, 4)
        See ``HEAD``, ``USED``, ``LIVE``.
    visited : uint32 array, shape (>= blocks * slots, ceil(n / 32))
        Bitmaps; the bits of dead vertices are set, no others, at the start and at the end.
    control : int64 array, shape (CONTROL,)
        ``PROBES`` and ``MEMBERS`` are increased. ``OVERFLOW`` is set if a ring was too short: then no set is of use,
        and nothing is done where it is set before.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    table = cuda.shared.array((_FIELDS, SLOTS), int64)
    shared = cuda.shared.array(4, int64)
    stage_edge = cuda.shared.array(STAGE, uint32)
    stage_slot = cuda.shared.array(STAGE, int32)
    live = cuda.local.array(64, uint32)
    n = int64(len(dead))
    length = int64(len(ring) // segments)
    limit = length // 4 - HEADER
    part = width // slots
    own, within = lane // part, lane % part
    row = int64(cuda.blockIdx.x) * slots + own
    if lane < slots:
        index = (int64(group) * cuda.gridDim.x + cuda.blockIdx.x) * slots + lane
        table[_SEGMENT, lane] = -1
        table[_PROBES, lane] = 0
        table[_GROWN, lane] = 0
        if index < listed:
            segment = int64(order[index]) if len(order) > 0 else (int64(begin) + index) % int64(segments)
            table[_SEGMENT, lane] = segment
            table[_HEAD, lane], table[_USED, lane] = state[segment, HEAD], state[segment, USED]
            table[_LIVE, lane] = state[segment, LIVE]
            table[_SET, lane] = int64(begin) + (segment - int64(begin)) % int64(segments)
    if lane == 0:
        shared[_STOP] = control[OVERFLOW]
    cuda.syncthreads()
    if shared[_STOP] != 0:
        return
    while True:
        if lane < slots:
            table[_CHANGE, lane] = SAME
            if table[_SEGMENT, lane] >= 0:
                r = table[_SET, lane]
                while r < have and r < end and flags[r] == SAME:
                    r += segments
                table[_SET, lane] = r
                if r < end:
                    change = POLLUTED if r >= have else int(flags[r])
                    table[_CHANGE, lane] = change
                    table[_WANTED, lane] = root_count(living, eta, seed, root_tag, int64(first) + r)
                    if r < have and change == POLLUTED:
                        table[_LIVE, lane] -= int64(sizes[r]) + HEADER
                        table[_GROWN, lane] -= int64(sizes[r])
                        starts[r] = -1
        cuda.syncthreads()
        busy, over = 0, 0
        for s in range(slots):
            if table[_CHANGE, s] != SAME:
                busy += 1
                if 2 * table[_USED, s] > length and 8 * table[_LIVE, s] <= 3 * length:
                    _turn(ring, length, starts, table, s)
                if 2 * table[_USED, s] > length or table[_WANTED, s] > limit:
                    over += 1
        if over > 0 and lane == 0:
            control[OVERFLOW] = 1
        if busy == 0 or over > 0:
            break
        if lane < slots and table[_CHANGE, lane] != SAME:
            known, size, cursor, old = int64(0), int64(0), int64(0), int64(0)
            if table[_CHANGE, lane] == GROWN:
                r = table[_SET, lane]
                known, size, cursor, old = int64(roots[r]), int64(sizes[r]), cursors[r], int64(starts[r])
            table[_KNOWN, lane], table[_SIZE, lane], table[_CURSOR, lane], table[_OLD, lane] = known, size, cursor, old
            table[_DATA, lane] = wrapped(table[_HEAD, lane] + HEADER, length)
            table[_TAIL, lane] = known
        cuda.syncthreads()
        base, data, old = table[_SEGMENT, own] * length, table[_DATA, own], table[_OLD, own]
        change, sample, wanted = table[_CHANGE, own], int64(first) + table[_SET, own], table[_WANTED, own]
        if change == GROWN:
            for i in range(within, table[_KNOWN, own], part):
                v = ring[base + wrapped(old + i, length)]
                ring[base + wrapped(data + i, length)] = v
                _mark(visited, row, v)
        while True:
            cuda.syncthreads()
            missing, found, cursor = int64(0), table[_TAIL, own], table[_CURSOR, own]
            for s in range(slots):
                if table[_CHANGE, s] != SAME:
                    missing += table[_WANTED, s] - table[_TAIL, s]
            cuda.syncthreads()
            if missing == 0:
                break
            # As many draws as roots are missing: each gives one at most, so none is drawn beyond the last.
            chunk = min(int64(part), wanted - found) if change != SAME else int64(0)
            if within < chunk:
                word = cursor + within
                product = uint64(word_of(draw4(seed, root_tag, sample, SEQUENCE, word >> 2), word & 3)) * uint64(n)
                v = int64(product >> uint64(32))
                if not biased(product, n):
                    _append(v, visited, row, ring, length, limit, table, own)
            if within == 0:
                table[_CURSOR, own] = cursor + chunk
        if change == GROWN:
            for i in range(table[_KNOWN, own] + within, table[_SIZE, own], part):
                # A member that was drawn as a root stands among the roots already.
                _append(ring[base + wrapped(old + i, length)], visited, row, ring, length, limit, table, own)
        cuda.syncthreads()
        if lane < slots and table[_CHANGE, lane] != SAME:
            table[_ONE, lane], table[_TWO, lane] = table[_KNOWN, lane], table[_TAIL, lane]
            table[_PROBES, lane] += table[_WANTED, lane] - table[_KNOWN, lane] - table[_TAIL, lane]
        cuda.syncthreads()
        while True:
            if lane == 0:
                total = int64(0)
                for s in range(slots):
                    table[_FIRST, s] = total
                    waiting = int64(0)
                    if table[_CHANGE, s] != SAME:
                        waiting = table[_WANTED, s] - table[_ONE, s] + table[_TAIL, s] - table[_TWO, s]
                        if table[_TAIL, s] > limit:
                            over += 1
                    table[_PENDING, s] = waiting
                    total += waiting
                shared[_TOTAL] = -1 if over > 0 else total
                shared[_KIDS] = 0
            cuda.syncthreads()
            take = min(int64(width), shared[_TOTAL])
            if take <= 0:
                break
            if lane < take:
                s = 0
                while s + 1 < slots and lane >= table[_FIRST, s + 1]:
                    s += 1
                place = lane - table[_FIRST, s]
                ahead = table[_WANTED, s] - table[_ONE, s]
                place = table[_ONE, s] + place if place < ahead else table[_TWO, s] + place - ahead
                v = int64(ring[table[_SEGMENT, s] * length + wrapped(table[_DATA, s] + place, length)])
                sample = int64(first) + table[_SET, s]
                line, draw = v, 0
                while True:
                    start, degree = rows[line, 0], rows[line, 1]
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
                            degree, rows[line, 2], start, draw, accept, thresholds,
                            seed, tag, sample, v, words, live,
                        )  # fmt: skip
                    if hits > 0:
                        place = cuda.atomic.add(shared, _KIDS, hits)
                        for j in range(hits):
                            edge = int64(start) + int64(live[j])
                            if place + j < STAGE:
                                stage_edge[place + j] = edge
                                stage_slot[place + j] = s
                            else:
                                _append(
                                    int64(indices[edge]), visited, int64(cuda.blockIdx.x) * slots + s,
                                    ring, length, limit, table, s,
                                )  # fmt: skip
                    line = int64(rows[line, 3])
                    if line == 0 or lt_kind >= 0:
                        break
                    draw += CALLS_PER_ROW
            cuda.syncthreads()
            for j in range(lane, min(shared[_KIDS], STAGE), width):
                s = int64(stage_slot[j])
                _append(
                    int64(indices[stage_edge[j]]), visited, int64(cuda.blockIdx.x) * slots + s,
                    ring, length, limit, table, s,
                )  # fmt: skip
            if lane < slots:
                taken = min(max(take - table[_FIRST, lane], 0), table[_PENDING, lane])
                ahead = min(taken, table[_WANTED, lane] - table[_ONE, lane]) if taken > 0 else int64(0)
                table[_ONE, lane] += ahead
                table[_TWO, lane] += taken - ahead
            cuda.syncthreads()
        if shared[_TOTAL] < 0:
            for s in range(slots):
                _start_again(visited, int64(cuda.blockIdx.x) * slots + s, dead)
            if lane == 0:
                control[OVERFLOW] = 1
            break
        if change != SAME:
            for i in range(within, table[_TAIL, own], part):
                v = int64(ring[base + wrapped(data + i, length)])
                bit = uint32(uint32(1) << uint32(v & 31))
                cuda.atomic.and_(visited, (row, v >> 5), uint32(uint32(0xFFFFFFFF) ^ bit))
        cuda.syncthreads()
        if lane < slots and table[_CHANGE, lane] != SAME:
            r, tail, head = table[_SET, lane], table[_TAIL, lane], table[_HEAD, lane]
            place = table[_SEGMENT, lane] * length
            ring[place + head] = r
            ring[place + wrapped(head + 1, length)] = tail
            starts[r], sizes[r], roots[r] = table[_DATA, lane], tail, table[_WANTED, lane]
            cursors[r] = table[_CURSOR, lane]
            table[_HEAD, lane] = wrapped(head + tail + HEADER, length)
            table[_USED, lane] += tail + HEADER
            table[_LIVE, lane] += tail + HEADER
            table[_GROWN, lane] += tail
            table[_PROBES, lane] += tail
            if table[_CHANGE, lane] == GROWN:
                table[_LIVE, lane] -= table[_SIZE, lane] + HEADER
                table[_GROWN, lane] -= table[_SIZE, lane]
            table[_SET, lane] = r + segments
        cuda.syncthreads()
    if lane < slots and table[_SEGMENT, lane] >= 0:
        segment = table[_SEGMENT, lane]
        state[segment, HEAD], state[segment, USED] = table[_HEAD, lane], table[_USED, lane]
        state[segment, LIVE] = table[_LIVE, lane]
        cuda.atomic.add(control, PROBES, table[_PROBES, lane])
        cuda.atomic.add(control, MEMBERS, table[_GROWN, lane])


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
    dead, living, eta, seed, root_tag, first, segments, low, high, starts, sizes, roots, ring, flags, load, changed,
    control,
):  # fmt: skip
    """Flag what the round did to the sets low … high - 1, and list the segments with sets that changed; any grid.

    A warp owns a set and reads its members (4 bytes) and whether they are dead (1 byte). ``load`` (zero at the start)
    receives the changed sets of each segment, ``changed`` the segments in any order, and ``control[CHANGED]`` (zero at
    the start) their number.
    """
    found = cuda.shared.array(BATCH, int32)
    for place in range(low + cuda.blockIdx.x * BATCH, high, cuda.gridDim.x * BATCH):
        scan_batch(starts, sizes, ring, segments, place, high, dead, 1, found)
        for q in range(cuda.threadIdx.x, min(int64(BATCH), int64(high) - place), cuda.blockDim.x):
            r = place + q
            flag = SAME
            if found[q] != 0:
                flag = POLLUTED
            elif root_count(living, eta, seed, root_tag, first + r) != roots[r]:
                flag = GROWN
            flags[r] = flag
            if flag != SAME and cuda.atomic.add(load, r % segments, 1) == 0:
                changed[cuda.atomic.add(control, CHANGED, 1)] = r % segments
        cuda.syncthreads()


@cuda.jit(cache=True)
def bury(vertices, count, dead, visited):
    """Mark the first vertices as dead, in every bitmap too; any grid. A thread owns a pair of vertex and bitmap."""
    for i in range(cuda.grid(1), count * visited.shape[0], cuda.gridsize(1)):
        v = int64(vertices[i // visited.shape[0]])
        dead[v] = 1
        cuda.atomic.or_(visited, (i % visited.shape[0], v >> 5), uint32(uint32(1) << uint32(v & 31)))


_u8, _u32, _u64, _i32, _i64 = (t[::1] for t in (numba.uint8, numba.uint32, numba.uint64, numba.int32, numba.int64))
_int, _seed, _bool = numba.int64, numba.uint64, numba.boolean

KERNELS = {
    "advance": (
        advance,
        (numba.uint32[:, ::1], _i32, _u32, _u64, _int, _seed, _u32)
        + (_u8, _int, _int, _i32, _bool, _seed, *(_int,) * 8)
        + (_i32, _int, _int, _u8, _i32, _i32, _i32, _i64, _i32, numba.int64[:, ::1], numba.uint32[:, ::1], _i64),
    ),
    "discover": (
        discover,
        (_u8, _int, _int, _seed, *(_int,) * 5, _i32, _i32, _i32, _i32, _u8, _i32, _i32, _i64),
    ),
    "bury": (bury, (_i32, _int, _u8, numba.uint32[:, ::1])),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
