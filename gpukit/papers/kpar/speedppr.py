"""SpeedPPR (Wu, Gan, Wei, Zhang, SIGMOD 2021): pushes that grow into a power iteration, then few walks.

PowerPush takes vertices from a queue while few are active, and scans all of them once many are, each time with what the
scan itself has pushed so far; the threshold of the scans falls in ``EPOCHS`` equal steps of its logarithm. It stops
when the residue that is left, λ = m/W, would need no more than W/n walks a vertex on average; pushes from a queue then
bring each vertex down to a walk for each of its out-edges. The index has as many, whatever ε is asked for.
"""

from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import NamedTuple

import numpy as np
from numba import int64, uint64

from gpukit.device.compiled import njit
from gpukit.graph.csr import Graph
from gpukit.kpar.groups import edges_of
from gpukit.kpar.problem import CONTEXT, ONE, Params, Result, Sources, check_k
from gpukit.kpar.rule import passed_on, passed_up_to
from gpukit.kpar.weights import chances_for
from gpukit.papers.kpar.baselines import best_of, collected, draw_walks, walks_needed

EPOCHS = 8
"""Steps in which the threshold of the scans falls, and …"""
FEW = 4
"""… one vertex of so many may be active for the queue to go on: the authors' choices."""


@dataclass(frozen=True, eq=False)
class Speed:
    """The index of SpeedPPR.

    Attributes
    ----------
    params : Params
    worth : int
        Residue that a walk may stand for, 1/W in units of 2**-62.
    targets : int64 array, shape (EPOCHS,)
        Residue left at the end of each epoch of scans, λ^(i/EPOCHS).
    ends : int32 array, shape (m,)
        Where walks end: a walk for each out-edge, in the order of the rows.
    chances : uint64 array, shape (m,), or None
        Of edges, where they are weighted.
    """

    params: Params
    worth: int
    targets: np.ndarray
    ends: np.ndarray
    chances: np.ndarray | None = None


def speedppr_index(graph: Graph, params: Params | None = None, *, seed: int = 0, threads: int = 1) -> Speed:
    """Draw a walk for each out-edge; δ and p_f are 1/n, as for FORA+."""
    params = params or Params()
    walks = walks_needed(graph.n, params)
    with localcontext(CONTEXT):
        share = min(Decimal(max(graph.m, 1)) / walks, Decimal(1))
        targets = np.array([int(share ** (Decimal(i + 1) / EPOCHS) * ONE) for i in range(EPOCHS)], np.int64)
    chances = chances_for(graph, params)
    ends = draw_walks(graph, params, chances, graph.indptr, seed=seed, threads=threads)
    return Speed(params, ONE // walks, targets, ends, chances)


class _Room(NamedTuple):
    """Working space of a query: int64, int64, int32 and bool (n,); all but the queue are zero."""

    residue: np.ndarray
    reserve: np.ndarray
    queue: np.ndarray
    queued: np.ndarray

    @classmethod
    def of(cls, n: int) -> "_Room":
        return cls(np.zeros(n, np.int64), np.zeros(n, np.int64), np.empty(n, np.int32), np.zeros(n, np.bool_))


# Arrays are taken out of their groups before loops: each time costs two atomic operations.
@njit
def _push(v, indptr, indices, one_minus_alpha, chances, residue, reserve):
    """Push the residue of a vertex with out-edges along them; returns how much of it is residue no more."""
    first, last = indptr[v], indptr[v + 1] - 1
    taken = residue[v]
    residue[v] = 0
    passed = int64(passed_on(uint64(taken), one_minus_alpha))
    share = before = int64(0)
    if chances is None:
        share = passed // (last - first + 1)
        passed = (last - first + 1) * share
    reserve[v] += taken - passed
    ended = taken - passed
    for e in range(first, last + 1):
        if chances is not None:
            reach = passed_up_to(passed, chances, e, last)
            share, before = reach - before, reach
        u = indices[e]
        if indptr[u] == indptr[u + 1]:
            reserve[u] += share
            ended += share
        else:
            residue[u] += share
    return ended


@njit
def _is_active(v, limit, indptr, residue):
    """Say whether a vertex has more residue than ``limit`` for each of its out-edges."""
    return residue[v] > limit * (indptr[v + 1] - indptr[v])


@njit
def _from_queue(longest, left, target, limit, edges, chances, room):
    """Push the active vertices, and those that become active, first in, first out.

    Until there are none, more than ``longest`` wait, or ``target`` residue is left.

    Returns
    -------
    int
        The residue that is left; the queue is given up.
    """
    indptr, indices = edges.indptr, edges.indices
    residue, reserve, queue, queued = room
    head = waiting = 0
    for v in range(len(residue)):
        if _is_active(v, limit, indptr, residue):
            queued[v] = True
            queue[waiting] = v
            waiting += 1
    tail = waiting % len(queue)
    while 0 < waiting <= longest and left > target:
        v = queue[head]
        head = head + 1 if head + 1 < len(queue) else 0
        waiting -= 1
        queued[v] = False
        left -= _push(v, indptr, indices, edges.one_minus_alpha, chances, residue, reserve)
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            if not queued[u] and _is_active(u, limit, indptr, residue):
                queued[u] = True
                queue[tail] = u
                tail = tail + 1 if tail + 1 < len(queue) else 0
                waiting += 1
    for v in range(len(queued)):
        queued[v] = False
    return left


@njit
def _power_push(left, worth, targets, edges, chances, room):
    """Push until no more than the last of the ``targets`` is left: from a queue, then by scans of all vertices."""
    indptr, indices = edges.indptr, edges.indices
    residue, reserve = room.residue, room.reserve
    n, m = len(residue), len(indices)
    left = _from_queue(n // FEW, left, targets[-1], worth, edges, chances, room)
    for target in targets:
        limit = target // max(m, 1)
        while left > target:
            for v in range(n):
                if _is_active(v, limit, indptr, residue):
                    left -= _push(v, indptr, indices, edges.one_minus_alpha, chances, residue, reserve)
    return left


@njit
def _answer(worth, targets, ends, edges, chances, vertices, mass, room):
    """Push, then let the walks of the index carry what is left; returns how many vertices have a reserve, and these."""
    residue, reserve, indptr = room.residue, room.reserve, edges.indptr
    left = int64(0)
    for i in range(len(vertices)):
        v = vertices[i]
        if indptr[v] == indptr[v + 1]:
            reserve[v] += mass[i]
        else:
            residue[v] += mass[i]
            left += mass[i]
    left = _power_push(left, worth, targets, edges, chances, room)
    # No vertex needs more walks afterwards than it has out-edges.
    _from_queue(len(residue), left, int64(0), worth, edges, chances, room)
    for v in range(len(residue)):
        if residue[v] > 0:
            walks = (residue[v] + worth - 1) // worth
            value, extra = residue[v] // walks, residue[v] % walks
            for j in range(walks):
                reserve[ends[indptr[v] + j]] += value + int64(j < extra)
    count = 0
    for v in range(len(reserve)):
        if reserve[v] > 0:
            room.queue[count] = v
            count += 1
    return count, room.queue


def speedppr(graph: Graph, index: Speed, sources: Sources, k: int, *, threads: int = 1) -> Result:
    """Answer by SpeedPPR: relative error ε where π > 1/n with probability 1 - 1/n, of which the k best are returned.

    Parameters
    ----------
    graph : Graph
    index : Speed
    sources : Sources
    k : int
        Length of an answer, 1 … n.
    threads : int
        The answer does not depend on it.

    Returns
    -------
    Result
        Without steps and traces.

    Raises
    ------
    UsageError
        If k is out of range.
    """
    check_k(k, graph.n)
    edges = edges_of(graph, index.params)

    def answer(q: int) -> tuple[np.ndarray, np.ndarray]:
        one, room = sources.part(q, q + 1), _Room.of(graph.n)
        start = (one.vertices, one.mass.view(np.int64))
        count, met = _answer(index.worth, index.targets, index.ends, edges, index.chances, *start, room)
        return best_of(met, room.reserve, count, k)

    return collected(answer, len(sources), threads)
