"""OPIM-C: choose on one collection, certify on another, and double both until the certificate is good enough."""

from collections.abc import Callable
from decimal import Decimal

import numpy as np

from gpukit.device.timing import PhaseTimer
from gpukit.gim import budget
from gpukit.gim.bounds import OpimPlan, opim_lower, opim_plan, opim_upper
from gpukit.gim.known import ROUNDING
from gpukit.gim.problem import Problem, Step
from gpukit.gim.selection import Choice, choose
from gpukit.worlds.collection import Collection

LOOSE = Decimal("1.12")
"""A guess of the bound on the best coverage, as a multiple of the seeds' own coverage."""

CLEAR = 100
"""Seeds are chosen without sets if sets could add less than 1/CLEAR of the known worth."""

Progress = Callable[[int, int], object]
"""A function that receives the numbers of sets drawn and sets wanted."""


def extend_both(first: Collection, second: Collection, size: int, progress: Progress) -> None:
    """Draw sets until both collections have ``size``; more may be drawn than requested."""
    first.extend(size, lambda drawn: progress(min(drawn, size) + second.size, 2 * size))
    second.extend(size, lambda drawn: progress(size + min(drawn, size), 2 * size))


def without_sets(problem: Problem) -> tuple[Choice, Decimal, list[Step]] | None:
    """Choose by the worth known without drawing sets; return the choice and its guarantee, or None if it is not clear.

    All sets together are worth at most Γ. So the seeds reach at least their known spread, and the optimum is at most Γ
    above the largest known spread of any choice.
    """
    known = problem.known
    if known.singleton is None or problem.k_max * known.highest < CLEAR * known.gamma:
        return None
    if problem.costs is None:
        further = problem.k_max - len(problem.forced)
        seeds = np.concatenate([problem.forced, known.heaviest(problem.free(), further)]).astype(np.int32)
        bonus = known.bonus(seeds)
        upper = bonus * (1 + Decimal(ROUNDING)) if known.gamma else bonus
    else:
        own_worth = known.scaled()
        none, counts = np.zeros(1, np.int64), np.zeros(problem.graph.n, np.int64)
        barred = np.zeros(problem.graph.n, np.bool_) if problem.blocked is None else problem.blocked
        seeds, _, bound = budget.choose(
            none, np.empty(0, np.int32), counts, problem.costs, problem.forced, barred, problem.budget_left,
            own_worth.worth(),
        )  # fmt: skip
        bonus = known.bonus(seeds)
        upper = bound / Decimal(own_worth.scale) * (1 + Decimal(ROUNDING))
    if bonus < CLEAR * known.gamma:
        return None
    lower, upper = Decimal(problem.self_spread(seeds)), min(upper + known.gamma, Decimal(problem.family.mass))
    history = [Step("opim", 0, 0, float(lower), float(upper))]
    ratio = Decimal(1) if problem.unique else min(Decimal(1), lower / upper)
    return Choice(seeds, np.zeros(len(seeds), np.int64), bonus, upper, hit=0), ratio, history


def opim(
    problem: Problem,
    selecting: Collection,
    judging: Collection,
    timer: PhaseTimer,
    progress: Progress,
) -> tuple[Choice, int, Decimal, bool, list[Step]]:
    """Run OPIM-C (Tang, Tang, Xiao, Yuan, SIGMOD 2018, algorithm 2, with the upper bound of their section 5).

    The bound on the best coverage takes as much work as the selection itself. So sizes that will probably not suffice
    are first tried without it. This changes no decision.

    Parameters
    ----------
    problem : Problem
    selecting, judging : Collection
        R₁ and R₂, empty, with disjoint sample ids.
    timer : PhaseTimer
        Charged with ``sampling``, ``selection`` and ``bounds``.
    progress : callable
        Called with (sets drawn, sets wanted next).

    Returns
    -------
    choice : Choice
        The seeds.
    hit : int
        Number of sets of R₂ that the seeds hit.
    guarantee : Decimal
        The share of the optimum that the seeds reach.
    certified : bool
        Whether the guarantee follows from the bounds; otherwise it follows from the number of sets alone.
    history : list of Step
    """
    family, known, gamma = problem.family, problem.known, problem.known.gamma
    with timer.phase("bounds"):
        plan = opim_plan(family, problem.params.epsilon, problem.fewest)
        least = problem.least_known
    history: list[Step] = []
    size, hopeful = plan.first, problem.fewest > 0
    while True:
        progress(selecting.size + judging.size, 2 * size)
        with timer.phase("sampling"):
            extend_both(selecting, judging, size, progress)
        choice = choose(selecting, problem, timer, bounds=hopeful, judge=judging)
        assert choice.hit is not None
        hit = choice.hit
        with timer.phase("bounds"):
            itself, bonus = problem.self_spread(choice.seeds), known.bonus(choice.seeds)
            lower = opim_lower(hit, size, gamma, plan.a, bonus, itself)
            # No bound on the best choice is below the seeds' own worth. If the seeds' own worth rules a certificate
            # out, so does the bound.
            doubtful = choice.worth_upper is None
            bound = choice.worth if choice.worth_upper is None else choice.worth_upper
            upper = opim_upper(bound, size, gamma, plan.a, least, family.mass)
        if doubtful and (problem.unique or lower >= plan.target * upper or size >= plan.cap):
            choice = choose(selecting, problem, timer, bounds=True)
            assert choice.worth_upper is not None
            doubtful = False
            upper = opim_upper(choice.worth_upper, size, gamma, plan.a, least, family.mass)
        history.append(Step("opim", size, choice.covered, float(lower), None if doubtful else float(upper)))
        ratio = Decimal(1) if problem.unique or lower >= upper else lower / upper
        if ratio >= plan.target or (size >= plan.cap and problem.sentinel is not None):
            return choice, hit, ratio, True, history
        if size >= plan.cap:
            return choice, hit, sure(problem, plan, choice, size), False, history
        with timer.phase("bounds"):
            size, hopeful = _next_size(plan, gamma, family.mass, size, choice.covered, hit, bonus, least, itself)


def sure(problem: Problem, plan: OpimPlan, choice: Choice, size: int) -> Decimal:
    """Return the share of the optimum that a choice from at least θ_max sets reaches, whatever its certificate says."""
    # The known worth of each vertex was rounded up by less than a unit.
    rounding = Decimal(problem.k_max) / choice.unit if problem.known.singleton is not None else Decimal(0)
    return max(Decimal(0), plan.target - rounding * problem.known.gamma / size / problem.family.least)


def _next_size(
    plan: OpimPlan,
    gamma: Decimal,
    mass: int,
    size: int,
    covered: int,
    hit: int,
    bonus: Decimal,
    least: Decimal,
    itself: int,
) -> tuple[int, bool]:
    """Return the least doubling that will probably suffice, and whether there is one before the cap.

    The bounds hold at all doublings at once, so skipping some is as sound as trying them. The prediction assumes that
    the seeds' shares of the two collections converge to their mean, and that their distance falls as the square root of
    the size.
    """
    middle, half_gap, factor = Decimal(covered + hit) / 2, Decimal(covered - hit) / 2, 1
    while factor * size < plan.cap:
        factor *= 2
        sets, whole, apart = factor * size, factor * middle, Decimal(factor).sqrt() * half_gap
        lower = opim_lower(int(whole - apart), sets, gamma, plan.a, bonus, itself)
        worth = bonus * sets / gamma + int(LOOSE * (whole + apart))
        if lower >= plan.target * opim_upper(worth, sets, gamma, plan.a, least, mass):
            return factor * size, True
    return 2 * size, False
