"""Costs of seeds (Costs) and the record of a campaign (Round, Result)."""

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

import numpy as np

from gpukit.errors import InputError
from gpukit.graph.csr import Graph
from gpukit.graph.probabilities import check_lt
from gpukit.parameters.merit import Params

MAX_COST = 2**31 - 1

CHUNK = 1 << 16
"""Number of costs that a step of the search for their common difference reads; one step usually suffices."""


@dataclass(frozen=True, eq=False)
class Costs:
    """Cost of each vertex as a seed: whole numbers of a unit.

    Attributes
    ----------
    values : int64 array, shape (n,)
        Cost of each vertex, in [1, 2**31 - 1].
    unit : Decimal
        Amount of one unit, > 0.
    scheme : str
        ``degree`` (0.01 + 0.01 · d_out, the paper's), ``uniform`` (1 each) or ``file``.
    unpriced : int, optional
        Number of vertices that the file does not name; each of them costs 1.
    """

    values: np.ndarray
    unit: Decimal = Decimal(1)
    scheme: str = "uniform"
    unpriced: int | None = None

    @staticmethod
    def degree(graph: Graph) -> "Costs":
        """Return the paper's costs: 0.01 + 0.01 · d_out."""
        return Costs(np.diff(graph.indptr) + 1, Decimal("0.01"), "degree")

    @staticmethod
    def uniform(graph: Graph) -> "Costs":
        """Return a cost of 1 for each vertex."""
        return Costs(np.ones(graph.n, np.int64))

    def of(self, vertices: np.ndarray) -> int:
        """Return the total cost of vertices, in units."""
        return int(self.values[vertices].sum())

    def amount(self, units: int) -> float:
        """Convert units to an amount."""
        return float(units * self.unit)

    def sums(self, count: int) -> int:
        """Return an upper bound on the number of different sums of ``count`` costs."""
        return count * self._range + 1

    @cached_property
    def _range(self) -> int:
        """The largest cost minus the least, in multiples of the gcd of all differences; the same in every round."""
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
    return replace(costs, values=values.astype(np.int64))


@dataclass(frozen=True, eq=False)
class Round:
    """One round: the batch and the vertices it activated, as internal ids.

    Attributes
    ----------
    batch : int32 array
        The seeds in order of choice.
    cost : int
        Total cost of the batch, in units.
    activated : int32 array or None
        Activated vertices, seeds included, ascending; None until observed.
    sets : int
        mRR sets in the collection that the batch was chosen from; 0 for a batch of the kind ``end``.
    covered : int
        Number of these sets that the batch hits.
    hits : int or None
        Number of judging sets that the batch hits; None if there are none.
    kind : str
        ``certified``, ``cap`` (so many sets that no certificate is needed) or ``end`` (the cheapest vertices suffice).
    coverage_upper : int
        Upper bound on the number of these sets that any seeds of the same cost hit.
    refused : int
        Number of batches of this round that the judging sets refused.
    judged : int
        Number of ids of judging sets that were used up before the sets that judged this batch.
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
        The same, without the judging sets.
    members : int
        Most members held by the collection that batches are chosen from.
    memory : int
        Peak bytes of device memory of the arrays; 0 on the CPU.
    planned_memory : int
        Bytes that were planned before the arrays were allocated.
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
        """Total cost of all seeds, in units."""
        return sum(one.cost for one in self.rounds)

    @property
    def amount(self) -> float:
        """Total cost of all seeds, as an amount."""
        return self.costs.amount(self.cost)
