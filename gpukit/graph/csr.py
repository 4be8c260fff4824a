"""The graph format of every system: CSR rows of out-edges, and of in-edges if a system needs them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpukit.errors import InputError
from gpukit.graph.labels import Labels

MAX_VERTICES = 2**31 - 1
MAX_EDGES = 2**32 - 1

DRAWN = ("trivalency", "uniform")
"""Schemes whose probabilities are drawn."""

EXPLICIT = (*DRAWN, "file")
"""Schemes whose probabilities do not follow from the graph, so graphs store them."""


@dataclass(frozen=True)
class Weights:
    """The scheme of the edge probabilities.

    Attributes
    ----------
    scheme : str
        ``wc`` (weighted cascade, p(u,v) = 1/d_in(v)), ``const``, ``trivalency``, ``uniform``, ``file`` or ``none``.
    p : float or None
        The probability of every edge, in (0, 1]; for ``const`` only.
    seed : int or None
        The seed of drawn probabilities; for ``trivalency`` and ``uniform`` only.
    low, high : float or None
        The range of drawn probabilities, in [0, 1]; for ``uniform`` only.
    """

    scheme: str = "wc"
    p: float | None = None
    seed: int | None = None
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        """Return the scheme as a value of ``--weights``."""
        given = [value for value in (self.p, self.low, self.high) if value is not None]
        return ":".join([self.scheme, *map(repr, given)])

    @classmethod
    def of(cls, attributes: Mapping[str, Any]) -> "Weights":
        """Return the scheme that the attributes of a file state."""
        names = ("scheme", "p", "weights_seed", "low", "high")
        return cls(*(attributes.get(name) for name in names))  # type: ignore[arg-type]

    @property
    def drawn(self) -> bool:
        """Whether the probabilities are drawn, by edge and seed."""
        return self.scheme in DRAWN


@dataclass(frozen=True, eq=False)
class Graph:
    """A directed simple graph; an undirected one holds each edge in both directions.

    Attributes
    ----------
    indptr : int64 array, shape (n + 1,)
        Row starts of the out-edges.
    indices : int32 array, shape (m,)
        Heads of the out-edges, ascending within a row, no self-loops, no repeats.
    ids : int64 array, shape (n,), or None
        Original vertex ids, ascending; None when they are 0 … n-1.
    labels : Labels or None
        Names of the vertices, if the edge list has names instead of ids; ``ids`` is None then.
    weights : Weights
        The probability scheme.
    probabilities : uint32 array, shape (m,), or None
        Fixed-point probability of each out-edge, minus one: p = (value + 1) / 2**32, so p = 1 fits. For the schemes
        ``trivalency``, ``uniform`` and ``file``; None for ``wc`` and ``const``, where p follows from the scheme.
    in_indptr, in_indices : int64 (n + 1,) and int32 (m,) arrays, or None
        The transpose: tails of the in-edges, ascending within a row.
    in_probabilities : uint32 array, shape (m,), or None
        ``probabilities`` in the order of the transpose.
    undirected : bool
        Whether every edge was made in both directions at import.
    facts : dict
        What the import found: ``self_loops_dropped``, ``parallel_edges_merged``, ``zero_probability_dropped``, …
    """

    indptr: np.ndarray
    indices: np.ndarray
    ids: np.ndarray | None = None
    weights: Weights = field(default_factory=Weights)
    probabilities: np.ndarray | None = None
    in_indptr: np.ndarray | None = None
    in_indices: np.ndarray | None = None
    in_probabilities: np.ndarray | None = None
    undirected: bool = False
    facts: dict = field(default_factory=dict)
    labels: Labels | None = None

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.indptr) - 1

    @property
    def m(self) -> int:
        """Number of directed edges."""
        return len(self.indices)

    def original(self, vertices) -> np.ndarray:
        """Return the external names of internal vertex ids: original ids (int64), or labels (``str`` objects)."""
        return self.numbers(vertices) if self.labels is None else self.labels.texts(vertices)

    def internal(self, original) -> np.ndarray:
        """Return the internal ids (int64) of original vertex ids, or of labels.

        Raises
        ------
        InputError
            If a name is not a vertex of the graph.
        """
        if self.labels is None:
            return self.of_numbers(original)
        found = self.labels.find(original)
        if np.any(found < 0):
            missing = original[int(np.argmax(found < 0))]
            text = missing if len(missing) <= 40 else missing[:40] + "…"
            raise InputError(
                f"vertex {text!r} is not in the graph (it has {self.n} vertices); "
                f"{self.labels.advice(missing, 'give names as in the edge list')}"
            )
        return found

    def numbers(self, vertices) -> np.ndarray:
        """Return the ids (int64) of internal vertices in files: original ids, or internal ids if there are labels."""
        vertices = np.asarray(vertices, dtype=np.int64)
        return vertices if self.ids is None else self.ids[vertices]

    def of_numbers(self, numbers) -> np.ndarray:
        """Return the internal ids (int64) of the ids in a file.

        Raises
        ------
        InputError
            If an id is not a vertex of the graph.
        """
        numbers = np.asarray(numbers, dtype=np.int64)
        if self.ids is None:
            found, inside = numbers, (numbers >= 0) & (numbers < self.n)
        else:
            found = np.searchsorted(self.ids, numbers)
            inside = self.ids.take(found, mode="clip") == numbers
        if not np.all(inside):
            missing = numbers[~inside].ravel()[0]
            raise InputError(
                f"vertex {missing} is not in the graph (it has {self.n} vertices); give original ids of the edge list"
            )
        return found
