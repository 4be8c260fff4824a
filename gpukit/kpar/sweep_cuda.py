"""Sweeps of a team of blocks over the rows of a list of vertices on a GPU: pushes and walks forward.

A sweep has two steps with :func:`gpukit.kpar.team_cuda.meet` between them: :func:`lengths` adds up the lengths of the
rows, and :func:`sweep` visits their entries in tiles of equal length, whatever the rows' lengths.
"""

from numba import cuda, int64, uint64

from gpukit.kpar.index_cuda import walk_end
from gpukit.kpar.rows_cuda import last_upto
from gpukit.kpar.rule import passed_on
from gpukit.kpar.team_cuda import (
    AT_ONCE,
    FIRST,
    SECOND,
    STAGE,
    SUMS,
    WIDTH,
    anywhere,
    counters,
    doublings,
    flush,
    locate,
    put,
    scan,
)

PUSH, FORWARD, DRAW, INVERTED, CARRY = 0, 1, 2, 3, 4
"""Kinds of sweeps. ``CARRY`` is that of FORA+: rows of walks in the order drawn, as many as the residue asks for. Start
lists (``INVERTED``) have a second step of their own (``starts_cuda.py``)."""

RANGES = 512
"""Where the ranges of a sweep begin in the pool, after the blocks' prefix sums: four arrays of WIDTH."""

TILE = 4
"""Most entries that a thread visits in a tile."""

_ENDLESS = 1 << 62


@cuda.jit(device=True)
def lengths(
    kind, items, size, begin, go_on, walks, residue, reserve, scores, limits, control, home, member, blocks, sums
):
    """Write the first step of a sweep: prefix sums of row lengths within each block's share of the items.

    A thread owns an item at a time. ``PUSH`` takes its residue (leaving share in ``scores``, the rest in ``reserve``);
    ``INVERTED`` starts its score with its reserve; rows of ``DRAW`` and ``CARRY`` have ``walks`` entries. Offsets go to
    ``limits``, the block's sum to ``control``.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    part = (size + blocks - 1) // blocks
    running = int64(0)
    last = min((member + 1) * part, size)
    first = member * part
    while first < last:
        j = first + lane
        length = int64(0)
        if j < last:
            v = int64(items[j])
            if kind == DRAW or kind == CARRY:
                length = int64(walks[v])
            else:
                length = begin[v + 1] - begin[v]
            if kind == PUSH:
                taken = residue[v]
                residue[v] = 0
                share = int64(0)
                if length > 0:
                    share = int64(passed_on(uint64(taken), go_on) // uint64(length))
                reserve[v] += taken - length * share
                scores[j] = share
                if share == 0:
                    length = int64(0)
            elif kind == INVERTED:
                scores[j] = reserve[v]
        upto, whole = scan(length, sums)
        if j < last:
            limits[j] = running + upto - length
        running += whole
        first += width
    if lane == 0:
        control[home + SUMS + member] = running


@cuda.jit(device=True)
def sweep(
    kind, items, size, whole, listed, indptr, indices, go_on, seed, tag, walks, begin, ends, freqs, residue, reserve,
    unit, walked, scores, limits, touched, upcoming, rho, most, tiled,
    control, home, member, blocks, phase, pool, sums, stage, local, shared,
):  # fmt: skip
    """Visit every entry of the items' rows, in tiles of equal length; all threads of the team.

    A block owns a tile: it looks up the items of the tile, up to as many at a time as it has threads, and each thread
    takes some consecutive entries of them. ``PUSH``: one atomic add an edge, and where ``listed`` a vertex met for the
    first time goes to ``touched``, one lifted over its limit to ``upcoming``. ``FORWARD`` and ``DRAW``: one atomic add
    a walk's end in ``walked``, first ones go to ``upcoming``; ``CARRY``: one in ``reserve``. Without ``tiled`` a thread
    visits the whole row of an item.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    shift = doublings(width)
    at = counters(home, phase)
    part = (size + blocks - 1) // blocks
    item_at, row_at, value_at, often_at = RANGES, RANGES + WIDTH, RANGES + 2 * WIDTH, RANGES + 3 * WIDTH
    tile = width * max(int64(1), min(int64(TILE), whole // (blocks * width * TILE)))
    tiles = (whole + tile - 1) // tile
    if not tiled:
        tiles = int64(blocks)
    t = member
    while t < tiles:
        low, high = t * tile, min((t + 1) * tile, whole)
        if not tiled:
            low, high = pool[member], pool[member + 1]
        while low < high:
            block = last_upto(pool, int64(0), int64(blocks), low)
            base = pool[block]
            stop = min(high, pool[block + 1])
            last = min((block + 1) * part, size)
            item = locate(limits, block * part, last, low - base, shared)
            while low < stop:
                cuda.syncthreads()
                j = item + lane
                if j < last:
                    v = int64(items[j])
                    pool[item_at + lane] = limits[j] + base
                    pool[row_at + lane] = v if kind == DRAW else begin[v]
                    if kind == CARRY:
                        pool[value_at + lane] = int64(uint64(residue[v]) // uint64(unit[v]))
                        pool[often_at + lane] = int64(uint64(residue[v]) % uint64(unit[v]))
                    else:
                        pool[value_at + lane] = scores[j] if kind == PUSH else unit[v]
                else:
                    pool[item_at + lane] = _ENDLESS
                cuda.syncthreads()
                following = item + width
                until = stop if following >= last else min(stop, limits[following] + base)
                own = (until - low + width - 1) >> shift
                e = low + lane * own
                end = min(e + own, until)
                i = int64(0)
                if tiled:
                    reach = width >> 1
                    while reach > 0:
                        if pool[item_at + i + reach] <= e:
                            i += reach
                        reach >>= 1
                else:
                    i = int64(lane)
                    e = max(low, pool[item_at + i])
                    end = until if i + 1 == width else min(until, pool[item_at + i + 1])
                fullest = -1
                while e < end:
                    while i + 1 < width and pool[item_at + i + 1] <= e:
                        i += 1
                    place = e - pool[item_at + i]
                    row = pool[row_at + i]
                    value = pool[value_at + i]
                    if kind == PUSH:
                        u = int64(indices[row + place])
                        if listed == 0:
                            cuda.atomic.add(residue, u, value)
                        else:
                            old = cuda.atomic.add(residue, u, value)
                            if old == 0 and listed == 2 and reserve[u] == 0:
                                fullest = max(fullest, put(stage, shared, 0, touched, control, at + FIRST, u))
                            if old + value > rho:
                                w = int64(walks[u])
                                if w > 0 and w <= most and old <= w * rho and old + value > w * rho:
                                    fullest = max(fullest, put(local, shared, 1, upcoming, control, at + SECOND, u))
                    elif kind == CARRY:
                        more = int64(1) if place < pool[often_at + i] else int64(0)
                        cuda.atomic.add(reserve, int64(ends[row + place]), value + more)
                    else:
                        if kind == DRAW:
                            u = walk_end(indptr, indices, go_on, seed, tag, place, row)
                        else:
                            u = int64(ends[row + place])
                            value *= int64(freqs[row + place])
                        if cuda.atomic.add(walked, u, value) == 0:
                            fullest = max(fullest, put(local, shared, 1, upcoming, control, at + SECOND, u))
                    e += 1
                low = until
                item = following
                if anywhere(fullest >= STAGE >> 1, shared):
                    flush(stage, shared, 0, touched, control, at + FIRST)
                    flush(local, shared, 1, upcoming, control, at + SECOND)
        t += blocks
    flush(stage, shared, 0, touched, control, at + FIRST)
    flush(local, shared, 1, upcoming, control, at + SECOND)


@cuda.jit(device=True)
def collect_frontier(
    span, dense, touched, residue, walks, rho, most, target, control, home, member, blocks, phase, local, shared
):
    """List the vertices with a residue above their limit, among those met or among all.

    A thread owns ``AT_ONCE`` vertices at a time.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    counter = counters(home, phase) + SECOND
    rests = cuda.local.array(AT_ONCE, int64)
    first = AT_ONCE * member * width
    while first < span:
        fullest = -1
        for i in range(AT_ONCE):
            j = first + i * width + lane
            rests[i] = 0
            if j < span:
                rests[i] = residue[j if dense else int64(touched[j])]
        for i in range(AT_ONCE):
            if rests[i] > rho:
                j = first + i * width + lane
                v = j if dense else int64(touched[j])
                w = int64(walks[v])
                if w > 0 and w <= most and rests[i] > w * rho:
                    fullest = max(fullest, put(local, shared, 1, target, control, counter, v))
        if anywhere(fullest >= STAGE >> 2, shared):
            flush(local, shared, 1, target, control, counter)
        first += AT_ONCE * blocks * width
    flush(local, shared, 1, target, control, counter)
