"""IMM: prove a lower bound on the optimum, and choose from as many sets as it asks for."""

from collections.abc import Callable

from gpukit.device.timing import PhaseTimer
from gpukit.gim.bounds import imm_plan
from gpukit.gim.opim import Progress
from gpukit.gim.problem import Problem, Step
from gpukit.gim.selection import Choice, choose
from gpukit.worlds.collection import Collection


def imm(
    problem: Problem, collection: Collection, fresh: Callable[[], Collection], timer: PhaseTimer, progress: Progress
) -> tuple[Choice, Collection, int, list[Step]]:
    """Run IMM (Tang, Shi, Xiao, SIGMOD 2015; algorithms 1 and 2 of gIM).

    ``params.samples`` says which sets the seeds are chosen from. ``original`` halves the bound until it is proved, and
    re-uses those sets as printed, which voids the proof (Chen, "An issue in the martingale analysis of the influence
    maximization algorithm IMM", 2018). ``grid`` and ``fresh`` guess a level, a power of 1.01, from a few sets, and go
    down until one is proved. ``grid`` tries each level with so many sets that they are enough to choose from if it is
    proved, so that one selection does both; the failures of all levels are added up. ``fresh`` chooses from new sets.

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
    samples, least = problem.params.samples, problem.params.min_sets
    history: list[Step] = []
    with timer.phase("bounds"):
        plan = imm_plan(problem.family, problem.params.epsilon)

    def attempt(source: Collection, phase: str, size: int) -> Choice:
        progress(source.size, size)
        with timer.phase("sampling"):
            source.extend(size)
        choice = choose(source, problem, timer, bounds=False)
        history.append(Step(phase, size, choice.covered))
        return choice

    if samples == "original":
        lower = plan.lower(0, 1)
        for i, size in enumerate(plan.search, 1):
            choice = attempt(collection, "search", size)
            if plan.found(i, choice.covered, size):
                lower = plan.lower(choice.covered, size)
                break
        size = max(plan.last(lower), least)
        if size > collection.size:
            choice = attempt(collection, "last", size)
        return choice, collection, collection.size, history
    level, size = plan.top + 1, plan.pilot
    choice = attempt(collection, "pilot", size)
    proved = False
    while not proved and level > plan.bottom:
        with timer.phase("bounds"):
            level = min(level - 1, plan.guess(choice.covered, size))
            wanted = max(plan.enough(level), least) if samples == "grid" else plan.proof(level)
        if wanted > size:
            size = wanted
            choice = attempt(collection, "search", size)
        proved = plan.proves(level, choice.covered, size)
    if samples == "grid":
        return choice, collection, size, history
    with timer.phase("bounds"):
        enough = max(plan.last(plan.lower(choice.covered if proved else 0, size)), least)
    last = fresh()
    choice = attempt(last, "last", enough)
    return choice, last, size + enough, history
