"""Refinement of the contenders of a query by a team of blocks on a GPU: equal to ``refine_cpu.py``, bit for bit.

Every block chooses the same contenders by itself. The tails of all their in-edges form one list, which the team divides
like any other list. The mass that walks brought to a tail is in ``walked``, or is summed from its start list.
"""

import math
from typing import Any, NamedTuple

from numba import float64, int32, int64, uint64

from gpukit.device.kernels import cuda, device
from gpukit.device.select import for_kernels
from gpukit.kpar import rule
from gpukit.kpar.problem import CONTENDERS, ONE, UNIT
from gpukit.kpar.query import sweep_cuda as sweeps
from gpukit.kpar.query.bounds_cuda import from_key, lower_bound, to_key, upper_bound
from gpukit.kpar.query.select_cuda import BROUGHT, FEWEST, IDS, KEYS, UPPERS, sort_best, take_best
from gpukit.kpar.query.starts_cuda import add_starts
from gpukit.kpar.query.team_cuda import counters, prefix_over_blocks, team_barrier, times
from gpukit.kpar.rule import LOST, over_alpha, passed_on, refine_budget, threshold_of

HIGHEST, BROKEN = 0, 0
"""Counters: the largest upper bound, as a key, of the candidates left; places for which Definition 1 does not
follow."""

NO_ONE = -1
"""Marks a contender whose second estimate is no better than the first."""

ENDS = CONTENDERS + 1
"""Number of offsets of the contenders' tails: one per contender, and the end of the last."""

MANY = 1 << 62
"""More out-edges than any vertex has."""

brought = for_kernels(rule.brought)


class Contenders(NamedTuple):
    """The contenders of a query in the shared memory of a block, CONTENDERS of each.

    ``vertices`` and ``places`` in the first order (int32); their scores in that order (``before``); where the tails of
    each contender begin in the common list (``begins``, one more); and the tighter bounds (float64).
    """

    vertices: Any
    places: Any
    before: Any
    begins: Any
    lows: Any
    highs: Any


@device
def interval(step, v, score, request, slot):
    """Return the bounds on π of a vertex whose estimate π̂ is ``score``."""
    kept = slot.reserve[v]
    value, by_walks = float64(score) * UNIT, float64(score - kept) * UNIT
    high = upper_bound(request.bounds, step, value, by_walks)
    return lower_bound(request.bounds, step, value, by_walks, float64(kept) * UNIT), high


@device
def known_interval(step, v, score, number, found, request, slot):
    """Return the bounds on π of a vertex with estimate ``score``; tighter if it is among the ``number`` refined."""
    low, high = interval(step, v, score, request, slot)
    for c in range(number):
        if found.vertices[c] == v:
            low, high = found.lows[c], found.highs[c]
    return low, high


@device
def highest_left(stopped, length, outside, request, slot, top, team, phase):
    """Return the largest upper bound of the vertices not among the ``length`` best, and the phase; the whole team."""
    tid = cuda.threadIdx.x
    rank, members = team.block * cuda.blockDim.x + tid, team.blocks * cuda.blockDim.x
    last_key, last_id = top[KEYS, length - 1], top[IDS, length - 1]
    highest = to_key(outside)
    j = rank
    while j < stopped.count:
        score, v = slot.scores[j], int64(slot.candidates[j])
        if score < last_key or (score == last_key and v > last_id):
            _, high = interval(stopped.step, v, score, request, slot)
            highest = max(highest, to_key(high))
        j += members
    sums, at = team.memory.sums, counters(team, phase)
    if tid == 0:
        sums[0] = 0
    cuda.syncthreads()
    cuda.atomic.max(sums, 0, highest)
    cuda.syncthreads()
    if tid == 0:
        cuda.atomic.max(team.control, at + HIGHEST, sums[0])
    phase = team_barrier(team, phase)
    return from_key(team.control[at + HIGHEST]), phase


@device
def choose(stopped, length, in_edges, request, slot, top, found, pool):
    """Choose the contenders that the budget allows among the ``length`` best, which are sorted; each block by itself.

    Returns
    -------
    number, total
        The number of contenders, and the number of their in-edges.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    keys, ids = top[KEYS], top[IDS]
    k, step = int64(request.k), stopped.step
    costs, degrees = pool[CONTENDERS : 2 * CONTENDERS], pool[2 * CONTENDERS : 3 * CONTENDERS]
    inside, _ = interval(step, ids[k - 1], keys[k - 1], request, slot)
    _, outside = interval(step, ids[k], keys[k], request, slot)
    i = int64(tid)
    while i < CONTENDERS:
        place = k + (i >> 1) if i & 1 == 1 else k - 1 - (i >> 1)
        pool[i] = -1
        if place >= 0 and place < length:
            v = ids[place]
            low, high = interval(step, v, keys[place], request, slot)
            if (place < k and low <= outside) or (place >= k and high >= inside):
                pool[i] = place
                costs[i], degrees[i] = in_edges.prices[v], in_edges.begin[v + 1] - in_edges.begin[v]
        i += block_size
    cuda.syncthreads()
    if tid == 0:
        left, rows = refine_budget(stopped.worked, k), int64(len(in_edges.begin) - 1)
        number, total = 0, int64(0)
        for i in range(CONTENDERS):
            if pool[i] >= 0 and costs[i] <= left and degrees[i] <= rows:
                left -= costs[i]
                rows -= degrees[i]
                place = pool[i]
                found.places[number], found.vertices[number] = place, ids[place]
                found.before[number], found.begins[number] = keys[place], total
                total += degrees[i]
                number += 1
        found.begins[number] = total
        pool[3 * CONTENDERS] = number
    cuda.syncthreads()
    number = pool[3 * CONTENDERS]
    return number, found.begins[number]


@device
def largest_share(fewest, edges, chances):
    """Return the largest share that one edge passes on of all mass at its tail, in units of 2**-62, from FEWEST."""
    if chances is None:
        return int64(passed_on(uint64(ONE), edges.one_minus_alpha) // uint64(fewest))
    return max(-fewest, int64(0))


@device
def add_share(c, amount, degree, sums):
    """Add to a contender's sum, and lower the fewest out-edges of its tails, in the block's ``sums``."""
    if degree < MANY:
        cuda.atomic.add(sums, c, amount)
        cuda.atomic.min(sums, CONTENDERS + c, degree)


@device
def gather(number, total, stopped, edges, chances, walks, in_edges, request, slot, top, found, team, phase):
    """Sum for each contender the mass that walks brought to its tails and that the edges pass on; the whole team.

    The sums go to BROUGHT of ``top``. FEWEST receives the fewest out-edges of a tail or, along weighted edges, minus
    the largest share of one tail. The slot's ``frontier`` is working space, and without ``walked`` also its ``scores``
    and ``limits``. A thread owns a tail at a time; along weighted edges it searches the tail's row for the contender.

    Returns
    -------
    int
        The new phase.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    rank, members = team.block * block_size + tid, team.blocks * block_size
    tails, pool = slot.frontier, team.memory.pool
    c, e = 0, int64(rank)
    while e < total:
        while e >= found.begins[c + 1]:
            c += 1
        tails[e] = in_edges.tails[in_edges.begin[found.vertices[c]] + e - found.begins[c]]
        e += members
    i = rank
    while i < number:
        top[BROUGHT, i], top[FEWEST, i] = 0, MANY
        i += members
    phase = team_barrier(team, phase)
    if not stopped.forward:
        sweeps.lengths(
            sweeps.INVERTED, tails, total, walks.src_begin, None, edges.one_minus_alpha, walks.counts, slot.residue,
            slot.reserve, slot.scores, slot.limits, team, team.memory.sums,
        )  # fmt: skip
        phase = team_barrier(team, phase)
        whole = prefix_over_blocks(team, pool, team.memory.sums)
        coarse = threshold_of(request.rhos[stopped.step]).coarse
        add_starts(tails, total, whole, walks.src_begin, walks, slot, coarse, team, pool)
        phase = team_barrier(team, phase)
    # Sums go to the block's shared memory first: a thread's entries of one contender are consecutive.
    i = tid
    while i < CONTENDERS:
        pool[i], pool[CONTENDERS + i] = 0, MANY
        i += block_size
    cuda.syncthreads()
    c, e, mine, fewest = 0, int64(rank), int64(0), int64(MANY)
    while e < total:
        if e >= found.begins[c + 1]:
            add_share(c, mine, fewest, pool)
            mine, fewest = int64(0), int64(MANY)
            while e >= found.begins[c + 1]:
                c += 1
        w = int64(tails[e])
        amount = slot.walked[w] if stopped.forward else slot.scores[e] - slot.reserve[w]
        if chances is None:
            degree = edges.indptr[w + 1] - edges.indptr[w]
            mine += int64(passed_on(uint64(amount), edges.one_minus_alpha) // uint64(degree))
            fewest = min(fewest, degree)
        else:
            v = int64(found.vertices[c])
            mine += brought(amount, w, v, edges, chances)
            fewest = min(fewest, -brought(int64(ONE), w, v, edges, chances))
        e += members
    add_share(c, mine, fewest, pool)
    cuda.syncthreads()
    i = tid
    while i < number:
        if pool[CONTENDERS + i] < MANY:
            cuda.atomic.add(top[BROUGHT], i, pool[i])
            cuda.atomic.min(top[FEWEST], i, pool[CONTENDERS + i])
        i += block_size
    return team_barrier(team, phase)


@device
def push_back(v, by_walks, fewest, step, edges, chances, request, slot):
    """Return the second estimate of π, 0 if it is no better than the first, and its bounds."""
    one_minus_alpha, bounds = edges.one_minus_alpha, request.bounds
    absorbs = edges.indptr[v + 1] == edges.indptr[v]
    part = float64(largest_share(fewest, edges, chances)) * UNIT
    if absorbs:
        part = part / (float64((int64(1) << 32) - int64(one_minus_alpha)) * 2.0**-32)
    if part >= 1.0:
        return int64(0), 0.0, 0.0
    kept, rest = slot.reserve[v], slot.residue[v]
    if absorbs:
        by_walks = over_alpha(by_walks, one_minus_alpha)
    else:
        kept += rest - int64(passed_on(uint64(rest), one_minus_alpha))
    score = kept + by_walks
    value, walked = float64(score) * UNIT, float64(by_walks) * UNIT
    square, lost = part * part, times(walked, LOST)
    root_high = math.sqrt(times(bounds[step, 1], square) + times(times(bounds[step, 2], part), walked + lost))
    root_low = math.sqrt(times(bounds[step, 4], square) + times(times(bounds[step, 5], part), walked))
    high = value + lost + times(bounds[step, 0], part) + root_high
    low = value + times(bounds[step, 3], part) - root_low
    return score, max(low, float64(kept) * UNIT), high


@device
def rescore(number, step, edges, chances, request, slot, top, found, team):
    """Set each contender's second score and tighter bounds, in every block; only the first writes the scores."""
    c = cuda.threadIdx.x
    while c < number:
        v = int64(found.vertices[c])
        low, high = interval(step, v, found.before[c], request, slot)
        after, new_low, new_high = push_back(v, top[BROUGHT, c], top[FEWEST, c], step, edges, chances, request, slot)
        low, high, value = max(new_low, low), min(new_high, high), float64(after) * UNIT
        if after == 0 or value < low or value > high:
            found.vertices[c] = NO_ONE
        else:
            found.lows[c], found.highs[c] = low, high
            if team.block == 0:
                top[KEYS, found.places[c]] = after
        c += cuda.blockDim.x


@device
def still_holds(step, outside, number, found, request, slot, top, team, phase):
    """Return whether Definition 1 holds for the new order, with the limits of the test passed, and the phase."""
    rank, members = team.block * cuda.blockDim.x + cuda.threadIdx.x, team.blocks * cuda.blockDim.x
    epsilon, at = request.epsilon, counters(team, phase)
    i = rank
    while i < request.k:
        limit = max(from_key(top[UPPERS, i]), outside)
        if limit > request.delta_min:
            value = float64(top[KEYS, i]) * UNIT
            low, high = known_interval(step, top[IDS, i], top[KEYS, i], number, found, request, slot)
            if low < (1.0 - epsilon) * limit or value > (1.0 + epsilon) * low or value < (1.0 - epsilon) * high:
                cuda.atomic.add(team.control, at + BROKEN, 1)
        i += members
    phase = team_barrier(team, phase)
    return team.control[at + BROKEN] == 0, phase


@device
def restore(number, length, found, top, team, phase):
    """Restore the contenders' first scores; all threads of the team. Returns the phase."""
    if team.block == 0:
        i = cuda.threadIdx.x
        while i < length:
            for c in range(number):
                if found.vertices[c] == top[IDS, i]:
                    top[KEYS, i] = found.before[c]
            i += cuda.blockDim.x
    return team_barrier(team, phase)


@device
def refine(stopped, length, outside, edges, chances, walks, in_edges, request, slot, top, found, team, phase):
    """Refine the contenders and sort the ``length`` best again; all threads of the team.

    Returns
    -------
    number, phase
        The number of contenders in ``found``, some of them NO_ONE; the new phase.
    """
    number, total = choose(stopped, length, in_edges, request, slot, top, found, team.memory.pool)
    if number == 0:
        return number, phase
    phase = gather(number, total, stopped, edges, chances, walks, in_edges, request, slot, top, found, team, phase)
    rescore(number, stopped.step, edges, chances, request, slot, top, found, team)
    phase = team_barrier(team, phase)
    phase = sort_best(top, False, team, phase, team.memory.pool)
    holds, phase = still_holds(stopped.step, outside, number, found, request, slot, top, team, phase)
    if not holds:
        phase = restore(number, length, found, top, team, phase)
        phase = sort_best(top, False, team, phase, team.memory.pool)
        number = int64(0)
    return number, phase


@device
def finish(stopped, edges, chances, walks, in_edges, request, slot, top, certain, team, phase, parity):
    """Sort the best candidates, refine them, and determine which are certain; all threads of the team.

    Afterwards KEYS and IDS of ``top`` hold the order; its first k are the answer. ``scores``, ``limits``, ``spare`` and
    ``frontier`` of the slot are undefined.

    Parameters
    ----------
    stopped : Stop
        With at least one candidate.
    certain : int64 array
        Receives 1 for each place of the answer that is certain, else 0.

    Returns
    -------
    phase, parity
        The new ones.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    rank, members = team.block * block_size + tid, team.blocks * block_size
    found = Contenders(
        vertices=cuda.shared.array(CONTENDERS, int32),
        places=cuda.shared.array(CONTENDERS, int32),
        before=cuda.shared.array(CONTENDERS, int64),
        begins=cuda.shared.array(ENDS, int64),
        lows=cuda.shared.array(CONTENDERS, float64),
        highs=cuda.shared.array(CONTENDERS, float64),
    )
    k, step = int64(request.k), stopped.step
    length = min(k + CONTENDERS // 2, stopped.count)
    _, phase, parity = take_best(slot, stopped.count, length, top, team, phase, parity)
    phase = sort_best(top, False, team, phase, team.memory.pool)
    reserve = float64(stopped.least_reserve) * UNIT
    outside = upper_bound(request.bounds, step, reserve, reserve)
    highest, phase = highest_left(stopped, length, outside, request, slot, top, team, phase)
    number = int64(0)
    if length > k and not stopped.final:
        number, phase = refine(
            stopped, length, outside, edges, chances, walks, in_edges, request, slot, top, found, team, phase
        )
    sums = team.memory.sums
    if tid == 0:
        sums[0] = to_key(highest)
    cuda.syncthreads()
    i = k + tid
    while i < length:
        _, high = known_interval(step, top[IDS, i], top[KEYS, i], number, found, request, slot)
        cuda.atomic.max(sums, 0, to_key(high))
        i += block_size
    cuda.syncthreads()
    highest = from_key(sums[0])
    i = int64(rank)
    while i < min(k, length):
        low, _ = known_interval(step, top[IDS, i], top[KEYS, i], number, found, request, slot)
        certain[i] = int64(stopped.exact or low >= highest)
        i += members
    # The fastest block will reset reserves to zero.
    return team_barrier(team, phase), parity
