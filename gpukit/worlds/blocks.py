"""Arc blocks: they let a whole live-edge world be drawn at a cost in proportion to its live arcs.

The arcs of the graph are ordered so that those sampled alike are contiguous. They are cut into blocks of about 8
expected live arcs, never more than 64,, whatever vertices they belong to. Each block has its own draws, keyed by
(stream, world, block), so worlds can be drawn in any order and by different threads.

- Equal probabilities: the order of the graph.
- Weighted cascade: arcs into vertices of the same in-degree together.
- Other probabilities: classes ``2**-b >= p > 2**-(b+1)``. A class is sampled at ``2**-b``, and an arc is accepted with
  probability ``p * 2**b``.

Source of the skipping: Nobari, Lu, Karras, Bressan, "Fast random graph generation" (PPreZER), EDBT 2011, which IMGPU
(section 3.2.2) uses. Here a table gives the number of live arcs of a block, instead of a logarithm per arc, so the
number is the same on every device.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpukit.graph.csr import Graph
from gpukit.graph.probabilities import in_degrees, no_probabilities, out_probabilities, threshold
from gpukit.worlds.reverse import NO_ACCEPT
from gpukit.worlds.tables import DIRECT_EDGES, MAX_LIVE, OWN, TableStore

_TWO32 = 1 << 32


@dataclass(frozen=True, eq=False)
class ArcBlocks:
    """A graph prepared for drawing whole worlds; see :func:`prepare_blocks`.

    Attributes
    ----------
    n : int
        Number of vertices.
    tails, heads : int32 arrays, shape (arcs,)
        The arcs in block order.
    blocks : uint32 array, shape (blocks, 3)
        First arc, number of arcs and ``meta`` of each block (as a row of :func:`gpukit.worlds.tables.build_tables`).
    accept : uint32 array
        Acceptance word of each arc if a block needs it, or one element.
    thresholds : uint64 array
        The tables.
    mean_live : float
        Expected number of live arcs, to size buffers.
    paired : bool
        Whether an arc stands for both directions of an undirected edge, with one coin. The expected spread is the same;
        the vertices that a vertex reaches are its connected component.
    """

    n: int
    tails: np.ndarray
    heads: np.ndarray
    blocks: np.ndarray
    accept: np.ndarray
    thresholds: np.ndarray
    paired: bool
    mean_live: float

    @property
    def most_live(self) -> int:
        """The most live arcs that a world can have."""
        kinds = (self.blocks[:, 2] & 255).astype(np.int64)
        return int(np.where((kinds == 0) | (kinds == OWN), self.blocks[:, 1], kinds).sum())


def prepare_blocks(graph: Graph, *, skip: bool = True, pairs: bool = True) -> ArcBlocks:
    """Return the arc blocks of a graph.

    Parameters
    ----------
    graph : Graph
        With edge probabilities.
    skip : bool
        False: one draw per arc, no arc skipped; this gives other worlds of the same distribution.
    pairs : bool
        Whether one coin decides both directions of an undirected edge if their probabilities are equal.

    Raises
    ------
    InputError
        If the graph has no probabilities, or too many distinct ones for the tables.
    """
    if graph.weights.scheme == "none":
        raise no_probabilities()
    tails = np.repeat(np.arange(graph.n, dtype=np.int32), np.diff(graph.indptr))
    heads = graph.indices
    words = out_probabilities(graph)
    paired = pairs and _symmetric(graph)
    if paired:
        kept = tails < heads
        tails, heads, words = tails[kept], heads[kept], words[kept]
    mean_live = (float(words.sum(dtype=np.float64)) + len(words)) / _TWO32
    if not skip:
        blocks = np.array([(low, size, OWN) for low, size in _cut(0, len(tails), MAX_LIVE)], np.uint32).reshape(-1, 3)
        return ArcBlocks(graph.n, tails, heads, blocks, words, np.zeros(1, np.uint64), paired, mean_live)
    store = TableStore()
    accept = NO_ACCEPT
    if graph.probabilities is not None:
        kinds = 32 - np.frexp(words.astype(np.float64))[1].astype(np.int64)
    elif graph.weights.scheme == "wc":
        kinds = in_degrees(graph)[heads]
    else:
        kinds = np.zeros(len(tails), np.int64)
    if len(kinds) and kinds.min() < kinds.max():
        order = np.argsort(kinds, kind="stable")
        tails, heads, words, kinds = tails[order], heads[order], words[order], kinds[order]
    if graph.probabilities is not None:
        accept = words.copy()
    rows: list[tuple[int, int, int]] = []
    values, starts = np.unique(kinds, return_index=True)
    for kind, start, end in zip(values.tolist(), starts.tolist(), [*starts.tolist()[1:], len(tails)], strict=True):
        if graph.probabilities is not None:
            rows += _class_rows(store, accept, kind, start, end)
        elif graph.weights.scheme == "wc":
            rows += _equal_rows(store, 1, kind, start, end)
        else:
            assert graph.weights.p is not None
            rows += _equal_rows(store, threshold(graph.weights.p), _TWO32, start, end)
    blocks = np.array(rows, np.uint32).reshape(-1, 3)
    return ArcBlocks(graph.n, tails, heads, blocks, accept, store.array(), paired, mean_live)


def _symmetric(graph: Graph) -> bool:
    """Return whether every edge exists in both directions, with equal probabilities."""
    if not graph.undirected or graph.weights.scheme not in ("const", "file"):
        return False
    if graph.probabilities is None:
        return True
    return graph.in_probabilities is not None and bool(np.array_equal(graph.probabilities, graph.in_probabilities))


def _cut(start: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
    for low in range(start, end, limit):
        yield low, min(limit, end - low)


def _equal_rows(store: TableStore, numerator: int, denominator: int, start: int, end: int) -> list:
    """Return the blocks of arcs start … end - 1, all of one probability."""
    if 4 * numerator >= denominator:
        meta = store.equal((2 * _TWO32 * numerator + denominator) // (2 * denominator))
        return [(low, size, meta) for low, size in _cut(start, end, MAX_LIVE)]
    limit = 8 * denominator // numerator
    return [(low, size, store.binomial(size, numerator, denominator)) for low, size in _cut(start, end, limit)]


def _class_rows(store: TableStore, accept: np.ndarray, b: int, start: int, end: int) -> list:
    """Return the blocks of arcs of class b; scale the acceptance words of blocks that are sampled at 2**-b."""
    rows = []
    for low, size in _cut(start, end, MAX_LIVE if b <= 1 else 8 << b):
        if b <= 1 or size <= DIRECT_EDGES:
            rows.append((low, size, OWN))
            continue
        part = accept[low : low + size].astype(np.uint64) + np.uint64(1)
        accept[low : low + size] = ((part << np.uint64(b)) - np.uint64(1)).astype(np.uint32)
        rows.append((low, size, store.binomial(size, 1, 1 << b)))
    return rows
