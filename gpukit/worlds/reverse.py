"""A graph prepared for reverse sampling: model, sampler, rounds and root weights, in arrays for both devices."""

from collections import namedtuple
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gpukit.device.compiled import njit
from gpukit.device.philox import Stream
from gpukit.errors import InputError, UsageError
from gpukit.graph.csr import Graph
from gpukit.graph.probabilities import check_lt, in_probabilities, no_probabilities, threshold
from gpukit.wording import spelled
from gpukit.worlds.rule import LT_CASCADE, LT_CONSTANT, LT_PREFIX
from gpukit.worlds.tables import build_per_edge_tables, build_tables, equal_rows
from gpukit.worlds.trivial import ONE, kept_mass, singleton_by_edges, singleton_by_rows, singleton_of_sums

NO_ACCEPT = np.zeros(1, np.uint32)
"""For kernels that need no table, which they detect by its single entry; so :func:`prepare` gives every table more."""

NO_ROOTS = np.zeros(0, np.uint64)
NO_MARKS = np.zeros(0, np.uint8)
MAX_ROUNDS = 255


class SamplerTables(
    namedtuple("SamplerTables", "rows indices accept thresholds lt_kind lt_constant lt_prefix roots n rounds")
):
    """The arrays of a graph that a sampler reads, in host memory or on a GPU.

    Attributes
    ----------
    rows, accept, thresholds : arrays
        Sampling tables (:func:`gpukit.worlds.tables.build_tables`); under LT only start and length of each row matter.
    indices : int32 array, shape (m,)
        Tails of the in-edges, in row order.
    lt_kind, lt_constant, lt_prefix
        How a vertex chooses under LT (:func:`gpukit.worlds.rule.lt_choice`); ``lt_kind`` is -1 under IC.
    roots : uint64 array
        Prefix sums of root weights, or empty (:func:`gpukit.worlds.rule.draw_root`).
    n, rounds : int
        Vertices, and reverse searches from each root.
    """


class Samples(namedtuple("Samples", "seed tag root_tag first size kept marks all_marks representative limit")):
    """A request for samples: the user's seed, the streams of coins and roots, the first sample id, and their number.

    ``kept``: on the CPU, whether trivial sets are left out. For a kernel, the kept ids as int64 relative to the first;
    empty if all are drawn. The last four fields are an :class:`Ending`; there are no marks if sets never end early.
    """


ORDER_BIT = 6
"""The bits of a mark below this bit are marks of members; the bits from it on are an order."""


class Ending(NamedTuple):
    """When a set may end early; one round only.

    A set ends once its members' marks have every bit of ``all_marks``, or once it has more than ``limit`` members. This
    does not depend on the order of the search. Nothing else is kept of a set that ended.

    Attributes
    ----------
    marks : uint8 array, shape (n,), or (1,) where those of all vertices are the same
        For each vertex, bits of ``all_marks``. The bits from ``ORDER_BIT`` on say how soon such a member is expanded,
        if the sampler can choose: the largest first.
    all_marks : int
        1 to 2**ORDER_BIT - 1.
    representative : int
        The vertex that becomes the only member of a set that ended; -1: the set has no member.
    limit : int
        In [1, n].
    """

    marks: np.ndarray
    all_marks: int
    representative: int
    limit: int


NEVER = Ending(NO_MARKS, 0, -1, 0)
"""For sets that never end early."""


@dataclass(frozen=True, eq=False)
class Reverse:
    """The input of a sampler; see :func:`prepare`.

    Attributes
    ----------
    n, rounds : int
        Vertices, and reverse searches from each root.
    model, sampler : str
        ``ic`` or ``lt``; ``skip`` or ``scan``.
    rows, accept, thresholds
        Sampling tables (:func:`gpukit.worlds.tables.build_tables`); under LT one row per vertex, and the rest unused.
        ``accept`` has one entry if no row needs it, else two or more.
    indptr : int64 array, shape (n + 1,)
        Row starts of the in-edges.
    indices : int32 array, shape (m,)
        Tails of the in-edges; under IC in the order of the rows.
    lt_kind, lt_constant, lt_prefix
        How a vertex chooses under LT; ``lt_kind`` is -1 under IC.
    roots : uint64 array
        Prefix sums of the root weights, or empty for uniform roots.
    singleton : uint64 array, shape (n,), or None
        If trivial sets are left out: the probability that no in-edge of a vertex is live, times 2**63 (``trivial.py``).
    """

    n: int
    rounds: int
    model: str
    sampler: str
    rows: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    accept: np.ndarray
    thresholds: np.ndarray
    lt_kind: int
    lt_constant: int
    lt_prefix: np.ndarray
    roots: np.ndarray
    singleton: np.ndarray | None = None

    @property
    def elements(self) -> int:
        """Number of (vertex, round) elements."""
        return self.n * self.rounds

    @property
    def mass(self) -> int:
        """The spread at which all sets are covered: n, or the sum of the root weights."""
        return self.n if len(self.roots) == 0 else int(self.roots[-1])

    @cached_property
    def gamma(self) -> int:
        """Γ times 2**63: the spread at which all non-trivial sets are covered; ``mass`` * 2**63 if all sets count."""
        if self.singleton is None:
            return self.mass * ONE
        return kept_mass(self.singleton, np.diff(self.roots, prepend=np.uint64(0)) if len(self.roots) else None)

    def ids_for(self, sets: int) -> int:
        """Return a number of sample ids that is very likely to give at least ``sets`` sets."""
        if self.singleton is None or sets < 1:
            return sets
        expected = sets * self.mass * ONE // max(1, self.gamma)
        return expected + expected // 64 + 64

    def sets_of(self, ids: int) -> int:
        """Return the expected number of sets of ``ids`` sample ids, rounded up."""
        return -(-ids * self.gamma // (self.mass * ONE))

    @property
    def stream(self) -> Stream:
        """The random stream of the coins."""
        return Stream.IC if self.model == "ic" else Stream.LT

    @property
    def tables(self) -> SamplerTables:
        """The tables for a sampler on the CPU."""
        return SamplerTables(*(getattr(self, name) for name in SamplerTables._fields))._replace(
            lt_constant=np.uint64(self.lt_constant)
        )

    def samples(self, seed: int, first: int, count: int, ending: Ending) -> Samples:
        """Return the request for samples first … first + count - 1."""
        kept = self.singleton is not None
        return Samples(np.uint64(seed), int(self.stream), int(Stream.ROOT), first, count, kept, *ending)


@njit
def _prefixes(indptr, stored):
    """Return cumulative fixed-point weights within each row, minus one, at most 2**32 - 1."""
    prefix = np.empty(len(stored), np.uint32)
    top = np.uint64(0xFFFFFFFF)
    for v in range(len(indptr) - 1):
        total = np.uint64(0)
        for e in range(indptr[v], indptr[v + 1]):
            total += np.uint64(stored[e]) + np.uint64(1)
            prefix[e] = min(total - np.uint64(1), top)
    return prefix


def prepare(
    graph: Graph,
    model: str,
    sampler: str = "skip",
    *,
    tables: dict[str, np.ndarray] | None = None,
    rounds: int = 1,
    root_weights: np.ndarray | None = None,
    kept: bool = False,
) -> Reverse:
    """Prepare a graph for reverse sampling.

    Parameters
    ----------
    graph : Graph
        With its transpose and edge probabilities.
    model : str
        ``ic`` or ``lt``.
    sampler : str
        ``skip`` draws the number of live in-edges; ``scan`` draws one number per edge (IC) or searches in prefix sums
        (LT).
    tables : dict of arrays, optional
        The result of :func:`gpukit.worlds.tables.build_tables`, if available.
    rounds : int
        Reverse searches from each root, 1 to 255 (multi-round influence maximisation).
    root_weights : int64 array, shape (n,), optional
        Weight of each vertex as a root, >= 0, with a positive sum below 2**63; uniform if not given.
    kept : bool
        Whether to leave out trivial sets, which contain only their root; for one round and the sampler ``skip``.

    Raises
    ------
    InputError
        If the graph has no vertices, no transpose, no probabilities, or breaks the LT condition.
    UsageError
        If an option is out of range.
    """
    if graph.n == 0:
        raise InputError("the graph has no vertices; sampling needs at least one")
    if graph.in_indptr is None or graph.in_indices is None:
        raise InputError(f"the graph has no transpose, sampling needs one; import it with {spelled('transpose', True)}")
    if graph.weights.scheme == "none":
        raise no_probabilities()
    if model not in ("ic", "lt"):
        raise UsageError(f"model {model!r} is unknown; choose ic or lt")
    if sampler not in ("skip", "scan"):
        raise UsageError(f"sampler {sampler!r} is unknown; choose skip or scan")
    if not 1 <= rounds <= MAX_ROUNDS or graph.n * rounds >= 2**31 - 1:
        raise UsageError(f"{rounds} rounds: allowed are 1 to {MAX_ROUNDS} with n * rounds below 2**31")
    if kept and (rounds > 1 or sampler != "skip"):
        raise UsageError("sets 'kept' are for one round and the sampler skip; choose sets 'plain'")
    roots = NO_ROOTS
    if root_weights is not None:
        if len(root_weights) != graph.n or np.any(root_weights < 0) or not 0 < sum(root_weights.tolist()) < 2**63:
            raise UsageError("root weights must be n integers >= 0 with a positive sum below 2**63")
        roots = np.cumsum(root_weights.astype(np.uint64))
    indices, accept, lt_kind, constant, prefix = graph.in_indices, NO_ACCEPT, -1, 1, NO_ACCEPT
    if model == "ic":
        if sampler == "scan":
            tables = build_per_edge_tables(graph)
        elif tables is None:
            tables = build_tables(graph)
        indices = tables.get("indices", indices)
        if "accept" in tables:  # one entry would mean that there is no table
            accept = tables["accept"] if graph.m > 1 else np.resize(tables["accept"], 2)
    else:
        check_lt(graph)
        tables = {"rows": equal_rows(graph.in_indptr), "thresholds": np.zeros(1, np.uint64)}
        if sampler == "skip" and graph.weights.scheme == "wc":
            lt_kind = LT_CASCADE
        elif sampler == "skip" and graph.weights.scheme == "const":
            assert graph.weights.p is not None
            lt_kind, constant = LT_CONSTANT, threshold(graph.weights.p)
        else:
            lt_kind, prefix = LT_PREFIX, _prefixes(graph.in_indptr, in_probabilities(graph))
    reverse = Reverse(
        n=graph.n, rounds=rounds, model=model, sampler=sampler, rows=tables["rows"], indptr=graph.in_indptr,
        indices=indices, accept=accept, thresholds=tables["thresholds"], lt_kind=lt_kind, lt_constant=constant,
        lt_prefix=prefix, roots=roots,
    )  # fmt: skip
    return replace(reverse, singleton=_singleton(graph, reverse)) if kept else reverse


def _singleton(graph: Graph, reverse: Reverse) -> np.ndarray:
    """Return the probability, times 2**63, that no in-edge of a vertex is live, by the sampler's integer numbers."""
    degrees = np.diff(reverse.indptr).astype(np.uint64)
    if reverse.lt_kind == LT_CASCADE:
        return singleton_of_sums(np.where(degrees > 0, np.uint64(1 << 32), np.uint64(0)))
    if reverse.lt_kind == LT_CONSTANT:
        return singleton_of_sums(degrees * np.uint64(reverse.lt_constant))
    if reverse.lt_kind == LT_PREFIX:
        last = reverse.lt_prefix[np.maximum(reverse.indptr[1:] - 1, 0)]
        return singleton_of_sums(np.where(degrees > 0, last.astype(np.uint64) + np.uint64(1), np.uint64(0)))
    if graph.weights.scheme not in ("wc", "const"):
        return singleton_by_edges(reverse.indptr, in_probabilities(graph))
    return singleton_by_rows(reverse.rows, reverse.thresholds, graph.n)
