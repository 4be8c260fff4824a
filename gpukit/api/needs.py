"""Memory and time that commands on a graph need, estimated from the headers of their files: ``--estimate``.

Needs that follow from sizes and options are given in bytes (compared with measured peaks in
``tests/cli/test_cli_estimate.py``). The sizes of RR sets, worlds and ego-networks depend on the edges; for these the
estimate only names the additional need and its limit.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gpukit.api.estimate import START_BYTES
from gpukit.wording import spelled

RANK_VISITS_A_S, WALKS_A_S = 200e6, 2e6
"""Edges that PageRank reads per second, and walks that an index draws per second, on two threads (roughly measured)."""


QUERY_BYTES = 48 << 20
"""Bytes that the queries of kPAR need besides other compiled code (measured)."""


class Size(NamedTuple):
    """The sizes of a graph from its header, and the number of threads.

    The sizes are vertices, edges, and bytes of out-edges, in-edges and tables.
    """

    n: int
    m: int
    out: int
    back: int
    tables: int
    threads: int

    @property
    def reverse(self) -> int:
        """Bytes of the in-edges and tables, from which RR sets are drawn, and of the out-edges, which are also read."""
        return self.out + self.back + self.tables


class Needs(NamedTuple):
    """Bytes by purpose; a text about additional needs; and seconds, if a rate is known."""

    parts: dict[str, int]
    on_top: str | None = None
    seconds: float | None = None


Estimate = Callable[[Size, Mapping[str, Any]], Needs]
"""A function of the size of the graph and the options of the command."""


def size_of(path: Path, threads: int) -> Size:
    """Return the size of a graph; raises InputError like :func:`gpukit.artifacts.read`."""
    from gpukit.artifacts import read_header

    attributes, held = read_header(path, "graph").attributes, _held(path)
    back, tables = held.pop("transpose", 0), held.pop("tables", 0)
    out = sum(held.values())
    return Size(attributes["n"], attributes["m"], out, back or out, tables, threads)


def whole(needs: Needs) -> Needs:
    """Return the needs, with the bytes of the process itself added."""
    return needs._replace(parts={"the process": START_BYTES} | needs.parts)


def rr_sets(size: Size, asked: Mapping[str, Any]) -> Needs:
    """``gim run`` and ``gim sample``: the graph, and the counters of the threads."""
    parts = {"the graph": size.reverse, "counters": 16 * size.n * size.threads}
    limit = asked.get("max_members")
    bound = f", at most {spelled('max_members')} {limit:,}" if limit else ""
    return Needs(parts, f"RR sets: 8 bytes per set and 4 per member{bound}; twice as much while collections are joined")


def mrr_sets(size: Size, asked: Mapping[str, Any]) -> Needs:
    """``merit run`` and ``merit start``: the same, for sets that are kept from round to round."""
    parts = {"the graph": size.reverse, "counters": 16 * size.n * size.threads}
    return Needs(parts, "mRR sets: 48 bytes per set, and up to 12 per member")


def worlds(size: Size, asked: Mapping[str, Any]) -> Needs:
    """``imgpu run`` and ``imgpu reach``: the graph, and one world per thread."""
    parts = {"the graph": size.out + size.back, "a world a thread": 32 * size.n * size.threads}
    return Needs(parts, "stored worlds: at most half of the free memory; worlds that do not fit are drawn again")


def egos(size: Size, asked: Mapping[str, Any]) -> Needs:
    """``diversity``: the graph in both directions, with the number of triangles of each edge."""
    return Needs({"the graph": 2 * size.out}, "ego-networks: 12 to 24 bytes per triangle if all are stored")


def rank(size: Size, asked: Mapping[str, Any]) -> Needs:
    """``kpar rank``: the graph, and the remaining mass and the PageRank of each vertex."""
    parts = {"the graph": size.out + size.back, "mass and PageRank": 72 * size.n}
    return Needs(parts, None, _ranking(size))


def index(size: Size, asked: Mapping[str, Any]) -> Needs:
    """``kpar index``: the graph, and the walks of all vertices, whose number follows from a formula."""
    from gpukit.kpar.index.build import BYTES_PER_WALK
    from gpukit.kpar.problem import Constants, Params

    params = Params(asked["alpha"], asked["epsilon"], asked["weighted"])
    per_edge = Constants.of(size.n, size.m, params).walks_per_edge() / 2**64
    walks = int((1.2 if asked.get("adaptive", True) else 1) * per_edge * size.m) + size.n
    ranked = asked["rank_file"] is not None
    parts = {"the graph": size.out + (0 if ranked else size.back), f"{walks:,} walks": BYTES_PER_WALK * walks}
    return Needs(parts, None, walks / WALKS_A_S + (0 if ranked else _ranking(size)))


def spread(size: Size, asked: Mapping[str, Any]) -> Needs:
    """``evaluate spread``: the out-edges, and the reached vertices of each thread."""
    return Needs({"the graph": size.out, "a cascade a thread": 24 * size.n * size.threads})


def answers(size: Size, asked: Mapping[str, Any]) -> Needs:
    """``kpar query`` and ``kpar all``: the graph, the index by start and by end, and working space of the threads."""
    parts = {"the code of queries": QUERY_BYTES, "the graph": size.out + size.back}
    parts["working space"] = 40 * size.n * size.threads
    if asked["index_file"] is None:
        return Needs(parts, "without an index: the walks of a query")
    parts["the in-edges"] = 4 * size.m + 16 * size.n
    return Needs(parts | {"the index": 3 * sum(_held(asked["index_file"]).values())})


def _held(path: Path) -> dict[str, int]:
    """Return the bytes of the arrays of an artifact, by group."""
    import numpy as np

    from gpukit.artifacts.describe import describe

    held: dict[str, int] = {}
    for one in describe(path)["datasets"]:
        group = one["path"].rpartition("/")[0]
        held[group] = held.get(group, 0) + int(np.prod(one["shape"])) * np.dtype(one["dtype"]).itemsize
    return held


def _ranking(size: Size) -> float:
    from gpukit.api.pagerank_index import RANK_VISITS

    return RANK_VISITS * size.m / RANK_VISITS_A_S
