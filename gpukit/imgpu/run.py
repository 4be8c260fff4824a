"""Greedy influence maximisation over live-edge worlds, on any device (Algorithm 2 of the paper).

The id of a world determines its random numbers:

==================  =====================================================
first id            worlds
==================  =====================================================
i · R               choice i with fresh worlds; 0 for all with fixed ones
2**47               the estimate
==================  =====================================================
"""

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from gpukit.device.select import Device
from gpukit.device.timing import PhaseTimer
from gpukit.graph.csr import Graph
from gpukit.imgpu.optimism import FEW, FIRST_WORLDS, Optimism, two_fold
from gpukit.imgpu.problem import Progress, Result, check
from gpukit.parameters.imgpu import ESTIMATE_FIRST, MAX_WORLDS, Params
from gpukit.worlds.blocks import ArcBlocks, prepare_blocks

REFRESH = 1024
"""A choice evaluates at most this many gains one by one, then the gains of all vertices. In worlds with a giant
component one seed takes most of the reach of many vertices, so nearly all bounds become useless."""

FIRST_TRIED = 16
"""Number of gains in the first batch of a choice, if the device can evaluate so many at a time. It is larger if the
last choice needed more. Each further batch is as large as all earlier ones together."""

TRIED, AHEAD = 32, 256
"""All gains are computed at once if at least ``TRIED`` evaluations show that gains fell, and at least ``AHEAD``
vertices have bounds above twice the highest evaluated gain. Otherwise all these vertices would be evaluated one by one,
and ``AHEAD`` evaluations cost no less than all gains."""

RUN, FIRST_RUNS = 256, 64
"""Length of the runs of gains, which are skipped together if no gain in them is high; and the number of runs that the
first round reads."""


class Worlds(Protocol):
    """The worlds of a graph on a device; seeds and vertices are internal ids.

    Attributes
    ----------
    batch : int
        Vertices to evaluate at a time.
    """

    batch: int

    def gains(self, first: int, count: int, seeds: Sequence[int], progress: Progress | None = None) -> np.ndarray:
        """Return what each vertex adds to the seeds' reach, summed over worlds first … (int64; 0 for seeds)."""

    def reached(self, first: int, count: int, seeds: Sequence[int], progress: Progress | None = None) -> np.ndarray:
        """Return the number of vertices that the seeds reach in each world (int64)."""

    def keep(self, first: int, count: int, progress: Progress | None = None) -> np.ndarray | None:
        """Draw worlds, keep them, and return the gains of all vertices; None if they do not fit."""

    def evaluate(self, vertices: Sequence[int]) -> list[int]:
        """Return the gain of each vertex beyond the chosen seeds, over the kept worlds."""

    def choose(self, vertex: int) -> None:
        """Make a vertex a seed in the kept worlds."""


def make_worlds(ready: ArcBlocks, seed: int, device: Device | None = None, **options: Any) -> Worlds:
    """Return the worlds of a graph on a device; one CPU thread if none is given."""
    if device is None or device.kind == "cpu":
        from gpukit.imgpu.worlds_cpu import CpuWorlds

        return CpuWorlds(ready, seed, device.threads if device is not None else 1, **options)
    if len(device.gpus) > 1:
        from gpukit.imgpu.worlds_devices import MultiCudaWorlds

        return MultiCudaWorlds(ready, seed, device.gpus, **options)
    from gpukit.imgpu.worlds_cuda import CudaWorlds

    return CudaWorlds(ready, seed, **options)


def maximise(
    graph: Graph,
    params: Params,
    device: Device | None = None,
    *,
    timer: PhaseTimer | None = None,
    progress: Progress | None = None,
    ready: ArcBlocks | None = None,
    make: Callable[..., Worlds] = make_worlds,
    **options: Any,
) -> Result:
    """Find seeds of large expected spread under independent cascade.

    Parameters
    ----------
    graph : Graph
        With edge probabilities.
    params : Params
        k, the seed of the worlds, and their number.
    device : Device, optional
        Where to run; one CPU thread if not given. The result does not depend on it.
    timer : PhaseTimer, optional
        Charged with the phases ``transfer``, ``worlds``, ``selection`` and ``estimate``; a lap for each choice.
    progress : callable, optional
        Called now and then with (worlds or choices done, total).
    ready : ArcBlocks, optional
        The graph as :func:`gpukit.worlds.blocks.prepare_blocks` returns it; prepared here if not given.
    make : callable, optional
        Called like :func:`make_worlds`; its worlds may count differently.
    **options
        Options of the device's worlds, such as ``memory`` in bytes; they do not change the result.

    Returns
    -------
    Result

    Raises
    ------
    UsageError
        If k is out of range for this graph.
    InputError
        If the graph has no edges or no probabilities.
    DeviceError
        If the work does not fit on the device.
    """
    check(graph, params.k)
    timer = timer or PhaseTimer()
    with timer.phase("transfer"):
        worlds = make(prepare_blocks(graph) if ready is None else ready, params.seed, device, **options)
    r, optimism = params.worlds, None
    if r is None:
        r, optimism = enough_worlds(worlds, params, timer, progress)
    chosen = _choose(worlds, params, 0, r, timer, progress)
    seeds = chosen.seeds
    with timer.phase("estimate"):
        values = worlds.reached(ESTIMATE_FIRST, r, seeds, progress)
    total, squares = int(values.sum()), int((values * values).sum())
    variance = (r * squares - total * total) / (r * r * (r - 1))
    return Result(
        seeds=np.array(seeds, np.int32),
        gains=np.array(chosen.gains, np.int64),
        spread_estimate=total / r,
        stderr=math.sqrt(variance),
        worlds=r,
        drawn=r * (1 + (params.k if params.fresh else 1)),
        evaluations=chosen.evaluations,
        streamed=chosen.streamed,
        optimism=optimism,
    )


class _Choice(NamedTuple):
    """Seeds in order of choice, and the fields of :class:`Result` of the same names."""

    seeds: list[int]
    gains: list[int]
    evaluations: int = 0
    streamed: bool = False


def enough_worlds(
    worlds: Worlds, params: Params, timer: PhaseTimer, progress: Progress | None = None
) -> tuple[int, Optimism]:
    """Return the number of worlds that is enough by the two-fold optimism, and the optimism itself.

    The optimism is measured on fixed worlds. With at most ``FEW`` seeds the previous number of worlds must have been
    enough, too. The search ends at ``MAX_WORLDS``.
    """
    fixed = replace(params, fresh=False)
    r, before = FIRST_WORLDS, params.k > FEW
    while True:
        half = r // 2
        choices = [_choose(worlds, fixed, first, half, timer, progress).seeds for first in (0, half)]
        with timer.phase("estimate"):
            first, second = ([worlds.reached(start, half, seeds) for seeds in choices] for start in (0, half))
            optimism = two_fold(first, second)
        if optimism.enough and before or r >= MAX_WORLDS:
            return r, optimism
        r, before = 2 * r, before and params.k > FEW or optimism.enough


def _choose(
    worlds: Worlds, params: Params, first: int, count: int, timer: PhaseTimer, progress: Progress | None
) -> _Choice:
    """Choose seeds on worlds first … first + count - 1, or on ``count`` fresh worlds for each seed."""
    if not params.fresh:
        with timer.phase("worlds"):
            gains = worlds.keep(first, count, progress)
        if gains is not None:
            with timer.phase("selection"):
                return _Choice(*lazy_greedy(worlds, gains, params.k, first, count, timer, progress))
    firsts = [first + (i * count if params.fresh else 0) for i in range(params.k)]
    return _Choice(*streamed_greedy(worlds, firsts, count, timer, progress), streamed=not params.fresh)


def streamed_greedy(
    worlds: Worlds, firsts: Sequence[int], count: int, timer: PhaseTimer, progress: Progress | None
) -> tuple[list[int], list[int]]:
    """Choose each seed by the gains of all vertices over ``count`` worlds, which are drawn (again) for it."""
    seeds: list[int] = []
    gains: list[int] = []
    for i, first in enumerate(firsts):
        with timer.phase("worlds"):
            found = worlds.gains(first, count, seeds)
            found[seeds] = -1
            best = int(found.argmax())
        seeds.append(best)
        gains.append(int(found[best]))
        timer.lap()
        if progress is not None:
            progress(i + 1, len(firsts))
    return seeds, gains


class FallingGains:
    """Iterates over (-gain, vertex) by falling gain, ties by lower id; seeds, whose gain is -1, are left out.

    Usually only a few of millions of vertices are requested, but nearly all may have about the highest remaining gain.
    So vertices are sorted on demand, in rounds. The gains are divided into runs of RUN. At least i gains reach the i-th
    highest maximum of a run, and few more do. Cost: one pass over ``gains``. Then the first round reads the gains of
    FIRST_RUNS runs and sorts the high ones; each further round reads four times as many runs.

    Parameters
    ----------
    gains : int64 array, shape (n,)

    Attributes
    ----------
    given : int
        Vertices returned so far.
    """

    def __init__(self, gains: np.ndarray) -> None:
        self._gains, self.given = gains, 0
        self._highest = np.maximum.reduceat(gains, np.arange(0, len(gains), RUN))
        self._falling = np.sort(-self._highest)

    def above(self, gain: int) -> int:
        """Return a lower bound on the vertices with a higher gain that were not returned yet: one per run."""
        return int(np.searchsorted(self._falling, -gain)) - self.given

    def __iter__(self) -> Iterator[tuple[int, int]]:
        gains, highest, falling = self._gains, self._highest, -self._falling
        starts = np.arange(0, len(gains), RUN)
        high, turn = int(falling[0]) + 1, FIRST_RUNS
        while high > 0:
            low = max(0, int(falling[turn - 1])) if turn <= len(falling) else 0
            near = (starts[highest >= low][:, None] + np.arange(RUN)).ravel()
            near = near[: np.searchsorted(near, len(gains))]  # the last run may be shorter
            found = near[(gains[near] >= low) & (gains[near] < high)]
            for v in found[np.argsort(-gains[found], kind="stable")]:
                self.given += 1
                yield -int(gains[v]), int(v)
            high, turn = low, 4 * turn


def lazy_greedy(
    worlds: Worlds,
    gains: np.ndarray,
    k: int,
    first: int,
    count: int,
    timer: PhaseTimer | None = None,
    progress: Progress | None = None,
    refresh: int = REFRESH,
) -> tuple[list[int], list[int], int]:
    """Choose k seeds over the kept worlds; few gains are computed again for each choice.

    Gains never grow as seeds are added, so old gains are upper bounds. The vertex with the highest bound is chosen if
    its bound is up to date. Source: CELF (Leskovec et al., KDD 2007). Ties go to the lower id.

    Parameters
    ----------
    worlds : Worlds
        Kept worlds without chosen seeds.
    gains : int64 array, shape (n,)
        Reach of each vertex.
    k : int
        Seeds to choose.
    first, count : int
        The range of the kept worlds.
    timer : PhaseTimer, optional
        Each choice ends a lap.
    refresh : int
        Evaluations of one choice before the gains of all vertices are computed again; does not change the result.

    Returns
    -------
    seeds : list of int, gains : list of int, evaluations : int
    """
    bounds = FallingGains(gains)
    upcoming = iter(bounds)
    untouched = next(upcoming, None)
    heap: list[tuple[int, int, int]] = []
    seeds: list[int] = []
    chosen_gains: list[int] = []
    evaluations = current = tried = tried_before = highest = 0
    while len(seeds) < k:
        if tried >= refresh or (tried >= TRIED and bounds.above(2 * highest) >= AHEAD):
            gains = worlds.gains(first, count, seeds)
            gains[seeds] = -1
            bounds = FallingGains(gains)
            upcoming = iter(bounds)
            untouched = next(upcoming, None)
            heap, tried, current = [], 0, len(seeds)
        stale: list[int] = []
        best: tuple[int, int] | None = None
        while len(stale) < min(worlds.batch, max(FIRST_TRIED, tried, tried_before)):
            if heap and (untouched is None or heap[0][:2] < untouched):
                if heap[0][2] == len(seeds):
                    best = heap[0][:2] if not stale else None
                    break
                stale.append(heapq.heappop(heap)[1])
            elif untouched is None:
                break
            else:
                if current == len(seeds):
                    heapq.heappush(heap, (*untouched, current))
                else:
                    stale.append(untouched[1])
                untouched = next(upcoming, None)
        if best is not None:
            heapq.heappop(heap)
            seeds.append(best[1])
            chosen_gains.append(-best[0])
            worlds.choose(best[1])
            tried_before, tried, highest = tried, 0, 0
            if timer is not None:
                timer.lap()
            if progress is not None:
                progress(len(seeds), k)
            continue
        for v, gain in zip(stale, worlds.evaluate(stale), strict=True):
            heapq.heappush(heap, (-gain, v, len(seeds)))
            highest = max(highest, gain)
        evaluations += len(stale)
        tried += len(stale)
    return seeds, chosen_gains, evaluations
