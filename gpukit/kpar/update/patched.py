"""The data of a graph and its index for queries; after updates single rows are renewed."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpukit.device.philox import Stream, stream_tag
from gpukit.graph.kernels import transpose_rows
from gpukit.kpar.query.answer import Prepared
from gpukit.kpar.spaced import SpacedEdges, SpacedInEdges, SpacedWalks
from gpukit.kpar.update.changes import Noted
from gpukit.kpar.update.patched_cpu import (
    change_around,
    change_arrivals,
    close_row_gaps,
    merge_rows,
    net_changes,
    price,
    room_for_rows,
    turned,
    walks_around,
    write_edges,
)
from gpukit.kpar.update.tables_cpu import ADD, REMOVE, SlotTables

if TYPE_CHECKING:
    from gpukit.kpar.query.answer_cpu import Workspace

SPARE = 0.5
"""Spare room for changed rows, as a share of the used room."""


class Rows(NamedTuple):
    """Rows of vertices in shared arrays: the row of v is from ``begin[v]`` to ``until[v]`` (int64).

    ``begin`` has one more entry. ``items`` (int32) are ascending in a row; ``counts`` has a number for each, of any
    type. The first ``used`` places are in use.
    """

    begin: np.ndarray
    until: np.ndarray
    items: np.ndarray
    counts: np.ndarray
    used: int

    @classmethod
    def of(cls, begin: np.ndarray, items: np.ndarray, counts: np.ndarray) -> "Rows":
        """Return copies of rows without gaps."""
        return cls(begin, begin[1:], items, counts, 0).with_room(0)

    def with_room(self, more: int) -> "Rows":
        """Return rows that can be changed, with room for a number of entries; in the same arrays if these have room."""
        rows = self._replace(begin=self.begin.copy(), until=self.until.copy())
        if 0 < self.used and self.used + more <= len(self.items):
            return rows
        room = int((int((rows.until - rows.begin[:-1]).sum()) + more) * (1 + SPARE)) + 16
        items = np.empty(room, self.items.dtype)
        counts = np.empty(room if len(self.counts) else 0, self.counts.dtype)
        used = close_row_gaps(rows.begin, rows.until, self.items, self.counts, items, counts)
        return rows._replace(items=items, counts=counts, used=used)

    def merged(self, keys: np.ndarray, nets: np.ndarray) -> "Rows":
        """Return the rows after changes of counts, by row << 32 | item, ascending."""
        if not len(keys):
            return self
        rows = self.with_room(room_for_rows(self.begin, self.until, keys))
        return rows._replace(used=merge_rows(*rows, keys, nets))


@dataclass(eq=False)
class Patched(Prepared):
    """A graph and its index, ready for queries on the CPU, which updates can renew.

    Each update makes a new object, which shares the unchanged rows; the old object does not change. Answers equal those
    of a newly made index.

    ``graph`` and ``index`` are the initial ones; only their vertices and parameters are read.

    Attributes
    ----------
    edges, forward, inverted, tails : Rows
        Out-edges with their chances, walks by start and by end, and in-edges.
    walks, arrivals, around : arrays
        ω (uint32), ω_I and the walks that end at the tails of in-edges (int64), of each vertex.
    """

    edges: Rows = field(kw_only=True)
    forward: Rows = field(kw_only=True)
    inverted: Rows = field(kw_only=True)
    tails: Rows = field(kw_only=True)
    walks: np.ndarray = field(kw_only=True)
    arrivals: np.ndarray = field(kw_only=True)
    around: np.ndarray = field(kw_only=True)

    @classmethod
    def from_whole(cls, prepared: Prepared) -> "Patched":
        """Return prepared data in the form that can be renewed."""
        graph, index = prepared.graph, prepared.index
        assert index.forward is not None
        in_edges = prepared.in_edges()
        none = np.empty(0, np.uint64)
        tails = Rows.of(in_edges.begin, in_edges.tails, np.ones(len(in_edges.tails), np.uint32))
        return cls(
            graph, index, prepared.constants, prepared.by_arrivals, prepared.chances,
            edges=Rows.of(graph.indptr, graph.indices, none if prepared.chances is None else prepared.chances),
            forward=Rows.of(*index.forward), inverted=Rows.of(*transpose_rows(*index.forward)), tails=tails,
            walks=index.walks, arrivals=index.arrivals,
            around=walks_around(tails.begin, tails.until, tails.items, index.arrivals),
            schedules=prepared.schedules, made=dict(prepared.made),
        )  # fmt: skip

    def after(self, noted: Noted, tables: SlotTables, counts: np.ndarray, number: np.ndarray) -> "Patched":
        """Return the object after changes of edges and walks.

        Parameters
        ----------
        noted : Noted
        tables : SlotTables
            The present edges.
        counts : int64 array
            Present number of walks of each row.
        number : int64 array
            The vertex in each row.
        """
        keys, kinds = (np.concatenate([getattr(one, name) for one in noted.edges]) for name in ("keys", "kinds"))
        tails = np.unique(keys >> 32)
        edges = self.edges.with_room(int(tables.degree[tails].sum()))
        chances = edges.counts
        used = write_edges(tables, tails, number, edges.begin, edges.until, edges.items, chances, edges.used)
        edges = edges._replace(used=used)
        walks = self.walks.copy()
        walks[number[tails]] = counts[tails]

        none = np.empty(0, np.int64)
        pairs, nets = net_changes(np.concatenate([none, *noted.gone]), np.concatenate([none, *noted.come]), number)
        by_end, of_ends = turned(pairs, nets)
        forward, inverted = self.forward.merged(pairs, nets), self.inverted.merged(by_end, of_ends)
        out, of_out = net_changes(keys[kinds == REMOVE], keys[kinds == ADD], number)
        into, of_into = turned(out, of_out)
        in_rows, around = self.tails.merged(into, of_into), self.around.copy()
        change_around(into, of_into, self.arrivals, around)
        arrivals = self.arrivals.copy()
        ends, more, order = change_arrivals(by_end, of_ends, arrivals, self.by_arrivals)
        prices = price(
            edges.begin, edges.until, edges.items, ends, more, in_rows.begin, in_rows.until, around
        )  # fmt: skip
        in_edges: Any = SpacedInEdges(in_rows.begin, in_rows.until, in_rows.items, prices)
        spaces = self._spaces_after(number[tails], walks, ends, arrivals)
        return Patched(
            self.graph, self.index, self.constants, order, chances if len(chances) else None, spaces,
            edges=edges, forward=forward, inverted=inverted, tails=in_rows, walks=walks, arrivals=arrivals,
            around=around, schedules=self.schedules, made={**self.made, "in": in_edges},
        )  # fmt: skip

    def _spaces_after(
        self, tails: np.ndarray, walks: np.ndarray, ends: np.ndarray, arrivals: np.ndarray
    ) -> "dict[int, Workspace]":
        """Return the clean workspaces, with the present ω of some vertices and ω_I of others.

        They are removed from this object.
        """
        from gpukit.kpar.query.answer_cpu import ABSORBS

        spaces = {}
        while self.spaces:
            try:
                thread, space = self.spaces.popitem()  # in one step: a query that has taken a workspace keeps it
            except KeyError:
                break
            space.state[2 * tails + 1] = np.where(walks[tails] == 0, ABSORBS, walks[tails].astype(np.int64))
            space.reserves[2 * ends + 1] = arrivals[ends]
            spaces[thread] = space
        return spaces

    def rows(self) -> tuple[SpacedEdges, SpacedWalks]:
        """Return the out-edges and the index in the form that a query takes: each start has its frequency."""
        index, edges, forward, inverted = self.index, self.edges, self.forward, self.inverted
        one_minus_alpha = np.uint64(index.params.one_minus_alpha)
        return SpacedEdges(edges.begin, edges.items, one_minus_alpha, edges.until), SpacedWalks(
            *forward[:4], *inverted[:3], *inverted[:2], inverted.counts, self.walks, self.arrivals, self.by_arrivals,
            index.light, np.uint64(index.seed), stream_tag(Stream.WALK),
        )  # fmt: skip
