"""The search in four phases (algorithm 1 of the paper), once for every device.

1. Upper bounds of all vertices, ordered by (bound falling, id). 2. Scores, in batches down that order: first the top
bounds, then batches of twice the size each. 3. Within a batch the work is balanced (:mod:`gpukit.diversity.scores`).
4. The top t of what is scored; the search ends when no other vertex can enter.
"""

import numpy as np

from gpukit.device.timing import PhaseTimer
from gpukit.diversity.problem import Params, Progress, Result, Scorer, check_t

FIRST_BATCH = 1024


def search(
    network: Scorer, params: Params, t: int, *, timer: PhaseTimer | None = None, progress: Progress | None = None
) -> Result:
    """Return the t vertices of most contexts with these contexts.

    Parameters
    ----------
    network : Scorer
        Of an undirected graph, see :func:`gpukit.diversity.scores.build_network`.
    params : Params
    t : int
        Length of the answer, 1 to n.
    timer : PhaseTimer, optional
        Gets the phases ``bounds``, ``scores`` and ``contexts``.
    progress : callable, optional
        Called as ``progress(done, total)`` with numbers of vertices in a batch.

    Raises
    ------
    UsageError
        If t is out of range.
    """
    check_t(t, network.n)
    timer = timer or PhaseTimer()
    with timer.phase("bounds"):
        limits = network.bounds(params)
        order = np.argsort(-limits, kind="stable")
        falling = limits[order]
        known = np.zeros(network.n, np.int32)
    with timer.phase("scores"):
        done, end = 0, int(np.count_nonzero(falling))  # a bound of 0 is the score
        worth, size = 0, max(FIRST_BATCH, t)
        while done < end:
            upper = min(done + size, end)
            batch = order[done:upper]
            known[batch] = network.scores(batch, params, progress)
            done, size = upper, 2 * size
            worth += len(batch)
            if done >= t:
                end = min(end, _reach(order, falling, known, done, t))
        # What was not scored counts as 0: it is, or its bound is at most the t-th score and its id too late.
        top = _top(np.arange(network.n), known, t)
    with timer.phase("contexts"):
        found = network.contexts(top, known[top], params)
    return Result(top.astype(np.int32), known[top], found, worth)


def _top(candidates: np.ndarray, known: np.ndarray, t: int) -> np.ndarray:
    """Return the t candidates of largest score, equal scores by ascending id."""
    candidates = np.sort(candidates)
    return candidates[np.argsort(-known[candidates], kind="stable")[:t]]


def _reach(order: np.ndarray, falling: np.ndarray, known: np.ndarray, done: int, t: int) -> int:
    """Return where the order ends for good: no vertex from there on can enter the top t.

    That is from the first with a bound below the t-th score s, or equal to s and an id above the largest id among the
    members of score s.
    """
    top = _top(order[:done], known, t)
    s = int(known[top[-1]])
    last = int(top[-1])  # the largest id of score s among the members
    first_equal, first_below = np.searchsorted(-falling, [-s, -s + 1], side="left")
    within = order[first_equal:first_below]  # ids ascend among equal bounds
    return int(first_equal + np.searchsorted(within, last, side="right"))
