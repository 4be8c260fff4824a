"""IMM as printed: the seeds are chosen from the sets that proved the bound, which is unsound."""

from collections.abc import Callable

from gpukit.device.timing import PhaseTimer
from gpukit.gim.bounds import imm_plan
from gpukit.gim.imm import attempts
from gpukit.gim.opim import Progress
from gpukit.gim.problem import Problem, Step
from gpukit.gim.selection import Choice
from gpukit.worlds.collection import Collection


def imm(
    problem: Problem, collection: Collection, fresh: Callable[[], Collection], timer: PhaseTimer, progress: Progress
) -> tuple[Choice, Collection, int, list[Step]]:
    """Run IMM with ``params.samples == "original"`` (algorithms 1 and 2 of gIM).

    The bound is halved until it is proved, and the same sets are used again, which voids the proof (Chen, "An issue in
    the martingale analysis of the influence maximization algorithm IMM", 2018). Parameters and results are those of
    :func:`gpukit.gim.imm.imm`; ``fresh`` is not called.
    """
    history: list[Step] = []
    attempt = attempts(problem, timer, progress, history)
    with timer.phase("bounds"):
        plan = imm_plan(problem.family, problem.params.epsilon)
    # Algorithm 2: afterwards ``lower`` is LB.
    lower = plan.lower(0, 1)
    for i, size in enumerate(plan.search, 1):
        choice = attempt(collection, "search", size)
        if plan.found(i, choice.covered, size):
            lower = plan.lower(choice.covered, size)
            break
    # Algorithm 1: the number of sets that LB requires.
    size = max(plan.last(lower), problem.params.fewest)
    if size > collection.size:
        choice = attempt(collection, "last", size)
    return choice, collection, collection.size, history
