"""What commands on a graph take, from the headers of their files: ``--estimate``.

What follows from sizes and options is said in bytes (measured against peaks in ``tests/cli/test_cli_estimate.py``). How
large RR sets, worlds and ego-networks get, only the edges tell; that they come on top is said, and what bounds them.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gpukit.api.estimate import START_BYTES
from gpukit.wording import spelled

RANK_VISITS_A_S, WALKS_A_S = 200e6, 2e6
"""Edges that PageRank looks at, and walks that an index draws, in a second on two threads (measured, roughly)."""


QUERY_BYTES = 48 << 20
"""What queries of kPAR take beside other compiled code (measured)."""


class Size(NamedTuple):
    """A graph by its header: vertices, edges, bytes of the out-edges, the in-edges and the tables, threads."""

    n: int
    m: int
    out: int
    back: int
    tables: int
    threads: int

    @property
    def reverse(self) -> int:
        """Bytes of what RR sets are drawn from, and of the out-edges that are read with it."""
        return self.out + self.back + self.tables


class Needs(NamedTuple):
    """Bytes by what takes them; what comes on top of these; seconds, where a rate is known."""

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
    """Return the needs with those of the process itself."""
    return needs._replace(parts={"the process": START_BYTES} | needs.parts)


def rr_sets(size: Size, asked: Mapping[str, Any]) -> Needs:
    """``gim run`` and ``gim sample``: what sets are drawn from, and the counters of the threads."""
    parts = {"the graph": size.reverse, "counters": 16 * size.n * size.threads}
    limit = asked.get("max_members")
    bound = f", {spelled('max_members')} {limit:,} of them at most" if limit else ""
    return Needs(parts, f"RR sets: 8 bytes each and 4 a member{bound}, twice while they are joined to others")


def mrr_sets(size: Size, asked: Mapping[str, Any]) -> Needs:
    """``merit run`` and ``merit start``: the same of sets that are kept from round to round."""
    parts = {"the graph": size.reverse, "counters": 16 * size.n * size.threads}
    return Needs(parts, "mRR sets: 48 bytes each, and up to 12 a member")


def worlds(size: Size, asked: Mapping[str, Any]) -> Needs:
    """``imgpu run`` and ``imgpu reach``: a world of each thread."""
    parts = {"the graph": size.out + size.back, "a world a thread": 32 * size.n * size.threads}
    return Needs(parts, "worlds that are kept: half of what is free at most, and drawn again where they do not fit")


def egos(size: Size, asked: Mapping[str, Any]) -> Needs:
    """``diversity``: the graph in both directions and its triangles counted."""
    return Needs({"the graph": 2 * size.out}, "ego-networks: 12 to 24 bytes a triangle where all are kept")


def rank(size: Size, asked: Mapping[str, Any]) -> Needs:
    """``kpar rank``: what is left and what is found at each vertex."""
    parts = {"the graph": size.out + size.back, "mass and PageRank": 72 * size.n}
    return Needs(parts, None, _ranking(size))


def index(size: Size, asked: Mapping[str, Any]) -> Needs:
    """``kpar index``: the walks of all vertices, by the formula that says how many there are."""
    from gpukit.kpar.index.build import BYTES_PER_WALK
    from gpukit.kpar.problem import Constants, Params

    params = Params(asked["alpha"], asked["epsilon"], asked["weighted"])
    per_edge = Constants.of(size.n, size.m, params).walks_per_edge() / 2**64
    walks = int((1.2 if asked.get("adaptive", True) else 1) * per_edge * size.m) + size.n
    ranked = asked["rank_file"] is not None
    parts = {"the graph": size.out + (0 if ranked else size.back), f"{walks:,} walks": BYTES_PER_WALK * walks}
    return Needs(parts, None, walks / WALKS_A_S + (0 if ranked else _ranking(size)))


def spread(size: Size, asked: Mapping[str, Any]) -> Needs:
    """``evaluate spread``: the out-edges, and what each thread has reached."""
    return Needs({"the graph": size.out, "a cascade a thread": 24 * size.n * size.threads})


def answers(size: Size, asked: Mapping[str, Any]) -> Needs:
    """``kpar query`` and ``kpar all``: the index by start and by end, and the working space of the threads."""
    parts = {"the code of queries": QUERY_BYTES, "the graph": size.out + size.back}
    parts["working space"] = 40 * size.n * size.threads
    if asked["index_file"] is None:
        return Needs(parts, "without an index: the walks of a query")
    parts["the in-edges"] = 4 * size.m + 16 * size.n
    return Needs(parts | {"the index": 3 * sum(_held(asked["index_file"]).values())})


def _held(path: Path) -> dict[str, int]:
    """Return the bytes of the arrays of an artifact by their group."""
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
