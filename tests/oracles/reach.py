"""Reach in a world by a search from each vertex, and greedy choice over given worlds by trying each vertex."""

from collections.abc import Iterable, Sequence

Arcs = Iterable[tuple[int, int]]


def searched(n: int, arcs: Arcs, start: Sequence[int]) -> set[int]:
    """Return the vertices that those of ``start`` reach, themselves included."""
    out: dict[int, list[int]] = {}
    for u, v in arcs:
        out.setdefault(int(u), []).append(int(v))
    seen = {int(v) for v in start}
    todo = list(seen)
    while todo:
        for v in out.get(todo.pop(), ()):
            if v not in seen:
                seen.add(v)
                todo.append(v)
    return seen


def marginal_reach(n: int, arcs: Arcs, seeds: Sequence[int]) -> list[int]:
    """Return for each vertex the number of vertices that it reaches and the seeds do not."""
    arcs = list(arcs)
    covered = searched(n, arcs, seeds)
    return [len(searched(n, arcs, [v]) - covered) for v in range(n)]


def greedy(n: int, worlds: Sequence[Arcs], k: int, fresh: bool) -> tuple[list[int], list[int]]:
    """Return seeds and gains; if ``fresh``, ``worlds`` has the worlds of one choice after those of another."""
    size = len(worlds) // k if fresh else len(worlds)
    seeds: list[int] = []
    gains: list[int] = []
    for i in range(k):
        part = worlds[i * size : (i + 1) * size] if fresh else worlds
        total = [0] * n
        for arcs in part:
            for v, gain in enumerate(marginal_reach(n, arcs, seeds)):
                total[v] += gain
        best = max((v for v in range(n) if v not in seeds), key=lambda v: (total[v], -v))
        seeds.append(best)
        gains.append(total[best])
    return seeds, gains
