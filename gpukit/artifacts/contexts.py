"""What an index of structural diversity must mean: cheap sums over all of it, and the definitions for some vertices."""

from collections.abc import Callable, Iterator

import numpy as np

from gpukit.artifacts.artifact import Artifact
from gpukit.artifacts.structure import need

SAMPLE, WIDEST, VISITS = 32, 64, 1 << 16
"""Vertices whose contexts are found again at most, neighbours that each may have, and neighbours of these in all."""

Network = dict[int, set[int]]


def check_contexts(artifact: Artifact) -> None:
    """Check the models of an index that were read; raises InputError."""
    arrays, offsets = artifact.arrays, artifact.arrays["offsets"]
    for model in ("core", "truss"):
        if f"{model}/links" in arrays:
            _check_links(model, offsets, arrays[f"{model}/links"])
    for model in ("comp", "core", "truss"):
        rows = "core" if model == "comp" else model
        if f"{model}/scores" in arrays and f"{rows}/links" in arrays:
            _check_lists(model, artifact, arrays[f"{rows}/links"])
    there = [model for model in ("core", "truss") if f"{model}/links" in arrays]
    if there:
        _check_sample(artifact, there)


def _check_links(model: str, offsets: np.ndarray, links: np.ndarray) -> None:
    """Check that links begin with 0 in each row and are those of contexts that can be."""
    degrees = np.diff(offsets)
    need(not np.any(links[offsets[:-1][degrees > 0]]), f"{model}/links: a row does not begin with 0")
    limits = np.repeat(degrees + (model == "truss"), degrees)  # a clique of d is a (d - 1)-core and a d-truss
    need(np.all((links >= 0) & (links < limits)), f"{model}/links: a link is out of range")
    need(model == "core" or not np.any(links == 1), "truss/links: a link is 1, and no truss has less than 2")


def _check_lists(model: str, artifact: Artifact, links: np.ndarray) -> None:
    """Check the order of lists, and that rows have as many contexts for each k, and for each vertex."""
    arrays, offsets = artifact.arrays, artifact.arrays["offsets"]
    first, vertices, scores = (arrays[f"{model}/{name}"] for name in ("first", "vertices", "scores"))
    smallest = 2 if model == "truss" else 1
    need(len(first) >= 2 and not np.any(first[: smallest + 1]), f"{model}/first: there is a list of less than k")
    need(np.all(scores >= 1), f"{model}/scores must be 1 or more")
    ordered = (scores[:-1] > scores[1:]) | ((scores[:-1] == scores[1:]) & (vertices[:-1] < vertices[1:]))
    ordered[first[(first > 0) & (first < len(scores))] - 1] = True
    need(ordered.all(), f"{model}/vertices: a list is not in the order of falling score, then ascending id")
    opens = np.zeros(len(links), np.bool_)
    opens[offsets[:-1][np.diff(offsets) > 0]] = True
    if model == "comp":
        sizes = np.diff(np.flatnonzero(opens | (links == 0)), append=len(links))
        of_k = np.cumsum(np.bincount(sizes, minlength=1)[::-1])[::-1].copy()
        of_k[0], of_vertex = 0, np.diff(offsets)
    else:
        # A context of k begins where a link is below k and the next one in the row is not.
        low = np.maximum(links, smallest - 1).astype(np.int64)
        high = np.maximum(np.append(np.where(opens[1:], 0, links[1:]), 0)[: len(links)], low)
        length = int(high.max(initial=0)) + 2
        of_k = np.cumsum(np.bincount(low + 1, minlength=length) - np.bincount(high + 1, minlength=length))
        of_vertex = np.diff(np.append(0, np.cumsum(high - low))[offsets])
    listed = np.diff(np.append(0, np.cumsum(scores, dtype=np.int64))[first])
    size = max(len(listed), len(of_k))
    same = np.array_equal(np.pad(listed, (0, size - len(listed))), np.pad(of_k, (0, size - len(of_k))))
    need(same, f"{model}/scores and the rows differ in how many contexts there are of some k")
    counted = np.bincount(vertices, scores, minlength=len(of_vertex)).astype(np.int64)
    need(np.array_equal(counted, of_vertex), f"{model}/scores and the rows differ in the contexts of some vertex")


def _check_sample(artifact: Artifact, there: list[str]) -> None:
    """Find the contexts of some vertices again, from their definitions, and compare the rows and the lists."""
    arrays, offsets = artifact.arrays, artifact.arrays["offsets"]

    def row(v: int, model: str = there[0]) -> np.ndarray:
        return arrays[f"{model}/members"][offsets[v] : offsets[v + 1]]

    for v in _chosen(artifact, there[0]):
        near = row(v).tolist()
        need(len(set(near)) == len(near) and v not in near, f"the row of vertex {v} is no row of neighbours")
        about = {u: set(row(u).tolist()) for u in near}
        need(all(v in others for others in about.values()), f"the row of vertex {v} has edges in one direction only")
        net = {u: others & set(near) for u, others in about.items()}
        for model in there:
            links = arrays[f"{model}/links"][offsets[v] : offsets[v + 1]]
            runs = _runs(row(v, model), links)
            same = sorted(near) == sorted(row(v, model).tolist())
            k = 1 if model == "core" else 2
            while same and (left := _peeled(net, model, k)):
                same = _parts(left) == sorted(one for one in runs(k) if len(one) > 1)
                k += 1
            need(same and links.max(initial=0) < k, f"{model}: the row of vertex {v} is not what its neighbours give")


def _chosen(artifact: Artifact, model: str) -> Iterator[int]:
    """Yield some vertices, evenly spread, that are quickly checked."""
    offsets, members = artifact.arrays["offsets"], artifact.arrays[f"{model}/members"]
    n, left = len(offsets) - 1, VISITS
    for v in np.unique(np.linspace(0, n - 1, min(SAMPLE, n)).astype(np.int64)) if n else ():
        near = members[offsets[v] : offsets[v + 1]]
        visits = int((offsets[near + 1] - offsets[near]).sum()) if len(near) <= WIDEST else left + 1
        if visits <= left:
            left -= visits
            yield int(v)


def _runs(members: np.ndarray, links: np.ndarray) -> Callable[[int], list[list[int]]]:
    """Return a function that returns the runs of a row for a k, each ascending."""
    return lambda k: [sorted(part.tolist()) for part in np.split(members, np.flatnonzero(links[1:] < k) + 1)]


def _peeled(net: Network, model: str, k: int) -> Network:
    """Return the maximal part of a network where degrees are k or more, or edges in k - 2 or more triangles."""
    net = {u: set(others) for u, others in net.items()}
    while True:
        if model == "core":
            weak = {(u, w) for u, others in net.items() if len(others) < k for w in others}
        else:
            weak = {(u, w) for u, others in net.items() for w in others if len(others & net[w]) < k - 2}
        if not weak:
            return {u: others for u, others in net.items() if others}
        for u, w in weak:
            net[u].discard(w)
            net[w].discard(u)


def _parts(net: Network) -> list[list[int]]:
    """Return the connected parts, each ascending, by their lowest member."""
    left, found = set(net), []
    for u in sorted(net):
        part, new = set(), {u} & left
        while new:
            part |= new
            new = {w for x in new for w in net[x]} - part
        left -= part
        found += [sorted(part)] if part else []
    return found
