"""The checked problem of influence maximisation (Problem), and its answer (Result)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from functools import cached_property
from typing import Any

import numpy as np

from gpukit.errors import InputError, UsageError
from gpukit.gim.bounds import BUDGET_RATIO, GREEDY_RATIO, ROUNDS_RATIO, Family
from gpukit.gim.known import Known
from gpukit.graph.csr import Graph
from gpukit.parameters.gim import SENTINEL_MIN_SETS, Params, check_limits
from gpukit.worlds.bounds import CONTEXT, log_choose

MAX_COST = 2**31 - 1

Greedy = Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]
"""Greedy selection from sets in host memory, as in :func:`gpukit.papers.gim.passes.greedy`."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A checked problem on a graph; see :func:`validate`.

    Attributes
    ----------
    graph : Graph
    params : Params
    forced : int32 array
        Vertices chosen first.
    blocked : bool array, shape (n * rounds,), or None
        Elements ``round * n + v`` that cannot be chosen.
    weights : int64 array, shape (n,), or None
        Weight of each vertex.
    costs : int64 array, shape (n,), or None
        Cost of each vertex; None without a budget.
    k_max : int
        Most seeds of a round: k, or the number that the budget can buy.
    known : Known
        The part of a spread that is known without RR sets.
    sentinel : int or None
        A vertex that is chosen first so that sets may end at it (:mod:`gpukit.gim.sentinel`); no guarantee depends on
        it.
    greedy : Greedy or None
        Chooses from sets in host memory; the collections choose if None.
    """

    graph: Graph
    params: Params
    forced: np.ndarray
    blocked: np.ndarray | None
    weights: np.ndarray | None
    costs: np.ndarray | None
    k_max: int
    known: Known
    greedy: Greedy | None = None
    sentinel: int | None = None

    @property
    def prefix(self) -> np.ndarray:
        """The vertices with which every selection begins, int32: the forced ones, or the sentinel."""
        return self.forced if self.sentinel is None else np.array([self.sentinel], np.int32)

    @property
    def unique(self) -> bool:
        """Whether only one seed set is allowed, which is then optimal."""
        return self.costs is None and self.k_max - len(self.forced) in (0, self._free)

    @property
    def _free(self) -> int:
        """Number of vertices that can still be chosen after the forced ones."""
        barred = 0 if self.blocked is None else int(np.count_nonzero(self.blocked[: self.graph.n]))
        return self.graph.n - barred - len(self.forced)

    @cached_property
    def family(self) -> Family:
        """Return the quantities that the sample sizes depend on.

        L is the total weight of the k·T heaviest distinct vertices as seeds.
        """
        free, further = self._free, self.k_max - len(self.forced)
        rounds = self.params.rounds
        with localcontext(CONTEXT):
            if self.costs is None:
                ratio = GREEDY_RATIO if rounds == 1 else ROUNDS_RATIO
                log_sets = rounds * log_choose(free, further)
            else:
                # The number of sets of at most `further` elements is at most (further + 1) times its largest term.
                ratio = BUDGET_RATIO
                log_sets = log_choose(free, min(further, free // 2)) + Decimal(further + 1).ln()
        mass = self.graph.n if self.weights is None else int(self.weights.sum())
        return Family(self.graph.n, mass, self.known.gamma, self._least(), ratio, log_sets)

    @property
    def fewest(self) -> int:
        """Least number of RR sets to draw if only the certificate ends a run."""
        if self.sentinel is not None and self.params.min_sets is None:
            return SENTINEL_MIN_SETS
        return self.params.fewest

    @property
    def least_known(self) -> Decimal:
        """Return the least spread of any allowed seed set, known without drawing sets; a budget may allow few seeds."""
        if self.known.singleton is None:
            return Decimal(0)
        further = 0 if self.costs is not None else self.k_max - len(self.forced)
        return self.known.least(self.forced, self.free(), further)

    def free(self) -> np.ndarray:
        """Return, ascending, the vertices that can still be chosen after the forced ones, whatever their cost."""
        open_ = np.ones(self.graph.n, np.bool_) if self.blocked is None else ~self.blocked[: self.graph.n]
        open_[self.forced] = False
        return np.flatnonzero(open_)

    def _least(self) -> int:
        """Return a lower bound on the spread of some allowed set: the weight of its own members."""
        rounds = self.params.rounds
        if self.weights is None:
            return min(len(self.forced) + self._free, self.k_max * rounds)
        further = self.k_max * rounds - len(self.forced)
        heaviest = self.free()
        if self.costs is None:
            heaviest = heaviest[np.argsort(-self.weights[heaviest], kind="stable")][:further]
        else:
            heaviest = heaviest[np.argsort(self.costs[heaviest], kind="stable")][:further]
            affordable = self.costs[self.free()] <= self.budget_left
            single = int(self.weights[self.free()][affordable].max(initial=0))
            if single > int(self.weights[heaviest].sum()):
                return int(self.weights[self.forced].sum()) + single
        least = int(self.weights[heaviest].sum()) + int(self.weights[self.forced].sum())
        if least == 0:
            raise UsageError("no target can be a seed: all are excluded or too costly; allow at least one of them")
        return least

    @property
    def budget_left(self) -> int:
        """Return the budget left after the forced vertices."""
        assert self.costs is not None and self.params.budget is not None
        return self.params.budget - int(self.costs[self.forced].sum())

    def self_spread(self, elements: np.ndarray) -> int:
        """Return the total weight of the seeds themselves, each vertex once."""
        vertices = set((elements % self.graph.n).tolist())  # np.unique is slower for few elements
        return len(vertices) if self.weights is None else int(self.weights[list(vertices)].sum())


def validate(graph: Graph, params: Params) -> Problem:
    """Check the parameters against a graph.

    Raises
    ------
    UsageError
        If a parameter is out of range for this graph or contradicts another.
    InputError
        If the graph has no edges.
    """
    if graph.m == 0:
        raise InputError("the graph has no edges, so there is no influence to maximise; give one with edges")
    n = graph.n
    check_limits(params.k, params.budget, params.costs)
    params.check_fit(n)
    forced, exclude = _vertices(params.include, n, "include"), _vertices(params.exclude, n, "exclude")
    both = np.intersect1d(forced, exclude)
    if len(both):
        raise UsageError(f"vertex {graph.original(both[0])} is both to include and to exclude; choose one")
    blocked = None
    if len(exclude):
        blocked = np.zeros(n * params.rounds, np.bool_)
        for t in range(params.rounds):
            blocked[t * n + exclude] = True
    weights = None
    if params.root_weights is not None:
        weights = np.asarray(params.root_weights)
        good = weights.shape == (n,) and weights.dtype.kind in "iu" and weights.min() >= 0
        if good and not weights.any():
            raise UsageError("the targets count 0 together; give one of them more")
        if not good or sum(weights.tolist()) >= 2**63:
            raise UsageError(f"root weights must be {n} whole numbers >= 0 with a sum below 2^63")
    nothing = Known(Decimal(n if weights is None else int(weights.sum())), None, weights)
    if params.k is not None:
        if len(forced) > params.k:
            raise UsageError(f"{len(forced)} vertices are to be included, but k is {params.k}; raise k")
        if n - len(exclude) < params.k:
            raise UsageError(f"k is {params.k}, but only {n - len(exclude)} vertices are not excluded; lower k")
        return Problem(graph, params, forced, blocked, weights, None, params.k, nothing)
    costs = np.ones(n, np.int64) if params.costs is None else np.asarray(params.costs)
    if costs.shape != (n,) or costs.dtype.kind not in "iu" or costs.min() < 1 or costs.max() > MAX_COST:
        raise UsageError(f"costs must be {n} whole numbers in [1, 2^31 - 1]")
    assert params.budget is not None
    left = params.budget - int(costs[forced].sum())
    if left < 0:
        raise UsageError("the vertices to include cost more than the budget; raise it")
    open_ = np.ones(n, np.bool_)
    open_[exclude] = False
    open_[forced] = False
    further = int(np.searchsorted(np.cumsum(np.sort(costs[open_])), left, side="right"))
    if further + len(forced) == 0:
        raise UsageError("the budget is below the cost of every vertex that may be chosen; raise it")
    return Problem(graph, params, forced, blocked, weights, costs.astype(np.int64), len(forced) + further, nothing)


def _vertices(values: Sequence[int], n: int, what: str) -> np.ndarray:
    vertices = np.asarray(values, dtype=np.int64).reshape(-1)
    if np.any((vertices < 0) | (vertices >= n)):
        raise UsageError(f"a vertex to {what} is not in [0, {n}), the internal ids of the graph")
    if len(np.unique(vertices)) < len(vertices):
        raise UsageError(f"a vertex to {what} is given twice; give each once")
    return vertices.astype(np.int32)


@dataclass(frozen=True)
class Step:
    """One size that was tried.

    Attributes
    ----------
    phase : str
        ``opim``, or ``pilot``, ``search`` and ``last`` of IMM.
    sets : int
        Number of sets in the collection from which seeds were chosen.
    covered : int
        Number of these sets that the seeds hit.
    lower, upper : float or None
        Bounds on the seeds' spread and on the optimum.
    optimism : float or None
        Two-fold optimism of the selection plus its standard deviation, as a share of the spread.
    """

    phase: str
    sets: int
    covered: int
    lower: float | None = None
    upper: float | None = None
    optimism: float | None = None


@dataclass(frozen=True, eq=False)
class Result:
    """Seeds, and estimates and bounds of their spread.

    Attributes
    ----------
    seeds : int32 array, shape (s,)
        Internal vertex ids in order of choice.
    rounds : int32 array, shape (s,), or None
        Round of each seed; None for a single round.
    gains : int64 array, shape (s,)
        Number of sets that each seed newly covered in the collection it was chosen from.
    spread_gains : float64 array, shape (s,)
        Spread that each seed adds: estimated from these sets, plus the part known without drawing sets.
    spread_estimate : float or None
        Expected number (or weight) of vertices reached, from sets that had no part in the selection; None without such
        sets.
    selection_estimate : float or None
        The same from the sets the seeds were chosen from, and therefore too high; set if ``spread_estimate`` is None.
    rr_sets : int
        RR sets drawn, over all collections.
    guarantee : float or None
        The seeds reach at least this share of the optimum, except with probability 1/n.
    guarantee_kind : str
        ``certified`` (from bounds on this very run), ``a priori`` (from the number of sets) or ``none``.
    lower, upper : float or None
        Bounds on the seeds' spread and on the optimum, if certified.
    history : tuple of Step
        The sizes that were tried.
    stderr : float or None
        Standard error of ``spread_estimate`` (:func:`gpukit.gim.judge.standard_error`); 0 only if the estimate is
        exact.
    optimism : float or None
        Optimism of the last size (:class:`Step`), if ``Params`` asks for it.
    converged : bool
        Whether the optimism is as small as requested; true if no limit was requested.
    chosen_by : str
        ``rr-sets``, or the simple rule whose seeds were estimated to reach more.
    rules : dict
        The estimated spread of the simple rules by name, if they were estimated, from the sets of ``spread_estimate``.
    rules_stderr : dict
        The standard error of each.
    """

    seeds: np.ndarray
    rounds: np.ndarray | None
    gains: np.ndarray
    spread_gains: np.ndarray
    spread_estimate: float | None
    selection_estimate: float | None
    rr_sets: int
    guarantee: float | None
    guarantee_kind: str
    lower: float | None = None
    upper: float | None = None
    history: tuple[Step, ...] = field(default=())
    stderr: float | None = None
    optimism: float | None = None
    converged: bool = True
    chosen_by: str = "rr-sets"
    rules: dict[str, float] = field(default_factory=dict)
    rules_stderr: dict[str, float] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """Return the entries of a record other than the seeds."""
        names = (
            "spread_estimate", "stderr", "selection_estimate", "rr_sets", "guarantee", "guarantee_kind", "lower",
            "upper", "optimism", "chosen_by", "rules", "rules_stderr",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}
