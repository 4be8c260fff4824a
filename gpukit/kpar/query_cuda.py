"""The kernel of a query on a GPU: the answers of ``query_cpu.py``, to the bit, from source to list in one launch.

A *team* of blocks (``team_cuda.py``) answers a query from its first push to its answer and takes the next one: all
blocks together for one query at a time, or a few blocks each for many at once. Pushes, walks forward and start lists
are *sweeps* over the rows of a list of vertices, split into tiles of equal length whatever the rows' lengths.
"""

import math

import numba
from numba import cuda, float64, int32, int64, uint64

from gpukit.device.select import for_kernels, register_limit
from gpukit.kpar import cpu
from gpukit.kpar.cpu import passed_on
from gpukit.kpar.problem import ONE, SCALE_BITS
from gpukit.kpar.team_cuda import (
    CONTROL,
    FIRST,
    FLAG,
    POOL,
    SCANNED,
    SECOND,
    SORTED_IN_BLOCK,
    STAGE,
    SUMS,
    TOTAL_A,
    TOTAL_B,
    WIDTH,
    anywhere,
    counters,
    flush,
    kth,
    locate,
    meet,
    put,
    scan,
    share_out,
    sort_in_block,
    sort_in_team,
    times,
)  # fmt: skip

REGISTERS = 64
"""Registers a thread may take: two blocks of 512 threads on a multiprocessor."""

AUTO, SCAN, ATOMIC = 0, 1, 2
"""How the next frontier is collected: by reading all residues after a round, or by the push that lifts one over its
limit; ``AUTO`` scans after rounds that push along more than n/2 edges."""

RESIDUE, RESERVE, UNIT, WALKED, SCORES, LIMITS, SPARE, LONG_ROWS = 0, 1, 2, 3, 4, 5, 6, 7
TOUCHED, FRONTIER, UPCOMING, CANDIDATES, SHORT_ROWS = 0, 1, 2, 3, 4
KEYS, IDS, UPPERS, NUMBERS, TOP_ROWS = 0, 1, 2, 3, 4
"""Rows of a team's arrays: of n int64, of n int32, and of the length of an answer rounded up to a power of two."""

PUSH, FORWARD, DRAW, INVERTED = 0, 1, 2, 3
"""Kinds of sweeps."""

TRACED = 9
"""Columns of a trace (:data:`gpukit.kpar.problem.TRACE`)."""

RANGES = 512
"""Where the ranges of a sweep begin in the pool, after the blocks' prefix sums: four arrays of WIDTH."""

FAR = 1 << 31
"""Above every id."""

_ENDLESS = 1 << 62
_UNIT = 2.0**-SCALE_BITS
_TILE = 4

walk_end = for_kernels(cpu.walk_end)


@cuda.jit(device=True)
def _upper(bounds, step, score, by_walks):
    """Return the upper bound on π, as :mod:`gpukit.kpar.bounds` rounds it."""
    root = math.sqrt(bounds[step, 1] + times(bounds[step, 2], by_walks))
    return score + bounds[step, 0] + root


@cuda.jit(device=True)
def _lower(bounds, step, score, by_walks, reserve):
    """Return the lower bound on π."""
    root = math.sqrt(bounds[step, 4] + times(bounds[step, 5], by_walks))
    return max(reserve, score + bounds[step, 3] - root)


@cuda.jit(device=True)
def _lengths(kind, items, size, begin, go_on, walks, residue, reserve, scores, limits, control, home, blocks, sums):
    """Write the first step of a sweep: prefix sums of row lengths within each block's share of the items.

    A thread owns an item at a time. ``PUSH`` takes its residue (leaving share in ``scores``, the rest in ``reserve``);
    ``INVERTED`` starts its score with its reserve. Offsets go to ``limits``, the block's sum to ``control``.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    member = cuda.blockIdx.x % blocks
    part = (size + blocks - 1) // blocks
    running = int64(0)
    last = min((member + 1) * part, size)
    for first in range(member * part, last, width):
        j = first + lane
        length = int64(0)
        if j < last:
            v = int64(items[j])
            if kind == DRAW:
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
    if lane == 0:
        control[home + SUMS + member] = running


@cuda.jit(device=True)
def _sweep(
    kind, items, size, whole, listed, indptr, indices, go_on, seed, tag, walks, begin, ends, freqs, frequent_begin,
    frequencies, residue, reserve, unit, walked, scores, limits, touched, upcoming, rho, most, tiled,
    control, home, blocks, phase, pool, sums, stage, local, shared,
):  # fmt: skip
    """Visit every entry of the items' rows, in tiles of equal length; all threads of the team.

    A block owns a tile: it looks up the items of the tile, up to as many at a time as it has threads, and each thread
    takes some consecutive entries of them. ``PUSH``: one atomic add an edge, and where ``listed`` a vertex met for the
    first time goes to ``touched``, one lifted over its limit to ``upcoming``. ``FORWARD`` and ``DRAW``: one atomic add
    a walk's end in ``walked``, first ones go to ``upcoming``. ``INVERTED``: reads, and one atomic add in ``scores`` a
    thread and item. Without ``tiled`` a thread visits the whole row of an item.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    member = cuda.blockIdx.x % blocks
    at = counters(home, phase)
    part = (size + blocks - 1) // blocks
    item_at, row_at, value_at, often_at = RANGES, RANGES + WIDTH, RANGES + 2 * WIDTH, RANGES + 3 * WIDTH
    tile = width * max(int64(1), min(int64(_TILE), whole // (blocks * width * _TILE)))
    tiles = (whole + tile - 1) // tile
    if not tiled:
        tiles = int64(blocks)
    for t in range(member, tiles, blocks):
        low, high = t * tile, min((t + 1) * tile, whole)
        if not tiled:
            low, high = pool[member], pool[member + 1]
        while low < high:
            block, after = int64(0), int64(blocks)
            while after - block > 1:
                middle = (block + after) >> 1
                if pool[middle] <= low:
                    block = middle
                else:
                    after = middle
            base = pool[block]
            stop = min(high, pool[block + 1])
            last = min((block + 1) * part, size)
            item = locate(limits, block * part, last, low - base)
            while low < stop:
                cuda.syncthreads()
                j = item + lane
                if j < last:
                    v = int64(items[j])
                    pool[item_at + lane] = limits[j] + base
                    pool[row_at + lane] = v if kind == DRAW else begin[v]
                    if kind == INVERTED:
                        pool[value_at + lane] = frequent_begin[v]
                        pool[often_at + lane] = frequent_begin[v + 1] - frequent_begin[v]
                    else:
                        pool[value_at + lane] = scores[j] if kind == PUSH else unit[v]
                else:
                    pool[item_at + lane] = _ENDLESS
                cuda.syncthreads()
                following = item + width
                until = stop if following >= last else min(stop, limits[following] + base)
                own = (until - low + width - 1) // width
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
                total = int64(0)
                while e < end:
                    while i + 1 < width and pool[item_at + i + 1] <= e:
                        if total > 0:
                            cuda.atomic.add(scores, item + i, total)
                            total = int64(0)
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
                    elif kind == INVERTED:
                        found = unit[ends[row + place]]
                        if found > 0:
                            if place < pool[often_at + i]:
                                found *= int64(frequencies[value + place])
                            total += found
                    else:
                        if kind == DRAW:
                            u = walk_end(indptr, indices, go_on, seed, tag, place, row)
                        else:
                            u = int64(ends[row + place])
                            value *= int64(freqs[row + place])
                        if cuda.atomic.add(walked, u, value) == 0:
                            fullest = max(fullest, put(local, shared, 1, upcoming, control, at + SECOND, u))
                    e += 1
                if total > 0:
                    cuda.atomic.add(scores, item + i, total)
                low = until
                item = following
                if kind != INVERTED and anywhere(fullest >= STAGE >> 1):
                    flush(stage, shared, 0, touched, control, at + FIRST)
                    flush(local, shared, 1, upcoming, control, at + SECOND)
    if kind != INVERTED:
        flush(stage, shared, 0, touched, control, at + FIRST)
        flush(local, shared, 1, upcoming, control, at + SECOND)


@cuda.jit(device=True)
def _collect(span, dense, touched, residue, walks, rho, most, target, control, home, blocks, phase, local, shared):
    """List the vertices with a residue above their limit, among those met or among all; a thread owns a vertex."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    counter = counters(home, phase) + SECOND
    for first in range(cuda.blockIdx.x % blocks * width, span, blocks * width):
        j = first + lane
        place = 0
        if j < span:
            v = j if dense else int64(touched[j])
            rest = residue[v]
            if rest > rho:
                w = int64(walks[v])
                if w > 0 and w <= most and rest > w * rho:
                    place = put(local, shared, 1, target, control, counter, v)
        if anywhere(place >= STAGE - width):
            flush(local, shared, 1, target, control, counter)
    flush(local, shared, 1, target, control, counter)


@cuda.jit(device=True)
def _settle(
    span, dense, touched, residue, reserve, unit, walks, row_begin, floor, carriers, large,
    control, home, blocks, phase, sums, stage, local, shared,
):  # fmt: skip
    """After a push: what absorbing vertices got becomes reserve, and ``unit`` what a walk of each vertex carries.

    Lists the vertices with a unit in ``carriers`` and those with a reserve of ``floor`` or more in ``large``, and adds
    up index entries of the carriers (TOTAL_A), vertices met (TOTAL_B) and blocks that saw residue (FLAG). A thread
    owns a vertex.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    at = counters(home, phase)
    cost, seen, left = int64(0), int64(0), False
    for first in range(cuda.blockIdx.x % blocks * width, span, blocks * width):
        j = first + lane
        place = 0
        if j < span:
            v = j if dense else int64(touched[j])
            rest, kept = residue[v], reserve[v]
            if rest > 0 or kept > 0:
                seen += 1
                w = int64(walks[v])
                if w == 0 and rest > 0:
                    kept += rest
                    reserve[v] = kept
                    residue[v] = 0
                    rest = int64(0)
                value = int64(0)
                if rest > 0:
                    left = True
                    value = int64(uint64(rest) // uint64(w))
                unit[v] = value
                if value > 0:
                    cost += row_begin[v + 1] - row_begin[v]
                    place = put(stage, shared, 0, carriers, control, at + FIRST, v)
                if kept >= floor:
                    place = max(place, put(local, shared, 1, large, control, at + SECOND, v))
        if anywhere(place >= STAGE - width):
            flush(stage, shared, 0, carriers, control, at + FIRST)
            flush(local, shared, 1, large, control, at + SECOND)
    flush(stage, shared, 0, carriers, control, at + FIRST)
    flush(local, shared, 1, large, control, at + SECOND)
    _, cost = scan(cost, sums)
    _, seen = scan(seen, sums)
    left = anywhere(left)
    if lane == 0:
        cuda.atomic.add(control, at + TOTAL_A, cost)
        cuda.atomic.add(control, at + TOTAL_B, seen)
        if left:
            cuda.atomic.add(control, at + FLAG, 1)


@cuda.jit(device=True)
def _list_candidates(
    span, dense, touched, residue, reserve, arrivals, by_arrivals, src_begin, rho, most, least, candidates,
    control, home, blocks, phase, sums, stage, shared,
):  # fmt: skip
    """List the vertices whose reserve and walks could reach ``least``, and add up their index entries (TOTAL_A).

    A thread owns a vertex: one met, or one of the first in the list sorted by ω_I that was not met.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    n = len(by_arrivals)
    at = counters(home, phase)
    cost = int64(0)
    for first in range(cuda.blockIdx.x % blocks * width, span, blocks * width):
        j = first + lane
        place = 0
        if j < span:
            v = j if dense else int64(touched[j])
            many = arrivals[v]
            if many > most or reserve[v] + many * rho >= least:
                place = put(stage, shared, 0, candidates, control, at + FIRST, v)
                cost += src_begin[v + 1] - src_begin[v]
        if anywhere(place >= STAGE - width):
            flush(stage, shared, 0, candidates, control, at + FIRST)
    going = not dense
    first = cuda.blockIdx.x % blocks * width
    while going:
        place, passed = 0, False
        if first + lane < n:
            v = int64(by_arrivals[first + lane])
            many = arrivals[v]
            if many > most or many * rho >= least:
                passed = True
                if residue[v] == 0 and reserve[v] == 0:
                    place = put(stage, shared, 0, candidates, control, at + FIRST, v)
                    cost += src_begin[v + 1] - src_begin[v]
        if anywhere(place >= STAGE - width):
            flush(stage, shared, 0, candidates, control, at + FIRST)
        going = anywhere(passed)
        first += blocks * width
    flush(stage, shared, 0, candidates, control, at + FIRST)
    _, cost = scan(cost, sums)
    if lane == 0:
        cuda.atomic.add(control, at + TOTAL_A, cost)


@cuda.jit(device=True)
def _list_reached(
    span, dense, touched, reserve, reached, ends, candidates, control, home, blocks, phase, stage, shared
):  # fmt: skip
    """List the vertices with a reserve, and the ``ends`` of walks without one; a thread owns a vertex."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    counter = counters(home, phase) + FIRST
    for first in range(cuda.blockIdx.x % blocks * width, span + reached, blocks * width):
        j = first + lane
        place = 0
        if j < span + reached:
            if j < span:
                v = j if dense else int64(touched[j])
            else:
                v = int64(ends[j - span])
            if (reserve[v] > 0) == (j < span):
                place = put(stage, shared, 0, candidates, control, counter, v)
        if anywhere(place >= STAGE - width):
            flush(stage, shared, 0, candidates, control, counter)
    flush(stage, shared, 0, candidates, control, counter)


@cuda.jit(cache=True, **register_limit(REGISTERS))
def answer(
    indptr, indices, go_on, row_begin, row_ends, row_freqs, src_begin, starts, frequent_begin, frequencies, walks,
    arrivals, by_arrivals, light, seed, tag, sources, queries, blocks, k, rhos, bounds, delta_min, epsilon, to_end,
    collect, tiled_push, tiled_estimate, long, short, top, top_real, limits_real, control, out,
):  # fmt: skip
    """Answer queries; cooperative, ``blocks`` blocks of at most 512 threads (a power of two) a query.

    Parameters
    ----------
    indptr … by_arrivals, light, seed, tag
        As in :func:`gpukit.kpar.query_cpu.answer`, with ω (uint32) and ω_I (int64).
    sources : int64 array
        The queries, packed: where each begins and where the last one ends (counted from the first vertex), then all
        vertices, then their mass.
    queries : int
    blocks : int
        Blocks of a team; the grid is a multiple of it.
    k, rhos, bounds, delta_min, epsilon, to_end
        As on the CPU.
    collect : int
        AUTO, SCAN or ATOMIC.
    tiled_push, tiled_estimate : bool
        Whether rows are split into tiles; otherwise a thread takes a whole row (ablations).
    long : int64 array, shape (teams, LONG_ROWS, n), zero at the start and at the end in its first four rows
    short : int32 array, shape (teams, SHORT_ROWS, n)
    top : int64 array, shape (teams, TOP_ROWS, power of two ≥ k)
    top_real, limits_real : float64 arrays
        ``top`` and ``long`` read as floating-point numbers.
    control : int64 array, shape (1 + teams * CONTROL,)
        Zero at the start; the first one counts queries taken.
    out : int64 array, shape (queries, 2 + steps * TRACED + 2 k)
        Receives length, number of steps, the trace, scores and vertices of each answer.

    Notes
    -----
    A round takes two phases (take residues, push), a step about ten more. An edge pushed costs 4 bytes read and an
    8-byte atomic add; an entry of the index 4 bytes and an 8-byte read, forward 8 bytes and an atomic add. Passes over
    vertices read the list of those met, or all where more than an eighth was met.
    """
    cuda.cg.this_grid().sync()
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    team, member = cuda.blockIdx.x // blocks, cuda.blockIdx.x % blocks
    me, everyone = member * width + lane, blocks * width
    home = 1 + team * CONTROL
    pool = cuda.shared.array(POOL, int64)
    sums = cuda.shared.array(SCANNED, int64)
    stage = cuda.shared.array(STAGE, int32)
    local = cuda.shared.array(STAGE, int32)
    shared = cuda.shared.array(8, int32)
    residue, reserve, unit, walked = long[team, RESIDUE], long[team, RESERVE], long[team, UNIT], long[team, WALKED]
    scores, limits, spare = long[team, SCORES], long[team, LIMITS], long[team, SPARE]
    uppers = limits_real[team, LIMITS]
    touched, candidates = short[team, TOUCHED], short[team, CANDIDATES]
    frontier, upcoming = short[team, FRONTIER], short[team, UPCOMING]
    best_keys, best_ids, best_uppers, numbers = top[team, KEYS], top[team, IDS], top[team, UPPERS], top[team, NUMBERS]
    best_reals = top_real[team, UPPERS]
    room = len(best_keys)
    n, steps = len(indptr) - 1, len(rhos)
    if lane < 8:
        shared[lane] = 0
    phase, turn = int64(1), 0
    while True:
        phase = meet(control, home, blocks, phase)
        at = counters(home, phase)
        if me == 0:
            control[at + FIRST] = cuda.atomic.add(control, 0, 1)
        phase = meet(control, home, blocks, phase)
        q = control[at + FIRST]
        if q >= queries:
            break
        met = size = sources[q + 1] - sources[q]
        first_vertex = queries + 1 + sources[q]
        first_mass = first_vertex + sources[queries]
        for i in range(me, size, everyone):
            v = sources[first_vertex + i]
            residue[v] = sources[first_mass + i]
            touched[i] = v
            frontier[i] = v
        phase = meet(control, home, blocks, phase)
        listed, dense, span = True, False, met
        least, step, refused = int64(0), 0, int64(-1)
        while refused != 0:
            rho = rhos[step]
            most = int64(ONE) // rho
            rounds, pushed, edges = int64(0), int64(0), int64(0)
            if step > 0:
                _collect(
                    span, dense, touched, residue, walks, rho, most, frontier,
                    control, home, blocks, phase, local, shared,
                )  # fmt: skip
                at = counters(home, phase)
                phase = meet(control, home, blocks, phase)
                size = control[at + SECOND]
            while size > 0:
                rounds += 1
                pushed += size
                _lengths(
                    PUSH, frontier, size, indptr, go_on, walks, residue, reserve, scores, limits,
                    control, home, blocks, sums,
                )  # fmt: skip
                phase = meet(control, home, blocks, phase)
                whole = share_out(control, home, blocks, pool, sums)
                edges += whole
                scanning = collect == SCAN or (collect == AUTO and whole > n >> 1)
                listed = listed and not scanning
                collected = 0 if scanning else 1 + int64(listed)
                at = counters(home, phase)
                _sweep(
                    PUSH, frontier, size, whole, collected, indptr, indices, go_on, seed, tag, walks, indptr, starts,
                    row_freqs, frequent_begin, frequencies, residue, reserve, unit, walked, scores, limits,
                    touched[met:], upcoming, rho, most, tiled_push,
                    control, home, blocks, phase, pool, sums, stage, local, shared,
                )  # fmt: skip
                phase = meet(control, home, blocks, phase)
                met += control[at + FIRST]
                if scanning:
                    at = counters(home, phase)
                    _collect(
                        n, True, touched, residue, walks, rho, most, upcoming,
                        control, home, blocks, phase, local, shared,
                    )  # fmt: skip
                    phase = meet(control, home, blocks, phase)
                size = control[at + SECOND]
                frontier, upcoming = upcoming, frontier

            dense = not listed or met > n >> 3
            span = n if dense else met
            at = counters(home, phase)
            _settle(
                span, dense, touched, residue, reserve, unit, walks, row_begin, max(least, int64(1)), frontier,
                upcoming, control, home, blocks, phase, sums, stage, local, shared,
            )  # fmt: skip
            phase = meet(control, home, blocks, phase)
            carriers, large = control[at + FIRST], control[at + SECOND]
            forward_cost, seen = control[at + TOTAL_A], control[at + TOTAL_B]
            final = control[at + FLAG] == 0 or step == steps - 1
            entries, forward, count = int64(0), False, int64(0)
            if final or not to_end:
                least, inverted_cost = int64(0), int64(0)
                if large >= k:
                    for i in range(me, large, everyone):
                        scores[i] = reserve[upcoming[i]]
                    phase = meet(control, home, blocks, phase)
                    least, _, _, phase, turn = kth(
                        scores, large, k, limits, scores, control, home, blocks, phase, turn, pool, sums, local, shared
                    )
                    at = counters(home, phase)
                    _list_candidates(
                        span, dense, touched, residue, reserve, arrivals, by_arrivals, src_begin, rho, most, least,
                        candidates, control, home, blocks, phase, sums, stage, shared,
                    )  # fmt: skip
                    phase = meet(control, home, blocks, phase)
                    count, inverted_cost = control[at + FIRST], control[at + TOTAL_A]
                forward = light or least == 0 or forward_cost < inverted_cost
                entries = forward_cost if forward else inverted_cost
                kind = INVERTED
                items, rows, begin, ends = candidates, count, src_begin, starts
                if forward:
                    kind = DRAW if light else FORWARD
                    items, rows, begin, ends = frontier, carriers, row_begin, row_ends
                _lengths(
                    kind, items, rows, begin, go_on, walks, residue, reserve, scores, limits,
                    control, home, blocks, sums,
                )  # fmt: skip
                phase = meet(control, home, blocks, phase)
                whole = share_out(control, home, blocks, pool, sums)
                at = counters(home, phase)
                _sweep(
                    kind, items, rows, whole, 0, indptr, indices, go_on, seed, tag, walks, begin, ends, row_freqs,
                    frequent_begin, frequencies, residue, reserve, unit, walked, scores, limits, touched, upcoming,
                    rho, most, tiled_estimate, control, home, blocks, phase, pool, sums, stage, local, shared,
                )  # fmt: skip
                phase = meet(control, home, blocks, phase)
                if forward:
                    reached = control[at + SECOND]
                    if least == 0:
                        at = counters(home, phase)
                        _list_reached(
                            span, dense, touched, reserve, reached, upcoming, candidates,
                            control, home, blocks, phase, stage, shared,
                        )  # fmt: skip
                        phase = meet(control, home, blocks, phase)
                        count = control[at + FIRST]
                    for j in range(me, count, everyone):
                        scores[j] = reserve[candidates[j]] + walked[candidates[j]]
                    phase = meet(control, home, blocks, phase)
                    for j in range(me, reached, everyone):
                        walked[upcoming[j]] = 0

                length = min(int64(k), count)
                outside = _upper(bounds, step, float64(least) * _UNIT, float64(least) * _UNIT)
                refused = int64(0)
                if not final and count < k and outside > delta_min:
                    refused = count + 1
                elif length > 0:
                    lowest, above, equal, phase, turn = kth(
                        scores, count, length, limits, spare, control, home, blocks, phase, turn,
                        pool, sums, local, shared,
                    )  # fmt: skip
                    # Of equal scores the lowest ids: selected in the same way, as distances from the largest id.
                    farthest = int64(0)
                    if equal > length - above:
                        at = counters(home, phase)
                        for j in range(me, count, everyone):
                            if scores[j] == lowest:
                                limits[cuda.atomic.add(control, at + FIRST, 1)] = FAR - int64(candidates[j])
                        phase = meet(control, home, blocks, phase)
                        farthest, _, _, phase, turn = kth(
                            limits, equal, length - above, spare, limits, control, home, blocks, phase, turn,
                            pool, sums, local, shared,
                        )  # fmt: skip
                    at = counters(home, phase)
                    for i in range(me, room, everyone):
                        numbers[i] = i
                        if i >= length:
                            best_keys[i], best_ids[i], best_uppers[i] = -1, i, -1
                    for j in range(me, count, everyone):
                        score, v = scores[j], int64(candidates[j])
                        if score > lowest or (score == lowest and FAR - v >= farthest):
                            place = cuda.atomic.add(control, at + FIRST, 1)
                            best_keys[place], best_ids[place] = score, v
                        if not final:
                            uppers[j] = _upper(
                                bounds, step, float64(score) * _UNIT, float64(score - reserve[v]) * _UNIT
                            )
                    phase = meet(control, home, blocks, phase)
                    if not final:
                        upper, above, _, phase, turn = kth(
                            limits, count, length, spare, scores, control, home, blocks, phase, turn,
                            pool, sums, local, shared,
                        )  # fmt: skip
                        at = counters(home, phase)
                        for j in range(me, count, everyone):
                            if limits[j] > upper:
                                best_uppers[cuda.atomic.add(control, at + FIRST, 1)] = limits[j]
                        for i in range(above + me, length, everyone):
                            best_uppers[i] = upper
                        phase = meet(control, home, blocks, phase)
                        highest = max(best_reals[above], outside)
                        if count >= k and highest > delta_min and float64(lowest) * _UNIT < (1.0 - epsilon) * highest:
                            refused = int64(k)
                    if refused == 0:
                        if room <= SORTED_IN_BLOCK:
                            if member == 0:
                                sort_in_block(best_keys, best_ids, room, pool)
                            if not final and member == blocks - 1:
                                sort_in_block(best_uppers, numbers, room, pool)
                            phase = meet(control, home, blocks, phase)
                        else:
                            phase = sort_in_team(best_keys, best_ids, room, control, home, blocks, phase)
                            if not final:
                                phase = sort_in_team(best_uppers, numbers, room, control, home, blocks, phase)
                    if refused == 0 and not final:
                        at = counters(home, phase)
                        for i in range(me, length, everyone):
                            limit = max(best_reals[i], outside)
                            score, kept = best_keys[i], reserve[best_ids[i]]
                            value, by_walks = float64(score) * _UNIT, float64(score - kept) * _UNIT
                            high = _upper(bounds, step, value, by_walks)
                            low = _lower(bounds, step, value, by_walks, float64(kept) * _UNIT)
                            if limit <= delta_min:
                                cuda.atomic.max(control, at + FIRST, length - i)
                            elif (
                                low < (1.0 - epsilon) * limit
                                or value > (1.0 + epsilon) * low
                                or value < (1.0 - epsilon) * high
                            ):
                                cuda.atomic.max(control, at + SECOND, length - i)
                        phase = meet(control, home, blocks, phase)
                        if control[at + SECOND] > control[at + FIRST]:
                            refused = length - control[at + SECOND] + 1
            if me == 0:
                row = 2 + step * TRACED
                out[q, row], out[q, row + 1], out[q, row + 2], out[q, row + 3] = step, rounds, pushed, edges
                out[q, row + 4], out[q, row + 5], out[q, row + 6] = seen, count, entries
                out[q, row + 7], out[q, row + 8] = int64(forward), refused
            step += 1
        length = min(int64(k), count)
        if me == 0:
            out[q, 0], out[q, 1] = length, step
        row = 2 + steps * TRACED
        for i in range(me, length, everyone):
            out[q, row + i], out[q, row + k + i] = best_keys[i], best_ids[i]
        for j in range(me, span, everyone):
            v = j if dense else int64(touched[j])
            residue[v] = 0
            reserve[v] = 0
            unit[v] = 0


_i32, _i64, _u32, _f64 = numba.int32[::1], numba.int64[::1], numba.uint32[::1], numba.float64[::1]
_int, _seed, _real, _flag = numba.int64, numba.uint64, numba.float64, numba.boolean

KERNELS = {
    "answer": (
        answer,
        (_i64, _i32, _seed, _i64, _i32, _u32, _i64, _i32, _i64, _u32, _u32, _i64, _i32, _flag, _seed, _int, _i64)
        + (_int, _int, _int, _i64, numba.float64[:, ::1], _real, _real, _flag, _int, _flag, _flag)
        + (numba.int64[:, :, ::1], numba.int32[:, :, ::1], numba.int64[:, :, ::1])
        + (numba.float64[:, :, ::1], numba.float64[:, :, ::1], _i64, numba.int64[:, ::1]),
    ),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
