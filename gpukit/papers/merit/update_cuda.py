"""mRR sets on a GPU in segments: generation and update; the sets of :mod:`gpukit.merit.update_cpu`, to the bit.

A segment is a ring in global memory that one block at a time writes to. A set is a record (its number, its size, its
members), and its members are the queue of its own search. A set that changes is written again at the head; clean sets
stay where they are. When more than half of a ring is taken, the block goes once round, moving the records that still
count to the head. A record may take a quarter of a ring, so that a quarter is free then, and copies never overlap what
they come from. Where three eighths of a ring still count, or a record is larger, ``OVERFLOW`` is set and the host makes
larger rings.

A search that starts afresh, or from many further roots, marks what it met in a bitmap. One that adds a little to a set
does without: what it may have met is looked for in the set itself (``grow_cuda.py``).
"""

from collections import namedtuple

import numba
from numba import int32, int64, uint32

from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.merit import rule
from gpukit.merit.hashed_cuda import AHEAD, EDGES, KEY, REMAINING
from gpukit.merit.search_cuda import draw_row, root_of
from gpukit.papers.merit import grow_cuda as grow
from gpukit.papers.merit import table_cuda as table
from gpukit.papers.merit.grow_cuda import COUNTERS, DOUBTS, FRESH, KIDS, PROMOTED, STOP, TAIL
from gpukit.papers.merit.table_cuda import MARKS, STAGE, TABLE, at, contiguous_run, count_members, load_ahead, wrapped
from gpukit.worlds.rule import CALLS_PER_ROW

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

MAX_ADDED = 4 * STAGE
"""New roots of a set at most for adding to it without a bitmap."""


class SegmentGroup(namedtuple("SegmentGroup", "order listed group")):
    """Which segments a launch takes.

    Attributes
    ----------
    order : int32 array
        Segments to take, ``control[CHANGED]`` of them; empty: consecutive ones from that of set ``begin`` on.
    listed : int
        How many consecutive segments to take.
    group : int
        Which part of them this launch takes.
    """


class Rings(namedtuple("Rings", "entries state")):
    """The segments.

    Attributes
    ----------
    entries : int32 array, shape (segments * length,)
    state : int64 array, shape (segments, 4)
        See ``HEAD``, ``USED``, ``LIVE``.
    """


class Bitmap(namedtuple("Bitmap", "words row")):
    """The bitmap of a block: a row of ``words``; those of dead vertices and of what a search met are set."""


@device
def _append(v, bitmap, record, block):
    """Append a vertex to the set, unless its bit is set, as that of a member or a dead vertex is; then set it."""
    bit = uint32(uint32(1) << uint32(v & 31))
    if cuda.atomic.or_(bitmap.words, (bitmap.row, v >> 5), bit) & bit == 0:
        grow.write(v, record, block)


@device
def _append_old(start, low, high, bitmap, record, block, counted, counts):
    """Append the members low … high - 1 of a set to its new record, but those that are there; one block.

    These became roots: with ``counted`` they are taken out of the counts, because roots will be counted.
    """
    got, had = cuda.local.array(AHEAD, int32), cuda.local.array(AHEAD, uint32)
    block_size = uint32(cuda.blockDim.x)
    while low < high:
        entries, piece = contiguous_run(record.ring, start, low, high)
        last, i = uint32(piece - 1), uint32(cuda.threadIdx.x)
        while i <= last:
            if load_ahead(entries, i, block_size, last, got):
                for j in range(AHEAD):
                    had[j] = uint32(uint32(1) << uint32(got[j] & 31))
                    if i + j * block_size <= last:
                        had[j] &= cuda.atomic.or_(bitmap.words, (bitmap.row, got[j] >> 5), had[j])
                for j in range(AHEAD):
                    if had[j] == 0:
                        grow.write(got[j], record, block)
                    elif counted and i + j * block_size <= last:
                        cuda.atomic.add(counts, got[j], int32(-1))
            i = uint32(i + AHEAD * block_size)
        low += piece


@device
def _clear_bits(tail, bitmap, record):
    """Clear the bits of all members; one block."""
    got = cuda.local.array(AHEAD, int32)
    block_size, low = uint32(cuda.blockDim.x), int64(0)
    while low < tail:
        entries, piece = contiguous_run(record.ring, record.start, low, tail)
        last, i = uint32(piece - 1), uint32(cuda.threadIdx.x)
        while i <= last:
            if load_ahead(entries, i, block_size, last, got):
                for j in range(AHEAD):
                    bit = uint32(uint32(1) << uint32(got[j] & 31))
                    cuda.atomic.and_(bitmap.words, (bitmap.row, got[j] >> 5), uint32(uint32(0xFFFFFFFF) ^ bit))
            i = uint32(i + AHEAD * block_size)
        low += piece


@device
def _reset_bitmap(bitmap, dead):
    """Set a bitmap to the dead vertices; one block; for after a search that found no room."""
    for word in range(cuda.threadIdx.x, bitmap.words.shape[1], cuda.blockDim.x):
        bits = uint32(0)
        for v in range(32 * word, min(32 * word + 32, len(dead))):
            if dead[v] != 0:
                bits |= uint32(uint32(1) << uint32(v & 31))
        bitmap.words[bitmap.row, word] = bits


@device
def _drop_set(r, sets, ring, counted, counts):
    """Take the members of a polluted set out of the counts, and let its record count no more; one block."""
    if counted:
        count_members(ring, int64(sets.starts[r]), int64(0), int64(sets.sizes[r]), -1, counts)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        sets.starts[r] = -1


@device
def _compact(ring, starts, head, used, block):
    """Go once round a ring, moving the records that count to its head; return head and entries used; one block."""
    source, left = wrapped(head - used + ring.length, ring.length), used
    while left > 0:
        cuda.syncthreads()
        number = ring.entries[ring.base + source]
        size = int64(ring.entries[at(ring, source + 1)]) + HEADER
        if starts[number] == wrapped(source + HEADER, ring.length):
            table.move(ring, source, head, size, size, int64(0), block.marks, False)
            cuda.syncthreads()
            if cuda.threadIdx.x == 0:
                starts[number] = wrapped(head + HEADER, ring.length)
            head = wrapped(head + size, ring.length)
        else:
            used -= size
        source = wrapped(source + size, ring.length)
        left -= size
    cuda.syncthreads()
    return head, used


@device
def _begin_record(task, cursor, dead, key, bitmap, record, block, counted, counts):
    """Write all roots of a set, and behind them the members that it keeps; one block; return the words used.

    Algorithm 5, lines 21 to 25, and algorithm 2, lines 6 to 9: afterwards ``counters[TAIL]`` members stand in the
    record, roots first, and their bits are set. Roots that live stay, since further ones continue the same sequence.
    """
    tid, block_size = block.tid, block.size
    cuda.syncthreads()
    if tid == 0:
        block.counters[TAIL] = 0
    cuda.syncthreads()
    _append_old(task.start, int64(0), task.roots, bitmap, record, block, False, counts)
    while True:
        cuda.syncthreads()
        missing = task.wanted - int64(block.counters[TAIL])
        cuda.syncthreads()
        if missing == 0:
            break
        # As many draws as roots are missing: each gives one at most, so none is drawn beyond the last.
        chunk = min(block_size, missing)
        if tid < chunk:
            v = root_of(cursor + tid, int64(len(dead)), key, task.sample)
            if v >= 0:
                _append(v, bitmap, record, block)
        cursor += chunk
    _append_old(task.start, task.roots, task.size, bitmap, record, block, counted, counts)
    cuda.syncthreads()
    return cursor


@device
def _write_roots(adding, task, cursor, r, sets, dead, key, bitmap, record, block, counted, counts):
    """Write what a set keeps and the roots that it lacks (algorithm 5, lines 9 to 25); one block.

    Returns
    -------
    adding : bool
        Whether the set is known by marks and the table, not by the bitmap.
    cursor : int
        Words of its root sequence used.
    first_end, rest : int
        The members from ``task.roots`` to ``first_end`` and those from ``rest`` on are new, and not yet searched from.
    """
    first_end, rest, promoted = task.wanted, task.wanted, int64(0)
    if block.tid < COUNTERS - KIDS:
        block.counters[KIDS + block.tid] = 0
    if adding:
        # Lines 9 to 18: a clean set that lacks few roots is copied, and those are added.
        grow.copy_members(task, record, block)
        cursor = grow.add_roots(task, cursor, dead, key, record, block)
        first_end, rest = task.roots + int64(block.counters[FRESH]), task.size + int64(block.counters[FRESH])
        promoted = int64(block.counters[PROMOTED])
        if promoted > table.STAGE:
            # More than the table takes.
            adding, cursor, first_end, rest = False, sets.cursors[r], task.wanted, task.wanted
    if adding:
        grow.drop_promoted(task, promoted, record, block)
    else:
        # Lines 21 to 25: all roots of a new or polluted set, or of one that lacks many.
        cursor = _begin_record(task, cursor, dead, key, bitmap, record, block, counted, counts)
        rest = int64(block.counters[TAIL])
    return adding, cursor, first_end, rest


@device
def _stage_live_edges(v, step, skipped, edges, remaining, key, sample, block, live):
    """Draw the live in-edges of a member, and note those from number ``skipped`` of the step on, if there is room."""
    row, draw = v, 0
    while True:
        start = edges.rows[row, 0]
        hits = draw_row(v, row, draw, edges, remaining, key, sample, live)
        if hits > 0:
            place = int64(cuda.atomic.add(block.counters, KIDS + step, int32(hits))) - skipped
            for j in range(hits):
                if 0 <= place + j < table.STAGE:
                    block.stage[place + j] = int64(start) + int64(live[j])
        row = int64(edges.rows[row, 3])
        if row == 0 or edges.lt_kind >= 0:
            break
        draw += CALLS_PER_ROW


@device
def _probe(first, first_end, rest, adding, edges, remaining, key, sample, bitmap, record, block, live):
    """Append all vertices that reach members and are not in the set (procedure Probe); one block; return the members.

    The members first … first_end - 1 and those from ``rest`` on wait to be searched from. With ``adding`` the set is
    known by marks and the table, else by the bitmap. More than ``record.limit`` members are not all written.
    """
    tid, block_size, counters = block.tid, block.size, block.counters
    step, at_once, skipped, tail = 0, int64(AT_ONCE), int64(0), int64(0)
    while True:
        cuda.syncthreads()
        tail = int64(counters[TAIL])
        ahead = first_end - first
        take = min(at_once, ahead + tail - rest)
        doubts = int64(counters[DOUBTS])
        if tail > record.limit or (take == 0 and doubts == 0):
            break
        if take == 0 or 2 * doubts > table.STAGE:
            grow.append_unmatched(tail, record, block)
            continue
        i = tid
        while i < take:
            place = first + i if i < ahead else rest + i - ahead
            v = int64(record.ring.entries[at(record.ring, record.start + place)])
            _stage_live_edges(v, step, skipped, edges, remaining, key, sample, block, live)
            i += block_size
        cuda.syncthreads()
        kids = int64(counters[KIDS + step]) - skipped
        if tid == 0:
            counters[KIDS + 1 - step] = 0
        if kids > table.STAGE and take > 1:
            # Nothing happened yet: the same draws again, for fewer members.
            at_once, kids, take = take >> 1, int64(0), int64(0)
        elif kids > table.STAGE:
            # The live edges of one member, as many as fit at a time: alone, it finds them in the same order again.
            at_once, skipped, kids, take = int64(1), skipped + table.STAGE, int64(table.STAGE), int64(0)
        else:
            at_once, skipped = min(2 * at_once, int64(AT_ONCE)), int64(0)
        if adding:
            grow.append_unmarked(kids, edges.indices, remaining.dead, record, block)
        else:
            j = tid
            while j < kids:
                _append(int64(edges.indices[block.stage[j]]), bitmap, record, block)
                j += block_size
        first_part = min(take, ahead)
        first += first_part
        rest += take - first_part
        step = 1 - step
    return tail


_u8, _i32, _i64, _int = "uint8[::1]", "int32[::1]", "int64[::1]", "int64"
_span = group(rule.Span, *5 * (_int,))
_taken, _sets = group(SegmentGroup, _i32, _int, _int), group(rule.Sets, _i32, _i32, _i32, _i64)
_rings = group(Rings, _i32, "int64[:, ::1]")


# whole: the life of one set as a state machine; its steps are functions
@kernel(
    (EDGES, REMAINING, KEY, _span, _taken, _u8, _sets, _rings, "uint32[:, ::1]", _i32, _int, _i64),
    max_registers=REGISTERS,
)
def update_sets(edges, remaining, key, span, taken, flags, sets, rings, visited, counts, counted, control):
    """Make the sets begin … end - 1 sets of the current round; those from ``have`` on are new. Any grid.

    Algorithms 2 and 5. Block b owns a segment, the one at group * grid + b of those listed, and its sets, one after the
    other. A step of a search takes up to ``AT_ONCE`` waiting members: a thread reads the row of its
    member (16 bytes) and thresholds, and writes live edges to shared memory; then it takes a live edge and reads
    its tail (a 32-byte sector). Of a new or polluted set, it sets a bit in the block's bitmap with one atomic; members
    are written once (4 bytes), and read once to clear the bitmap. Of a set that gains roots, members are copied, and
    read again once or twice, when the search has found all that is surely new (4 bytes each, side by side). Sets
    flagged ``SAME`` are not touched.

    Parameters
    ----------
    edges, remaining, key, span, sets
        See :mod:`gpukit.merit.rule`.
    taken : SegmentGroup
    flags : uint8 array
        What happened to the sets below ``have`` (:func:`gpukit.papers.merit.discover_cuda.discover`).
    rings : Rings
    visited : uint32 array, shape (>= blocks, ceil(n / 32))
        Bitmaps; the bits of dead vertices are set, no others, at the start and at the end.
    counts : int32 array, shape (n,)
        Occurrences of each vertex in the sets below ``counted``; they follow what happens to these.
    counted : int
    control : int64 array, shape (CONTROL,)
        ``PROBES`` and ``MEMBERS`` are increased. ``OVERFLOW`` is set if a ring was too short: then no set is of use,
        and nothing is done where it is set before.
    """
    tid, block_size = int64(cuda.threadIdx.x), int64(cuda.blockDim.x)
    counters = cuda.shared.array(COUNTERS, int32)
    stage = cuda.shared.array(STAGE, uint32)
    keys = cuda.shared.array(TABLE, int32)
    met = cuda.shared.array(TABLE, numba.int8)
    marks = cuda.shared.array(MARKS, uint32)
    block = table.BlockTable(tid, block_size, counters, stage, keys, met, marks)
    live = cuda.local.array(64, uint32)
    dead, segments, state = remaining.dead, int64(span.step), rings.state
    length = int64(len(rings.entries) // span.step)
    limit = length // 4 - HEADER
    bitmap = Bitmap(visited, int64(cuda.blockIdx.x))
    index = int64(taken.group) * cuda.gridDim.x + bitmap.row
    if tid == 0:
        there = control[CHANGED] if len(taken.order) > 0 else int64(taken.listed)
        counters[STOP] = 1 if control[OVERFLOW] != 0 or index >= there else 0
    table.clear_table(block)
    cuda.syncthreads()
    if counters[STOP] != 0:
        return
    segment = int64(taken.order[index]) if len(taken.order) > 0 else (int64(span.begin) + index) % segments
    ring = table.Ring(rings.entries, segment * length, length)
    head, used, kept = state[segment, HEAD], state[segment, USED], state[segment, LIVE]
    probes, grown = int64(0), int64(0)
    r = int64(span.begin) + (segment - int64(span.begin)) % segments
    over = False
    while not over:
        # The next set that is new, polluted, or lacks roots.
        while r < span.have and r < span.end and flags[r] == SAME:
            r += span.step
        if r >= span.end:
            break
        change = POLLUTED if r >= span.have else int(flags[r])
        sample = int64(span.first) + r
        wanted = rule.root_count(remaining.living, remaining.eta, key.seed, key.root_tag, sample)
        if r < span.have and change == POLLUTED:
            kept -= int64(sets.sizes[r]) + HEADER
            grown -= int64(sets.sizes[r])
            _drop_set(r, sets, ring, r < counted, counts)
        # Make room at the head of the ring.
        if 2 * used > length and 8 * kept <= 3 * length:
            cuda.syncthreads()
            head, used = _compact(ring, sets.starts, head, used, block)
        adding = change == GROWN and wanted - sets.roots[r] <= MAX_ADDED
        known, size, cursor, start = int64(0), int64(0), int64(0), int64(0)
        if change == GROWN:
            known, size = int64(sets.roots[r]), int64(sets.sizes[r])
            cursor, start = sets.cursors[r], int64(sets.starts[r])
        if 2 * used > length or wanted + size - known > limit:
            over = True
            break
        task = grow.Task(sample, wanted, known, size, start)
        record = table.Record(ring, wrapped(head + HEADER, length), limit)
        adding, cursor, first_end, rest = _write_roots(
            adding, task, cursor, r, sets, dead, key, bitmap, record, block, r < counted, counts
        )
        # Lines 17 and 26: what reaches the roots from outside.
        begun = first_end - known - rest
        tail = _probe(known, first_end, rest, adding, edges, remaining, key, sample, bitmap, record, block, live)
        if tail > limit:
            if not adding:
                _reset_bitmap(bitmap, dead)
            over = True
            break
        if not adding:
            _clear_bits(tail, bitmap, record)
        if r < counted:
            # Of a set that was added to, the roots that it did not have and the members after those copied.
            count_members(ring, record.start, known, first_end, 1, counts)
            count_members(ring, record.start, rest, tail, 1, counts)
        # The record is complete: note where it lies.
        if tid == 0:
            ring.entries[ring.base + head] = r
            ring.entries[at(ring, head + 1)] = tail
            sets.starts[r], sets.sizes[r], sets.roots[r], sets.cursors[r] = record.start, tail, wanted, cursor
        head = wrapped(head + tail + HEADER, length)
        used += tail + HEADER
        kept += tail + HEADER
        grown += tail
        probes += begun + tail
        if change == GROWN:
            kept -= size + HEADER
            grown -= size
        r += span.step
        cuda.syncthreads()
    if tid == 0:
        if over:
            control[OVERFLOW] = 1
        state[segment, HEAD], state[segment, USED], state[segment, LIVE] = head, used, kept
        cuda.atomic.add(control, PROBES, probes)
        cuda.atomic.add(control, MEMBERS, grown)
