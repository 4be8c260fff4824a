"""Edges that come and go: which of them are news to a graph, and what they change at each tail."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gpukit.errors import InputError
from gpukit.graph.csr import Graph
from gpukit.kpar.update.tables_cpu import Changes, SlotTables, grouped, in_both, in_rows, places_of


class Edges(NamedTuple):
    """Edges by tail << 32 | head (int64, ascending, distinct, no loops), and how many loops were left out."""

    keys: np.ndarray
    loops: int

    @classmethod
    def of(cls, tails: Any, heads: Any, *, both_ways: bool = False) -> "Edges":
        """Return the distinct edges among those given; ``both_ways`` gives each the other direction, too."""
        tails, heads = np.asarray(tails, np.int64), np.asarray(heads, np.int64)
        keys = (tails << 32 | heads)[tails != heads]
        loops = len(tails) - len(keys)
        if both_ways:
            keys = np.concatenate([keys, (keys & 0xFFFFFFFF) << 32 | keys >> 32])
        return cls(np.unique(keys), loops)


def check_apart(add: Edges, remove: Edges) -> None:
    """Refuse edges that are to be added and removed at once; raises InputError."""
    both = in_both(add.keys, remove.keys)
    if both:
        raise InputError(f"{both:,} edges are to be both added and removed; do one of the two")


@dataclass(frozen=True, eq=False)
class Changed:
    """Edges that change a graph, by tail.

    Attributes
    ----------
    keys : int64 array
        tail << 32 | head, ascending.
    adds : bool array
        Which of them come; the others go.
    tails : int64 array
        The tails, each once, ascending.
    first : int64 array, shape (tails + 1,)
        The first edge of each.
    degrees : int64 array
        Out-degree of each tail afterwards.
    """

    keys: np.ndarray
    adds: np.ndarray
    tails: np.ndarray
    first: np.ndarray
    degrees: np.ndarray

    @classmethod
    def of(cls, added: np.ndarray, removed: np.ndarray, degree: np.ndarray) -> "Changed":
        """Return the changes by edges that are not there, and edges that are, given the out-degrees of the graph."""
        return cls(*grouped(added, removed, degree))

    @classmethod
    def between(cls, graph: Graph, add: Edges, remove: Edges) -> "Changed":
        """Return what becomes of edges to add and to remove; those that are there, or are not, do not count.

        Raises
        ------
        InputError
            If an edge is to be added and removed.
        """
        check_apart(add, remove)
        there, here = (in_rows(keys, graph.indptr, graph.indices) for keys in (add.keys, remove.keys))
        return cls.of(add.keys[~there], remove.keys[here], np.diff(graph.indptr))

    @property
    def added(self) -> int:
        """How many edges come."""
        return int(self.adds.sum())

    @property
    def removed(self) -> int:
        """How many edges go."""
        return len(self.keys) - self.added

    def groups(self, tables: SlotTables, used: int, before: Changes | None = None) -> tuple[Changes, int]:
        """Return the changes as kernels take them, given the slots in use, and the slots in use behind them.

        Room that changes ``before`` these had is taken again where it is enough: fresh memory costs more than its use.
        """
        where, old, used = places_of(self.tails, self.degrees, tables.where, used)
        heads = (self.keys & 0xFFFFFFFF).astype(np.int32)
        if before is None or len(before.states) < old[-1]:
            slots, states = np.empty(old[-1], np.int32), np.empty(old[-1], np.uint8)
        else:
            slots, states = before.old_slots, before.states
        bits = np.empty(len(self.tails), np.uint8)
        return Changes(self.tails, self.first, heads, self.adds, where, old, bits, slots, states), used


def slots_of(bits: np.ndarray) -> np.ndarray:
    """Return the slots (int64) of tables with so many bits."""
    return np.where(bits > 0, np.int64(1) << bits.astype(np.int64), 0)
