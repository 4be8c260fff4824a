"""The index of inverted random walks (section 3.3 of the paper): numbers of walks, and a doubled CSR of their ends."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from gpukit.device.memory import check_host
from gpukit.device.philox import Stream, stream_tag
from gpukit.errors import UsageError
from gpukit.graph.csr import Graph
from gpukit.kpar.groups import edges_of
from gpukit.kpar.problem import Constants, Params, begins
from gpukit.kpar.weights import chances_for
from gpukit.wording import spelled

FACTORS = (8, 4, 2)
BUDGET = (1, 5)
"""Additional walks for the head of the PRO-rank list: factors, and the share of all walks they may add."""

_BLOCKS_PER_THREAD = 8
BYTES_PER_WALK = 24
"""Upper bound of the bytes per walk in the rows, during construction and afterwards."""

_MAX_WALKS = 2**32 - 1


class Paths(NamedTuple):
    """The walks of an updatable index, one by one (``update.py``).

    ``sized_for`` (edges of the graph) and ``factors`` (uint8, n: a(v)) determine ω for any degrees. ``moves`` (uint16,
    walks) is the number of steps of each walk, and ``vertices`` (int32) the vertices it visits, all concatenated.
    ``names`` (uint64, n) are the ids that key the draws of walks, if vertices were added or removed; otherwise these
    ids are 0 … n-1. ``sized_n`` is the number of vertices from which the numbers of walks were computed, if the graph
    has a different number now.
    """

    sized_for: int
    factors: np.ndarray
    moves: np.ndarray
    vertices: np.ndarray
    names: np.ndarray | None = None
    sized_n: int | None = None

    def walks_per_edge(self, n: int, params: Params) -> int:
        """Return :meth:`Constants.walks_per_edge` for the sizes stored here; ``n`` is used if ``sized_n`` is None."""
        return Constants.of(self.sized_n or n, self.sized_for, params).walks_per_edge()


@dataclass(frozen=True, eq=False)
class Index:
    """Inverted random walks.

    Attributes
    ----------
    params : Params
    seed : int
        Seed of the walks.
    walks : uint32 array, shape (n,)
        ω: number of walks from each vertex; 0 for dangling vertices.
    arrivals : int64 array, shape (n,)
        ω_I: number of walks that end at each vertex.
    src_begin : int64 array, shape (n + 1,)
        Start of the start list of each end.
    starts : int32 array, shape (entries,)
        Start lists: vertices with more than one walk to this end first, both parts ascending.
    frequent_begin : int64 array, shape (n + 1,)
        Start of the frequencies of each end.
    frequencies : uint32 array
        Number of walks, for the starts with more than one.
    hubs : int32 array or None
        Vertices at which more than 8ψ walks end, ascending (the H of the paper), if requested.
    light : bool
        Whether only ω and ω_I are stored; queries then draw walks again when needed, with the same answers.
    forward : tuple of arrays
        The same entries by start: row starts (int64, n + 1), ends (int32), frequencies (uint32). Derived.
    updatable : bool
        Whether the index can be updated. Its walks are drawn on slot tables, and never again by queries.
    paths : Paths or None
        The additional arrays of an updatable index, if they were read.
    """

    params: Params
    seed: int
    walks: np.ndarray
    arrivals: np.ndarray
    src_begin: np.ndarray
    starts: np.ndarray
    frequent_begin: np.ndarray
    frequencies: np.ndarray
    hubs: np.ndarray | None = None
    light: bool = False
    forward: tuple[np.ndarray, np.ndarray, np.ndarray] | None = field(default=None, repr=False)
    updatable: bool = False
    paths: Paths | None = field(default=None, repr=False)

    @classmethod
    def of(cls, params: Params, seed: int, arrays: Mapping[str, np.ndarray], *, light: bool) -> "Index":
        """Return the index with the given arrays by name; a light index has no rows."""
        index = light_index(params, seed, arrays["walks"], arrays["arrivals"], arrays.get("hubs"))
        rows: dict[str, Any] = {
            name: arrays[name] for name in ("src_begin", "starts", "frequent_begin", "frequencies") if not light
        }
        return index if light else replace(index, light=False, forward=None, **rows)

    @property
    def total(self) -> int:
        """Number of walks."""
        return int(self.walks.sum(dtype=np.int64))

    def with_forward(self) -> "Index":
        """Return the index with its forward rows."""
        if self.forward is not None:
            return self
        from gpukit.kpar.index.build_cpu import forward_rows

        rows = forward_rows(len(self.walks), self.src_begin, self.starts, self.frequent_begin, self.frequencies)
        return replace(self, forward=rows)


def walk_counts(
    graph: Graph, order: np.ndarray, constants: Constants, *, adaptive: bool = True, xp: Any = np
) -> np.ndarray:
    """Return ω (uint32): a(v)·⌈d_out(v)·√(ψ/(m·δ_min))⌉ walks of each vertex.

    Parameters
    ----------
    graph : Graph
    order : int32 array
        The PRO-rank list. From its top, a(v) is 8 until half of the budget (a fifth of all walks) is used, then 4 until
        three quarters are used, then 2. A vertex that would exceed a limit gets the next factor.
    constants : Constants
    adaptive : bool
        Whether a(v) may exceed 1 (off: the ablation without adaptive thresholds, kPAR_IP).
    xp : module
        NumPy, or CuPy for arrays on a GPU.

    Raises
    ------
    UsageError
        If a vertex would get 2**32 walks or more.
    """
    distinct, which = xp.unique(xp.diff(graph.indptr), return_inverse=True)
    per_edge = constants.walks_per_edge()
    needed = base_counts(distinct.tolist(), per_edge)
    walks = xp.asarray(needed, np.int64)[which] if needed else xp.zeros(0, np.int64)
    if adaptive:
        budget = int(walks.sum()) * BUDGET[0] // BUDGET[1]
        used = first = 0
        base = walks.copy()
        for factor, limit in zip(FACTORS, (budget // 2, 3 * budget // 4, budget), strict=True):
            added = xp.cumsum((factor - 1) * base[order[first:]])
            fitting = int((added <= limit - used).sum())
            walks[order[first : first + fitting]] *= factor
            used += int(added[fitting - 1]) if fitting else 0
            first += fitting
    return walks.astype(np.uint32)


def base_counts(degrees: list[int], per_edge: int) -> list[int]:
    """Return the base number of walks of vertices with these out-degrees, by :meth:`Constants.walks_per_edge`.

    Raises
    ------
    UsageError
        If a vertex could get 2**32 walks or more.
    """
    needed = [-(-degree * per_edge >> 64) for degree in degrees]
    if max(needed, default=0) * FACTORS[0] > _MAX_WALKS:
        raise UsageError(f"a vertex would need {max(needed)} walks; a larger epsilon needs fewer")
    return needed


def build_index(
    graph: Graph,
    order: np.ndarray,
    params: Params | None = None,
    *,
    seed: int = 0,
    threads: int = 1,
    hubs: bool = False,
    adaptive: bool = True,
    memory: int | None = None,
) -> Index:
    """Draw the walks of every vertex and store their ends.

    Walk j of vertex v is a function of (graph, α, seed, v, j) alone.

    Parameters
    ----------
    graph : Graph
    order : int32 array
        The PRO-rank list (:func:`gpukit.kpar.rank.rank`).
    params : Params, optional
    seed : int
    threads : int
        CPU threads; the index does not depend on it.
    hubs : bool
        Whether to list the vertices at which more than 8ψ walks end.
    adaptive : bool
        See :func:`walk_counts`.
    memory : int, optional
        Most bytes of the rows in both directions. If the rows would take more with all ends distinct, the index is
        light.

    Returns
    -------
    Index
        With its forward rows, unless it is light.

    Raises
    ------
    UsageError
        Like :func:`walk_counts`; or if edges are to be weighted and the graph has no weights.
    DeviceError
        If the rows need more memory than is free.
    """
    from gpukit.kpar.index.build_cpu import walk_arrivals, walk_rows

    params = params or Params()
    constants = Constants.of(graph.n, graph.m, params)
    walks = walk_counts(graph, order, constants, adaptive=adaptive)
    places = begins(walks)
    blocks = np.searchsorted(places, np.linspace(0, places[-1], threads * _BLOCKS_PER_THREAD + 1))
    blocks[0], blocks[-1] = 0, graph.n
    chances = chances_for(graph, params)
    common = (edges_of(graph, params), chances, np.uint64(seed), stream_tag(Stream.WALK))
    pool = ThreadPoolExecutor(threads)
    if memory is not None and BYTES_PER_WALK * int(places[-1]) > memory:
        parts = [np.zeros(graph.n, np.int64) for _ in range(threads)]

        def count(block: int) -> None:
            part = parts.pop()
            walk_arrivals(*common, walks, blocks[block], blocks[block + 1], part)
            parts.append(part)

        with pool:
            list(pool.map(count, range(len(blocks) - 1)))
        arrivals = np.sum(parts, axis=0)
        return light_index(params, seed, walks, arrivals, hubs_of(arrivals, constants) if hubs else None)
    total = int(places[-1])
    advice = f"raise {spelled('epsilon')}, or keep only counts with {spelled('memory', 0)}"
    check_host({f"drawing {total:,} walks": BYTES_PER_WALK * total}, advice)
    ends, freqs = np.empty(total, np.int32), np.empty(total, np.uint32)
    lengths = np.zeros(graph.n, np.int64)

    def draw(block: int) -> None:
        walk_rows(*common, walks, places, blocks[block], blocks[block + 1], ends, freqs, lengths)

    with pool:
        list(pool.map(draw, range(len(blocks) - 1)))
    return index_of_rows(params, seed, walks, places, lengths, ends, freqs, constants, hubs=hubs)


def index_of_rows(
    params: Params, seed: int, walks: np.ndarray, places: np.ndarray, lengths: np.ndarray, ends: np.ndarray,
    freqs: np.ndarray, constants: Constants, *, hubs: bool,
) -> Index:  # fmt: skip
    """Return the index made from rows that :func:`gpukit.kpar.index.build_cpu.walk_rows` wrote from ``places`` on."""
    from gpukit.kpar.index.build_cpu import pack_rows

    row_begin = begins(lengths)
    packed_ends, packed_freqs = np.empty(row_begin[-1], np.int32), np.empty(row_begin[-1], np.uint32)
    pack_rows(places, lengths, row_begin, ends, freqs, packed_ends, packed_freqs)
    return index_of_forward(params, seed, walks, (row_begin, packed_ends, packed_freqs), constants, hubs=hubs)


def index_of_forward(
    params: Params, seed: int, walks: np.ndarray, forward: tuple[np.ndarray, np.ndarray, np.ndarray],
    constants: Constants, *, hubs: bool,
) -> Index:  # fmt: skip
    """Return the index made from forward rows (:attr:`Index.forward`)."""
    from gpukit.kpar.index.build_cpu import invert_rows

    src_begin, starts, frequent_begin, frequencies, arrivals = invert_rows(len(walks), *forward)
    high = hubs_of(arrivals, constants) if hubs else None
    return Index(params, seed, walks, arrivals, src_begin, starts, frequent_begin, frequencies, high, False, forward)


def hubs_of(arrivals: np.ndarray, constants: Constants, xp: Any = np) -> np.ndarray:
    """Return the vertices at which more than 8ψ walks end (int32, ascending)."""
    return xp.flatnonzero(arrivals > constants.hub_threshold()).astype(np.int32)


def light_index(
    params: Params, seed: int, walks: np.ndarray, arrivals: np.ndarray, hubs: np.ndarray | None, xp: Any = np
) -> Index:
    """Return an index without rows."""
    begin, none, no_freqs = xp.zeros(len(walks) + 1, np.int64), xp.empty(0, np.int32), xp.empty(0, np.uint32)
    forward = (begin, none, no_freqs)
    return Index(params, seed, walks, arrivals, begin, none, begin, no_freqs, hubs, True, forward)
