"""mRR sets in hash tables on a GPU: how a round changes them, which vertices they hold, and occurrence counts.

Each set is an open-addressing hash table in global memory; all tables have the same length. So testing whether a set
holds a vertex usually takes one read. A round looks up the vertices that died instead of scanning members. A set that
gains members stays in place (``search_cuda.py``). So does a set that loses members if no other member was reached
through them.
"""

from collections import namedtuple

from numba import int32, int64, uint32, uint64

from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.device.philox import draw4
from gpukit.device.select import for_kernels
from gpukit.merit import rule
from gpukit.worlds.rule import CALLS_PER_ROW
from gpukit.worlds.rule import any_live as _any_live
from gpukit.worlds.tables import MAX_LIVE

BATCH, LISTED = 64, 256
"""Sets that a block of :func:`discover` processes together, and the most dead members that it records for them. If
there are more, the affected sets are drawn again without further tests."""

AHEAD = 8
"""Entries that a thread loads before it tests the first; this overlaps their latencies."""

FARTHEST = 512
"""The most places that a lookup probes, starting at the vertex's first place."""

PIECE = 2048
"""Places of a table that a block of :func:`move_sets` processes at a time."""

FEW_ROOTS = 32
"""The most roots of a set that a single thread draws."""

PARTS, UNCOUNTED = 8, 255
"""Number of parts of a collection with separate counts, and the number that stands for no part."""

EMPTY, HOLE = -1, -1
"""A free place of a table, and an unused place of a queue."""

GONE = -(1 << 31)
"""A place whose member died. It stays occupied, so that lookups continue past it."""

OVERFLOW, PROBES, FEW, MANY, ROOTS, QUEUED, TAKEN, CONTROL = 0, 1, 2, 3, 4, 5, 8, 11
"""Places in ``control``: overflow flags (1: tables, 2: queues); vertices whose in-edges were drawn; sets in the
lists ``few`` and ``many``, and their missing roots; entries in the queues of the current pass, the next and the one
after; and how many of these blocks have taken, likewise. Then its length."""

TABLES, QUEUES = 1, 2

DEAD = 3
"""Place of the number of dead members among a block's counters in :func:`discover`, after sets and roots."""

DISCOVER_REGISTERS = 40
"""Register limit of a thread of :func:`discover`; 64 registers are not faster."""

_SPREAD, _SHIFT = 0x9E3779B9, 0x85EBCA6B
"""Multipliers that spread ids over a table, and shift the places of all vertices from set to set."""

any_live = for_kernels(_any_live)


class SetTables(namedtuple("SetTables", "entries length sizes roots cursors seen")):
    """The hash tables of the sets.

    Attributes
    ----------
    entries : int32 array, shape (>= sets * length,)
        Table of set r from r * length on: ``EMPTY``, ``GONE``, v for a member, or -2 - v for a root.
    length : int
        Places of a table.
    sizes, roots : int32 arrays
        Members and roots of each set.
    cursors : int64 array
        Words of its root sequence that each set has consumed.
    seen : int32 array
        Number of deaths that each set has processed; never increases with the number of the set.
    """


class Tally(namedtuple("Tally", "counts part_of control")):
    """Counters besides the tables.

    Attributes
    ----------
    counts : int32 array, shape (PARTS, n)
        Occurrences of each vertex in the sets of each part, kept up to date.
    part_of : uint8 array
        The part of each set, or ``UNCOUNTED``.
    control : int64 array, shape (CONTROL,)
        See ``OVERFLOW``. If that flag is set, all sets are invalid.
    """


class Deaths(namedtuple("Deaths", "vertices died others covered known")):
    """The vertices that died.

    Attributes
    ----------
    vertices : int32 array
        All vertices that died, in order; the seeds of this round come last.
    died, others : int
        Number of vertices that died, and how many precede this round's seeds.
    covered : int32 array, shape (>= known,)
        Nonzero for each of the first ``known`` sets that a seed covers, as found by the selection. These sets have
        processed the deaths of all earlier rounds.
    known : int
        Number of these sets; 0 if the seeds were not selected from the sets.
    """


class Found(namedtuple("Found", "places holds polluted lost lost_roots")):
    """Findings of a block about a batch of sets, in shared memory.

    Attributes
    ----------
    places : int64 array, shape (LISTED,)
        Places of dead members, in any order.
    holds, polluted, lost, lost_roots : int32 arrays, shape (BATCH,)
        Whether a set holds dead members, and whether it must be drawn again; members and roots that it lost.
    """


class Queues(namedtuple("Queues", "few many waiting")):
    """Work lists.

    Attributes
    ----------
    few, many : int32 arrays
        Sets that lack few roots, and sets that lack more: r, or -1 - r for a set that is drawn from the start.
    waiting : int64 array, shape (2, capacity)
        Members to search from, set << 32 | vertex, in this pass and the next; or ``HOLE``.
    """


@device
def first_place(v, r, length):
    """Return the place in a set's table where the lookup of a vertex starts."""
    spread = (uint64(v) * uint64(_SPREAD) + uint64(r) * uint64(_SHIFT)) & uint64(0xFFFFFFFF)
    return int64((spread * uint64(length)) >> uint64(32))


@device
def find(entries, length, r, v):
    """Return the index of a vertex in a set's part of ``entries``, or -1."""
    base, place = int64(r) * length, first_place(v, r, length)
    for _ in range(min(length, FARTHEST)):
        found = int64(entries[base + place])
        if found == v or found == -2 - v:
            return base + place
        if found == EMPTY:
            return int64(-1)
        place = place + 1 if place + 1 < length else int64(0)
    return int64(-1)


@device
def holds(entries, length, r, v):
    """Return whether a set holds a vertex."""
    return find(entries, length, r, v) >= 0


@device
def member_of(held):
    """Return the vertex stored in a table entry, or -1."""
    if held >= EMPTY:
        return int64(held)
    return int64(-2) - held if held != GONE else int64(-1)


@device
def insert(tables, r, v):
    """Make a vertex a member of a set; return 1 if it is new, 0 if it was a member, -1 if there is no room."""
    base, place = int64(r) * tables.length, first_place(v, r, tables.length)
    for _ in range(min(tables.length, FARTHEST)):
        found = int64(tables.entries[base + place])
        if found == EMPTY:
            found = int64(cuda.atomic.cas(tables.entries, base + place, int32(EMPTY), int32(v)))
            if found == EMPTY:
                return 1
        if found == v or found == -2 - v:
            return 0
        place = place + 1 if place + 1 < tables.length else int64(0)
    return -1


@device
def insert_root(tables, r, v):
    """Make a vertex a root of a set; return 2 for a new member, 1 for an old one, 0 for an old root, -1: no room."""
    base, place = int64(r) * tables.length, first_place(v, r, tables.length)
    for _ in range(min(tables.length, FARTHEST)):
        found = int64(tables.entries[base + place])
        if found == EMPTY:
            found = int64(cuda.atomic.cas(tables.entries, base + place, int32(EMPTY), int32(-2 - v)))
            if found == EMPTY:
                return 2
        if found == v:
            return 1 if cuda.atomic.cas(tables.entries, base + place, int32(v), int32(-2 - v)) == v else 0
        if found == -2 - v:
            return 0
        place = place + 1 if place + 1 < tables.length else int64(0)
    return -1


@device
def note(r, v, change, tally):
    """Update the counts for a set that gains or loses a member."""
    part = int(tally.part_of[r])
    if part < PARTS:
        cuda.atomic.add(tally.counts, (part, v), int32(change))


@device
def wanted_roots(r, remaining, key, first):
    """Return the number of roots of a set in this round."""
    return rule.root_count(remaining.living, remaining.eta, key.seed, key.root_tag, int64(first) + r)


@device
def _may_lead_on(v, edges, key, sample, live):
    """Return whether other members of a set may depend on a vertex that died.

    Under IC they depend on it if it has a live in-edge. Under LT a vertex that had chosen it chooses again, so the
    answer is always true.
    """
    if edges.lt_kind >= 0:
        return True
    row, draw = v, 0
    while True:
        start, degree = edges.rows[row, 0], edges.rows[row, 1]
        if degree > 0:
            words = draw4(key.seed, key.tag, sample, v, draw)
            if any_live(
                degree, edges.rows[row, 2], start, draw, edges.accept, edges.thresholds,
                key.seed, key.tag, sample, v, words, live,
            ):  # fmt: skip
                return True
        row = int64(edges.rows[row, 3])
        if row == 0:
            return False
        draw += CALLS_PER_ROW


@device
def _look_for(v, q, r, tables, numbers, found):
    """Record the place of a dead vertex in set r, which is number q of the block's batch."""
    at = find(tables.entries, tables.length, r, v)
    if at >= 0:
        found.holds[q] = 1
        i = cuda.atomic.add(numbers, DEAD, int64(1))
        if i < LISTED:
            found.places[i] = at


@device
def _let_die(at, low, edges, key, first, tables, tally, found, live):
    """Remove a dead member from its set, or mark the set as polluted; ``low`` is the first set of the batch."""
    r = at // tables.length
    v, q = member_of(tables.entries[at]), r - low
    if _may_lead_on(v, edges, key, int64(first) + r, live):
        found.polluted[q] = 1
        return
    if tables.entries[at] != v:
        cuda.atomic.add(found.lost_roots, q, 1)
    cuda.atomic.add(found.lost, q, 1)
    tables.entries[at] = GONE
    note(r, v, -1, tally)


_u8, _i32, _u32, _i64, _u64 = "uint8[::1]", "int32[::1]", "uint32[::1]", "int64[::1]", "uint64[::1]"
_int = "int64"
REMAINING = group(rule.Remaining, _u8, _int, _int, _i32, "boolean")
KEY = group(rule.Key, "uint64", _int, _int)
DEATHS = group(Deaths, _i32, _int, _int, _i32, _int)
TABLES_TYPE = group(SetTables, _i32, _int, _i32, _i32, _i64, _i32)
QUEUES_TYPE = group(Queues, _i32, _i32, "int64[:, ::1]")
TALLY = group(Tally, "int32[:, ::1]", _u8, _i64)
EDGES = group(rule.InEdges, "uint32[:, ::1]", _i32, _u32, _u64, _int, "uint64", _u32)
"""Types of kernel arguments."""


@kernel((_i32, _int, _int, _u8))
def mark_dead(deaths, before, died, dead):
    """Mark the vertices ``deaths[before:died]`` as dead; any grid. A thread owns a vertex."""
    for i in range(before + cuda.grid(1), died, cuda.gridsize(1)):
        dead[deaths[i]] = 1


# whole: what happens to a batch of sets, step by step
@kernel(
    (EDGES, DEATHS, REMAINING, KEY, _int, _int, _int, TABLES_TYPE, QUEUES_TYPE, TALLY), max_registers=DISCOVER_REGISTERS
)
def discover(edges, deaths, remaining, key, first, low, high, tables, queues, tally):
    """List the sets among low … high - 1 that must change because of deaths; any grid.

    Algorithm 3, lines 7 to 13. A thread looks up one vertex in one set: one sector, at a random address. Seeds are
    looked up only in sets that they cover according to the selection. A set is polluted only if other members may
    depend on a vertex that died. Otherwise the dead vertex is removed. The set then differs from a fresh draw only by
    the roots that it still lacks, and by what they reach.
    """
    tid, block_size = int64(cuda.threadIdx.x), int64(cuda.blockDim.x)
    # One line per array: the simulator tells shared arrays apart by the line that makes them.
    found = Found(
        cuda.shared.array(LISTED, int64),
        cuda.shared.array(BATCH, int32),
        cuda.shared.array(BATCH, int32),
        cuda.shared.array(BATCH, int32),
        cuda.shared.array(BATCH, int32),
    )
    has_seed = cuda.shared.array(BATCH, int32)
    numbers = cuda.shared.array(4, int64)
    live = cuda.local.array(MAX_LIVE, uint32)
    control = tally.control
    bases = cuda.shared.array(3, int64)
    place = int64(low) + cuda.blockIdx.x * BATCH
    while place < high:
        count = min(int64(BATCH), int64(high) - place)
        looked = place + count <= deaths.known
        q = tid
        while q < BATCH:
            has_seed[q] = 1 if looked and q < count and deaths.covered[place + q] != 0 else 0
            found.holds[q], found.polluted[q], found.lost[q], found.lost_roots[q] = 0, 0, 0, 0
            q += block_size
        if tid < 4:
            numbers[tid] = 0
        cuda.syncthreads()
        begin = int64(tables.seen[place + count - 1])
        new = int64(deaths.others if looked else deaths.died) - begin
        pair = tid
        while pair < count * new:
            q = pair // new
            _look_for(int64(deaths.vertices[begin + pair % new]), q, place + q, tables, numbers, found)
            pair += block_size
        pair, seeds = tid, int64(deaths.died - deaths.others) if looked else int64(0)
        while pair < BATCH * seeds:
            q = pair % BATCH
            if has_seed[q] != 0:
                v = int64(deaths.vertices[deaths.others + pair // BATCH])
                _look_for(v, q, place + q, tables, numbers, found)
            pair += block_size
        cuda.syncthreads()
        dead = numbers[DEAD]
        i = tid
        while i < dead and dead <= LISTED:
            _let_die(found.places[i], place, edges, key, first, tables, tally, found, live)
            i += block_size
        cuda.syncthreads()
        mine, kind, r = int64(0), 0, place + tid
        if tid < count:
            tables.seen[r] = deaths.died
            missing = wanted_roots(r, remaining, key, first)
            if found.polluted[tid] != 0 or (dead > LISTED and found.holds[tid] != 0):
                kind = 2
            else:
                if found.lost[tid] != 0:
                    tables.roots[r] -= found.lost_roots[tid]
                    tables.sizes[r] -= found.lost[tid]
                missing -= tables.roots[r]
                kind = 3 if missing > FEW_ROOTS else min(missing, 1)
            if kind != 0:
                mine = cuda.atomic.add(numbers, 0 if kind == 1 else 1, int64(1))
                cuda.atomic.add(numbers, 2, missing)
        cuda.syncthreads()
        if tid < 3:
            bases[tid] = cuda.atomic.add(control, FEW + tid, numbers[tid])
        cuda.syncthreads()
        if kind == 1:
            queues.few[bases[0] + mine] = r
        elif kind != 0:
            queues.many[bases[1] + mine] = r if kind == 3 else -1 - r
        place += cuda.gridDim.x * BATCH


@kernel((TABLES_TYPE, _int, _int, _int, _int, TALLY))
def count_sets(tables, low, high, part, change, tally):
    """Assign the sets low … high - 1 to a part, and add ``change`` to its counts for each member; any grid.

    If ``change`` is negative, the sets leave the part and belong to none. A warp owns a set.
    """
    got = cuda.local.array(AHEAD, int32)
    warps = (cuda.blockDim.x + 31) // 32
    r = int64(low) + cuda.blockIdx.x * warps + cuda.threadIdx.x // 32
    while r < high:
        entries = tables.entries[r * tables.length :]
        last, i = uint32(tables.length - 1), uint32(cuda.threadIdx.x % 32)
        while i <= last:
            some = int32(EMPTY)
            for j in range(AHEAD):
                got[j] = entries[min(uint32(i + j * 32), last)]
                some &= got[j]
            if some != EMPTY:
                for j in range(AHEAD):
                    v = member_of(got[j])
                    if v >= 0 and i + j * 32 <= last:
                        cuda.atomic.add(tally.counts, (part, v), int32(change))
            i = uint32(i + AHEAD * 32)
        if cuda.threadIdx.x % 32 == 0:
            tally.part_of[r] = part if change > 0 else UNCOUNTED
        r += cuda.gridDim.x * warps


@kernel((_i32, _int, _int, _int, TABLES_TYPE, _i64))
def move_sets(old, old_length, low, high, tables, control):
    """Insert the members of the sets low … high - 1 into longer, empty tables; any grid.

    A block owns ``PIECE`` places of an old table. If ``old`` is empty, the old tables are in the same memory as the new
    ones; the ranges of these sets do not overlap.
    """
    source = old if len(old) > 0 else tables.entries
    pieces = (int64(old_length) + PIECE - 1) // PIECE
    item = int64(low) * pieces + cuda.blockIdx.x
    while item < high * pieces:
        r = item // pieces
        i = item % pieces * PIECE + cuda.threadIdx.x
        end = min(i - cuda.threadIdx.x + PIECE, int64(old_length))
        while i < end:
            held = int64(source[r * old_length + i])
            v = member_of(held)
            if v >= 0:
                got = insert_root(tables, r, v) if held < 0 else insert(tables, r, v)
                if got < 0:
                    cuda.atomic.or_(control, OVERFLOW, int64(TABLES))
            i += cuda.blockDim.x
        item += cuda.gridDim.x
