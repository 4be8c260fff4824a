"""IMM: prove a lower bound on the optimum, and choose seeds from the number of sets that this bound requires."""

from collections.abc import Callable

from gpukit.device.timing import PhaseTimer
from gpukit.gim.bounds import imm_plan
from gpukit.gim.opim import Progress
from gpukit.gim.problem import Problem, Step
from gpukit.gim.selection import Choice, choose
from gpukit.worlds.collection import Collection


def attempts(
    problem: Problem, timer: PhaseTimer, progress: Progress, history: list[Step]
) -> Callable[[Collection, str, int], Choice]:
    """Return a function that draws a collection up to a size, chooses seeds from it, and records this as a phase."""

    def attempt(source: Collection, phase: str, size: int) -> Choice:
        progress(source.size, size)
        with timer.phase("sampling"):
            source.extend(size, lambda drawn: progress(min(drawn, size), size))
        choice = choose(source, problem, timer, bounds=False)
        history.append(Step(phase, size, choice.covered))
        return choice

    return attempt


def imm(
    problem: Problem, collection: Collection, fresh: Callable[[], Collection], timer: PhaseTimer, progress: Progress
) -> tuple[Choice, Collection, int, list[Step]]:
    """Run IMM (Tang, Shi, Xiao, SIGMOD 2015; algorithms 1 and 2 of gIM).

    A level, a power of 1.01, is guessed from a few sets, then the next lower one, until one is proved.
    ``params.samples`` selects the sets that the seeds are chosen from. ``grid`` tries each level with enough sets to
    choose from if the level is proved, so one selection does both; the failure probabilities of all levels add up.
    ``fresh`` chooses from new sets. (``original`` is :func:`gpukit.papers.gim.imm.imm`.)

    Parameters
    ----------
    problem : Problem
    collection : Collection
        Empty.
    fresh : callable
        Returns an empty collection whose sample ids are disjoint from those of ``collection``.
    timer : PhaseTimer
        Charged with ``sampling``, ``selection`` and ``bounds``.
    progress : callable
        Called with (sets drawn, sets wanted next).

    Returns
    -------
    choice : Choice
        The seeds.
    last : Collection
        The sets from which they were chosen.
    drawn : int
        RR sets of all collections.
    history : list of Step
    """
    samples, least = problem.params.samples, problem.params.fewest
    history: list[Step] = []
    attempt = attempts(problem, timer, progress, history)
    with timer.phase("bounds"):
        plan = imm_plan(problem.family, problem.params.epsilon)
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
