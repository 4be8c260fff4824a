"""Maximum coverage over explicit sets, by brute force; ties go to the lowest ids."""

from collections.abc import Callable, Sequence
from itertools import combinations


def best_seed_set(n: int, k: int, value: Callable[[tuple[int, ...]], float]) -> tuple[tuple[int, ...], float]:
    """Return the k of n vertices with the largest value, the lexicographically first among equals, and the value."""
    best = max(combinations(range(n), k), key=value)
    return best, value(best)


def covered(sets: Sequence[Sequence[int]], seeds) -> int:
    """Return how many sets contain one of the seeds."""
    chosen = set(seeds)
    return sum(1 for members in sets if chosen & set(members))


def greedy(sets: Sequence[Sequence[int]], n: int, k: int) -> tuple[list[int], list[int]]:
    """Return the k greedy choices in order, and the number of sets covered after each.

    Each choice covers the most new sets, the lowest id among equals; chosen vertices are never chosen again.
    """
    chosen: list[int] = []
    counts: list[int] = []
    for _ in range(k):
        rest = [v for v in range(n) if v not in chosen]
        chosen.append(min(rest, key=lambda v: (-covered(sets, [*chosen, v]), v)))
        counts.append(covered(sets, chosen))
    return chosen, counts


def greedy_rounds(sets: Sequence[Sequence[int]], n: int, rounds: int, k: int) -> tuple[list[int], list[int]]:
    """Return the greedy choices of elements ``round * n + v``, at most k a round, and the sets covered after each."""
    chosen: list[int] = []
    counts: list[int] = []
    for _ in range(rounds * k):
        used = [sum(1 for e in chosen if e // n == t) for t in range(rounds)]
        rest = [e for e in range(rounds * n) if e not in chosen and used[e // n] < k]
        chosen.append(min(rest, key=lambda e: (-covered(sets, [*chosen, e]), e)))
        counts.append(covered(sets, chosen))
    return chosen, counts


def optimum_bound(sets: Sequence[Sequence[int]], n: int, k: int) -> int:
    """Return the upper bound on the best coverage: the least, over greedy prefixes, of covered + k largest gains.

    Source: Tang, Tang, Xiao, Yuan, SIGMOD 2018, lemma 5.2. Prefixes are those of length 0 … k.
    """
    chosen, _ = greedy(sets, n, k)
    bounds = []
    for length in range(k + 1):
        prefix = chosen[:length]
        base = covered(sets, prefix)
        gains = sorted((covered(sets, [*prefix, v]) - base for v in range(n)), reverse=True)
        bounds.append(base + sum(gains[:k]))
    return min(bounds)
