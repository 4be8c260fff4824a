"""Seeds under a budget: the better of ratio greedy and the best single vertex, with a bound on any other choice."""

import numpy as np

from gpukit.device.compiled import njit
from gpukit.worlds.cover_cpu import cover, invert

BOUNDED_PREFIXES = 32
"""Greedy prefixes for which the knapsack bound is worked out at most: each costs a sort of the vertices."""


def choose(
    offsets: np.ndarray,
    members: np.ndarray,
    counts: np.ndarray,
    costs: np.ndarray,
    forced: np.ndarray,
    blocked: np.ndarray,
    budget: int,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Choose vertices that cover many sets and cost no more than the budget.

    Ratio greedy takes, of the vertices that can still be paid, the one with the largest gain per cost; the other
    candidate is the one vertex with the largest gain. The better of the two covers at least (1 - 1/e)/2 of the best.
    Source: Khuller, Moss, Naor, "The budgeted maximum coverage problem", 1999.

    Parameters
    ----------
    offsets : int64 array, shape (s + 1,)
    members : int32 array, shape (offsets[-1],)
        The sets, end to end.
    counts : int64 array, shape (n,)
        In how many sets each vertex is; taken over.
    costs : int64 array, shape (n,)
        Cost of each vertex, in [1, 2**31 - 1].
    forced : int32 array
        Vertices chosen first, paid already.
    blocked : bool array, shape (n,)
        Vertices never chosen.
    budget : int
        What the others may cost together.

    Returns
    -------
    seeds : int32 array, gains : int64 array
        In order of choice; vertices that cover nothing new are not bought.
    coverage_upper : int
        Upper bound on what any allowed set covers: the least, over greedy prefixes S_i that hold the forced vertices,
        of Λ(S_i) + the fractional knapsack of the marginal counts given S_i.
    """
    covered, everyone = np.zeros(len(offsets) - 1, np.bool_), np.arange(len(counts), dtype=np.int32)
    starts, sets = invert(offsets, members, covered, counts, everyone, everyone)
    barred = blocked.copy()
    barred[forced] = True
    base = np.array([cover(starts, sets, v, offsets, members, covered, counts) for v in forced], np.int64)
    after_forced = int(base.sum())
    open_ = ~barred & (costs <= budget)
    single = int(np.where(open_, counts, -1).argmax()) if open_.any() else -1
    single_gain = int(counts[single]) if single >= 0 else 0
    coverage_upper = min(len(offsets) - 1, after_forced + _knapsack(counts, costs, open_, budget))
    seeds: list[int] = []
    gains: list[int] = []
    left, total, spacing = budget, after_forced, 1
    while True:
        v = _best_ratio(counts, costs, barred, left)
        if v < 0:
            break
        gain = cover(starts, sets, v, offsets, members, covered, counts)
        seeds.append(v)
        gains.append(gain)
        barred[v] = True
        left -= int(costs[v])
        total += gain
        # Early prefixes are near each other's bound; later ones are tried at growing distances.
        if len(seeds) % spacing == 0:
            coverage_upper = min(coverage_upper, total + _knapsack(counts, costs, open_ & ~barred, budget))
            if len(seeds) >= BOUNDED_PREFIXES // 2 * spacing:
                spacing *= 2
    if single_gain > sum(gains):
        seeds, gains = [single], [single_gain]
    chosen = np.concatenate([forced, np.array(seeds, np.int32)])
    return chosen, np.concatenate([base, np.array(gains, np.int64)]), coverage_upper


@njit
def _best_ratio(counts, costs, barred, left):
    """Return the vertex with the largest count/cost > 0 that costs at most ``left``, the lowest among equals, or -1."""
    best = -1
    for v in range(len(counts)):
        if counts[v] > 0 and not barred[v] and costs[v] <= left:
            if best < 0 or counts[v] * costs[best] > counts[best] * costs[v]:
                best = v
    return best


def _knapsack(counts: np.ndarray, costs: np.ndarray, open_: np.ndarray, budget: int) -> int:
    """Return an integer bound on the counts that a budget buys if parts of vertices can be bought.

    For any price λ = a/b >= 0 of a unit of budget no choice is worth more than λ·budget + Σ max(0, count - λ·cost);
    the price at which the budget runs out gives the fractional optimum. It is found by sorting rounded ratios and then
    used in exact integers, so the bound holds whatever the rounding.
    """
    inside = np.flatnonzero(open_ & (counts > 0))
    value, cost = counts[inside], costs[inside]
    order = np.argsort(-(value / cost), kind="stable")
    value, cost = value[order], cost[order]
    taken = int(np.searchsorted(np.cumsum(cost), budget, side="right"))
    if taken == len(value):
        return int(value.sum())
    a, b = int(value[taken]), int(cost[taken])
    bought = value * b > a * cost
    return (a * budget + b * int(value[bought].sum()) - a * int(cost[bought].sum())) // b
