"""Greedy coverage on the CPU against a greedy over explicit sets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.coverage import covered, greedy_rounds

from gpukit.worlds.cover_cpu import PLAIN, Worth, coverage, greedy, undivided
from gpukit.worlds.highest import highest, largest_first, limit_of

NONE = np.empty(0, np.int32)


def random_sets(key, n, rounds, count, largest):
    """Return explicit sets over n * rounds elements, skewed to low ids, and their packed form."""
    generator = np.random.default_rng(key)
    sets = []
    for _ in range(count):
        size = generator.integers(0, largest + 1)
        sets.append(sorted(set((n * rounds * generator.random(size) ** 3).astype(int).tolist())))
    offsets = np.cumsum([0] + [len(members) for members in sets], dtype=np.int64)
    members = np.array([e for group in sets for e in group], np.int32)
    return sets, offsets, members


def run(offsets, members, n, rounds, k, forced=NONE, blocked=None, bounds=True, worth=PLAIN):
    counts = np.bincount(members, minlength=n * rounds).astype(np.int32)
    barred = np.zeros(n * rounds, np.bool_) if blocked is None else blocked.copy()
    return greedy(offsets, members, undivided(offsets, counts), n, rounds, k, forced, barred, bounds, worth)


@pytest.mark.parametrize("key", range(4))
@pytest.mark.parametrize(
    ("n", "rounds", "k", "count"), [(30, 1, 6, 60), (700, 1, 6, 800), (25, 3, 4, 80), (5, 1, 5, 3), (40, 2, 9, 4)]
)
def test_equals_the_explicit_greedy(key, n, rounds, k, count):
    sets, offsets, members = random_sets(key, n, rounds, count, 9)
    seeds, gains, largest = run(offsets, members, n, rounds, k)
    expected, totals = greedy_rounds(sets, n, rounds, k)
    assert seeds.tolist() == expected
    assert np.cumsum(gains).tolist() == totals
    for i in range(len(seeds) + 1):
        left = [group for group in sets if not set(group) & set(seeds[:i].tolist())]
        marginal = np.bincount([e for group in left for e in group], minlength=n * rounds).reshape(rounds, n)
        assert largest[i] == np.sort(marginal, axis=1)[:, ::-1][:, :k].sum()


@pytest.mark.parametrize("scale", [1, 50, 1 << 40])
@pytest.mark.parametrize("unit", [1, 256])
def test_elements_that_count_for_something_themselves(scale, unit):
    """Against a greedy that tries every element, and every bound from its definition; the cover of no set, too."""
    n, k = 300, 12
    for key, count in ((0, 0), (1, 5), (2, 400)):
        sets, offsets, members = random_sets(key, n, 1, count, 9)
        bonus = np.random.default_rng(key).integers(0, scale, n)
        seeds, gains, largest = run(offsets, members, n, 1, k, worth=Worth(bonus, unit))
        chosen, left = [], [set(group) for group in sets]
        for i in range(k + 1):
            counts = np.bincount([e for group in left for e in group], minlength=n)
            value = bonus + unit * counts
            value[chosen] = -1
            assert largest[i] == np.sort(value)[-k:].sum()
            if i < k:
                best = int(np.argmax(value))
                chosen.append(best)
                left, before = [group for group in left if best not in group], len(left)
                assert gains[i] == before - len(left)
        assert seeds.tolist() == chosen


def test_forced_come_first_and_blocked_never():
    sets, offsets, members = random_sets(3, 40, 1, 200, 6)
    blocked = np.zeros(40, np.bool_)
    blocked[:4] = True
    forced = np.array([39, 38], np.int32)
    seeds, gains, largest = run(offsets, members, 40, 1, 6, forced, blocked)
    assert seeds[:2].tolist() == [39, 38] and not set(seeds.tolist()) & {0, 1, 2, 3}
    assert largest[:2].tolist() == [-1, -1] and largest[2] > 0
    assert gains.sum() == covered(sets, seeds.tolist())


def test_all_sets_covered_before_the_last_seed():
    """Further seeds gain nothing and are the lowest ids left."""
    offsets, members = np.array([0, 1, 2], np.int64), np.array([7, 7], np.int32)
    seeds, gains, largest = run(offsets, members, 10, 1, 4)
    assert seeds.tolist() == [7, 0, 1, 2]
    assert gains.tolist() == [2, 0, 0, 0]
    assert largest.tolist() == [2, 0, 0, 0, 0]


def test_fewer_elements_than_seeds():
    blocked = np.array([False, True, True, False])
    seeds, gains, _ = run(np.array([0, 2], np.int64), np.array([0, 3], np.int32), 4, 1, 4, blocked=blocked)
    assert seeds.tolist() == [0, 3] and gains.tolist() == [1, 0]


def test_no_sets():
    seeds, gains, largest = run(np.zeros(1, np.int64), NONE, 5, 1, 2)
    assert seeds.tolist() == [0, 1] and gains.tolist() == [0, 0] and largest.tolist() == [0, 0, 0]


def test_coverage_counts_prefixes():
    sets, offsets, members = random_sets(8, 50, 1, 300, 7)
    seeds = np.array([5, 0, 33, 12], np.int32)
    position = np.full(50, 4, np.int32)
    position[seeds] = np.arange(4)
    assert coverage(offsets, members, np.array([[0, len(sets)]]), position, 4).tolist() == [
        covered(sets, seeds[:i].tolist()) for i in range(5)
    ]


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.lists(st.integers(-3, 9), min_size=1, max_size=40), st.data())
def test_the_largest_come_first(values, data):
    size = data.draw(st.integers(1, len(values)))
    k = data.draw(st.integers(1, size))
    parted, ordered = np.array(values), sorted(values[:size], reverse=True)
    assert largest_first(parted, size, k) == ordered[k - 1]
    assert list(parted[size:]) == values[size:] and sorted(parted[:size]) == ordered[::-1]
    assert sorted(parted[:k], reverse=True) == ordered[:k]


@given(st.lists(st.integers(-3, 9), max_size=40), st.integers(0, 50))
def test_the_highest_places_are_those_of_a_stable_sort(values, count):
    values = np.array(values, np.int64)
    assert highest(values, count).tolist() == np.argsort(-values, kind="stable")[:count].tolist()
    reached = sorted(values.tolist(), reverse=True)[count - 1] if 0 < count < len(values) else 0
    assert count == 0 or limit_of(values, count) == max(0, reached)
