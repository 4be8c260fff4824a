"""The paper's update of mRR sets as printed (section 3.3), on the CPU: biased, for comparison only.

A clean set keeps its members and gets further roots from inside and outside, in the proportions that lemma 3.4 expects.
A polluted set keeps its living roots and is drawn again with fresh coins. The sets that are kept have coins that
happened to avoid the activated vertices. So the updated collection is no sample of the residual graph.
"""

from typing import Any

import numpy as np
from numba import int64, uint64

from gpukit.device.compiled import njit
from gpukit.device.philox import draw4
from gpukit.merit import update_cpu
from gpukit.merit.rule import SEQUENCE, InEdges, Key, Remaining, Span, root_count
from gpukit.worlds.rule import biased, word_of

PROMOTION = 2
"""Vertex field of the draws that promote members to roots, in addition to those of :mod:`gpukit.merit.rule`."""

VERSION_SHIFT = 32
"""A polluted set's coins get the id ``r + (version << 32)``: new ones each time."""


@njit
def _uniform(size, key, sample, field, cursor):
    """Return a uniform number in [0, size) from the words from ``cursor`` on, and the place after the used words."""
    while True:
        word = word_of(draw4(key.seed, key.root_tag, sample, field, cursor >> 2), cursor & 3)
        cursor += 1
        product = uint64(word) * uint64(size)
        if not biased(product, size):
            return int64(product >> uint64(32)), cursor


@njit
def update_as_printed(edges, remaining, key, span, sets, arena, tail, visited, stamp, facts, scratch, history):
    """Update the sets begin … end - 1, all of which exist, as printed (algorithm 5).

    Parameters
    ----------
    history : int64 array, shape (2, >= end)
        How often each set was drawn with new coins, and the number of words used for its promotions.

    For other parameters and the result see :func:`gpukit.merit.update_cpu.update_sets`.
    """
    versions, promotions = history[0], history[1]
    n, dead, living = len(remaining.dead), remaining.dead, remaining.living
    for j in range(span.begin, span.end):
        if tail + 2 * living > len(arena):
            return j, tail, stamp
        sample = span.first + j * span.step
        wanted = root_count(living, remaining.eta, key.seed, key.root_tag, sample)
        start, size, known, cursor = sets.starts[j], int64(sets.sizes[j]), int64(sets.roots[j]), sets.cursors[j]
        old, copy = arena[start : start + size], arena[tail : tail + size]
        clean = update_cpu.is_clean(arena, start, size, dead)
        if clean and wanted == known:
            continue
        outside = wanted - known
        if clean:
            # Lines 9 to 18: keep all members. Lemma 3.4 says how many further roots come from outside (rounded).
            facts[update_cpu.EXTENDED] += 1
            for i in range(size):
                copy[i] = old[i]
                visited[old[i]] = stamp
            inside = outside - (2 * outside * (living - size) + (living - known)) // (2 * (living - known))
            inside = max(outside - (living - size), min(inside, size - known))
            outside -= inside
            for _ in range(inside):
                place, promotions[j] = _uniform(size - known, key, sample, PROMOTION, promotions[j])
                copy[known], copy[known + place] = copy[known + place], copy[known]
                known += 1
        else:
            # Lines 20 to 25: keep the living roots (lemma 3.6), and take new coins.
            facts[update_cpu.POLLUTED] += 1
            versions[j] += 1
            size = int64(0)
            for i in range(known):
                if dead[old[i]] == 0:
                    arena[tail + size] = old[i]
                    visited[old[i]] = stamp
                    size += 1
            known = size
            outside = wanted - known
        head = last = tail + size
        while last < head + outside:
            v, cursor = _uniform(n, key, sample, SEQUENCE, cursor)
            if visited[v] < stamp:
                visited[v] = stamp
                arena[last] = v
                last += 1
        coins = sample + (versions[j] << VERSION_SHIFT)
        first = head if clean else tail
        last = update_cpu.probe(edges, remaining, key, coins, arena, first, last, visited, stamp, scratch)
        facts[update_cpu.PROBES] += last - first
        stamp += 2
        update_cpu.finish_set(sets, j, arena, tail, known, head, last, wanted, cursor)
        tail = last
    return int64(span.end), tail, stamp


class PrintedUpdate:
    """Updates the sets of a segment as printed; replaces :func:`gpukit.merit.update_cpu.update_sets`.

    New sets are the same; the object stores how often each was drawn again since the segment was empty.
    """

    def __init__(self) -> None:
        self._history = np.zeros((2, 0), np.int64)

    def __call__(self, edges: InEdges, remaining: Remaining, key: Key, span: Span, *space: Any) -> tuple[int, int, int]:
        """Update the sets of a segment to the current round, as far as its arena has room."""
        if span.have == 0:
            self._history = np.zeros((2, 0), np.int64)
        if span.begin >= span.have:
            return update_cpu.update_sets(edges, remaining, key, span, *space)
        lacking = max(0, span.have - self._history.shape[1])
        self._history = np.pad(self._history, ((0, 0), (0, lacking)))
        span = span._replace(end=min(span.end, span.have))
        return update_as_printed(edges, remaining, key, span, *space, self._history)
