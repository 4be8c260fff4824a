"""Choosing under a budget: against plain Python, and its bound against exhaustive search."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from oracles.coverage import covered

from gpukit.gim import budget
from gpukit.worlds.cover_cpu import PLAIN


def packed(sets):
    offsets = np.cumsum([0] + [len(members) for members in sets])
    return offsets, np.array([v for members in sets for v in members], np.int32)


def run(sets, costs, limit, forced=(), barred=()):
    offsets, members = packed(sets)
    counts = np.bincount(members, minlength=len(costs))
    blocked = np.isin(np.arange(len(costs)), barred)
    return budget.choose(offsets, members, counts, np.array(costs), np.array(forced, np.int32), blocked, limit, PLAIN)


def plain(sets, costs, limit, forced, barred):
    """Return the better of ratio greedy and the best single vertex."""
    chosen, left = list(forced), limit
    while True:
        base = covered(sets, chosen)
        gains = {
            v: covered(sets, [*chosen, v]) - base for v in range(len(costs)) if v not in chosen and v not in barred
        }
        open_ = [v for v, gain in gains.items() if gain > 0 and costs[v] <= left]
        if not open_:
            break
        v = min(open_, key=lambda v: (-Fraction(gains[v], costs[v]), v))
        chosen.append(v)
        left -= costs[v]
    singles = [v for v in range(len(costs)) if v not in forced and v not in barred and costs[v] <= limit]
    if singles:
        single = min(singles, key=lambda v: (-covered(sets, [*forced, v]), v))
        if covered(sets, [*forced, single]) > covered(sets, chosen):
            return [*forced, single]
    return chosen


@pytest.mark.parametrize("key", range(25))
def test_choice_and_bound(key):
    generator = np.random.default_rng(key)
    n = 9
    sets = [
        generator.choice(n, generator.integers(1, 4), replace=False).tolist() for _ in range(generator.integers(1, 40))
    ]
    costs = generator.integers(1, 8, n).tolist()
    forced, barred = ([4, 2], [7]) if key % 3 == 0 else ((), ())
    limit = int(generator.integers(1, 20))
    seeds, gains, coverage_upper = run(sets, costs, limit, forced, barred)
    assert seeds.tolist() == plain(sets, costs, limit, forced, barred)
    assert gains.sum() == covered(sets, seeds)
    free = [v for v in range(n) if v not in forced and v not in barred]
    allowed = [s for size in range(n) for s in combinations(free, size) if sum(costs[v] for v in s) <= limit]
    best = max(covered(sets, [*forced, *s]) for s in allowed)
    assert covered(sets, seeds) >= 0.316 * best
    assert best <= coverage_upper <= len(sets)


def test_one_dear_vertex_beats_cheap_ones():
    sets = [[0]] + [[1]] * 10
    seeds, gains, coverage_upper = run(sets, [1, 20], 20)
    assert (seeds.tolist(), gains.tolist()) == ([1], [10])
    assert 10 <= coverage_upper <= 11


def test_many_seeds_and_a_bound_at_growing_distances():
    sets = [[v] for v in range(300)]
    seeds, _, coverage_upper = run(sets, [2] * 300, 401)
    assert seeds.tolist() == list(range(200))
    assert coverage_upper == 200


def test_large_costs_do_not_overflow():
    top = 2**31 - 1
    seeds, _, coverage_upper = run([[0], [1], [2]] * 50, [top, top, top - 1], 2 * top - 1)
    assert seeds.tolist() == [2, 0]
    assert coverage_upper == 100
