"""Selection and coverage on a GPU: working space and launches for the kernels of ``cover_cuda.py``."""

from typing import Any

import numpy as np

from gpukit.device.arguments import View
from gpukit.device.arrays import Buffer, multiprocessors, xp
from gpukit.device.elements_cuda import filled, rounded_up
from gpukit.device.launch import cooperative_grid, launch
from gpukit.worlds import candidates_cuda, cover_cuda
from gpukit.worlds.candidates_cuda import FORCED, FREE
from gpukit.worlds.collection import Query, Selection
from gpukit.worlds.cover_cuda import CONTROL, Answer, DeviceQuery, Sets, Work
from gpukit.worlds.reverse import Reverse

TARGET_CANDIDATES, LARGE_COLLECTION = 1024, 1 << 23
"""Candidates that a selection aims at. From LARGE_COLLECTION members on, it takes as many as there is room for, because
choosing candidates again costs a pass over the members."""

BLOCK_MEMBERS = 1 << 15
"""Members for which a selection gets another block, beyond one per multiprocessor: barriers are cheaper with few
blocks."""


class Chooser:
    """Chooses elements from collections on the current GPU, one at a time, and counts the sets that elements cover.

    Parameters
    ----------
    reverse : Reverse
        Vertices and rounds.
    """

    def __init__(self, reverse: Reverse) -> None:
        self.n, self.rounds, elements = reverse.n, reverse.rounds, reverse.elements
        words, candidates = (elements + 31) // 32, candidates_cuda.MAX_CANDIDATES
        self.work = dict(
            remaining=Buffer(elements, np.int32),
            histogram=Buffer(candidates_cuda.BUCKETS * candidates_cuda.EPOCHS, np.int32),
            candidates=Buffer(candidates, np.int32),
            marks=Buffer(words, np.int64),
            parts=Buffer(words, np.int64),
            list_start=Buffer(candidates, np.int64),
            list_end=Buffer(candidates, np.int64),
            taken=Buffer((4, candidates), np.int32),
        )
        self.state = Buffer(elements, np.uint8)
        self.position = filled(elements, 2**31 - 1)

    def select(self, sets: Sets, query: Query) -> Selection | None:
        """Choose seeds (:func:`gpukit.worlds.cover_cpu.greedy`); return None if the candidates did not suffice."""
        k, forced, blocked, bounds, bonus = query
        picks = k * self.rounds
        self.state.array.fill(FREE)
        if blocked is not None:
            self.state.array[:] = xp.asarray(blocked.astype(np.uint8))
        if len(forced):
            self.state.array[xp.asarray(forced)] = FORCED
        wanted = Buffer(forced.astype(np.int32))
        if bonus is None:
            alone, unit = Buffer(0, np.int32), 1
        else:
            alone, unit = rounded_up(Buffer(bonus.values), bonus.scale), bonus.unit
        least = TARGET_CANDIDATES if sets.used < LARGE_COLLECTION else candidates_cuda.MAX_CANDIDATES
        target = max(least, 16 * picks)
        asked = DeviceQuery(self.n, self.rounds, k, wanted.view, self.state.view, target, bounds, alone.view, unit)
        # One array for all results, so that one copy brings them to the host.
        ends = [picks, 2 * picks, 3 * picks + 1]
        results = Buffer(ends[-1] + CONTROL, np.int64, 0)
        seeds, gains, largest, control = map(View, xp.split(results.array, ends))
        work = Work(
            inverted=Buffer(sets.used, np.int32).view,
            covered=Buffer(sets.size, np.int32).view,
            snapshot=Buffer((picks + 1, candidates_cuda.MAX_CANDIDATES), np.int32).view,
            **{name: one.view for name, one in self.work.items()},
        )
        _launch(cover_cuda.greedy, sets.used, sets, asked, work, Answer(seeds, gains, largest), control)
        found, worth, terms, outcome = np.split(results.host(), ends)
        if outcome[cover_cuda.STATUS] != cover_cuda.DONE:
            return None
        terms[: len(forced)] = -1
        covered = worth if bonus is None else (worth - bonus.of(found)) // bonus.unit
        return Selection(found.astype(np.int32), covered, terms if bounds else None)

    def coverage(self, sets: Sets, seeds: np.ndarray) -> np.ndarray:
        """Return, as int64 (len(seeds) + 1,), how many sets the first i seeds cover."""
        earliest, totals = Buffer(sets.size, np.int32), Buffer(len(seeds) + 1, np.int64, 0)
        sequence = Buffer(seeds.astype(np.int64))
        _launch(cover_cuda.coverage, sets.used, sets, sequence.view, self.position.view, earliest.view, totals.view)
        return np.concatenate([[0], np.cumsum(totals.host()[:-1])])


def _launch(kernel: Any, members: int, *args: Any) -> None:
    """Launch a cooperative kernel on a collection with about ``members`` members."""
    if xp is np:
        grid, block = 1, 32
    else:
        block = cover_cuda.BLOCK
        grid = min(cooperative_grid(kernel, block, args), max(multiprocessors(), members // BLOCK_MEMBERS))
    launch(kernel, grid, block, *args)
