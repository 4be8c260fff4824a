"""The search in four phases (algorithm 1 of the paper), for every device.

1. Compute upper bounds of all vertices and sort by (falling bound, id). 2. Score two batches in this order: the
vertices of the top bounds, then all whose bound is not below the current t-th score. Few bounds are not below it, and
each batch costs launches. 3. Balance the work within a batch (:mod:`gpukit.diversity.scores`,
:mod:`gpukit.diversity.balance`). 4. Return the top t of the scored vertices.
"""

import numpy as np

from gpukit.device.timing import PhaseTimer
from gpukit.diversity.problem import Params, Progress, Result, Scorer

FIRST_BATCH = 1024


def search(
    network: Scorer,
    params: Params,
    t: int,
    *,
    among: range | None = None,
    timer: PhaseTimer | None = None,
    progress: Progress | None = None,
) -> Result:
    """Return the t vertices with most contexts, and these contexts.

    Parameters
    ----------
    network : Scorer
        The network of an undirected graph, see :func:`gpukit.diversity.scores.build_network`.
    params : Params
    t : int
        Length of the answer, 1 to n.
    among : range, optional
        Candidates, a range of step 1; all vertices if not given. If there are fewer than t, all are returned.
    timer : PhaseTimer, optional
        Charged with the phases ``bounds``, ``scores`` and ``contexts``.
    progress : callable, optional
        Called as ``progress(done, total)`` with numbers of vertices in a batch.
    """
    among = range(network.n) if among is None else among
    t = min(t, len(among))
    timer = timer or PhaseTimer()
    with timer.phase("bounds"):  # phase 1: lines 2-4
        limits = np.zeros(network.n, np.int32)
        limits[among.start : among.stop] = network.bounds(params)[among.start : among.stop]
        order = _falling(limits)
        falling = limits[order]
        known = np.zeros(network.n, np.int32)
    with timer.phase("scores"):  # phases 2 to 4: lines 5-21
        end = int(np.count_nonzero(falling))  # a bound of 0 is the score
        first = min(max(FIRST_BATCH, t), end)
        known[order[:first]] = network.scores(order[:first], params, progress)
        if first >= t:  # lines 8-10, for all remaining vertices at once
            end = min(end, _reach(order, falling, known, first, t))
        if end > first:
            known[order[first:end]] = network.scores(order[first:end], params, progress)
        # Vertices without a score count as 0: their score is 0, or their bound and id keep them out of the top t.
        top = _top(np.arange(among.start, among.stop), known, t)
    with timer.phase("contexts"):  # line 22
        found = network.contexts(top, known[top], params)
    return Result(top.astype(np.int32), known[top], found, max(first, end))


def ego_trussness(network: Scorer, trussness: int) -> int:
    """Return the largest trussness of an edge in an ego-network; 0 if no ego-network has an edge.

    A k-truss in the ego-network of v forms, together with v, a (k + 1)-truss of the graph. Each of its edges gains the
    triangle with v. An edge from v to a member lies in one triangle per neighbour of that member, so in at least k - 1.
    Therefore the search starts from the largest trussness of the graph minus 1, and decreases k.

    Parameters
    ----------
    network : Scorer
    trussness : int
        Largest trussness of an edge of the graph.
    """
    for k in range(trussness - 1, 1, -1):
        if search(network, Params("truss", k), 1).scores[0]:
            return k
    return 0


def _top(candidates: np.ndarray, known: np.ndarray, t: int) -> np.ndarray:
    """Return the t candidates with the largest scores; equal scores by ascending id."""
    candidates = np.sort(candidates)
    return candidates[_falling(known[candidates])[:t]]


def _falling(values: np.ndarray) -> np.ndarray:
    """Return the places of values >= 0, by falling value, then ascending place; linear time for small values."""
    highest = int(values.max(initial=0))
    # NumPy sorts 16-bit integers by radix.
    return np.argsort((highest - values).astype(np.uint16 if highest < 1 << 16 else np.int64), kind="stable")


def _reach(order: np.ndarray, falling: np.ndarray, known: np.ndarray, done: int, t: int) -> int:
    """Return the place in the order from which on no vertex can enter the top t.

    It is the first place with a bound below the t-th score s, or with bound s and an id above the largest id of score s
    in the top t.
    """
    top = _top(order[:done], known, t)
    s = int(known[top[-1]])
    last = int(top[-1])  # the largest id of score s among the members
    first_equal, first_below = np.searchsorted(-falling, [-s, -s + 1], side="left")
    within = order[first_equal:first_below]  # ids ascend among equal bounds
    return int(first_equal + np.searchsorted(within, last, side="right"))
