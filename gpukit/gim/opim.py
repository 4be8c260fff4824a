"""OPIM-C: choose on one collection, certify on another, double both until the certificate is good enough."""

from collections.abc import Callable
from decimal import Decimal

from gpukit.device.timing import PhaseTimer
from gpukit.gim.bounds import OpimPlan, opim_lower, opim_plan, opim_upper
from gpukit.gim.problem import Problem, Step
from gpukit.gim.selection import Choice, choose
from gpukit.worlds.collection import Collection, extend_both

Progress = Callable[[int, int], None]

LOOSE = Decimal("1.12")
"""The bound on the best coverage over the seeds' own, as a guess."""


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
        choice = choose(selecting, problem, timer, bounds=hopeful, judge=judging)
        assert choice.hit is not None
        hit = choice.hit
        with timer.phase("bounds"):
            own = problem.self_spread(choice.seeds)
            lower = opim_lower(hit, size, family.mass, plan.a, own)
            # No bound on the best coverage is below the seeds' own; if that rules a certificate out, so does the bound.
            doubtful = choice.coverage_upper is None
            bound = choice.covered if choice.coverage_upper is None else choice.coverage_upper
            upper = opim_upper(bound, size, family.mass, plan.a)
        if doubtful and (problem.unique or lower >= plan.target * upper or size >= plan.cap):
            choice = choose(selecting, problem, timer, bounds=True)
            assert choice.coverage_upper is not None
            doubtful = False
            upper = opim_upper(choice.coverage_upper, size, family.mass, plan.a)
        history.append(Step("opim", size, choice.covered, float(lower), None if doubtful else float(upper)))
        ratio = Decimal(1) if problem.unique or lower >= upper else lower / upper
        if ratio >= plan.target:
            return choice, hit, ratio, True, history
        if size >= plan.cap:
            return choice, hit, plan.target, False, history
        with timer.phase("bounds"):
            size, hopeful = _next_size(plan, family.mass, size, choice.covered, hit, own)


def _next_size(plan: OpimPlan, mass: int, size: int, covered: int, hit: int, own: int) -> tuple[int, bool]:
    """Return the least doubling that will probably do, and whether there is one before the cap.

    The bounds hold at all doublings at once, so passing over some is as sound as trying them. The seeds' shares of the
    two collections are taken to meet in the middle, and to come closer as the square root of the size.
    """
    middle, half_gap, factor = Decimal(covered + hit) / 2, Decimal(covered - hit) / 2, 1
    while factor * size < plan.cap:
        factor *= 2
        whole, apart = factor * middle, Decimal(factor).sqrt() * half_gap
        lower = opim_lower(int(whole - apart), factor * size, mass, plan.a, own)
        if lower >= plan.target * opim_upper(int(LOOSE * (whole + apart)), factor * size, mass, plan.a):
            return factor * size, True
    return 2 * size, False
