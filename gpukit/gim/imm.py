"""IMM: search for a lower bound on the optimum, then draw as many sets as it asks for."""

from collections.abc import Callable
from decimal import Decimal

from gpukit.device.timing import PhaseTimer
from gpukit.gim.bounds import grid_floor, imm_plan
from gpukit.gim.opim import Progress
from gpukit.gim.problem import Problem, Step
from gpukit.gim.selection import Choice, choose
from gpukit.worlds.collection import Collection


def imm(
    problem: Problem, collection: Collection, fresh: Callable[[], Collection], timer: PhaseTimer, progress: Progress
) -> tuple[Choice, Collection, int, list[Step]]:
    """Run IMM (Tang, Shi, Xiao, SIGMOD 2015; algorithms 1 and 2 of gIM).

    The last phase depends on ``params.samples``. ``original`` re-uses the search phase's sets as printed, which voids
    the proof (Chen, "An issue in the martingale analysis of the influence maximization algorithm IMM", 2018). ``fresh``
    draws new ones. ``grid`` re-uses them, but rounds the lower bound down to a power of 1.01, so that the last size is
    one of M numbers fixed beforehand, and divides the failure of the last phase by M.

    Parameters
    ----------
    problem : Problem
    collection : Collection
        Empty.
    fresh : callable
        Returns an empty collection whose sample ids do not meet those of ``collection``.
    timer : PhaseTimer
        Charged with ``sampling``, ``selection`` and ``bounds``.
    progress : callable
        Told (sets drawn, sets wanted next).

    Returns
    -------
    choice : Choice
        The seeds.
    last : Collection
        The sets that they were chosen from.
    drawn : int
        RR sets of all collections.
    history : list of Step
    """
    samples, family = problem.params.samples, problem.family
    with timer.phase("bounds"):
        plan = imm_plan(family, problem.params.epsilon)
    history: list[Step] = []
    lower, choice = Decimal(family.least), None
    for i, size in enumerate(plan.search, 1):
        choice = _choose_from(collection, size, problem, timer, progress)
        history.append(Step("search", size, choice.covered))
        if plan.found(i, choice.covered, size):
            lower = plan.lower(choice.covered, size)
            break
    with timer.phase("bounds"):
        if samples == "grid":
            size = plan.last(grid_floor(lower)[1], plan.sizes())
        else:
            size = plan.last(lower)
    drawn = collection.size if samples == "fresh" else 0
    if samples == "fresh":
        collection, choice = fresh(), None
    size = max(size, problem.params.min_sets, collection.size)
    if choice is None or size > collection.size:
        choice = _choose_from(collection, size, problem, timer, progress)
    history.append(Step("last", size, choice.covered))
    return choice, collection, drawn + size, history


def _choose_from(collection: Collection, size: int, problem: Problem, timer: PhaseTimer, progress: Progress) -> Choice:
    progress(collection.size, size)
    with timer.phase("sampling"):
        collection.extend(size)
    return choose(collection, problem, timer, bounds=False)
