"""mRR sets on a GPU: generation and update in segments; the sets of ``update_cpu.py``, to the bit.

A segment is a ring in global memory that one block at a time writes to. A set is a record (its number, its size, its
members), and its members are the queue of its own search. A set that changes is written again at the head; clean sets
stay where they are. When more than half of a ring is taken, the block goes once round, moving the records that still
count to the head. A record may take a quarter of a ring, so that a quarter is free then, and copies never meet what
they come from. Where three eighths of a ring still count, or a record is larger, ``OVERFLOW`` is set and the host makes
larger rings.

A search that starts afresh, or from many further roots, marks what it met in a bitmap. One that adds a little to a set
does without: what it may have met is looked for in the set itself (``grow_cuda.py``; Numba's cache notices changes of
this file alone: touch it after one of that, of ``rule.py`` or of ``clocks.py``).
"""

import numba
from numba import cuda, int32, int64, uint32

from gpukit.device.philox import draw4
from gpukit.device.select import for_kernels, register_limit, simulated
from gpukit.merit import rule
from gpukit.merit.clocks import first_clock
from gpukit.merit.grow_cuda import (
    COUNTERS,
    DOUBTS,
    FRESH,
    KIDS,
    PROMOTED,
    STOP,
    TAIL,
    add_new,
    add_roots,
    copy_members,
    drop_promoted,
    root_of,
    settle,
    write,
)
from gpukit.merit.rule import root_count
from gpukit.merit.table_cuda import (
    AHEAD,
    MARKS,
    STAGE,
    TABLE,
    ask,
    at,
    count_members,
    move,
    open_table,
    straight,
    wrapped,
)
from gpukit.worlds.rule import CALLS_PER_ROW
from gpukit.worlds.rule import live_edges as _live_edges
from gpukit.worlds.rule import lt_choice as _lt_choice

BLOCK, REGISTERS = 32, 80
"""Threads of a block when there are as many blocks as the GPU holds, and the registers each may take."""

HEADER = 2
"""Entries of a record before its members: the number of the set, and its size."""

HEAD, USED, LIVE = 0, 1, 2
"""Places in the state of a segment: where to write, entries from the oldest record on, entries that count."""

OVERFLOW, PROBES, MEMBERS, CHANGED, CONTROL = 0, 1, 2, 3, 4
"""Places in ``control``: a flag, vertices whose in-edges were drawn, members of all sets, segments with sets that the
round changed; its length."""

SAME, GROWN, POLLUTED = 0, 1, 2
"""What the round did to a set: nothing, further roots, a dead member."""

AT_ONCE = STAGE // 2
"""Members that a step of a search takes at most: they seldom have more live edges than there is room for."""

MOST_NEW = 4 * STAGE
"""New roots of a set at most for adding to it without a bitmap."""

live_edges = for_kernels(_live_edges)
living_choice = rule.living_choice
if simulated():
    living_choice = rule.make_living_choice(_lt_choice.py_func, first_clock.py_func)


@cuda.jit(device=True)
def _append(v, visited, row, ring, base, data, length, limit, counters):
    """Append a vertex to the set, unless its bit is set, as that of a member or a dead vertex is; then set it."""
    bit = uint32(uint32(1) << uint32(v & 31))
    if cuda.atomic.or_(visited, (row, v >> 5), bit) & bit == 0:
        write(v, ring, base, data, length, limit, counters)


@cuda.jit(device=True)
def _meet_again(visited, row, ring, base, old, low, high, data, length, limit, counted, counts, counters):
    """Append the members low … high - 1 of a set to its new record, but those that are there; one block.

    These became roots: with ``counted`` they are taken out of the counts, because roots will be counted.
    """
    got, had = cuda.local.array(AHEAD, int32), cuda.local.array(AHEAD, uint32)
    width = uint32(cuda.blockDim.x)
    while low < high:
        entries, piece = straight(ring, base, old, low, high, length)
        last, i = uint32(piece - 1), uint32(cuda.threadIdx.x)
        while i <= last:
            if ask(entries, i, width, last, got):
                for j in range(AHEAD):
                    had[j] = uint32(uint32(1) << uint32(got[j] & 31))
                    if i + j * width <= last:
                        had[j] &= cuda.atomic.or_(visited, (row, got[j] >> 5), had[j])
                for j in range(AHEAD):
                    if had[j] == 0:
                        write(got[j], ring, base, data, length, limit, counters)
                    elif counted and i + j * width <= last:
                        cuda.atomic.add(counts, got[j], int32(-1))
            i = uint32(i + AHEAD * width)
        low += piece


@cuda.jit(device=True)
def _forget(visited, row, ring, base, data, tail, length):
    """Clear the bits of all members; one block."""
    got = cuda.local.array(AHEAD, int32)
    width, low = uint32(cuda.blockDim.x), int64(0)
    while low < tail:
        entries, piece = straight(ring, base, data, low, tail, length)
        last, i = uint32(piece - 1), uint32(cuda.threadIdx.x)
        while i <= last:
            if ask(entries, i, width, last, got):
                for j in range(AHEAD):
                    bit = uint32(uint32(1) << uint32(got[j] & 31))
                    cuda.atomic.and_(visited, (row, got[j] >> 5), uint32(uint32(0xFFFFFFFF) ^ bit))
            i = uint32(i + AHEAD * width)
        low += piece


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
def _turn(ring, base, length, starts, head, used, marks):
    """Go once round a ring, moving the records that count to its head; return head and entries used; one block."""
    source, left = wrapped(head - used + length, length), used
    while left > 0:
        cuda.syncthreads()
        number = ring[base + source]
        record = int64(ring[at(base, source + 1, length)]) + HEADER
        if starts[number] == wrapped(source + HEADER, length):
            move(ring, base, source, head, record, length, record, int64(0), marks, False)
            cuda.syncthreads()
            if cuda.threadIdx.x == 0:
                starts[number] = wrapped(head + HEADER, length)
            head = wrapped(head + record, length)
        else:
            used -= record
        source = wrapped(source + record, length)
        left -= record
    cuda.syncthreads()
    return head, used


@cuda.jit(cache=True, **register_limit(REGISTERS))
def advance(
    rows, indices, accept, thresholds, lt_kind, lt_constant, lt_prefix,
    dead, living, eta, living_in, raw, seed, tag, root_tag, first, segments, begin, have, end,
    order, listed, group, flags, starts, sizes, roots, cursors, ring, state, visited, counts, counted, control,
):  # fmt: skip
    """Make the sets begin … end - 1 sets of the current round; those from ``have`` on are new. Any grid.

    Block b owns a segment, the one at group * grid + b of those listed, and its sets, r ≡ segment modulo ``segments``,
    one after the other. A step of a search takes up to ``AT_ONCE`` waiting members: a thread reads the row of its
    member (16 bytes) and thresholds, and writes live edges to shared memory; then it takes a live edge and reads
    its tail (a 32-byte sector). Of a new or polluted set, it sets a bit in the block's bitmap with one atomic; members
    are written once (4 bytes), and read once to clear the bitmap. Of a set that gains roots, members are copied, and
    read again once or twice, when the search has found all that is surely new (4 bytes each, side by side). Sets
    flagged ``SAME`` are not touched.

    Parameters
    ----------
    rows … lt_prefix, dead, living, eta, living_in, raw, seed, tag, root_tag
        As in :func:`gpukit.merit.update_cpu.advance`.
    first, segments : int
        Set r has the id ``first + r`` and lies in segment r mod ``segments``.
    order : int32 array
        Segments to take, ``control[CHANGED]`` of them; empty: consecutive ones from that of set ``begin`` on.
    listed : int
        How many consecutive segments to take.
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
    visited : uint32 array, shape (>= blocks, ceil(n / 32))
        Bitmaps; the bits of dead vertices are set, no others, at the start and at the end.
    counts : int32 array, shape (n,)
        Occurrences of each vertex in the sets below ``counted``; they follow what happens to these.
    counted : int
    control : int64 array, shape (CONTROL,)
        ``PROBES`` and ``MEMBERS`` are increased. ``OVERFLOW`` is set if a ring was too short: then no set is of use,
        and nothing is done where it is set before.
    """
    lane, width = int64(cuda.threadIdx.x), int64(cuda.blockDim.x)
    counters = cuda.shared.array(COUNTERS, int32)
    stage = cuda.shared.array(STAGE, uint32)
    keys = cuda.shared.array(TABLE, int32)
    met = cuda.shared.array(TABLE, numba.int8)
    marks = cuda.shared.array(MARKS, uint32)
    live = cuda.local.array(64, uint32)
    n = int64(len(dead))
    length = int64(len(ring) // segments)
    limit = length // 4 - HEADER
    row = int64(cuda.blockIdx.x)
    index = int64(group) * cuda.gridDim.x + row
    if lane == 0:
        there = control[CHANGED] if len(order) > 0 else int64(listed)
        counters[STOP] = 1 if control[OVERFLOW] != 0 or index >= there else 0
    open_table(keys)
    cuda.syncthreads()
    if counters[STOP] != 0:
        return
    segment = int64(order[index]) if len(order) > 0 else (int64(begin) + index) % int64(segments)
    base = segment * length
    head, used, kept = state[segment, HEAD], state[segment, USED], state[segment, LIVE]
    probes, grown = int64(0), int64(0)
    r = int64(begin) + (segment - int64(begin)) % int64(segments)
    over = False
    while not over:
        while r < have and r < end and flags[r] == SAME:
            r += segments
        if r >= end:
            break
        change = POLLUTED if r >= have else int(flags[r])
        sample = int64(first) + r
        wanted = root_count(living, eta, seed, root_tag, sample)
        if r < have and change == POLLUTED:
            kept -= int64(sizes[r]) + HEADER
            grown -= int64(sizes[r])
            if r < counted:
                count_members(ring, base, int64(starts[r]), int64(0), int64(sizes[r]), length, -1, counts)
            cuda.syncthreads()
            if lane == 0:
                starts[r] = -1
        if 2 * used > length and 8 * kept <= 3 * length:
            cuda.syncthreads()
            head, used = _turn(ring, base, length, starts, head, used, marks)
        adding = change == GROWN and wanted - roots[r] <= MOST_NEW
        known, size, cursor, old = int64(0), int64(0), int64(0), int64(0)
        if change == GROWN:
            known, size, cursor, old = int64(roots[r]), int64(sizes[r]), cursors[r], int64(starts[r])
        if 2 * used > length or wanted + size - known > limit:
            over = True
            break
        data = wrapped(head + HEADER, length)
        one, one_end, two, promoted = known, wanted, wanted, int64(0)
        if lane < COUNTERS - KIDS:
            counters[KIDS + lane] = 0
        if adding:
            copy_members(known, size, wanted, old, ring, base, data, length, marks)
            cursor = add_roots(
                known, size, wanted, cursor, old, n, dead, seed, root_tag, sample,
                ring, base, data, length, stage, keys, met, marks, counters,
            )  # fmt: skip
            one_end, two = known + int64(counters[FRESH]), size + int64(counters[FRESH])
            promoted = int64(counters[PROMOTED])
            if promoted > STAGE:
                # More than the table takes.
                adding, cursor, one_end, two = False, cursors[r], wanted, wanted
        if adding:
            drop_promoted(known, size, wanted, promoted, old, ring, base, data, length, limit, keys, met, counters)
        else:
            cuda.syncthreads()
            if lane == 0:
                counters[TAIL] = 0
            cuda.syncthreads()
            _meet_again(visited, row, ring, base, old, int64(0), known, data, length, limit, False, counts, counters)
            while True:
                cuda.syncthreads()
                missing = wanted - int64(counters[TAIL])
                cuda.syncthreads()
                if missing == 0:
                    break
                # As many draws as roots are missing: each gives one at most, so none is drawn beyond the last.
                chunk = min(width, missing)
                if lane < chunk:
                    v = root_of(cursor + lane, n, seed, root_tag, sample)
                    if v >= 0:
                        _append(v, visited, row, ring, base, data, length, limit, counters)
                cursor += chunk
            _meet_again(visited, row, ring, base, old, known, size, data, length, limit, r < counted, counts, counters)
            cuda.syncthreads()
            two = int64(counters[TAIL])
        begun, had = one_end - known - two, two
        step, most, skipped, tail = 0, int64(AT_ONCE), int64(0), int64(0)
        while True:
            cuda.syncthreads()
            tail = int64(counters[TAIL])
            ahead = one_end - one
            take = min(most, ahead + tail - two)
            doubts = int64(counters[DOUBTS])
            if tail > limit or (take == 0 and doubts == 0):
                break
            if take == 0 or 2 * doubts > STAGE:
                settle(tail, ring, base, data, length, limit, keys, met, counters)
                continue
            i = lane
            while i < take:
                place = one + i if i < ahead else two + i - ahead
                v = int64(ring[at(base, data + place, length)])
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
                        place = int64(cuda.atomic.add(counters, KIDS + step, int32(hits))) - skipped
                        for j in range(hits):
                            if 0 <= place + j < STAGE:
                                stage[place + j] = int64(start) + int64(live[j])
                    line = int64(rows[line, 3])
                    if line == 0 or lt_kind >= 0:
                        break
                    draw += CALLS_PER_ROW
                i += width
            cuda.syncthreads()
            kids = int64(counters[KIDS + step]) - skipped
            if lane == 0:
                counters[KIDS + 1 - step] = 0
            if kids > STAGE and take > 1:
                # Nothing happened yet: the same draws again, for fewer members.
                most, kids, take = take >> 1, int64(0), int64(0)
            elif kids > STAGE:
                # The live edges of one member, as many as fit at a time: alone, it finds them in the same order again.
                most, skipped, kids, take = int64(1), skipped + STAGE, int64(STAGE), int64(0)
            else:
                most, skipped = min(2 * most, int64(AT_ONCE)), int64(0)
            if adding:
                add_new(kids, stage, indices, dead, ring, base, data, length, limit, keys, met, marks, counters)
            else:
                j = lane
                while j < kids:
                    v = int64(indices[stage[j]])
                    _append(v, visited, row, ring, base, data, length, limit, counters)
                    j += width
            first_part = min(take, ahead)
            one += first_part
            two += take - first_part
            step = 1 - step
        if tail > limit:
            if not adding:
                _start_again(visited, row, dead)
            over = True
            break
        if not adding:
            _forget(visited, row, ring, base, data, tail, length)
        if r < counted:
            # Of a set that was added to, the roots that it did not have and the members after those copied.
            count_members(ring, base, data, known, one_end, length, 1, counts)
            count_members(ring, base, data, had, tail, length, 1, counts)
        if lane == 0:
            ring[base + head] = r
            ring[at(base, head + 1, length)] = tail
            starts[r], sizes[r], roots[r], cursors[r] = data, tail, wanted, cursor
        head = wrapped(head + tail + HEADER, length)
        used += tail + HEADER
        kept += tail + HEADER
        grown += tail
        probes += begun + tail
        if change == GROWN:
            kept -= size + HEADER
            grown -= size
        r += segments
        cuda.syncthreads()
    if lane == 0:
        if over:
            control[OVERFLOW] = 1
        state[segment, HEAD], state[segment, USED], state[segment, LIVE] = head, used, kept
        cuda.atomic.add(control, PROBES, probes)
        cuda.atomic.add(control, MEMBERS, grown)


_u8, _u32, _u64, _i32, _i64 = (t[::1] for t in (numba.uint8, numba.uint32, numba.uint64, numba.int32, numba.int64))
_int, _seed, _bool = numba.int64, numba.uint64, numba.boolean

KERNELS = {
    "advance": (
        advance,
        (numba.uint32[:, ::1], _i32, _u32, _u64, _int, _seed, _u32)
        + (_u8, _int, _int, _i32, _bool, _seed, *(_int,) * 7)
        + (_i32, _int, _int, _u8, _i32, _i32, _i32, _i64, _i32, numba.int64[:, ::1], numba.uint32[:, ::1])
        + (_i32, _int, _i64),
    ),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
