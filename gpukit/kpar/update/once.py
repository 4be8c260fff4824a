"""An index for a graph of which edges changed, in one pass over the paths of the walks: nothing is kept open."""

import numpy as np

from gpukit.device.memory import check_host
from gpukit.graph.csr import Graph
from gpukit.kpar.index.build import Index
from gpukit.kpar.problem import Constants, begins
from gpukit.kpar.update.changes import Changed
from gpukit.kpar.update.paths import counts_for, index_of_ends, key_of, over_parts, tables_of
from gpukit.kpar.update.tables_cpu import UNCUT, OldPaths, change_tables, changed_paths, ends_of, renew_paths
from gpukit.wording import spelled

BYTES_PER_WALK, BYTES_PER_STEP, BYTES_PER_EDGE = 60, 8, 14
"""Upper bounds of the room a walk, a step and an edge take."""


def updated(graph: Graph, index: Index, edges: Changed, threads: int = 1) -> tuple[Index, int]:
    """Return the index of the changed graph with the same sizes, and how many walks were drawn again.

    It is what :func:`gpukit.kpar.update.paths.build_updatable` makes of that graph and ``index.paths``.

    Parameters
    ----------
    graph : Graph
        The one the index was made on.
    index : Index
        With its paths.
    edges : Changed
        Of that graph.
    threads : int
        CPU threads; nothing depends on it.

    Raises
    ------
    DeviceError
        If there is not enough memory.
    """
    paths, params, n = index.paths, index.params, graph.n
    assert paths is not None
    needs = BYTES_PER_WALK * len(paths.moves) + BYTES_PER_STEP * len(paths.vertices) + BYTES_PER_EDGE * graph.m
    check_host({"paths and slot tables": needs}, f"make an index with a larger {spelled('epsilon')}")
    key = key_of(params, index.seed)
    per_edge = Constants.of(n, paths.sized_for, params).walks_per_edge()
    room = sum(2 << int(degree).bit_length() for degree in edges.degrees.tolist())
    tables, used = tables_of(graph, threads, room)
    changes, _ = edges.groups(tables, used)
    change_tables(changes, tables, 0, len(edges.tails))
    groups = np.full(n, -1, np.int32)
    groups[edges.tails] = np.arange(len(edges.tails))
    walks = index.walks.astype(np.int64)
    counts = walks.copy()
    counts[edges.tails] = counts_for(edges.degrees, paths.factors[edges.tails], per_edge)
    places = begins(counts)
    old = OldPaths(begins(walks), begins(paths.moves), paths.vertices)
    cuts, moves = np.empty(places[-1], np.uint16), np.empty(places[-1], np.uint16)

    def meet(first: int, last: int) -> None:
        changed_paths(key, groups, changes, tables, old, counts, places, first, last, cuts, moves)

    over_parts(meet, places, threads)
    begin = begins(moves)
    vertices, ends = np.empty(begin[-1], np.int32), np.empty(places[-1], np.int32)

    def renew(first: int, last: int) -> None:
        renew_paths(key, tables, old, counts, places, begin, first, last, cuts, vertices)
        ends_of(places, begin, vertices, first, last, ends)

    over_parts(renew, places, threads)
    m = graph.m + edges.added - edges.removed
    new = paths._replace(moves=moves, vertices=vertices)
    made = index_of_ends(params, index.seed, counts, ends, m, new, threads=threads, hubs=index.hubs is not None)
    return made, int(np.count_nonzero(cuts != UNCUT))
