"""Edges that are added, removed or reweighted: those that change a graph, grouped by tail."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from gpukit.errors import InputError
from gpukit.kpar.update.tables_cpu import ADD, REMOVE, WEIGH, grouped

Lookup = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Returns which edges, given by ascending tail << 32 | head, exist (bool), and their weights minus one (uint32)."""


class Edges(NamedTuple):
    """Edges by tail << 32 | head (int64, ascending, distinct, no loops), and the number of dropped loops.

    ``words`` (uint32) are their weights in units of 2**-32, minus one; None if they have none.
    """

    keys: np.ndarray
    loops: int
    words: np.ndarray | None = None

    @classmethod
    def of(cls, tails: Any, heads: Any, words: np.ndarray | None = None, *, both_ways: bool = False) -> "Edges":
        """Return the distinct edges among the given ones; ``both_ways`` adds the other direction of each.

        Raises
        ------
        InputError
            If an edge is given with two weights.
        """
        tails, heads = np.asarray(tails, np.int64), np.asarray(heads, np.int64)
        kept = tails != heads
        keys = (tails << 32 | heads)[kept]
        loops = len(tails) - len(keys)
        turned = (keys & 0xFFFFFFFF) << 32 | keys >> 32
        keys = np.concatenate([keys, turned]) if both_ways else keys
        distinct, first, which = np.unique(keys, return_index=True, return_inverse=True)
        if words is None:
            return cls(distinct, loops)
        words = np.tile(words[kept], 2 if both_ways else 1)
        if np.any(words[first][which] != words):
            raise InputError("an edge is given twice, with two weights; give it once")
        return cls(distinct, loops, words[first])


NO_EDGES = Edges(np.empty(0, np.int64), 0)


def check_apart(**edges: Edges) -> None:
    """Refuse edges with two contradictory changes; raises InputError that names these."""
    for (one, some), (other, more) in combinations(edges.items(), 2):
        both = len(np.intersect1d(some.keys, more.keys, assume_unique=True)) if len(some.keys) and len(more.keys) else 0
        if both:
            raise InputError(f"{both:,} edges are to be both {one} and {other}; do one of the two")


@dataclass(frozen=True, eq=False)
class Changed:
    """Edges that change a graph.

    Attributes
    ----------
    keys : int64 array
        tail << 32 | head, ascending.
    kinds : uint8 array
        The kind of each change: ADD, REMOVE or WEIGH.
    words : uint32 array
        The new weight of each edge, minus one.
    already_there, not_there : int
        Number of further edges that were to be added but exist, or were to be removed or reweighted but do not exist.
    """

    keys: np.ndarray
    kinds: np.ndarray
    words: np.ndarray
    already_there: int = 0
    not_there: int = 0

    @classmethod
    def of(
        cls, look: Lookup, add: Edges, remove: Edges, weigh: Edges = NO_EDGES, leave: np.ndarray | None = None
    ) -> "Changed":
        """Return the changes of edges, without additions, removals and weights that change nothing.

        ``leave`` are existing edges that are removed with their vertices.

        Raises
        ------
        InputError
            If two changes of an edge contradict each other.
        """
        check_apart(added=add, removed=remove, weighed=weigh)
        if leave is not None:
            remove = remove._replace(keys=np.union1d(remove.keys, leave))
        parts, counts = [], {ADD: 0, REMOVE: 0, WEIGH: 0}
        for kind, edges in ((ADD, add), (REMOVE, remove), (WEIGH, weigh)):
            if not len(edges.keys):  # the most frequent case: a single edge must be fast
                continue
            there, before = look(edges.keys)
            news = there if kind == REMOVE else ~there if kind == ADD else there & (before != edges.words)
            words = np.zeros(len(there), np.uint32) if edges.words is None else edges.words
            parts.append((edges.keys[news], np.full(len(there), kind, np.uint8)[news], words[news]))
            counts[kind] = int(np.count_nonzero(there if kind == ADD else ~there))
        if len(parts) > 1:
            keys, kinds, words = (np.concatenate(column) for column in zip(*parts, strict=True))
            order = np.argsort(keys)
            parts = [(keys[order], kinds[order], words[order])]
        none = np.empty(0, np.int64), np.empty(0, np.uint8), np.empty(0, np.uint32)
        keys, kinds, words = parts[0] if parts else none
        return cls(keys, kinds, words, counts[ADD], counts[REMOVE] + counts[WEIGH])

    def count(self, kind: int) -> int:
        """Return the number of changes of a kind: ADD, REMOVE or WEIGH."""
        return int(np.count_nonzero(self.kinds == kind))

    def groups(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the tails, each once, and the first edge of each."""
        return grouped(self.keys)


@dataclass(eq=False)
class Noted:
    """Changes of an open index that the data of queries do not contain yet.

    ``edges`` are the changed edges of each update. ``gone`` and ``come`` (int64) are the redrawn walks before and
    after, as start << 32 | end in rows. ``left`` is the number of further changes that may be recorded.
    """

    left: int
    edges: list[Changed] = field(default_factory=list)
    gone: list[np.ndarray] = field(default_factory=list)
    come: list[np.ndarray] = field(default_factory=list)


def slots_of(bits: np.ndarray) -> np.ndarray:
    """Return the number of slots (int64) of tables with given bits."""
    return np.where(bits > 0, np.int64(1) << bits.astype(np.int64), 0)
