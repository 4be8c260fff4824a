"""Seeds under a budget: the better of ratio greedy and the best single vertex, with a bound on any other choice."""

import numpy as np

from gpukit.device.compiled import njit
from gpukit.errors import UsageError
from gpukit.worlds.cover_cpu import Worth, all_sets, cover, invert

BOUNDED_PREFIXES = 32
"""Most greedy prefixes for which the knapsack bound is computed: each costs a sort of the vertices."""


def choose(
    offsets: np.ndarray,
    members: np.ndarray,
    counts: np.ndarray,
    costs: np.ndarray,
    forced: np.ndarray,
    blocked: np.ndarray,
    budget: int,
    worth: Worth,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Choose vertices that cover many sets and cost no more than the budget.

    Ratio greedy repeatedly takes the affordable vertex with the largest gain per cost. The other candidate is the
    single vertex with the largest gain. The better of the two covers at least (1 - 1/e)/2 of the optimum. Source:
    Khuller, Moss, Naor, "The budgeted maximum coverage problem", 1999.

    Parameters
    ----------
    offsets : int64 array, shape (s + 1,)
    members : int32 array, shape (offsets[-1],)
        The sets, concatenated.
    counts : int64 array, shape (n,)
        Number of sets that hold each vertex; modified.
    costs : int64 array, shape (n,)
        Cost of each vertex, in [1, 2**31 - 1].
    forced : int32 array
        Vertices chosen first, already paid for.
    blocked : bool array, shape (n,)
        Vertices never chosen.
    budget : int
        Budget for all other vertices.
    worth : Worth
        Bonus of each vertex, and value of a set.

    Returns
    -------
    seeds : int32 array, gains : int64 array
        Seeds in order of choice, and the number of sets that each newly covers; vertices without further value are not
        bought.
    worth_upper : int
        Upper bound on the worth of any allowed set: the least, over greedy prefixes S_i that hold the forced vertices,
        of the worth of S_i + the fractional knapsack of the marginal values given S_i.
    """
    covered, everyone = np.zeros(len(offsets) - 1, np.bool_), np.arange(len(counts), dtype=np.int32)
    starts, sets = invert(offsets, members, all_sets(offsets), covered, counts, everyone, everyone)
    bonus = worth.bonus if len(worth.bonus) else np.zeros(len(counts), np.int64)
    barred = blocked.copy()
    barred[forced] = True
    gains = [cover(starts, sets, v, offsets, members, covered, counts) for v in forced]
    total = worth.unit * sum(gains) + int(bonus[forced].sum())
    values = worth.unit * counts + bonus
    if int(values.max()) * int(costs.max()) >= 2**62:
        raise UsageError("the costs and targets are too fine for so many sets; give them fewer digits")
    open_ = ~barred & (costs <= budget)
    single = int(np.where(open_, values, -1).argmax()) if open_.any() else -1
    single_gain, single_value = (int(counts[single]), int(values[single])) if single >= 0 else (0, 0)
    worth_upper = total + _knapsack(values, costs, open_, budget)
    if not len(worth.bonus):
        worth_upper = min(len(offsets) - 1, worth_upper)
    seeds, left, before, spacing = forced.tolist(), budget, total, 1
    while True:
        v = _best_ratio(values, costs, barred, left)
        if v < 0:
            break
        total += int(values[v])
        gains.append(cover(starts, sets, v, offsets, members, covered, counts))
        seeds.append(v)
        values = worth.unit * counts + bonus
        barred[v] = True
        left -= int(costs[v])
        bought = len(seeds) - len(forced)
        # Early prefixes have nearly the same bound; later ones are tried at growing distances.
        if bought % spacing == 0:
            worth_upper = min(worth_upper, total + _knapsack(values, costs, open_ & ~barred, budget))
            if bought >= BOUNDED_PREFIXES // 2 * spacing:
                spacing *= 2
    if single_value > total - before:
        seeds, gains = [*forced.tolist(), single], [*gains[: len(forced)], single_gain]
    return np.array(seeds, np.int32), np.array(gains, np.int64), worth_upper


@njit
def _best_ratio(values, costs, barred, left):
    """Return the vertex with the largest value/cost > 0 that costs at most ``left``, the lowest among equals, or -1."""
    best = -1
    for v in range(len(values)):
        if values[v] > 0 and not barred[v] and costs[v] <= left:
            if best < 0 or values[v] * costs[best] > values[best] * costs[v]:
                best = v
    return best


def _knapsack(values: np.ndarray, costs: np.ndarray, open_: np.ndarray, budget: int) -> int:
    """Return an integer bound on the value that a budget buys if fractions of vertices can be bought.

    For any price λ = a/b >= 0 of a unit of budget, no choice is worth more than λ·budget + Σ max(0, value - λ·cost).
    The price at which the budget runs out gives the fractional optimum. Sorting rounded ratios finds this price; exact
    integers then use it, so the bound holds whatever the rounding.
    """
    inside = np.flatnonzero(open_ & (values > 0))
    value, cost = values[inside], costs[inside]
    order = np.argsort(-(value / cost), kind="stable")
    value, cost = value[order], cost[order]
    taken = int(np.searchsorted(np.cumsum(cost), budget, side="right"))
    if taken == len(value):
        return int(value.sum())
    a, b = int(value[taken]), int(cost[taken])
    bought = value * b > a * cost
    return (a * budget + b * int(value[bought].sum()) - a * int(cost[bought].sum())) // b
