"""OPIM-C that continues until its choice is stable: two halves choose, and each estimates the other's choice.

A certificate bounds the loss against the optimum, and is weak if probabilities are small. With few sets, greedy
selection fits noise. The amount of such fit, the *optimism*, is measured on the other half. docs/gim.md states the
guarantee and its proof.
"""

from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from gpukit.device.timing import PhaseTimer
from gpukit.gim.bounds import OpimPlan, opim_lower, opim_upper, twofold_plan
from gpukit.gim.judge import Candidate, Verdict, judge
from gpukit.gim.opim import Progress, extend_both, sure
from gpukit.gim.problem import Problem, Step
from gpukit.gim.selection import Choice, choose
from gpukit.gim.sentinel import Another, exchange, gains, has_rivals
from gpukit.worlds.collection import Collection

START, START_EARLY = 1024, 512
"""Sets of each half at the first size: normally, and if sets end at a sentinel. Very large sets begin with fewer."""

PILOT = 16
"""The plan begins at START / PILOT sets, from which the size of sets is estimated."""

FEW = 10
"""With at most this many seeds, optimism must be small at two sizes in a row: a single seed has a large weight."""


class Certified(NamedTuple):
    """Seeds on which the halves agree, with their estimates and bounds.

    Attributes
    ----------
    choice : Choice
        The seeds, and their coverage where they were chosen; for a rule's seeds, in the sets that judge.
    candidates : list of Candidate
        The choices of the two collections, if they differ, and those of simple rules.
    verdict : Verdict
        The estimated spread of the candidates, and the best of them.
    drawn : int
        Number of sets drawn for selection and for judging.
    ratio : Decimal
        The share of the optimum that the seeds reach.
    kind : str
        ``certified`` or ``a priori``.
    converged : bool
        Whether the optimism is as small as requested; otherwise the limit on members was reached.
    history : list of Step
    """

    choice: Choice
    candidates: list[Candidate]
    verdict: Verdict
    drawn: int
    ratio: Decimal
    kind: str
    converged: bool
    history: list[Step]


class Halves(NamedTuple):
    """R₁ and R₂, and the choice from each, with the sets it hits in the other."""

    sets: tuple[Collection, Collection]
    choices: tuple[Choice, Choice]

    @property
    def size(self) -> int:
        """Number of sets of each half."""
        return self.sets[0].size


def draw_until_certified(
    problem: Problem, first: Collection, second: Collection, another: Another, timer: PhaseTimer, progress: Progress
) -> Certified:
    """Double two collections until the certificate holds and the optimism is small, then judge the candidates.

    Parameters
    ----------
    problem : Problem
        Its parameters must limit the optimism.
    first, second : Collection
        R₁ and R₂, empty, with disjoint sample ids.
    another : callable
        Returns an empty collection that begins at a sample id; it is used for judging sets.
    timer : PhaseTimer
        Charged with ``sampling``, ``selection``, ``bounds`` and ``judging``.
    progress : callable
        Called with (sets drawn, sets wanted next).
    """
    params, known = problem.params, problem.known
    assert params.optimism is not None
    with timer.phase("bounds"):
        least_sets = START if problem.sentinel is None else START_EARLY
        start = max(least_sets, -(-params.fewest // 2))
        plan = twofold_plan(problem.family, params.epsilon, -(-start // PILOT), params.max_members // 2)
        least = problem.least_known
    size = _first_size(problem, plan, first, second, timer)
    history: list[Step] = []
    in_row = 0
    while True:
        progress(2 * first.size if history else 0, 2 * size)
        with timer.phase("sampling"):
            extend_both(first, second, size, progress)
        halves = Halves(
            (first, second),
            (choose(first, problem, timer, bounds=False, judge=second),
             choose(second, problem, timer, bounds=False, judge=first)),
        )  # fmt: skip
        with timer.phase("bounds"):
            optimism, error = _optimism(problem, halves)
            in_row = in_row + 1 if optimism + error <= params.optimism else 0
            converged = problem.unique or in_row > (problem.k_max <= FEW)
            spent = _is_spent(problem, first, second) or 2 * size > plan.largest
            lower = [_lower(problem, plan, halves, i) for i in (0, 1)]
        upper = None
        if converged or spent:
            # No bound on the best choice is below the worth of a choice. If even that worth rules out a certificate,
            # the bound does, too.
            guess = opim_upper(halves.choices[0].worth, size, known.gamma, plan.a, least, problem.family.mass)
            if spent or size >= plan.cap or min(lower) >= plan.target * guess:
                again = choose(first, problem, timer, bounds=True)
                assert again.worth_upper is not None
                upper = opim_upper(again.worth_upper, size, known.gamma, plan.a, least, problem.family.mass)
        shown = None if upper is None else float(upper)
        covered = halves.choices[0].covered
        history.append(Step("opim", size, covered, float(lower[0]), shown, float(optimism + error)))
        if upper is not None and (spent or problem.unique or size >= plan.cap or min(lower) >= plan.target * upper):
            return _answer(problem, plan, halves, lower, upper, another, timer, converged, history)
        size *= 2


def _first_size(problem: Problem, plan: OpimPlan, first: Collection, second: Collection, timer: PhaseTimer) -> int:
    """Return the largest planned size, up to PILOT times the first, that the limit on members allows."""
    size = plan.first
    with timer.phase("sampling"):
        first.extend(size)
        second.extend(size)
        while size < PILOT * plan.first and not _is_spent(problem, first, second):
            size *= 2
            first.extend(size)
            second.extend(size)
    return size


def _is_spent(problem: Problem, first: Collection, second: Collection) -> bool:
    """Return whether twice as many sets would have more members than allowed."""
    return 2 * (first.members() + second.members()) > problem.params.max_members


def _optimism(problem: Problem, halves: Halves) -> tuple[Decimal, Decimal]:
    """Return the two-fold optimism o of the choices, as a share of their worth, and its standard deviation.

    A half values its own seeds above those of the other half. Without noise, the difference would be no larger than
    that of the other half in the opposite direction. Halves that agree may have fitted the same noise. So the deviation
    is never less than that of choices that differ in an average seed.
    """
    known, size = problem.known, halves.size
    union = list(dict.fromkeys(np.concatenate([one.seeds for one in halves.choices]).tolist()))
    union_hits = [int(one.coverage(np.array(union, np.int64))[-1]) for one in halves.sets]
    gaps, cross, apart = Decimal(0), Decimal(0), 0
    for i in (0, 1):
        mine, other = halves.choices[i], halves.choices[1 - i]
        assert other.hit is not None
        bonus, others = known.bonus(mine.seeds), known.bonus(other.seeds)
        gaps += max(Decimal(0), bonus - others + known.gamma * (mine.covered - other.hit) / size)
        cross += others + known.gamma * other.hit / size
        hits = mine.covered + other.hit
        a_seed = 0 if problem.unique else hits // max(1, len(mine.seeds))  # a budget may buy nothing
        apart += max(2 * union_hits[i] - hits, a_seed)
    if cross == 0:
        return Decimal(0), Decimal(0)
    return gaps / cross, 2 * known.gamma * (Decimal(apart) / (4 * size * size)).sqrt() / cross


def _lower(problem: Problem, plan: OpimPlan, halves: Halves, i: int) -> Decimal:
    """Return a lower bound on the spread of the choice of a half, from the sets of the other half."""
    choice = halves.choices[i]
    assert choice.hit is not None
    bonus, itself = problem.known.bonus(choice.seeds), problem.self_spread(choice.seeds)
    return opim_lower(choice.hit, halves.size, problem.known.gamma, plan.a, bonus, itself)


def _answer(
    problem: Problem,
    plan: OpimPlan,
    halves: Halves,
    lower: list[Decimal],
    upper: Decimal,
    another: Another,
    timer: PhaseTimer,
    converged: bool,
    history: list[Step],
) -> Certified:
    """Judge the two choices and the simple rules on fresh sets, and return the best with its guarantee."""
    from gpukit.gim.baselines import simple_rules

    choices = list(halves.choices)
    if problem.unique or set(choices[0].seeds.tolist()) == set(choices[1].seeds.tolist()):
        choices.pop()
    candidates = [Candidate("rr-sets", one.seeds) for one in choices]
    if problem.sentinel is not None:
        with timer.phase("judging"):
            asked = [one.seeds for one in choices if has_rivals(problem, one)]
            swapped = [exchange(problem, seeds, another, halves.size) for seeds in asked]
        candidates += [Candidate("rr-sets", seeds) for seeds in swapped if seeds is not None]
    if not problem.unique:
        with timer.phase("selection"):
            candidates += [Candidate(name, seeds) for name, seeds in simple_rules(problem)]
    with timer.phase("judging"):
        verdict = judge(problem, candidates, another, halves.size)
    seeds, best = candidates[verdict.best].seeds, verdict.best
    with timer.phase("bounds"):
        bonus, itself = problem.known.bonus(seeds), problem.self_spread(seeds)
        proved = opim_lower(verdict.hits[best], verdict.sets, problem.known.gamma, plan.a, bonus, itself)
        chosen = best < len(choices)
        if chosen:
            proved = max(proved, lower[best])
        ratio = Decimal(1) if problem.unique or proved >= upper else proved / upper
        history[-1] = replace(history[-1], lower=float(proved))
    kind = "certified"
    if ratio < plan.target and halves.size >= plan.cap and chosen and problem.sentinel is None:
        ratio, kind = sure(problem, plan, choices[best], halves.size), "a priori"
    newly, sets = (choices[best].gains, halves.size) if chosen else (verdict.gains, verdict.sets)
    if newly is None:
        with timer.phase("judging"):
            newly, sets = gains(problem, seeds, another, halves.size), halves.size
    choice = Choice(seeds, newly, Decimal(0), None, sets=sets)
    drawn = 2 * halves.size + verdict.sets
    return Certified(choice, candidates, verdict, drawn, ratio, kind, converged, history)
