"""The paper's update of mRR sets as printed (section 3.3), on the CPU: biased, for comparison only.

A clean set keeps its members and gets further roots, in the proportions that lemma 3.4 expects, from inside and
outside; a polluted one keeps its living roots and is drawn again with fresh coins. Sets that survive are those whose
coins happened to keep them clear of activated vertices, so the updated collection is no sample of the residual graph.

Numba's cache notices changes of this file alone: touch it after one of ``update_cpu.py`` or of what
is compiled into that.
"""

import numba
import numpy as np
from numba import int64, uint64

from gpukit.device.philox import draw4
from gpukit.merit import update_cpu
from gpukit.merit.rule import SEQUENCE, root_count
from gpukit.merit.sets import CpuSets, Segment
from gpukit.worlds.rule import biased, word_of

PROMOTION = 2
"""Vertex field of the draws that promote members to roots, beside those of :mod:`gpukit.merit.rule`."""

VERSION_SHIFT = 32
"""A polluted set's coins get the id ``r + (version << 32)``: new ones each time."""


@numba.njit(nogil=True, cache=True)
def _uniform(size, seed, root_tag, sample, field, cursor):
    """Return a uniform number in [0, size) from the word ``cursor`` on, and the place after the words used."""
    while True:
        word = word_of(draw4(seed, root_tag, sample, field, cursor >> 2), cursor & 3)
        cursor += 1
        product = uint64(word) * uint64(size)
        if not biased(product, size):
            return int64(product >> uint64(32)), cursor


@numba.njit(nogil=True, cache=True)
def renew(
    rows, indices, accept, thresholds, lt_kind, lt_constant, lt_prefix,
    dead, living, eta, living_in, raw, seed, tag, root_tag, first, step, begin, have, end,
    starts, sizes, roots, cursors, arena, tail, visited, stamp, facts, scratch, versions, promotions,
):  # fmt: skip
    """Update the sets begin … end - 1, all of which exist, as printed.

    Parameters
    ----------
    versions : int64 array
        How often each set was drawn with new coins.
    promotions : int64 array
        Words used for promotions of each set.

    Other parameters and what is returned: :func:`gpukit.merit.update_cpu.advance`.
    """
    n = len(dead)
    for j in range(begin, end):
        if tail + 2 * living > len(arena):
            return j, tail, stamp
        sample = first + j * step
        wanted = root_count(living, eta, seed, root_tag, sample)
        size, kept, cursor = int64(sizes[j]), int64(roots[j]), cursors[j]
        old, copy = arena[starts[j] : starts[j] + size], arena[tail : tail + size]
        clean = update_cpu.is_clean(arena, starts[j], sizes[j], dead)
        if clean and wanted == kept:
            continue
        outside = wanted - kept
        if clean:
            facts[update_cpu.EXTENDED] += 1
            for i in range(size):
                copy[i] = old[i]
                visited[old[i]] = stamp
            inside = outside - (2 * outside * (living - size) + (living - kept)) // (2 * (living - kept))
            inside = max(outside - (living - size), min(inside, size - kept))
            outside -= inside
            for _ in range(inside):
                place, promotions[j] = _uniform(size - kept, seed, root_tag, sample, PROMOTION, promotions[j])
                copy[kept], copy[kept + place] = copy[kept + place], copy[kept]
                kept += 1
        else:
            facts[update_cpu.POLLUTED] += 1
            versions[j] += 1
            size = int64(0)
            for i in range(kept):
                if dead[old[i]] == 0:
                    arena[tail + size] = old[i]
                    visited[old[i]] = stamp
                    size += 1
            kept = size
            outside = wanted - kept
        head = last = tail + size
        while last < head + outside:
            v, cursor = _uniform(n, seed, root_tag, sample, SEQUENCE, cursor)
            if visited[v] < stamp:
                visited[v] = stamp
                arena[last] = v
                last += 1
        coins = sample + (versions[j] << VERSION_SHIFT)
        start = head if clean else tail
        last = update_cpu.search(
            rows, indices, accept, thresholds, lt_kind, lt_constant, lt_prefix, dead, living_in, raw,
            seed, tag, coins, arena, start, last, visited, stamp, scratch,
        )  # fmt: skip
        facts[update_cpu.PROBES] += last - start
        stamp += 2
        for i in range(outside):
            arena[head + i], arena[tail + kept + i] = arena[tail + kept + i], arena[head + i]
        starts[j], sizes[j], roots[j], cursors[j] = tail, last - tail, wanted, cursor
        tail = last
    return int64(end), tail, stamp


class PrintedSets(CpuSets):
    """A collection that is updated as printed; new sets are those of :class:`gpukit.merit.sets.CpuSets`."""

    def restart(self, first: int) -> None:
        """Forget all sets; the next ones have ids from ``first`` on."""
        super().restart(first)
        self._history = [np.zeros((2, 0), np.int64) for _ in self._segments]

    def _piece(self, worker: int, own: Segment, begin: int, end: int) -> int:
        if begin >= own.have:
            return super()._piece(worker, own, begin, end)
        history = self._history[worker]
        if history.shape[1] < own.have:
            self._history[worker] = np.pad(history, ((0, 0), (0, own.have - history.shape[1])))
        done, own.tail, own.stamp = renew(
            *self._arguments(worker, own, begin, min(end, own.have)), *self._history[worker]
        )
        return int(done)
