"""The exact distribution of mRR sets of a residual graph, by enumeration of roots and worlds. Sets are bit masks."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from math import comb

from gpukit.graph.csr import Graph
from oracles.worlds import edges, mask_of


def residual_worlds(graph: Graph, model: str, dead: set[int], raw: bool = False) -> Iterator[tuple[Fraction, dict]]:
    """Yield (probability, live in-neighbours of each living vertex) of the graph without the dead vertices.

    Under LT the weights of living in-neighbours are divided by 1 minus the weight of the dead ones, unless ``raw``.
    """
    living = [v for v in range(graph.n) if v not in dead]
    into: dict[int, list[tuple[int, Fraction]]] = {v: [] for v in living}
    spent = {v: Fraction(0) for v in living}
    for u, v, p in edges(graph):
        if v in into and u not in dead:
            into[v].append((u, p))
        elif v in into:
            spent[v] += p
    choices = []
    for v in living:
        options: list[tuple[Fraction, tuple[int, ...]]] = []
        if model == "lt":
            scale = 1 if raw or spent[v] >= 1 else 1 - spent[v]
            options = [(p / scale, (u,)) for u, p in into[v]]
            options.append((1 - sum((q for q, _ in options), Fraction(0)), ()))
        else:
            for size in range(len(into[v]) + 1):
                for chosen in combinations(into[v], size):
                    chance = Fraction(1)
                    for u, p in into[v]:
                        chance *= p if (u, p) in chosen else 1 - p
                    options.append((chance, tuple(u for u, _ in chosen)))
        choices.append([option for option in options if option[0]])

    def extend(place: int, chance: Fraction, rows: dict) -> Iterator[tuple[Fraction, dict]]:
        if place == len(living):
            yield chance, dict(rows)
            return
        for more, parents in choices[place]:
            rows[living[place]] = parents
            yield from extend(place + 1, chance * more, rows)

    yield from extend(0, Fraction(1), {})


def mrr_distribution(
    graph: Graph, model: str, eta: int, dead: set[int] = frozenset(), raw: bool = False
) -> dict[int, Fraction]:
    """Return the probability of each mRR set of a round in which ``eta`` vertices are still to be activated."""
    living = [v for v in range(graph.n) if v not in dead]
    low, rest = divmod(len(living), eta)
    counts = {low: 1 - Fraction(rest, eta), low + 1: Fraction(rest, eta)}
    result: dict[int, Fraction] = {}
    for chance, rows in residual_worlds(graph, model, dead, raw):
        behind = {v: reach_back(rows, [v]) for v in living}
        for count, share in counts.items():
            if share:
                each = chance * share / comb(len(living), count)
                for roots in combinations(living, count):
                    members = 0
                    for root in roots:
                        members |= behind[root]
                    result[members] = result.get(members, Fraction(0)) + each
    return result


def reach_back(rows: dict, roots) -> int:
    """Return the mask of the vertices that reach one of the roots."""
    seen, stack = set(roots), list(roots)
    while stack:
        for u in rows[stack.pop()]:
            if u not in seen:
                seen.add(u)
                stack.append(u)
    return mask_of(seen)
