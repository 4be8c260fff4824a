"""The shape of a graph for a bottom-up traversal: levels, degrees, positions of children, and similarity of worlds.

These are the observations behind the optimisations of the paper's section 4: its figures 4, 6 and 7, the two
percentages of section 4.1, and the share of the time that the conversion to a DAG takes (section 5.2.2).
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from gpukit.device.compiled import njit
from gpukit.graph.csr import Graph, Weights
from gpukit.imgpu.condense_cpu import condense
from gpukit.imgpu.world import Arcs
from gpukit.imgpu.world_cpu import forget_slots, make_world, open_world
from gpukit.papers.imgpu.levels_cpu import condensed, reach_by_level
from gpukit.papers.imgpu.switches import Switches
from gpukit.worlds.blocks import prepare_blocks

HUBS = 5
"""Number of vertices whose children are examined (the paper's figure 7)."""

BINS = 20
"""Number of equal parts of the order of vertices; children are counted per part."""

NEAR = 16
"""Distance within which a child counts as near the preceding one: the unroll length that the paper chose."""

BASELINE = Switches(unroll=1)
"""None of the paper's optimisations."""


@dataclass(frozen=True, eq=False)
class Hub:
    """Positions of the children of a vertex, after vertices are sorted by level and then by degree.

    Attributes
    ----------
    vertex : int
        Internal id.
    children : int64 array, shape (BINS,)
        Children in each part of the order.
    near : float
        Share of the children within ``NEAR`` places of the preceding child, in [0, 1]; 0 for fewer than two children.
    """

    vertex: int
    children: np.ndarray
    near: float


@dataclass(frozen=True, eq=False)
class Shape:
    """The result of :func:`describe`.

    Attributes
    ----------
    levels : int64 array
        Components of the whole graph at each level, level 0 first; vertices without arcs are left out.
    degrees : int64 array
        Number of vertices by out-degree: entry 0 without children, entry i with 2**(i - 1) to 2**i - 1 children.
    below_10, above_10000 : int
        Vertices with fewer than 10, and with more than 10,000 children.
    hubs : tuple of Hub
        The vertices of largest out-degree, ties to the lower id; up to ``HUBS``.
    same_degree, same_level : float
        Of the pairs of vertices with the same degree (or level) in the whole graph, the share for which this is also
        true in a world; in [0, 1], mean over the worlds; 1 if there are no such pairs.
    dag_share : float
        Share of the time for components and levels, when all reaches are counted on one CPU thread.
    """

    levels: np.ndarray
    degrees: np.ndarray
    below_10: int
    above_10000: int
    hubs: tuple[Hub, ...]
    same_degree: float
    same_level: float
    dag_share: float


@njit
def _look(arcs, seed, id_, world, reach, how, steps, level_of, degree_of):
    """Draw a world, do the first ``steps`` of its count, and drop it; return the starts of its levels.

    Steps are: 1 drawing; 2 components and levels, into ``level_of`` and ``degree_of``; 3 the reach of every component.
    """
    tails, slots, _ = open_world(arcs, seed, id_, np.empty(0, np.int64), world)
    starts = np.zeros(1, np.int64)
    if steps == 2:
        dag = condensed(world, tails, slots, condense(world, tails, slots))
        starts = dag.starts
        for s in range(slots):
            level_of[world.vertex[s]] = dag.level[world.comp[s]]
        for s in range(tails):
            degree_of[world.vertex[s]] = world.row[s + 1] - world.row[s]
    elif steps == 3:
        reach_by_level(world, tails, slots, condense(world, tails, slots), reach, how)
    forget_slots(world, slots)
    return starts


def describe(graph: Graph, seed: int, worlds: int) -> Shape:
    """Describe a graph and its worlds as in section 4 of the paper.

    Parameters
    ----------
    graph : Graph
        With edge probabilities; its directions are kept, an undirected edge counts as two arcs.
    seed : int
        Seed of the worlds 0 … ``worlds`` - 1, which are those of :func:`gpukit.imgpu.maximise`.
    worlds : int
        At least 1.

    Returns
    -------
    Shape
    """
    whole = replace(graph, weights=Weights("const", p=1.0), probabilities=None, in_probabilities=None)
    starts, level, degree = _sample(whole, seed, 1)[0]
    sampled = _sample(graph, seed, worlds)
    return Shape(
        levels=np.diff(starts),
        degrees=np.bincount(np.frexp(degree)[1]),
        below_10=int((degree < 10).sum()),
        above_10000=int((degree > 10_000).sum()),
        hubs=_hubs(graph, level, degree),
        same_degree=float(np.mean([_alike(degree, now) for _, _, now in sampled])),
        same_level=float(np.mean([_alike(level, now) for _, now, _ in sampled])),
        dag_share=_dag_share(graph, seed, worlds),
    )


def _sample(graph: Graph, seed: int, worlds: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return (starts of the levels, level of each vertex, live out-degree of each vertex) of worlds."""
    ready = prepare_blocks(graph, pairs=False)
    arcs, world = Arcs.of(ready), make_world(ready)
    found = []
    for id_ in range(worlds):
        level, degree = np.zeros(graph.n, np.int32), np.zeros(graph.n, np.int32)
        starts = _look(arcs, np.uint64(seed), id_, world, np.empty(0, np.int64), BASELINE, 2, level, degree)
        found.append((starts, level, degree))
    return found


def _alike(before: np.ndarray, now: np.ndarray) -> float:
    """Return the share of the pairs with equal ``before`` that also have equal ``now``; 1 if there are none."""

    def pairs(values: np.ndarray) -> int:
        counts = np.unique(values, return_counts=True)[1]
        return int((counts * (counts - 1) // 2).sum())

    alike = pairs(before)
    both = before.astype(np.int64) * (int(now.max(initial=0)) + 1) + now
    return pairs(both) / alike if alike else 1.0


def _hubs(graph: Graph, level: np.ndarray, degree: np.ndarray) -> tuple[Hub, ...]:
    place = np.empty(graph.n, np.int64)
    place[np.lexsort((degree, level))] = np.arange(graph.n)
    hubs = []
    for v in np.argsort(-degree, kind="stable")[:HUBS]:
        children = np.sort(place[graph.indices[graph.indptr[v] : graph.indptr[v + 1]]])
        near = float((np.diff(children) <= NEAR).mean()) if len(children) > 1 else 0.0
        hubs.append(Hub(int(v), np.bincount(children * BINS // graph.n, minlength=BINS), near))
    return tuple(hubs)


def _dag_share(graph: Graph, seed: int, worlds: int) -> float:
    ready = prepare_blocks(graph, pairs=False)
    arcs, world = Arcs.of(ready), make_world(ready)
    reach = np.empty(len(world.vertex), np.int64)
    unused = np.empty(graph.n, np.int32)
    spent = {}
    for steps in (1, 2, 3):
        start = time.perf_counter()
        for id_ in range(worlds):
            _look(arcs, np.uint64(seed), id_, world, reach, BASELINE, steps, unused, unused)
        spent[steps] = time.perf_counter() - start
    return max(spent[2] - spent[1], 0.0) / max(spent[3], spent[2])
