"""Edges that come, go and get other weights: which of them are news to a graph, and what they change at each tail."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from gpukit.errors import InputError
from gpukit.kpar.update.tables_cpu import ADD, REMOVE, WEIGH, grouped

Lookup = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Says which edges, by ascending tail << 32 | head, are there (bool), and their weights less one (uint32)."""


class Edges(NamedTuple):
    """Edges by tail << 32 | head (int64, ascending, distinct, no loops), and how many loops were left out.

    ``words`` (uint32) are their weights in units of 2**-32, less one; None where they have none.
    """

    keys: np.ndarray
    loops: int
    words: np.ndarray | None = None

    @classmethod
    def of(cls, tails: Any, heads: Any, words: np.ndarray | None = None, *, both_ways: bool = False) -> "Edges":
        """Return the distinct edges among those given; ``both_ways`` gives each the other direction, too.

        Raises
        ------
        InputError
            If one is given with two weights.
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
    """Refuse edges of which two things are to become at once, by what that is; raises InputError."""
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
        ADD, REMOVE or WEIGH, of each.
    words : uint32 array
        Its weight from now on, less one.
    already_there, not_there : int
        How many more were to be added and are there, or to be removed or weighed and are not.
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
        """Return what becomes of edges; those that are there, or are not, or weigh as much, do not count.

        ``leave`` are edges that are there and go with their vertices.

        Raises
        ------
        InputError
            If two things are to become of an edge.
        """
        check_apart(added=add, removed=remove, weighed=weigh)
        there, here, (known, before) = look(add.keys)[0], look(remove.keys)[0], look(weigh.keys)
        goes = remove.keys[here] if leave is None else np.union1d(remove.keys[here], leave)
        other = known & (before != weigh.words) if weigh.words is not None else known
        parts = (add.keys[~there], goes, weigh.keys[other])
        words = [
            np.zeros(len(keys), np.uint32) if one.words is None else one.words[chosen]
            for keys, one, chosen in zip(parts, (add, NO_EDGES, weigh), (~there, None, other), strict=True)
        ]
        keys = np.concatenate(parts)
        kinds = np.repeat(np.array([ADD, REMOVE, WEIGH], np.uint8), [len(part) for part in parts])
        order = np.argsort(keys)
        missing = int(len(here) - here.sum() + len(known) - known.sum())
        return cls(keys[order], kinds[order], np.concatenate(words)[order], int(there.sum()), missing)

    def count(self, kind: int) -> int:
        """How many edges come (ADD), go (REMOVE) or get another weight (WEIGH)."""
        return int(np.count_nonzero(self.kinds == kind))

    def groups(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the tails, each once, and the first edge of each."""
        return grouped(self.keys)


def slots_of(bits: np.ndarray) -> np.ndarray:
    """Return the slots (int64) of tables with so many bits."""
    return np.where(bits > 0, np.int64(1) << bits.astype(np.int64), 0)
