"""Expected spread of a seed set by forward Monte Carlo, under IC and LT; exact integers on every device.

Run i of a seed set depends only on (graph, seeds, model, seed, i), not on the device, the threads or the number of
runs. Whether a requested error (:class:`Until`) needs more runs is decided at fixed numbers of runs, never by time. The
runs of two seed sets use the same coins, so differences between the sets are less noisy than either estimate.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gpukit.device.select import Device
from gpukit.errors import UsageError
from gpukit.evaluate.batches import Progress
from gpukit.evaluate.plan import Plan
from gpukit.graph.csr import Graph
from gpukit.graph.probabilities import check_lt
from gpukit.wording import counted

MAX_ROUNDS = 255

FIRST_RUNS = 1 << 10
"""Runs of the first batch; each further batch doubles the total."""

MAX_RUNS = 1 << 22
"""Default limit of runs for a requested error."""


@dataclass(frozen=True)
class Until:
    """As many runs as an error needs: 1,024, 2,048, 4,096, … until two standard errors are small enough.

    Attributes
    ----------
    error : float
        Largest value of two standard errors as a share of the mean, in (0, 1), for every prefix.
    max_runs : int
        Most runs, in [2, 2**31); the estimate ends there, whatever its error.
    """

    error: float
    max_runs: int = MAX_RUNS

    def __post_init__(self) -> None:
        """Check the range; raises UsageError."""
        if not 0 < self.error < 1:
            raise UsageError(f"error is {self.error}; a share of the spread in (0, 1) is allowed, as 0.002")
        if not 2 <= self.max_runs < 1 << 31:
            raise UsageError(f"max_runs is {self.max_runs}; 2 to 2^31 - 1 are allowed")

    def batches(self) -> Iterator[tuple[int, int]]:
        """Yield the first run and the number of runs of each batch."""
        first, end = 0, FIRST_RUNS
        while first < self.max_runs:
            yield first, min(end, self.max_runs) - first
            first, end = end, 2 * end

    def reached(self, found: "Sequence[SpreadEstimate]") -> bool:
        """Whether all estimates are accurate enough."""
        return all(one.error <= self.error for one in found)


@dataclass(frozen=True)
class SpreadEstimate:
    """Mean and standard error of the spread over independent runs.

    Attributes
    ----------
    spread : float
        Mean number (or target weight) of activated vertices, ``total / runs``.
    stderr : float
        Standard error of the mean, from the sample variance.
    runs : int
        Number of runs, at least 2.
    total, total_sq : int
        Exact sums of the runs' values and of their squares.
    """

    spread: float
    stderr: float
    runs: int
    total: int
    total_sq: int

    @classmethod
    def of(cls, values: np.ndarray) -> "SpreadEstimate":
        """Return the estimate from a nonnegative int64 value for each run."""
        distinct, counts = np.unique(values, return_counts=True)
        pairs = list(zip(distinct.tolist(), counts.tolist(), strict=True))
        runs = len(values)
        total = sum(value * count for value, count in pairs)
        return cls._of_sums(runs, total, sum(value * value * count for value, count in pairs))

    @classmethod
    def _of_sums(cls, runs: int, total: int, total_sq: int) -> "SpreadEstimate":
        variance = (runs * total_sq - total * total) / (runs * runs * max(runs - 1, 1))
        return cls(total / runs, math.sqrt(variance), runs, total, total_sq)

    def with_more(self, other: "SpreadEstimate") -> "SpreadEstimate":
        """Return the estimate from the runs of both."""
        return self._of_sums(self.runs + other.runs, self.total + other.total, self.total_sq + other.total_sq)

    @property
    def error(self) -> float:
        """Two standard errors as a share of the mean; 0 if the mean is 0."""
        return 2 * self.stderr / self.spread if self.spread else 0.0


def forward_spread(
    graph: Graph,
    seeds: Sequence[int] | np.ndarray,
    *,
    model: str = "ic",
    runs: int | Until = 20_000,
    seed: int = 0,
    device: Device | None = None,
    targets: np.ndarray | None = None,
    progress: Progress | None = None,
) -> SpreadEstimate:
    """Estimate the expected spread of a seed set.

    Source: the Monte-Carlo estimate of Kempe, Kleinberg, Tardos, "Maximizing the spread of influence through a social
    network", KDD 2003. IC runs are breadth-first searches over edge coins. LT runs compare accumulated weights with
    random thresholds. So neither shares code with the reverse samplers that it judges.

    Parameters
    ----------
    graph : Graph
        With edge probabilities.
    seeds : sequence of int
        Internal vertex ids, distinct, at least one.
    model : {"ic", "lt"}
    runs : int or Until
        Number of runs, at least 2, or the error that determines it.
    seed : int
        In [0, 2**64).
    device : Device or None
        Where to run; None is the CPU with Numba's current number of threads.
    targets : int64 array, shape (n,), or None
        Nonnegative weight of each vertex; None counts vertices.
    progress : callable or None
        Called with (runs done, runs) now and then.

    Returns
    -------
    SpreadEstimate

    Raises
    ------
    UsageError
        If an argument is out of range.
    InputError
        If the graph has no probabilities, or those into a vertex sum to more than LT allows.
    """
    stages = [_vertices(graph, seeds)]
    return _estimates(graph, stages, [0], model, runs, seed, device, targets, progress)[-1]


def forward_curve(
    graph: Graph,
    seeds: Sequence[int] | np.ndarray,
    prefixes: Sequence[int],
    *,
    model: str = "ic",
    runs: int | Until = 20_000,
    seed: int = 0,
    device: Device | None = None,
    targets: np.ndarray | None = None,
    progress: Progress | None = None,
) -> list[SpreadEstimate]:
    """Estimate the spread of several prefixes of a seed list, in one pass over the runs.

    Parameters
    ----------
    prefixes : sequence of int
        Prefix lengths, ascending, in [1, len(seeds)].
    graph, seeds, model, runs, seed, device, targets, progress
        As in :func:`forward_spread`.

    Returns
    -------
    list of SpreadEstimate
        One per prefix, each equal to that of ``forward_spread(graph, seeds[:prefix])``.

    Raises
    ------
    UsageError, InputError
        As in :func:`forward_spread`.
    """
    vertices = _vertices(graph, seeds)
    ends = [int(k) for k in prefixes]
    if ends and max(ends) > len(vertices):
        raise UsageError(
            f"prefixes go up to {max(ends)}, and there are {counted(len(vertices), 'seed')}; leave out more"
        )
    if not ends or ends[0] < 1 or any(a >= b for a, b in zip(ends, ends[1:], strict=False)):
        raise UsageError(f"prefixes {ends} are not ascending lengths in [1, {len(vertices)}], the number of seeds")
    stages = [vertices[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return _estimates(graph, stages, [0] * len(ends), model, runs, seed, device, targets, progress)


def forward_rounds(
    graph: Graph,
    rounds: Sequence[Sequence[int] | np.ndarray],
    *,
    model: str = "ic",
    runs: int | Until = 20_000,
    seed: int = 0,
    device: Device | None = None,
    targets: np.ndarray | None = None,
    progress: Progress | None = None,
) -> SpreadEstimate:
    """Estimate the spread of multi-round seeding: vertices activated in at least one of T independent rounds.

    Source: multi-round influence maximisation of Sun, Huang, Yu, Chen, KDD 2018. Each round starts with no active
    vertex and its own coins; a vertex counts once.

    Parameters
    ----------
    rounds : sequence of sequences of int
        Seeds of each round, distinct within a round; 1 to 255 rounds.
    graph, model, runs, seed, device, targets, progress
        As in :func:`forward_spread`.

    Returns
    -------
    SpreadEstimate

    Raises
    ------
    UsageError, InputError
        As in :func:`forward_spread`.
    """
    if not 1 <= len(rounds) <= MAX_ROUNDS:
        raise UsageError(f"{len(rounds)} rounds are not in [1, {MAX_ROUNDS}]; give one seed list a round")
    stages = [_vertices(graph, seeds) for seeds in rounds]
    return _estimates(graph, stages, list(range(len(stages))), model, runs, seed, device, targets, progress)[-1]


def _vertices(graph: Graph, seeds: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return checked seeds as int32."""
    vertices = np.asarray(seeds)
    if vertices.ndim != 1 or vertices.size == 0 or not np.issubdtype(vertices.dtype, np.integer):
        raise UsageError("the seed set is empty or not a list of whole numbers; give at least one vertex")
    outside = vertices[(vertices < 0) | (vertices >= graph.n)]
    if outside.size:
        raise UsageError(f"seed {outside[0]} is not in [0, {graph.n}), the internal ids of the graph")
    distinct, counts = np.unique(vertices, return_counts=True)
    if len(distinct) < len(vertices):
        again = graph.original(distinct[counts > 1][0])
        raise UsageError(f"vertex {again} is among the seeds more than once; give each vertex once")
    return vertices.astype(np.int32)


def _estimates(
    graph: Graph,
    stages: list[np.ndarray],
    stage_rounds: list[int],
    model: str,
    runs: int | Until,
    seed: int,
    device: Device | None,
    targets: np.ndarray | None,
    progress: Progress | None,
) -> list[SpreadEstimate]:
    """Check the remaining arguments, run on the device, and return one estimate per stage."""
    if model not in ("ic", "lt"):
        raise UsageError(f"model {model!r} is neither ic nor lt")
    if not isinstance(runs, Until) and not 2 <= runs < 1 << 31:
        raise UsageError(f"{runs} runs are not in [2, 2**31); the standard error needs two")
    if not 0 <= seed < 1 << 64:
        raise UsageError(f"seed {seed} is not in [0, 2**64)")
    if model == "lt":
        check_lt(graph)
    weights = np.empty(0, np.int64)
    if targets is not None:
        weights = np.ascontiguousarray(targets, dtype=np.int64)
        if weights.shape != (graph.n,) or (graph.n and weights.min() < 0) or sum(weights.tolist()) >= 1 << 63:
            raise UsageError(f"targets are not {graph.n} whole numbers >= 0 with a sum below 2**63")
    plan = Plan(
        graph,
        model,
        weights,
        np.concatenate(stages),
        np.cumsum([0] + [len(stage) for stage in stages], dtype=np.int64),
        np.array(stage_rounds, dtype=np.int64),
        seed,
    )
    found: list[SpreadEstimate] = []
    for first, count in runs.batches() if isinstance(runs, Until) else [(0, runs)]:
        values = _values(plan, first, count, device, progress)
        batch = [SpreadEstimate.of(values[:, stage]) for stage in range(len(stages))]
        found = [one.with_more(more) for one, more in zip(found, batch, strict=True)] if found else batch
        if isinstance(runs, Until) and runs.reached(found):
            break
    return found


def _values(plan: Plan, first: int, count: int, device: Device | None, progress: Progress | None) -> np.ndarray:
    """Return the values of runs first … first + count - 1 at each stage; the progress includes earlier runs."""
    report = None if progress is None else lambda done, runs: progress(first + done, first + runs)
    if device is not None and device.kind == "cuda":
        from gpukit.evaluate.spread_cuda import run_on_gpus

        return run_on_gpus(plan, count, device.gpus, report, first=first)
    from gpukit.evaluate.spread_cpu import run_on_cpu

    return run_on_cpu(plan, count, report, first=first)
