"""The constants that follow from kPAR's parameters, its sources, and its answers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext

import numpy as np

from gpukit.device.philox import Stream, draw4, stream_tag
from gpukit.errors import UsageError
from gpukit.parameters.kpar import CONTEXT, Params

SCALE_BITS = 62
ONE = 1 << SCALE_BITS
"""Fixed-point one: probabilities of a query are uint64 in units of 2**-62."""

UNIT = 2.0**-SCALE_BITS
"""The mass of one unit of residue, reserve or score."""

SHORTEST_UNION = 9

PATIENCE = 100
"""Number of edges, per place of the answer, along which a query pushes before its first test. A push is cheaper than a
test, and a query that reaches few vertices becomes nearly exact by it."""

CONTENDERS = 64
"""Most vertices whose scores a query refines: half of them before the end of its answer, half after it."""

WALKS_AN_EDGE = 2
"""Number of walks of the index that cost as much as one edge of a push in the budget of the refinement: reads, compared
with random writes."""

NEVER = 1 << 62

_LEAST_RHO = 1 << 12
_DELTA_TOP = Decimal("0.01")


@dataclass(frozen=True)
class Step:
    """One value of δ: the bound on the residue per walk, and the coefficients of the bounds on π.

    Attributes
    ----------
    delta : float
        δ.
    rho : int
        ρ(δ) in units of 2**-62: the largest residue that a walk may represent.
    upper, lower : tuple of 3 float
        (a, b, d): UB = π̂ + a + √(b + d·Y), LB = max(π°, π̂ + a - √(b + d·Y)).
    patience : int
        Number of edges that the query must have pushed along, in all its steps, to be tested here. The last step tests
        every query.
    """

    delta: float
    rho: int
    upper: tuple[float, float, float]
    lower: tuple[float, float, float]
    patience: int


def step_arrays(steps: "list[Step]") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a schedule as arrays for queries: ρ (int64), coefficients of the bounds (steps, 6), patience (int64)."""
    rhos, patience = (np.array([getattr(one, name) for one in steps], np.int64) for name in ("rho", "patience"))
    return rhos, np.array([one.upper + one.lower for one in steps]), patience


@dataclass(frozen=True)
class Constants:
    """The constants of a graph size and :class:`Params` (in ``decimal``: the same on every host).

    δ_min is 16/n but at most 0.01, so that the guarantee is also useful for graphs with fewer than 1,600 vertices.

    Attributes
    ----------
    n, m : int
        Vertices and edges.
    params : Params
    log_term : Decimal
        ln(2/p'_f), with p'_f = p_f/(n·log₂ n) and p_f = 1/n per query.
    psi, delta_min, delta_end : Decimal
        ψ, the δ of the index, and the δ at which the relative error is ε/2.
    """

    n: int
    m: int
    params: Params
    log_term: Decimal
    psi: Decimal
    delta_min: Decimal
    delta_end: Decimal

    @classmethod
    def of(cls, n: int, m: int, params: Params) -> "Constants":
        """Return the constants for n vertices and m edges."""
        with localcontext(CONTEXT):
            e, size = Decimal(repr(params.epsilon)), Decimal(max(n, 1))
            # Below 512 vertices the schedule may be longer than log₂ n, and the union bound must cover all of it.
            union = max(size.ln() / Decimal(2).ln(), Decimal(SHORTEST_UNION))
            log_term = (2 * size * size * union).ln()
            top = 2 * e / 3 + 2
            delta_min = min(16 / size, _DELTA_TOP)
            delta_end = delta_min * (top / (4 * (e / 3 + 2))) ** 2
            return cls(n, m, params, log_term, top * log_term / (e * e), delta_min, delta_end)

    def walks_per_edge(self) -> int:
        """Return √(ψ/(m·δ_min)) in units of 2**-64: walks of a vertex for each of its out-edges, before rounding."""
        with localcontext(CONTEXT):
            return int((self.psi / (max(self.m, 1) * self.delta_min)).sqrt() * 2**64)

    def hub_threshold(self) -> int:
        """Return 8ψ: vertices at which more walks end may be kept apart (the H of the paper)."""
        return int(8 * self.psi)

    def schedule(self, k: int, *, to_end: bool = False) -> list[Step]:
        """Return the values of δ for answers of length k, falling.

        They are halved down to δ_end, where every test passes (the relative error is ε/2). Smaller values, by factors
        of 64 as far as 62 bits allow, are for queries that have pushed along fewer than ``PATIENCE`` · k edges by then.

        Parameters
        ----------
        k : int
        to_end : bool
            Whether no query is tested above δ_end.
        """
        with localcontext(CONTEXT):
            kth, last, patience = self.kth_value(k), self.delta_end, PATIENCE * k
            steps = self.halved(max(kth / 10, min(self.delta_min, kth / 2)), last, patience, to_end=to_end)
            while steps[-1].rho >= 8 * _LEAST_RHO:
                last /= 64
                steps.append(self._step(last, patience))
            return steps

    def kth_value(self, k: int) -> Decimal:
        """Return 1/(k·ln n), the k-th of values that are proportional to 1/rank."""
        with localcontext(CONTEXT):
            return 1 / (k * Decimal(max(self.n, 2)).ln())

    def halved(self, first: Decimal, last: Decimal, patience: int, *, to_end: bool) -> list[Step]:
        """Return the steps at ``first`` and its halves down to ``last``; with ``to_end`` only that one is tested."""
        with localcontext(CONTEXT):
            deltas = [max(first, last)]
            while deltas[-1] > last:
                deltas.append(max(deltas[-1] / 2, last))
            return [self._step(delta, NEVER if to_end and delta > last else patience) for delta in deltas]

    def _step(self, delta: Decimal, patience: int) -> Step:
        with localcontext(CONTEXT):
            rho = (delta * self.delta_min).sqrt() / self.psi
            c = rho * self.log_term
            if rho * ONE < _LEAST_RHO:
                raise UsageError(
                    f"epsilon {self.params.epsilon} is too small for {self.n} vertices: 62 bits cannot hold it"
                )
            upper = (float(4 * c / 3), float(16 * c * c / 9), float(2 * c))
            lower = (float(2 * c / 3), float(4 * c * c / 9), float(2 * c))
            return Step(float(delta), int(rho * ONE), upper, lower, patience)


def begins(lengths: "np.ndarray | Sequence[int]") -> np.ndarray:
    """Return the starts of consecutive ranges with given lengths, and the end of the last one (int64)."""
    places = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=places[1:])
    return places


@dataclass(frozen=True, eq=False)
class Sources:
    """Queries: a distribution over vertices each, most often a single vertex.

    Attributes
    ----------
    offsets : int64 array, shape (queries + 1,)
        Start of each query in the other two.
    vertices : int32 array
        Internal ids, ascending and distinct within a query.
    mass : uint64 array
        Start probabilities in units of 2**-62; they sum to 2**62 in each query.
    """

    offsets: np.ndarray
    vertices: np.ndarray
    mass: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def single(cls, vertices) -> "Sources":
        """Return one query for each vertex."""
        vertices = np.asarray(vertices, np.int32)
        return cls(np.arange(len(vertices) + 1, dtype=np.int64), vertices, np.full(len(vertices), ONE, np.uint64))

    def part(self, first: int, last: int) -> "Sources":
        """Return the queries first … last - 1."""
        inside = slice(self.offsets[first], self.offsets[last])
        return Sources(self.offsets[first : last + 1] - inside.start, self.vertices[inside], self.mass[inside])

    def take(self, order: np.ndarray) -> "Sources":
        """Return the queries in another order."""
        sizes = np.diff(self.offsets)[order]
        offsets = begins(sizes)
        inside = np.repeat(self.offsets[:-1][order] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return Sources(offsets, self.vertices[inside], self.mass[inside])

    @classmethod
    def joined(cls, parts: "Sequence[Sources]") -> "Sources":
        """Return the queries of several batches as one."""
        sizes = np.concatenate([np.diff(part.offsets) for part in parts])
        vertices, mass = (np.concatenate([getattr(part, name) for part in parts]) for name in ("vertices", "mass"))
        return cls(begins(sizes), vertices, mass)

    @classmethod
    def weighted(cls, vertices, weights) -> "Sources":
        """Return one query that starts at a vertex with probability proportional to its weight.

        Parameters
        ----------
        vertices : sequence of int
            Internal ids; weights of one named twice are added.
        weights : sequence of int
            Whole numbers, 0 or more; a vertex of weight 0 is left out.

        Raises
        ------
        UsageError
            If a weight is negative, or none is positive.
        """
        total: dict[int, int] = {}
        for vertex, weight in zip(vertices, weights, strict=True):
            if weight < 0:
                raise UsageError(f"a source has weight {weight}; 0 and positive weights are allowed")
            if weight:
                total[int(vertex)] = total.get(int(vertex), 0) + int(weight)
        if not total:
            raise UsageError("every weight of a source is 0; give a vertex a weight above 0")
        order = sorted(total)
        whole = sum(total.values())
        mass = [total[vertex] * ONE // whole for vertex in order]
        # The remainder of rounding down has fewer units than there are sources; the first sources get one each.
        for place in range(ONE - sum(mass)):
            mass[place] += 1
        kept = [place for place, units in enumerate(mass) if units]
        return cls(
            np.array([0, len(kept)], np.int64),
            np.array([order[place] for place in kept], np.int32),
            np.array([mass[place] for place in kept], np.uint64),
        )


def random_vertices(n: int, count: int, seed: int) -> np.ndarray:
    """Return ``count`` vertices (int32), each uniform on its own; number i is a function of (n, seed, i)."""
    tag = stream_tag(Stream.BASELINE)
    words = [draw4(seed, tag, i, 0, 0) for i in range(count)]
    # 64 of the 128 bits: the bias is below n · 2**-64.
    return np.array([(int(w[0]) << 32 | int(w[1])) * n >> 64 for w in words], np.int32)


TRACE = (
    "step",
    "rounds",
    "frontier",
    "edges",
    "touched",
    "candidates",
    "entries",
    "forward",
    "failed_at",
)
"""Columns of a trace, with one row per value of δ: its number, synchronous rounds, vertices and edges pushed, vertices
met, candidates, index entries read, whether forward rows were read (2: walks were drawn as a last resort), and the
first position the stop test refused (0: none, -1: not tested)."""


@dataclass(frozen=True, eq=False)
class Result:
    """Answers of a batch of queries.

    Attributes
    ----------
    offsets : int64 array, shape (queries + 1,)
        Start of each answer.
    nodes : int32 array
        Internal ids, by falling score, then by id.
    scores : uint64 array
        π̂ in units of 2**-62.
    steps : int32 array, shape (queries,)
        Number of values of δ each query went through.
    traces : list of int64 array (steps, len(TRACE)), one a query
        The counts of each step.
    schedule : list of Step
        The values of δ.
    certain : bool array or None
        Whether the vertex at each place is certainly one of the k best, except with probability 1/n; None if the method
        does not report it.
    """

    offsets: np.ndarray
    nodes: np.ndarray
    scores: np.ndarray
    steps: np.ndarray
    traces: list[np.ndarray] = field(repr=False)
    schedule: list[Step] = field(repr=False)
    certain: np.ndarray | None = None

    @classmethod
    def joined(cls, parts: "Sequence[Result]") -> "Result":
        """Return the answers of several batches, asked with the same k, as one."""
        sizes = np.concatenate([np.diff(part.offsets) for part in parts])
        nodes, scores, steps = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("nodes", "scores", "steps")
        )
        traces = [trace for part in parts for trace in part.traces]
        flags = [part.certain for part in parts if part.certain is not None]
        certain = np.concatenate(flags) if len(flags) == len(parts) else None
        return cls(begins(sizes), nodes, scores, steps, traces, parts[0].schedule, certain)

    @classmethod
    def of(cls, answers: "Sequence[tuple[np.ndarray, np.ndarray]]") -> "Result":
        """Return vertices and scores (int64 or uint64) of each query as a result without steps and traces."""
        nodes, scores = (np.concatenate([answer[part] for answer in answers]) for part in (0, 1))
        lengths = [len(found) for found, _ in answers]
        steps = np.zeros(len(answers), np.int32)
        return cls(begins(lengths), nodes.astype(np.int32), scores.view(np.uint64), steps, [], [])

    @classmethod
    def of_rows(
        cls, lengths: np.ndarray, nodes: np.ndarray, scores: np.ndarray, steps: np.ndarray | None = None,
        traces: "np.ndarray | Sequence[np.ndarray]" = (), schedule: "Sequence[Step]" = (),
        certain: np.ndarray | None = None,
    ) -> "Result":  # fmt: skip
        """Return answers from arrays (queries, k) of integers; the first ``lengths`` entries of a row are an answer.

        The first ``steps`` rows of ``traces`` are those of a query.
        """
        filled = np.arange(nodes.shape[1]) < lengths[:, None]
        steps = np.zeros(len(lengths), np.int32) if steps is None else steps
        traced = [trace[:count] for trace, count in zip(traces, steps, strict=False)]
        found = nodes[filled].astype(np.int32), scores[filled].view(np.uint64)
        flags = None if certain is None else certain[filled].astype(np.bool_)
        return cls(begins(lengths), *found, steps, traced, list(schedule), flags)

    def answer(self, query: int) -> tuple[np.ndarray, np.ndarray]:
        """Return nodes (int32) and scores (float64) of one query."""
        part = slice(self.offsets[query], self.offsets[query + 1])
        return self.nodes[part], self.scores[part] / float(ONE)
