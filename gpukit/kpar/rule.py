"""What one step of a walk or of a push is: scalar rules, compiled for the CPU and for GPUs.

All sums are of integers, so that neither order nor number of threads can change them.
"""

import numba
from numba import int64, uint16, uint32, uint64

from gpukit.device.philox import draw4
from gpukit.kpar.groups import Threshold
from gpukit.kpar.problem import ONE

_REDRAWS = 1 << 31


SIGNIFICANT, UNIT_BITS = 12, 27
"""Bits of what a walk carries that are kept, and those that it has at most: the lowest of ρ, which it does not exceed,
are left out. A number and by how many places it is shifted fill 16 bits then (:func:`packed`)."""

LOST = 2.0 ** (1 - SIGNIFICANT)
"""What bits left out behind the first SIGNIFICANT are worth at most, as a part of these. Those left out below UNIT_BITS
are worth less than 2**-26 of ρ a walk, and bounds do not allow for them: a vertex where 2**26 walks end lacks ρ."""


FORWARD = 2
"""Entries of start lists that are read while the end of a walk is written: each is at a random place."""


@numba.njit
def threshold_of(rho):
    """Return which residues wait at ρ (int64), in units of 2**-62, and how coarse what a walk carries is."""
    coarse = int64(0)
    while rho >> coarse >= int64(1) << UNIT_BITS:
        coarse += 1
    return Threshold(rho, int64(ONE) // rho, coarse)


@numba.njit(inline="always")
def shift_of(value):
    """Return how many of its lowest bits a unit (int64 below 2**UNIT_BITS) lacks to have SIGNIFICANT ones."""
    shift = int64(0)
    for step in (8, 4, 2, 1):
        if value >> (shift + step - 1) >= int64(1) << SIGNIFICANT:
            shift += step
    return shift


@numba.njit(inline="always")
def packed(value):
    """Return a unit rounded down to SIGNIFICANT bits, as those and their shift in 16 bits."""
    shift = shift_of(value)
    return uint16(shift << SIGNIFICANT | value >> shift)


@numba.njit(inline="always")
def unpacked(unit):
    """Return the number (uint32) that :func:`packed` made 16 bits of."""
    unit = uint32(unit)
    return uint32(uint32(unit & uint32((1 << SIGNIFICANT) - 1)) << uint32(unit >> uint32(SIGNIFICANT)))


@numba.njit(inline="always")
def passed_on(amount, one_minus_alpha):
    """Return ⌊amount · one_minus_alpha / 2**32⌋: what a vertex passes on of ``amount`` units, exact in 64 bits."""
    high = (amount >> uint64(32)) * one_minus_alpha
    low = ((amount & uint64(0xFFFFFFFF)) * one_minus_alpha) >> uint64(32)
    return high + low


@numba.njit(inline="always")
def part_of(amount, chance):
    """Return ⌊amount · chance / 2**64⌋ for amounts below 2**62, exact in 64 bits."""
    low = uint64(0xFFFFFFFF)
    amount_high, amount_low = amount >> uint64(32), amount & low
    chance_high, chance_low = chance >> uint64(32), chance & low
    # Below 2**30 · 2**32 + 2**32 + 2**32: no sum overflows.
    middle = amount_high * chance_low + ((amount_low * chance_low) >> uint64(32))
    carried = amount_low * chance_high + (middle & low)
    return amount_high * chance_high + (middle >> uint64(32)) + (carried >> uint64(32))


@numba.njit
def ratio(part, whole):
    """Return ⌊2**64 · part / whole⌋ of whole numbers (uint64) with part < whole < 2**63, by long division."""
    rest, quotient = part, uint64(0)
    for _ in range(64):
        rest <<= uint64(1)
        quotient <<= uint64(1)
        if rest >= whole:
            rest -= whole
            quotient |= uint64(1)
    return quotient


@numba.njit
def passed_up_to(amount, chances, edge, last):
    """Return how much of ``amount`` (int64) takes the edges of a row up to ``edge``; the last one takes the rest."""
    if edge == last:
        return amount
    return int64(part_of(uint64(amount), chances[edge]))


@numba.njit
def edge_part(amount, chances, edge, first, last):
    """Return how much of ``amount`` (int64) takes an edge of the row ``first`` … ``last``."""
    before = int64(0)
    if edge > first:
        before = passed_up_to(amount, chances, edge - 1, last)
    return passed_up_to(amount, chances, edge, last) - before


@numba.njit
def row_place(indices, first, last, head):
    """Return the first of the places first … last - 1, where ``indices`` rise, with ``head`` or more, or ``last``."""
    while first < last:
        middle = (first + last) >> 1
        if indices[middle] < head:
            first = middle + 1
        else:
            last = middle
    return first


@numba.njit
def brought(amount, tail, head, edges, chances):
    """Return what the edge (``tail``, ``head``) brings of ``amount`` units (int64) that wait at its tail."""
    first, last = edges.indptr[tail], edges.indptr[tail + 1] - 1
    passed = int64(passed_on(uint64(amount), edges.one_minus_alpha))
    if chances is None:
        return passed // (last - first + 1)
    return edge_part(passed, chances, row_place(edges.indices, first, last, head), first, last)


@numba.njit
def over_alpha(amount, one_minus_alpha):
    """Return ⌊amount / α⌋ of units (int64) at most α · 2**62, exact in 64 bits."""
    alpha = (uint64(1) << uint64(32)) - one_minus_alpha
    whole = uint64(amount) // alpha
    rest = uint64(amount) - whole * alpha
    return int64((whole << uint64(32)) + (rest << uint64(32)) // alpha)


@numba.njit
def goes_forward(least_reserve, forward_cost, cost):
    """Return whether ``forward_cost`` entries of walks are followed forward, and not ``cost`` of start lists read.

    Without e₀ there are no candidates whose lists could be read.
    """
    return least_reserve == 0 or FORWARD * forward_cost < cost


@numba.njit
def left_out(v, among):
    """Return whether answers do not name a vertex: with ``among`` (bool, n) they name those alone that it marks."""
    if among is None:
        return False
    return not among[v]


@numba.njit
def refine_budget(worked, k):
    """Return how many edges the second look of a query may take that has pushed along ``worked`` of them.

    Half as many again up to k = 23, a twelfth from k = 96 on.
    """
    return worked // min(12, max(2, k // 8))


@numba.njit(inline="always")
def walk_end(indptr, indices, one_minus_alpha, seed, tag, walk, vertex):
    """Return where a walk from ``vertex`` ends.

    Step t uses words 2(t mod 2) and 2(t mod 2) + 1 of call t/2 at (tag, walk, vertex): one to stop, one to choose. A
    choice that Lemire's test rejects is drawn again from calls at 2**31 + t.
    """
    here = int64(vertex)
    step = 0
    w0, w1, w2, w3 = uint32(0), uint32(0), uint32(0), uint32(0)
    while True:
        start = indptr[here]
        degree = uint64(indptr[here + 1] - start)
        if degree == 0:
            return here
        if step & 1 == 0:
            w0, w1, w2, w3 = draw4(seed, tag, walk, vertex, step >> 1)
        else:
            w0, w1 = w2, w3
        if uint64(w0) >= one_minus_alpha:
            return here
        product = uint64(w1) * degree
        low = product & uint64(0xFFFFFFFF)
        if low < degree:
            least = (uint64(1) << uint64(32)) % degree
            again = 0
            while low < least:
                r0, r1, r2, r3 = draw4(seed, tag, walk, vertex, _REDRAWS + step + (again << 16))
                product = uint64(r0) * degree
                low = product & uint64(0xFFFFFFFF)
                again += 1
        here = int64(indices[start + int64(product >> uint64(32))])
        step += 1


@numba.njit
def chosen_edge(chances, first, last, choice):
    """Return the edge of the row ``first`` … ``last`` that a random word takes: the first whose chance is above it.

    It is looked for where it would be if edges counted alike, and from there in steps that double: mostly in one or two
    sectors of memory, however long the row. The last edge has no chance written, and takes the rest.
    """
    low, high, step = first, last, int64(1)
    guess = first + int64(((choice >> uint64(32)) * uint64(last - first + 1)) >> uint64(32))
    if guess == last or choice < chances[guess]:
        high = guess
        while high - step >= first and choice < chances[high - step]:
            high -= step
            step *= 2
        low = max(first, high - step + 1)
    else:
        low = guess + 1
        while low + step - 1 < last and choice >= chances[low + step - 1]:
            low += step
            step *= 2
        high = min(last, low + step - 1)
    while low < high:
        middle = (low + high) >> 1
        if choice < chances[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@numba.njit
def weighted_walk_end(indptr, indices, chances, one_minus_alpha, seed, tag, walk, vertex):
    """Return where a walk from ``vertex`` along weighted edges ends: step t uses three words of call t."""
    here = int64(vertex)
    step = 0
    while True:
        first, last = indptr[here], indptr[here + 1] - 1
        if last < first:
            return here
        w0, w1, w2, _ = draw4(seed, tag, walk, vertex, step)
        if uint64(w0) >= one_minus_alpha:
            return here
        choice = (uint64(w1) << uint64(32)) | uint64(w2)
        here = int64(indices[chosen_edge(chances, first, last, choice)])
        step += 1


@numba.njit
def any_walk_end(indptr, indices, chances, one_minus_alpha, seed, tag, walk, vertex):
    """Return where a walk from ``vertex`` ends; edges count alike where ``chances`` is None."""
    if chances is None:
        return walk_end(indptr, indices, one_minus_alpha, seed, tag, walk, vertex)
    return weighted_walk_end(indptr, indices, chances, one_minus_alpha, seed, tag, walk, vertex)
