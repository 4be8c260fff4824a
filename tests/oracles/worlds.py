"""All live-edge worlds of a tiny graph, and exact values that follow from them.

Probabilities are fractions. Sets of vertices are bit masks: bit v stands for vertex v. The number of worlds is 2**m for
IC and the product of (d_in + 1) for LT: keep graphs below about 14 edges.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from gpukit.graph.csr import Graph

World = tuple[Fraction, list[int]]


def edges(graph: Graph) -> list[tuple[int, int, Fraction]]:
    """Return (tail, head, probability) of each edge, in row order."""
    pairs = [(u, int(v)) for u in range(graph.n) for v in graph.indices[graph.indptr[u] : graph.indptr[u + 1]]]
    into = [0] * graph.n
    for _, v in pairs:
        into[v] += 1
    if graph.probabilities is not None:
        p = [Fraction(int(word) + 1, 2**32) for word in graph.probabilities]
    elif graph.weights.scheme == "wc":
        p = [Fraction(1, into[v]) for _, v in pairs]
    else:
        p = [Fraction(graph.weights.p)] * len(pairs)
    return [(u, v, q) for (u, v), q in zip(pairs, p, strict=True)]


def ic_worlds(graph: Graph) -> Iterator[World]:
    """Yield (probability, out-neighbours of each vertex as masks) of each world of positive probability, under IC."""
    listed = edges(graph)
    for live in product((False, True), repeat=len(listed)):
        chance = Fraction(1)
        rows = [0] * graph.n
        for (u, v, p), is_live in zip(listed, live, strict=True):
            chance *= p if is_live else 1 - p
            if is_live:
                rows[u] |= 1 << v
        if chance:
            yield chance, rows


def lt_worlds(graph: Graph) -> Iterator[World]:
    """Yield the worlds under LT: each vertex keeps at most one in-edge (Kempe, Kleinberg, Tardos 2003, claim 2.6)."""
    into: list[list[tuple[int, Fraction]]] = [[] for _ in range(graph.n)]
    for u, v, p in edges(graph):
        into[v].append((u, p))
    choices = [[*row, (-1, 1 - sum((p for _, p in row), Fraction(0)))] for row in into]
    for chosen in product(*choices):
        chance = Fraction(1)
        rows = [0] * graph.n
        for v, (u, p) in enumerate(chosen):
            chance *= p
            if u >= 0:
                rows[u] |= 1 << v
        if chance:
            yield chance, rows


def worlds(graph: Graph, model: str) -> Iterator[World]:
    """Yield the worlds of a model, ``ic`` or ``lt``."""
    return ic_worlds(graph) if model == "ic" else lt_worlds(graph)


def mask_of(vertices) -> int:
    """Return the mask of a set of vertices."""
    return sum(1 << int(v) for v in set(vertices))


def reach(rows: list[int], start: int) -> int:
    """Return the mask of the vertices that those of mask ``start`` reach, themselves included."""
    seen, new = start, start
    while new:
        following = 0
        for v in range(len(rows)):
            if new >> v & 1:
                following |= rows[v]
        new = following & ~seen
        seen |= new
    return seen


def activation(graph: Graph, seeds, model: str) -> list[Fraction]:
    """Return for each vertex the probability that the seeds activate it."""
    chances = [Fraction(0)] * graph.n
    start = mask_of(seeds)
    for chance, rows in worlds(graph, model):
        reached = reach(rows, start)
        for v in range(graph.n):
            if reached >> v & 1:
                chances[v] += chance
    return chances


def spread(graph: Graph, seeds, model: str, targets=None) -> Fraction:
    """Return the expected number, or weight by ``targets``, of vertices that the seeds activate."""
    chances = activation(graph, seeds, model)
    return sum((p * (1 if targets is None else int(targets[v])) for v, p in enumerate(chances)), Fraction(0))


def rounds_spread(graph: Graph, rounds, model: str) -> Fraction:
    """Return the expected number of vertices activated in at least one of several independent rounds."""
    never = [Fraction(1)] * graph.n
    for seeds in rounds:
        for v, p in enumerate(activation(graph, seeds, model)):
            never[v] *= 1 - p
    return sum((1 - q for q in never), Fraction(0))


def rr_distribution(graph: Graph, model: str, roots=None) -> dict[int, Fraction]:
    """Return the probability of each RR set (a mask): a random root and the vertices that reach it.

    Parameters
    ----------
    roots : sequence of int or None
        Weight of each vertex as a root; None is uniform.
    """
    weights = [1] * graph.n if roots is None else [int(weight) for weight in roots]
    total = sum(weights)
    result: dict[int, Fraction] = {}
    for chance, rows in worlds(graph, model):
        reached = [reach(rows, 1 << v) for v in range(graph.n)]
        for root in range(graph.n):
            if weights[root]:
                members = mask_of(v for v in range(graph.n) if reached[v] >> root & 1)
                result[members] = result.get(members, Fraction(0)) + chance * Fraction(weights[root], total)
    return result


def rr_membership(graph: Graph, model: str, roots=None) -> list[Fraction]:
    """Return for each vertex the probability that a random RR set contains it."""
    distribution = rr_distribution(graph, model, roots)
    return [sum((p for members, p in distribution.items() if members >> v & 1), Fraction(0)) for v in range(graph.n)]
