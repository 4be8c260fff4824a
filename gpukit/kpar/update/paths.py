"""An index that is made for updates: walks on slot tables, with their paths (docs/kpar.md, graphs that change)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import numpy as np

from gpukit.device.memory import check_host
from gpukit.device.philox import Stream, stream_tag
from gpukit.errors import UsageError
from gpukit.graph.csr import Graph
from gpukit.graph.probabilities import edge_weights
from gpukit.kpar.index.build import Index, Paths, base_counts, index_of_rows, walk_counts
from gpukit.kpar.problem import Constants, Params, begins
from gpukit.kpar.update.changes import slots_of
from gpukit.kpar.update.paths_cpu import draw_paths, ends_of, longest_walks, pack_paths
from gpukit.kpar.update.tables_cpu import Key, SlotTables, fill_tables, size_rows
from gpukit.wording import spelled

LEAST_ALPHA = 0.01
MAX_STEPS = 0xFFFE
"""Most steps that 16 bits can store. With the least α a walk is as long with probability 1e-286."""

BYTES_PER_WALK, BYTES_PER_STEP, BYTES_PER_EDGE = 28, 14, 16
"""Upper bounds of the bytes per walk, step and edge while an index is made."""

WEIGHTED = 4
"""Factor of the room for a weighted edge: twice as many slots, of twice the bytes."""

PARTS_PER_THREAD = 8
"""Number of ranges per thread, because those with large vertices take longer."""


def check_updatable(params: Params, memory: int | None = None) -> None:
    """Refuse options that an updatable index cannot have; raises UsageError."""
    if memory is not None:
        raise UsageError(f"an updatable index keeps all walks, and {spelled('memory')} may not; leave one of them out")
    if params.alpha < LEAST_ALPHA:
        raise UsageError(f"alpha is {params.alpha}; an updatable index needs at least {LEAST_ALPHA}")


def over_parts(work: Callable[[int, int], None], places: np.ndarray, threads: int) -> None:
    """Call ``work(first, last)`` on ranges of vertices with about equally many walks, in threads."""
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda ends: work(*ends), shares(places, threads * PARTS_PER_THREAD)))


def shares(places: np.ndarray, parts: int) -> list[tuple[int, int]]:
    """Return the ends of a number of ranges of vertices with about equal numbers of places."""
    cuts = np.searchsorted(places, np.linspace(0, places[-1], parts + 1))
    cuts[0], cuts[-1] = 0, len(places) - 1
    return list(pairwise(cuts.tolist()))


def key_of(params: Params, seed: int, sizes: Paths) -> Key:
    """Return the key of the walks."""
    names, plain = np.empty(0, np.uint64), len(sizes.factors)
    if sizes.names is not None:
        names, others = sizes.names, np.flatnonzero(sizes.names != np.arange(plain, dtype=np.uint64))
        plain = int(others[0]) if len(others) else plain
    return Key(np.uint64(seed), stream_tag(Stream.WALK), np.uint64(params.one_minus_alpha), names, plain)


def tables_of(graph: Graph, key: Key, params: Params, threads: int, spare: float = 0) -> tuple[SlotTables, int]:
    """Return the slot tables of a graph, with a share of spare room, and the number of used slots."""
    words = edge_weights(graph) if params.weighted else np.empty(0, np.uint32)
    where, degree, weight, taken = (np.empty(graph.n, np.int64) for _ in range(4))
    none = np.empty(0, np.int32)
    tables = SlotTables(where, degree, weight, taken, none, words[:0])
    rows = (graph.indptr, words)
    over_parts(lambda first, last: size_rows(*rows, first, last, tables), graph.indptr, threads)
    begin = begins(slots_of(where & 255))
    used = int(begin[-1])
    where |= np.where(where > 0, begin[:-1] << 16, 0)
    room = used + int(spare * used) + (16 if spare else 0)
    tables = tables._replace(slots=np.empty(room, np.int32), weights=np.empty(room if len(words) else 0, np.uint32))
    edges = (key, graph.indptr, graph.indices, words)
    over_parts(lambda first, last: fill_tables(*edges, first, last, tables), graph.indptr, threads)
    return tables, used


def sizes_of(graph: Graph, order: np.ndarray, params: Params, *, adaptive: bool = True) -> Paths:
    """Return the sizes of a future index of a graph: its number of edges, and a(v); without walks."""
    constants = Constants.of(graph.n, graph.m, params)
    base = walk_counts(graph, order, constants, adaptive=False).astype(np.int64)
    walks = walk_counts(graph, order, constants, adaptive=adaptive).astype(np.int64)
    factors = (walks // np.maximum(base, 1)).astype(np.uint8)
    return Paths(graph.m, np.maximum(factors, 1), np.empty(0, np.uint16), np.empty(0, np.int32))


def counts_for(degrees: np.ndarray, factors: np.ndarray, per_edge: int) -> np.ndarray:
    """Return ω (int64) of vertices with given numbers d of out-edges: a(v)·⌈d·c⌉."""
    distinct, which = np.unique(degrees, return_inverse=True)
    return np.array(base_counts(distinct.tolist(), per_edge), np.int64)[which] * factors


def build_updatable(
    graph: Graph, sizes: Paths, params: Params | None = None, *, seed: int = 0, threads: int = 1, hubs: bool = False
) -> Index:
    """Draw the walks of every vertex on slot tables, and keep their paths.

    Step t of walk j of vertex v is a function of only (graph, α, seed, v, j), and an edge changes few steps.

    Parameters
    ----------
    graph : Graph
    sizes : Paths
        From :func:`sizes_of`, or from an index of another graph with these vertices.
    params, seed, threads, hubs
        As for :func:`gpukit.kpar.index.build.build_index`.

    Raises
    ------
    UsageError
        If α is too small.
    InputError
        If edges are to be weighted, and have no weights.
    DeviceError
        If the walks need more memory than is free.
    """
    params = params or Params()
    check_updatable(params)
    per_edge = sizes.walks_per_edge(graph.n, params)
    walks = counts_for(np.diff(graph.indptr), sizes.factors, per_edge)
    places = begins(walks)
    total = int(places[-1])
    steps = int(total * (1 / params.alpha - 1))
    needs = {f"drawing {total:,} walks": BYTES_PER_WALK * total + BYTES_PER_STEP * steps}
    check_host(
        needs | {"slot tables": (WEIGHTED if params.weighted else 1) * BYTES_PER_EDGE * graph.m},
        f"raise {spelled('epsilon')}, or leave {spelled('updatable', True)} out",
    )
    key = key_of(params, seed, sizes)
    tables, _ = tables_of(graph, key, params, threads)
    moves, vertices, ends = paths_on(key, tables, walks, places, threads)
    paths = sizes._replace(moves=moves, vertices=vertices)
    return index_of_ends(params, seed, walks, ends, graph.m, paths, threads=threads, hubs=hubs)


def paths_on(
    key: Key, tables: SlotTables, walks: np.ndarray, places: np.ndarray, threads: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw all walks; return the number of steps of each (uint16), the concatenated paths, and the ends (int32)."""
    cells = longest_of(key, walks, places, threads)
    path, moves = np.empty(cells[-1], np.int32), np.empty(places[-1], np.uint16)
    over_parts(
        lambda first, last: draw_paths(key, tables, walks, places, cells, first, last, moves, path), places, threads
    )
    begin = begins(moves)
    vertices, ends = np.empty(begin[-1], np.int32), np.empty(places[-1], np.int32)

    def pack(first: int, last: int) -> None:
        pack_paths(cells, moves, begin, places[first], places[last], path, vertices)
        ends_of(places, begin, vertices, first, last, ends)

    over_parts(pack, places, threads)
    return moves, vertices, ends


def longest_of(key: Key, walks: np.ndarray, places: np.ndarray, threads: int, more: int = 0) -> np.ndarray:
    """Return the start of each walk's room for its longest path plus ``more`` cells (int64, walks + 1)."""
    room = np.empty(places[-1], np.uint16)
    over_parts(lambda first, last: longest_walks(key, MAX_STEPS, walks, places, first, last, room), places, threads)
    return begins(room if more == 0 else room.astype(np.int32) + more)


def index_of_ends(
    params: Params, seed: int, walks: np.ndarray, ends: np.ndarray, m: int, paths: Paths, *, threads: int, hubs: bool
) -> Index:
    """Return the index of walks that end at ``ends`` (int32, one per walk; this sorts them)."""
    from gpukit.kpar.index.build_cpu import rows_of_ends

    places, n = begins(walks), len(walks)
    row_ends, freqs = np.empty(places[-1], np.int32), np.empty(places[-1], np.uint32)
    lengths = np.zeros(n, np.int64)
    over_parts(lambda first, last: rows_of_ends(ends, places, first, last, row_ends, freqs, lengths), places, threads)
    constants = Constants.of(n, m, params)
    rows = (places, lengths, row_ends, freqs, constants)
    return replace(index_of_rows(params, seed, walks.astype(np.uint32), *rows, hubs=hubs), updatable=True, paths=paths)
