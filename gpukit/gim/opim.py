"""OPIM-C: choose on one collection, certify on another, double both until the certificate is good enough."""

from collections.abc import Callable
from decimal import Decimal

from gpukit.device.timing import PhaseTimer
from gpukit.gim.bounds import opim_lower, opim_plan, opim_upper
from gpukit.gim.problem import Problem, Step
from gpukit.gim.selection import Choice, choose
from gpukit.worlds.collection import Collection, extend_both

Progress = Callable[[int, int], None]


def opim(
    problem: Problem, selecting: Collection, judging: Collection, timer: PhaseTimer, progress: Progress
) -> tuple[Choice, int, Decimal, bool, list[Step]]:
    """Run OPIM-C (Tang, Tang, Xiao, Yuan, SIGMOD 2018, algorithm 2, with the upper bound of their section 5).

    The bound on the best coverage is as much work as the choice itself, so sizes that will hardly do are first tried
    without it. That changes no decision.

    Parameters
    ----------
    problem : Problem
    selecting, judging : Collection
        R₁ and R₂, empty, with sample ids that do not meet.
    timer : PhaseTimer
        Charged with ``sampling``, ``selection`` and ``bounds``.
    progress : callable
        Told (sets drawn, sets wanted next).

    Returns
    -------
    choice : Choice
        The seeds.
    hit : int
        Sets of R₂ that they hit.
    guarantee : Decimal
        The share of the optimum that they reach.
    certified : bool
        Whether that follows from the bounds; otherwise from the number of sets alone.
    history : list of Step
    """
    family = problem.family
    with timer.phase("bounds"):
        plan = opim_plan(family, problem.params.epsilon, problem.params.min_sets)
    history: list[Step] = []
    size, hopeful = plan.first, problem.params.min_sets > 0
    while True:
        progress(selecting.size + judging.size, 2 * size)
        with timer.phase("sampling"):
            extend_both(selecting, judging, size)
        choice = choose(selecting, problem, timer, bounds=hopeful)
        with timer.phase("selection"):
            hit = int(judging.coverage(choice.seeds)[-1])
        with timer.phase("bounds"):
            own = problem.own_weight(choice.seeds)
            lower = opim_lower(hit, size, family.mass, plan.a, own)
            # No bound on the best coverage is below the seeds' own; if that rules a certificate out, so does the bound.
            doubtful = choice.most is None
            upper = opim_upper(choice.covered if choice.most is None else choice.most, size, family.mass, plan.a)
        if doubtful and (problem.unique or lower >= plan.target * upper or size >= plan.cap):
            choice = choose(selecting, problem, timer, bounds=True)
            assert choice.most is not None
            doubtful = False
            upper = opim_upper(choice.most, size, family.mass, plan.a)
        history.append(Step("opim", size, choice.covered, float(lower), None if doubtful else float(upper)))
        ratio = Decimal(1) if problem.unique or lower >= upper else lower / upper
        if ratio >= plan.target:
            return choice, hit, ratio, True, history
        if size >= plan.cap:
            return choice, hit, plan.target, False, history
        size *= 2
        with timer.phase("bounds"):
            likely = opim_lower(2 * hit, size, family.mass, plan.a, own)
            hopeful = likely >= plan.target * opim_upper(2 * choice.covered, size, family.mass, plan.a)
