"""Selection and coverage on a GPU: working space and launches for the kernels of ``cover_cuda.py``."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gpukit.device.arguments import View
from gpukit.device.arrays import Buffer, multiprocessors, xp
from gpukit.device.elements_cuda import filled, rounded_up
from gpukit.device.launch import cooperative_grid, launch
from gpukit.worlds import candidates_cuda, cover_cuda
from gpukit.worlds.candidates_cuda import FORCED, FREE
from gpukit.worlds.collection import Own, Query, Selection
from gpukit.worlds.cover_cuda import CONTROL, Answer, DeviceQuery, Sets, Work
from gpukit.worlds.reverse import Reverse

TARGET_CANDIDATES, LARGE_COLLECTION = 1024, 1 << 23
"""Candidates that a selection aims at, and the members from which it takes as many as there is room for: choosing them
again costs a pass over the members."""

AHEAD = 4
"""Seeds that are prepared together; in large collections one by one, as more members are read for those that were not
the next ones after all."""

BLOCK_MEMBERS = 1 << 15
"""Members for which a selection gets another block, from one per multiprocessor on: few make its barriers cheap."""


class _Results(NamedTuple):
    """What one copy brings to the host: seeds, gains, the terms of the bound, hits of each seed, and the control."""

    seeds: View
    gains: View
    largest: View
    hits: View
    control: View


class Chooser:
    """Chooses elements from collections on the current GPU, and counts what elements cover, for one at a time.

    Parameters
    ----------
    reverse : Reverse
        Vertices and rounds.
    """

    def __init__(self, reverse: Reverse) -> None:
        self.n, self.rounds, elements = reverse.n, reverse.rounds, reverse.elements
        words, candidates = (elements + 31) // 32, candidates_cuda.MAX_CANDIDATES
        self.work = Work(
            remaining=Buffer(elements, np.int32),
            histogram=Buffer(candidates_cuda.BUCKETS * candidates_cuda.EPOCHS, np.int32),
            candidates=Buffer(candidates, np.int32),
            marks=Buffer(words, np.int64),
            parts=Buffer(words, np.int64),
            list_start=Buffer(candidates, np.int64),
            list_end=Buffer(candidates, np.int64),
            inverted=Buffer(0, np.int32),
            covered=Buffer(0, np.int32),
            taken=Buffer((candidates_cuda.ROWS, candidates), np.int32),
            snapshot=Buffer((0, candidates), np.int32),
        )
        self.state, self.restricted = Buffer(elements, np.uint8, FREE), False
        self.position = filled(elements, 2**31 - 1)
        self._values: tuple[np.ndarray, Buffer] | None = None
        self.all, self.none = Buffer(0, np.int64), Buffer(0, np.int32)

    def release(self) -> None:
        """Give back what grows with the number of seeds."""
        self.work = self.work._replace(snapshot=Buffer((0, candidates_cuda.MAX_CANDIDATES), np.int32))
        self.all = Buffer(0, np.int64)

    def index_bytes(self) -> int:
        """Return the bytes that grow with the number of members and of sets, and stay for the next selection."""
        return int(self.work.inverted.array.nbytes + self.work.covered.array.nbytes)

    def forget_index(self) -> None:
        """Give these back."""
        self.work = self.work._replace(inverted=Buffer(0, np.int32), covered=Buffer(0, np.int32))

    def choose(self, sets: Sets, drawn: int, places: int, members: int, query: Query) -> _Results:
        """Start a selection (:func:`gpukit.worlds.cover_cpu.greedy`).

        Parameters
        ----------
        sets : Sets
        drawn, places : int
            For how many sets, and members, to make room.
        members : int
            About how many these are.
        query : Query
        """
        k, forced, blocked, bounds, own = query
        picks = k * self.rounds
        if len(self.work.snapshot) < picks + 1:
            self.work = self.work._replace(snapshot=Buffer((picks + 1, candidates_cuda.MAX_CANDIDATES), np.int32))
        self.work.inverted.reserve(places, 0, places)
        self.work.covered.reserve(drawn, 0, drawn)
        self._restrict(forced, blocked)
        results = self._results(picks)
        wanted = self.none if len(forced) == 0 else Buffer(forced.astype(np.int32))
        least = TARGET_CANDIDATES if members < LARGE_COLLECTION else candidates_cuda.MAX_CANDIDATES
        alone, unit = (self.none, 1) if own is None else (self._alone(own), own.unit)
        asked = DeviceQuery(
            self.n,
            self.rounds,
            k,
            wanted.view,
            self.state.view,
            max(least, 16 * picks),
            bounds,
            alone.view,
            unit,
            AHEAD if members < LARGE_COLLECTION else 1,
        )
        work = Work(*(one.view for one in self.work))
        answer = Answer(results.seeds, results.gains, results.largest)
        _launch(cover_cuda.greedy, members, sets, asked, work, answer, results.control)
        return results

    def _alone(self, own: Own) -> Buffer:
        """Return what elements count for by themselves, as int32; the values stay on the GPU for the next time."""
        if self._values is None or self._values[0] is not own.values:
            self._values = own.values, Buffer(own.values)
        return rounded_up(self._values[1], own.scale)

    def _restrict(self, forced: np.ndarray, blocked: np.ndarray | None) -> None:
        """Note which elements are forced and blocked; the states stay free where none ever is."""
        if blocked is None and not len(forced) and not self.restricted:
            return
        self.restricted = True
        self.state.array.fill(FREE)
        if blocked is not None:
            self.state.array[:] = xp.asarray(blocked.astype(np.uint8))
        if len(forced):
            self.state.array[xp.asarray(forced)] = FORCED

    def _results(self, picks: int) -> _Results:
        """Return room for results, all zero, one after the other."""
        size = 4 * picks + 2 + CONTROL
        if len(self.all) == size:
            self.all.array.fill(0)
        else:
            self.all = Buffer(size, np.int64, 0)
            ends = [0, picks, 2 * picks, 3 * picks + 1, 4 * picks + 2, size]
            self.places = [slice(*pair) for pair in pairwise(ends)]
            cut, kind = self.all.view.part, self.all.array.dtype
            parts = [cut(kind.itemsize * first, (end - first,), kind) for first, end in pairwise(ends)]
            self.parts = _Results(*parts)
        return self.parts

    def selection(self, host: np.ndarray, query: Query, judged: bool) -> Selection | None:
        """Return the selection whose results are in host memory; None if the candidates did not suffice."""
        seeds, gains, largest, hits, control = (host[one] for one in self.places)
        if control[cover_cuda.STATUS] != cover_cuda.DONE:
            return None
        largest = largest.copy()
        largest[: len(query.forced)] = -1
        hit = int(hits[:-1].sum()) if judged else None
        covered = gains.copy() if query.own is None else (gains - query.own.of(seeds)) // query.own.unit
        return Selection(seeds.astype(np.int32), covered, largest if query.bounds else None, hit)

    def cover(self, sets: Sets, drawn: int, members: int, seeds: View, totals: View) -> None:
        """Count sets by the first of the seeds that they hold; ``totals`` is zero before."""
        earliest = self.work.covered  # which a choice clears where it begins
        earliest.reserve(drawn, 0, drawn)
        space = (self.position.view, earliest.view)
        _launch(cover_cuda.coverage, members, sets, seeds, *space, totals)


def _launch(kernel: Any, members: int, *args: Any) -> None:
    """Launch a cooperative kernel on a collection with about so many members."""
    if xp is np:
        grid, block = 1, 32
    else:
        block = cover_cuda.BLOCK
        grid = min(cooperative_grid(kernel, block, args), max(multiprocessors(), members // BLOCK_MEMBERS))
    launch(kernel, grid, block, *args)
