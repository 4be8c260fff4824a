"""What a seed costs (Costs), and what happened (Round, Result)."""

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np

from gpukit.errors import InputError
from gpukit.graph.csr import Graph
from gpukit.graph.probabilities import check_lt
from gpukit.parameters.merit import Params

MAX_COST = 2**31 - 1

CHUNK = 1 << 16
"""Costs that are looked at together for what all differ by, which with many of them is soon known."""


@dataclass(frozen=True, eq=False)
class Costs:
    """What each vertex costs as a seed: whole numbers of a unit.

    Attributes
    ----------
    values : int64 array, shape (n,)
        Cost of each vertex, in [1, 2**31 - 1].
    unit : Decimal
        What 1 means, > 0.
    scheme : str
        ``degree`` (0.01 + 0.01 · d_out, the paper's), ``uniform`` (1 each) or ``file``.
    """

    values: np.ndarray
    unit: Decimal = Decimal(1)
    scheme: str = "uniform"

    @staticmethod
    def degree(graph: Graph) -> "Costs":
        """Return the paper's costs: 0.01 + 0.01 · d_out."""
        return Costs(np.diff(graph.indptr) + 1, Decimal("0.01"), "degree")

    @staticmethod
    def uniform(graph: Graph) -> "Costs":
        """Return a cost of 1 for each vertex."""
        return Costs(np.ones(graph.n, np.int64))

    def of(self, vertices: np.ndarray) -> int:
        """Return what vertices cost together, in units."""
        return int(self.values[vertices].sum())

    def amount(self, units: int) -> float:
        """Return a number of units as an amount."""
        return float(units * self.unit)

    def sums(self, count: int) -> int:
        """Return a bound on how many different sums ``count`` costs can have."""
        return count * self._range + 1

    @cached_property
    def _range(self) -> int:
        """The largest cost less the least, in multiples of what all differ by; the same in every round."""
        low, high = int(self.values.min()), int(self.values.max())
        step = 0
        for first in range(0, len(self.values), CHUNK):
            step = int(np.gcd.reduce(self.values[first : first + CHUNK] - low, initial=step))
            if step == 1:
                break
        return 0 if step == 0 else (high - low) // step


def check(graph: Graph, params: Params) -> Costs:
    """Check the parameters against a graph and return the costs.

    Raises
    ------
    UsageError
        If eta or batch does not fit the graph.
    InputError
        If the graph has no vertices, a cost is out of range, or the graph breaks the condition of LT.
    """
    if graph.n == 0:
        raise InputError("the graph has no vertices; a campaign needs at least one")
    params.check_fit(graph.n)
    costs: Costs = params.costs or Costs.degree(graph)
    values = np.asarray(costs.values)
    if values.shape != (graph.n,) or values.dtype.kind not in "iu":
        raise InputError(f"costs must be {graph.n} whole numbers of a unit, one a vertex")
    wrong = np.flatnonzero((values < 1) | (values > MAX_COST))
    if len(wrong):
        vertex = wrong[0]
        raise InputError(
            f"vertex {graph.original(vertex)} costs {values[vertex] * costs.unit}; costs must lie in "
            f"[{costs.unit}, {MAX_COST * costs.unit}]"
        )
    if params.model == "lt":
        check_lt(graph)
    return Costs(values.astype(np.int64), costs.unit, costs.scheme)


@dataclass(frozen=True, eq=False)
class Round:
    """One round: what was chosen and what it activated; vertices are internal ids.

    Attributes
    ----------
    batch : int32 array
        The seeds in order of choice.
    cost : int
        What they cost together, in units.
    activated : int32 array or None
        What they activated, themselves included, ascending; None while not observed.
    sets : int
        mRR sets in the collection they were chosen from; 0 in the end game, which needs none.
    covered : int
        How many of these they hit.
    hits : int or None
        How many of the judging sets they hit; None where there are none.
    kind : str
        ``certified``, ``cap`` (enough sets to do without a certificate) or ``end`` (the cheapest vertices suffice).
    coverage_upper : int
        No seeds that cost as much hit more of the sets.
    refused : int
        Batches of this round that judging sets refused.
    judged : int
        Ids of judging sets that had been used up before those which judged the batch.
    """

    batch: np.ndarray
    cost: int
    activated: np.ndarray | None
    sets: int
    covered: int
    hits: int | None
    kind: str
    coverage_upper: int = 0
    refused: int = 0
    judged: int = 0


@dataclass(frozen=True, eq=False)
class Result:
    """A finished campaign.

    Attributes
    ----------
    rounds : tuple of Round
    costs : Costs
    probes : int
        Vertices whose in-edges were drawn.
    updating_probes : int
        The same without the sets that judge.
    members : int
        Most members that the collection which batches are chosen from has held.
    memory : int
        Most bytes of device memory that the arrays took; 0 on the CPU.
    planned_memory : int
        Bytes that the budget planned for, before the arrays were made.
    """

    rounds: tuple[Round, ...]
    costs: Costs
    probes: int
    updating_probes: int
    members: int
    memory: int = 0
    planned_memory: int = 0

    @property
    def seeds(self) -> np.ndarray:
        """All seeds (int32) in order of choice."""
        return np.concatenate([one.batch for one in self.rounds])

    @property
    def activated(self) -> int:
        """Number of activated vertices."""
        return sum(len(one.activated) for one in self.rounds if one.activated is not None)

    @property
    def cost(self) -> int:
        """What all seeds cost, in units."""
        return sum(one.cost for one in self.rounds)

    @property
    def amount(self) -> float:
        """What all seeds cost, as an amount."""
        return self.costs.amount(self.cost)
