"""Ego-networks in CSR, packed end to end (section 4 of the paper, without its scatter, locks or atomics)."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from gpukit.diversity.egos_cpu import ego_rows
from gpukit.diversity.problem import running
from gpukit.diversity.scores import even_cuts
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
        Row starts of all ego-networks; one row per node.
    indices : int32 array, shape (size,)
        Heads as places within the ego-network, ascending in a row; every edge appears in both directions.
    """

    centres: np.ndarray
    node_begin: np.ndarray
    nodes: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray


def extract(graph: Graph, centres: np.ndarray, threads: int = 1) -> EgoNetworks:
    """Return the ego-networks of vertices of an undirected graph, in the given order.

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
    node_begin = running(degrees[centres])
    rows = np.arange(node_begin[-1]) + np.repeat(graph.indptr[centres] - node_begin[:-1], degrees[centres])
    nodes = graph.indices[rows]
    starts = np.zeros(len(nodes) + 1, np.int64)
    parts = max(1, min(threads, len(centres)))
    cuts = even_cuts(np.diff(running(degrees[nodes])[node_begin]), parts)

    def run(targets: np.ndarray, fill: bool) -> None:
        def one(part: int) -> None:
            rows = (centres, node_begin, graph.indptr, graph.indices, np.zeros(graph.n, np.int32))
            ego_rows(cuts[part], cuts[part + 1], *rows, starts, targets, fill)

        with ThreadPoolExecutor(parts) as pool:
            list(pool.map(one, range(parts)))

    run(np.empty(0, np.int32), False)
    np.cumsum(starts, out=starts)
    targets = np.empty(starts[-1], np.int32)
    run(targets, True)
    return EgoNetworks(centres, node_begin, nodes, starts, targets)
