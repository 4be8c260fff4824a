"""Sweeps of a team of blocks over the rows of a list of vertices on a GPU: pushes and forward walks.

These are the tiles of the paper's section 4 (algorithms 5 and 6). A sweep has two steps with
:func:`gpukit.kpar.query.team_cuda.team_barrier` between them. :func:`lengths` adds up the lengths of the rows.
:func:`sweep` visits their entries in tiles of equal length, whatever the rows' lengths.
"""

from typing import Any, NamedTuple

from numba import int64, uint32, uint64

from gpukit.device.kernels import cuda, device
from gpukit.device.select import for_kernels
from gpukit.kpar import rule
from gpukit.kpar.query import team_cuda as teams
from gpukit.kpar.rows_cuda import last_upto

PUSH, FORWARD, DRAW, INVERTED, CARRY = 0, 1, 2, 3, 4
"""Kinds of sweeps. ``CARRY`` is that of FORA+: rows of walks in the order drawn, as many as the residue requires. Start
lists (``INVERTED``) have their own second step (``starts_cuda.py``)."""

LIFTED, ENDS = 1, 1
"""Counters: vertices that a push lifts over their thresholds; ends of walks."""

UNLISTED, LIFTED_ONLY, MARKED = 0, 1, 2
"""What a push records: nothing; a list of vertices lifted over their thresholds; that list and marks of the vertices
met."""

RANGES = 512
"""First place of the ranges of a sweep in the pool, after the blocks' prefix sums: four arrays of MAX_BLOCK_SIZE."""

ITEM_AT, ROW_AT = RANGES, RANGES + teams.MAX_BLOCK_SIZE
VALUE_AT, EXTRA_AT = RANGES + 2 * teams.MAX_BLOCK_SIZE, RANGES + 3 * teams.MAX_BLOCK_SIZE
"""Places of these arrays. For each item: the first of its entries in the sweep; the first entry of its row; VALUE; and
EXTRA. VALUE is the amount that an entry brings, and EXTRA the number of entries that bring one unit more. Along
weighted edges, VALUE is the amount of the whole row, and EXTRA its last entry."""

TILE = 4
"""Most entries that a thread visits in a tile."""

_ENDLESS = 1 << 62

any_walk_end, edge_part = for_kernels(rule.any_walk_end), for_kernels(rule.edge_part)


class Drawn(NamedTuple):
    """ω of each vertex (uint32) and the key of its walks."""

    counts: Any
    seed: Any
    tag: Any


class Rows(NamedTuple):
    """A CSR matrix: row starts (int64), ends of walks (int32) and their frequencies (uint32)."""

    begin: Any
    ends: Any
    freqs: Any


class Work(NamedTuple):
    """Rows to visit: those of the first ``size`` items, with ``whole`` entries in all."""

    items: Any
    size: Any
    whole: Any


class Targets(NamedTuple):
    """What a sweep records of the vertices it meets: UNLISTED, LIFTED_ONLY or MARKED; and the list it writes to."""

    listed: Any
    upcoming: Any


@device
def lengths(kind, items, size, begin, chances, one_minus_alpha, counts, residue, reserve, scores, limits, team, sums):
    """Do the first step of a sweep: prefix sums of row lengths within each block's share of the items.

    A thread owns an item at a time. ``PUSH`` takes the item's residue. It leaves in ``scores`` the share of each edge,
    or with ``chances`` (else None) the sum for all edges, and adds the rest to ``reserve``. ``INVERTED`` sets the
    item's score to its reserve. Rows of ``DRAW`` and ``CARRY`` have ``counts`` entries. Offsets go to ``limits``, the
    block's sum to ``control``.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    part = (size + team.blocks - 1) // team.blocks
    running = int64(0)
    last = min((team.block + 1) * part, size)
    first = team.block * part
    while first < last:
        j = first + tid
        length = int64(0)
        if j < last:
            v = int64(items[j])
            if kind == DRAW or kind == CARRY:
                length = int64(counts[v])
            else:
                length = begin[v + 1] - begin[v]
            if kind == PUSH:
                taken = residue[v]
                residue[v] = 0
                share, shares = int64(0), length if chances is None else int64(1)
                if length > 0:
                    share = int64(rule.passed_on(uint64(taken), one_minus_alpha) // uint64(shares))
                reserve[v] += taken - shares * share
                scores[j] = share
                if share == 0:
                    length = int64(0)
            elif kind == INVERTED:
                scores[j] = reserve[v]
        upto, whole = teams.block_prefix_sum(length, sums)
        if j < last:
            limits[j] = running + upto - length
        running += whole
        first += block_size
    if tid == 0:
        team.control[team.home + teams.SUMS + team.block] = running


# whole: split up, it compiles to another order of reads; that has to be timed on a GPU first
@device
def sweep(kind, work, targets, edges, chances, drawn, rows, slot, threshold, team, phase):
    """Visit every entry of the items' rows, in tiles of equal length; all threads of the team.

    A block owns a tile. It looks up the items of the tile, at most one per thread at a time, and each thread visits
    some consecutive entries of them.

    ``PUSH``: one atomic add per edge; vertices go to the lists that ``targets`` names. With ``chances`` (None if edges
    count alike) an edge costs two more 8-byte reads, one of which the edge before has made as well; vertices that
    receive nothing are not listed. ``FORWARD`` and ``DRAW``: one atomic add per end of a walk in ``walked``; a vertex
    goes to ``upcoming`` at its first add. ``CARRY``: one atomic add in ``reserve``.

    One function serves all kinds, because kinds chosen at run time share its code. The visit of an entry is not a
    function of its own, because it would be compiled to another order of instructions.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    pool, limits = team.memory.pool, slot.limits
    rho, walks_max = threshold.rho, threshold.walks_max
    shift = teams.doublings(block_size)
    at = teams.counters(team, phase)
    lifted = teams.Staged(team.memory.other_stage, team.memory.small, 1, targets.upcoming, team.control, at, LIFTED)
    part = (work.size + team.blocks - 1) // team.blocks
    tile = block_size * max(int64(1), min(int64(TILE), work.whole // (team.blocks * block_size * TILE)))
    tiles = (work.whole + tile - 1) // tile
    t = team.block
    while t < tiles:
        low, high = t * tile, min((t + 1) * tile, work.whole)
        while low < high:
            # The entries low … stop - 1 are in one block's share of the items, from ``item`` on.
            owner = last_upto(pool, int64(0), int64(team.blocks), low)
            base = pool[owner]
            stop = min(high, pool[owner + 1])
            last = min((owner + 1) * part, work.size)
            item = teams.locate(limits, owner * part, last, low - base, team.memory.small)
            while low < stop:
                cuda.syncthreads()
                j = item + tid
                if j < last:
                    v = int64(work.items[j])
                    pool[ITEM_AT + tid] = limits[j] + base
                    pool[ROW_AT + tid] = v if kind == DRAW else rows.begin[v]
                    if kind == CARRY:
                        pool[VALUE_AT + tid] = int64(uint64(slot.residue[v]) // uint64(slot.unit[v]))
                        pool[EXTRA_AT + tid] = int64(uint64(slot.residue[v]) % uint64(slot.unit[v]))
                    else:
                        pool[VALUE_AT + tid] = (
                            slot.scores[j] if kind == PUSH else int64(rule.unpacked(slot.unit[v])) << threshold.coarse
                        )
                        if chances is not None and kind == PUSH:
                            pool[EXTRA_AT + tid] = rows.begin[v + 1] - 1
                else:
                    pool[ITEM_AT + tid] = _ENDLESS
                cuda.syncthreads()
                following = item + block_size
                until = stop if following >= last else min(stop, limits[following] + base)
                # Each thread's entries e … end - 1 begin in the i-th of these items.
                share = (until - low + block_size - 1) >> shift
                e = low + tid * share
                end = min(e + share, until)
                i = int64(0)
                reach = block_size >> 1
                while reach > 0:
                    if pool[ITEM_AT + i + reach] <= e:
                        i += reach
                    reach >>= 1
                fullest = -1
                while e < end:
                    while i + 1 < block_size and pool[ITEM_AT + i + 1] <= e:
                        i += 1
                    place = e - pool[ITEM_AT + i]
                    row = pool[ROW_AT + i]
                    value = pool[VALUE_AT + i]
                    if kind == PUSH:
                        u = int64(edges.indices[row + place])
                        takes = True
                        if chances is not None:
                            value = edge_part(value, chances, row + place, row, pool[EXTRA_AT + i])
                            takes = value > 0
                        if targets.listed == UNLISTED:
                            cuda.atomic.add(slot.residue, u, value)
                        elif takes:
                            old = cuda.atomic.add(slot.residue, u, value)
                            if old == 0 and targets.listed == MARKED:
                                cuda.atomic.or_(slot.marks, u >> 5, uint32(1) << uint32(u & 31))
                            # Most heads stay below ρ, so ω is not read for them.
                            if old + value > rho:
                                w = int64(drawn.counts[u])
                                if w > 0 and w <= walks_max and old <= w * rho and old + value > w * rho:
                                    fullest = max(fullest, teams.put(lifted, u))
                    elif kind == CARRY:
                        more = int64(1) if place < pool[EXTRA_AT + i] else int64(0)
                        cuda.atomic.add(slot.reserve, int64(rows.ends[row + place]), value + more)
                    else:
                        if kind == DRAW:
                            u = any_walk_end(
                                edges.indptr, edges.indices, chances, edges.one_minus_alpha, drawn.seed, drawn.tag,
                                place, row,
                            )  # fmt: skip
                        else:
                            u = int64(rows.ends[row + place])
                            value *= int64(rows.freqs[row + place])
                        if cuda.atomic.add(slot.walked, u, value) == 0:
                            fullest = max(fullest, teams.put(lifted, u))
                    e += 1
                low = until
                item = following
                if teams.block_any(fullest >= teams.STAGE >> 1, team.memory.small):
                    teams.flush(lifted)
        t += team.blocks
    teams.flush(lifted)
