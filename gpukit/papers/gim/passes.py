"""Seed selection as in the paper (section 3.8): one pass over all sets for each seed. ``--selection scan``."""

import numpy as np
from numba import prange

from gpukit.device.compiled import njit
from gpukit.worlds.cover_cpu import PLAIN, Worth


# Algorithm 7, lines 1 to 12.
@njit(parallel=True)
def _mark(offsets, members, covered, element, hit):
    """Write the uncovered sets that contain an element to ``hit``, cover them, and return their number."""
    total = 0
    for s in prange(len(offsets) - 1):
        found = False
        if not covered[s]:
            for j in range(offsets[s], offsets[s + 1]):
                if members[j] == element:
                    found = True
                    break
        hit[s] = found
        if found:
            covered[s] = True
            total += 1
    return total


# Algorithm 7, lines 13 to 15.
@njit
def _discount(offsets, members, hit, counts):
    """Subtract the members of the sets in ``hit`` from the counts."""
    for s in range(len(offsets) - 1):
        if hit[s]:
            for j in range(offsets[s], offsets[s + 1]):
                counts[members[j]] -= 1


def greedy(
    offsets: np.ndarray,
    members: np.ndarray,
    counts: np.ndarray,
    n: int,
    rounds: int,
    k: int,
    forced: np.ndarray,
    blocked: np.ndarray,
    bounds: bool,
    worth: Worth = PLAIN,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Choose up to k elements in each round greedily; ties go to the lower element.

    Parameters
    ----------
    offsets : int64 array, shape (s + 1,)
    members : int32 array, shape (offsets[-1],)
        The sets, concatenated.
    counts : int64 array, shape (n * rounds,)
        Number of sets that contain each element; afterwards of uncovered sets only.
    n, rounds, k, forced, blocked, bounds, worth
        As in :func:`gpukit.worlds.cover_cpu.greedy`, which chooses the same seeds.

    Returns
    -------
    seeds : int32 array, gains : int64 array, largest : int64 array
        As there.
    """
    covered, hit = np.zeros(len(offsets) - 1, np.bool_), np.zeros(len(offsets) - 1, np.bool_)
    blocked[forced] = True
    quota = np.full(rounds, k)
    seeds: list[int] = []
    gains: list[int] = []
    largest: list[int] = []
    while True:
        forced_next = len(seeds) < len(forced)
        values = worth.unit * counts + (worth.bonus if len(worth.bonus) else 0)
        open_values = np.where(blocked, -1, values).reshape(rounds, n)
        largest.append(-1 if forced_next or not bounds else _top(open_values, k))
        if forced_next:
            chosen = int(forced[len(seeds)])
        else:
            chosen = int(np.where(quota[:, None] > 0, open_values, -1).argmax())
            if blocked[chosen] or quota[chosen // n] == 0:
                break
        seeds.append(chosen)
        gains.append(_mark(offsets, members, covered, chosen, hit))
        _discount(offsets, members, hit, counts)
        blocked[chosen] = True
        quota[chosen // n] -= 1
    return np.array(seeds, np.int32), np.array(gains, np.int64), np.array(largest, np.int64)


def _top(values: np.ndarray, k: int) -> int:
    """Return the sum of the k largest positive values of each row."""
    part = values if k >= values.shape[1] else np.partition(values, values.shape[1] - k, axis=1)[:, -k:]
    return int(np.maximum(part, 0).sum())
