"""Greedy influence maximisation over live-edge worlds, on any device (Algorithm 2 of the paper).

World ids say which random numbers a world is made of:

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
"""Gains worked out one by one for a choice before those of all vertices are: where one seed takes most of what many
vertices reach, as in worlds with a giant component, nearly all bounds are of no use."""

FIRST_TRIED = 16
"""Gains to work out at first for a choice, where the device does so many at a time, unless the one before took more;
then as many again as were tried."""

TRIED, AHEAD = 32, 256
"""They are worked out at once if so many have shown that gains fell, and so many vertices have bounds of more than
twice the highest of these: one by one, all of them would be tried. The second is no less than what all cost."""

RUN, FIRST_RUNS = 256, 64
"""Gains that are passed over together where none of them is high; runs of which one gain each is wanted at first."""


class Worlds(Protocol):
    """The worlds of a graph on a device; seeds and vertices are internal ids.

    Attributes
    ----------
    batch : int
        Vertices to evaluate at a time.
    """

    batch: int

    def gains(self, first: int, count: int, seeds: Sequence[int], progress: Progress | None = None) -> np.ndarray:
        """Return what each vertex adds to the reach of the seeds, summed over worlds first … (int64; 0 for seeds)."""

    def reached(self, first: int, count: int, seeds: Sequence[int], progress: Progress | None = None) -> np.ndarray:
        """Return how many vertices the seeds reach in each of the worlds (int64)."""

    def keep(self, first: int, count: int, progress: Progress | None = None) -> np.ndarray | None:
        """Draw worlds, keep them, and return the gains of all vertices; None if they do not fit."""

    def evaluate(self, vertices: Sequence[int]) -> list[int]:
        """Return what each vertex adds to the seeds chosen so far, over the worlds that are kept."""

    def choose(self, vertex: int) -> None:
        """Make a vertex a seed in the worlds that are kept."""


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
    pairs: bool = True,
    make: Callable[..., Worlds] = make_worlds,
    **options: Any,
) -> Result:
    """Find seeds of large expected spread under independent cascade.

    Parameters
    ----------
    graph : Graph
        With edge probabilities.
    params : Params
        What is asked for.
    device : Device, optional
        Where to run; one CPU thread if not given. The result does not depend on it.
    timer : PhaseTimer, optional
        Charged with the phases ``transfer``, ``worlds``, ``selection`` and ``estimate``; a lap for each choice.
    progress : callable, optional
        Told (worlds or choices done, all of them) now and then.
    pairs : bool
        Whether one coin decides both directions of an undirected edge (:func:`gpukit.worlds.blocks.prepare_blocks`).
    make : callable, optional
        Called as :func:`make_worlds`; its worlds may count in another way.
    **options
        Of the device's worlds, as ``memory`` in bytes; none changes the result.

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
        worlds = make(prepare_blocks(graph, pairs=pairs), params.seed, device, **options)
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
    """Seeds in order of choice, and the fields of :class:`Result` of these names."""

    seeds: list[int]
    gains: list[int]
    evaluations: int = 0
    streamed: bool = False


def enough_worlds(
    worlds: Worlds, params: Params, timer: PhaseTimer, progress: Progress | None = None
) -> tuple[int, Optimism]:
    """Return how many worlds are enough by their two-fold optimism, which comes from fixed worlds, and that.

    For up to ``FEW`` seeds the number before must have been enough, too. The search ends at ``MAX_WORLDS``.
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
    """Choose seeds on worlds first … first + count - 1, or on so many fresh ones for each."""
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
    """Choose seeds, each by the gains of all vertices over ``count`` worlds drawn (again) for it, from its first on."""
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
    """(-gain, vertex) of all vertices but seeds, whose gain is -1, by falling gain; ties by lower id.

    Few of millions of vertices are asked for, and nearly all may have about the highest gain that is left. So they are
    sorted when they are asked for, in turns: the i-th highest of what is highest in runs of RUN gains is reached by i
    gains at least, and by few more. Cost: a pass over ``gains``, then for each turn, of FIRST_RUNS runs and each time
    of four times as many, what lies in these, and what sorting it costs.

    Parameters
    ----------
    gains : int64 array, shape (n,)

    Attributes
    ----------
    given : int
        Vertices that were asked for so far.
    """

    def __init__(self, gains: np.ndarray) -> None:
        self._gains, self.given = gains, 0
        self._highest = np.maximum.reduceat(gains, np.arange(0, len(gains), RUN))
        self._falling = np.sort(-self._highest)

    def above(self, gain: int) -> int:
        """Return a number of vertices not asked for with a higher gain: so many at least, one for each run."""
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
    """Choose k seeds over kept worlds, with the gains of few vertices worked out again for each.

    Gains never grow as seeds are added, so old ones are bounds: the vertex with the highest bound is chosen if that is
    up to date. Source: CELF (Leskovec et al., KDD 2007). Ties go to the lower id.

    Parameters
    ----------
    worlds : Worlds
        Kept, with no seeds chosen.
    gains : int64 array, shape (n,)
        What each vertex reaches.
    k : int
        Seeds to choose.
    first, count : int
        The worlds that are kept.
    timer : PhaseTimer, optional
        Told of each choice as a lap.
    refresh : int
        Evaluations for one choice before the gains of all vertices are worked out again; changes no result.

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
