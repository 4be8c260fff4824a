"""Ego-networks in CSR, packed end to end (section 4 of the paper, without its scatter, locks or atomics)."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from gpukit.diversity.egos_cpu import ego_rows
from gpukit.graph.csr import Graph


@dataclass(frozen=True, eq=False)
class EgoNetworks:
    """The subgraphs that the neighbours of each centre induce, without the centre.

    Attributes
    ----------
    centres : int32 array, shape (count,)
        Internal ids.
    node_begin : int64 array, shape (count + 1,)
        Start of each ego-network in ``nodes``.
    nodes : int32 array, shape (rows,)
        The neighbours of each centre, internal ids, ascending in an ego-network.
    indptr : int64 array, shape (rows + 1,)
        Row starts of all ego-networks in one: a row a node.
    indices : int32 array, shape (size,)
        Heads as places within the ego-network, ascending in a row; every edge is there in both directions.
    """

    centres: np.ndarray
    node_begin: np.ndarray
    nodes: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray


def extract(graph: Graph, centres: np.ndarray, threads: int = 1) -> EgoNetworks:
    """Return the ego-networks of vertices of an undirected graph, in their order.

    Parameters
    ----------
    graph : Graph
        Undirected.
    centres : integer array
        Internal ids.
    threads : int
        CPU threads; the result is the same for any number.
    """
    centres = np.asarray(centres, np.int32)
    degrees = np.diff(graph.indptr)
    node_begin = np.zeros(len(centres) + 1, np.int64)
    np.cumsum(degrees[centres], out=node_begin[1:])
    rows = np.arange(node_begin[-1]) + np.repeat(graph.indptr[centres] - node_begin[:-1], degrees[centres])
    nodes = graph.indices[rows]
    starts = np.zeros(len(nodes) + 1, np.int64)
    work = np.cumsum(degrees[nodes])
    parts = max(1, min(threads, len(centres)))
    total = int(work[-1]) if len(work) else 0
    cuts = np.searchsorted(node_begin[1:], np.searchsorted(work, np.arange(parts + 1) * total // parts))
    cuts[0], cuts[-1] = 0, len(centres)

    def run(targets: np.ndarray, fill: bool) -> None:
        def one(part: int) -> None:
            mark = np.zeros(graph.n, np.int32)
            settings = (centres, node_begin, graph.indptr, graph.indices, mark, starts, targets, fill)
            ego_rows(cuts[part], cuts[part + 1], *settings)

        with ThreadPoolExecutor(parts) as pool:
            list(pool.map(one, range(parts)))

    run(np.empty(0, np.int32), False)
    np.cumsum(starts, out=starts)
    targets = np.empty(starts[-1], np.int32)
    run(targets, True)
    return EgoNetworks(centres, node_begin, nodes, starts, targets)
