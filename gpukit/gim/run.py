"""Influence maximisation from a graph and parameters to seeds with a guarantee, on any device.

Sample ids, below 2**48, determine the random numbers of a set. Independent collections use disjoint ranges of ids:

=============  ====================================================================
first id       collection
=============  ====================================================================
0              R₁ of OPIM-C; the search phase of IMM, and its last phase if re-used
2**46          the last phase of IMM with ``samples="fresh"``
2**47          R₂ of OPIM-C
3 * 2**46      sets that judge the candidates for an answer, in parts 2**40 ids apart
above          the sets of :mod:`gpukit.gim.sentinel`
=============  ====================================================================
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal, localcontext
from typing import NamedTuple

import numpy as np

from gpukit.device.select import Device
from gpukit.device.timing import PhaseTimer
from gpukit.errors import UsageError
from gpukit.gim.imm import imm
from gpukit.gim.judge import standard_error
from gpukit.gim.known import Known
from gpukit.gim.opim import Progress, opim, without_sets
from gpukit.gim.problem import Greedy, Params, Problem, Result, Step, validate
from gpukit.gim.selection import Choice
from gpukit.gim.sentinel import ends_at, find
from gpukit.gim.twofold import Certified, draw_until_certified
from gpukit.graph.csr import Graph
from gpukit.worlds.bounds import CONTEXT
from gpukit.worlds.collection import Collection, Sampler
from gpukit.worlds.factory import make_collection
from gpukit.worlds.reverse import NEVER, Ending, prepare

FRESH_FIRST = 1 << 46
JUDGE_FIRST = 1 << 47


class Methods(NamedTuple):
    """Parts of a run that can be exchanged; :mod:`gpukit.papers.gim` has alternatives.

    Attributes
    ----------
    sampler : Sampler, optional
        Draws sets on a GPU instead of the samplers of ``worlds``.
    greedy : Greedy, optional
        Chooses from sets in host memory instead of the index, for ``selection="scan"``.
    imm : function
        IMM (:func:`gpukit.gim.imm.imm`).
    """

    sampler: Sampler | None = None
    greedy: Greedy | None = None
    imm: Callable[..., tuple[Choice, Collection, int, list[Step]]] = imm


DEFAULT = Methods()


def maximise(
    graph: Graph,
    params: Params,
    device: Device | None = None,
    *,
    tables: Mapping[str, np.ndarray] | None = None,
    methods: Methods = DEFAULT,
    timer: PhaseTimer | None = None,
    progress: Progress | None = None,
) -> Result:
    """Find seeds of large expected spread.

    Parameters
    ----------
    graph : Graph
        With its transpose and edge probabilities.
    params : Params
        Parameters of the run.
    device : Device, optional
        Device to run on; one CPU thread if not given. The result does not depend on it.
    tables : mapping of arrays, optional
        Sampling tables of the graph (:func:`gpukit.worlds.tables.build_tables`), if available.
    methods : Methods, optional
        Replacements for parts of the algorithm; the default parts lack ``selection="scan"`` and
        ``samples="original"``.
    timer : PhaseTimer, optional
        Charged with the phases ``transfer``, ``sampling``, ``selection`` and ``bounds``.
    progress : callable, optional
        Called with (sets drawn, sets wanted next) as sets are drawn.

    Returns
    -------
    Result

    Raises
    ------
    UsageError
        If a parameter is out of range for this graph, or requests a method that only ``gpukit.papers`` has.
    InputError
        If the graph has no edges, no transpose, no probabilities, or breaks the condition of LT.
    DeviceError
        If the work does not fit on the device.
    """
    problem = replace(validate(graph, params), greedy=methods.greedy)
    if params.selection == "scan" and methods.greedy is None:
        raise UsageError("selection 'scan' is the paper's; gpukit.papers.gim.maximise does it")
    if (params.bound, params.samples) == ("imm", "original") and methods.imm is imm:
        raise UsageError("samples 'original' are the paper's; gpukit.papers.gim.maximise does it")
    timer = timer or PhaseTimer()
    progress = progress or (lambda done, total: None)
    known = None if tables is None else dict(tables)
    roots = problem.weights
    reverse = prepare(
        graph, params.model, params.sampler, tables=known, rounds=params.rounds, root_weights=roots, kept=params.kept
    )
    problem = replace(problem, known=Known.of(reverse, roots))
    if known_enough := without_sets(problem):
        choice, ratio, history = known_enough
        return _result(problem, choice, 0, 0, 0, float(ratio), "certified", history)
    with timer.phase("transfer"):
        selecting = make_collection(reverse, params.seed, 0, device, sampler=methods.sampler)

    def another(first: int, ending: Ending = NEVER) -> Collection:
        return make_collection(
            reverse, params.seed, first, device, sampler=methods.sampler, share_graph_with=selecting, ending=ending
        )

    with localcontext(CONTEXT):
        ending = NEVER
        with timer.phase("sampling"):
            sentinel = find(problem, another)
        if sentinel is not None:
            problem, ending = replace(problem, sentinel=sentinel), ends_at(graph, [sentinel], sentinel)
            selecting = another(0, ending)
        if params.bound == "opim" and params.optimism is not None:
            found = draw_until_certified(problem, selecting, another(JUDGE_FIRST, ending), another, timer, progress)
            return _judged_result(problem, found)
        if params.bound == "opim":
            return _plain_result(problem, opim(problem, selecting, another(JUDGE_FIRST, ending), timer, progress))
        choice, last, drawn, history = methods.imm(problem, selecting, lambda: another(FRESH_FIRST), timer, progress)
        aim = problem.family.ratio - Decimal(repr(params.epsilon))
        sound = params.samples != "original"
        guarantee = (1.0 if problem.unique else max(0.0, float(aim))) if sound else None
        kind = "a priori" if sound else "none"
        covered, same_sets = choice.covered, not problem.unique
        return _result(problem, choice, covered, last.size, drawn, guarantee, kind, history, same_sets=same_sets)


def _plain_result(problem: Problem, found: tuple[Choice, int, Decimal, bool, list[Step]]) -> Result:
    """Return the result of :func:`gpukit.gim.opim.opim`."""
    choice, hit, ratio, certified, history = found
    size, kind = history[-1].sets, "certified" if certified else "a priori"
    return _result(problem, choice, hit, size, 2 * size, float(ratio), kind, history)


def _judged_result(problem: Problem, found: Certified) -> Result:
    """Return the result for a choice that was judged on fresh sets."""
    verdict = found.verdict
    result = _result(
        problem, found.choice, verdict.hits[verdict.best], verdict.sets, found.drawn, float(found.ratio),
        found.kind, found.history,
    )  # fmt: skip
    rules = {one.name: spread for one, spread in zip(found.candidates, verdict.spreads, strict=True)}
    chosen_by = found.candidates[verdict.best].name
    rules.pop("rr-sets")
    hits = {one.name: hit for one, hit in zip(found.candidates, verdict.hits, strict=True)}
    errors = {name: standard_error(problem.known.gamma, hits[name], verdict.sets) for name in rules}
    return replace(
        result, optimism=found.history[-1].optimism, converged=found.converged, chosen_by=chosen_by, rules=rules,
        rules_stderr=errors,
    )  # fmt: skip


def _result(
    problem: Problem,
    choice: Choice,
    hit: int,
    sets: int,
    drawn: int,
    guarantee: float | None,
    kind: str,
    history: list[Step],
    *,
    same_sets: bool = False,
) -> Result:
    """Return the result; ``hit`` of ``sets`` sets estimate the spread.

    These are fresh sets or, with ``same_sets``, those from which the seeds were chosen.
    """
    known, error = problem.known, None
    estimate = known.spread(choice.seeds, hit, sets) if drawn else history[-1].lower or 0.0
    if drawn and not same_sets:
        # A spread is at least the weight of the seeds, and at most the weight of all vertices.
        farthest = max(estimate - problem.self_spread(choice.seeds), problem.family.mass - estimate)
        error = min(standard_error(known.gamma, hit, sets), farthest / 2)
    n, rounds = problem.graph.n, problem.params.rounds
    return Result(
        seeds=(choice.seeds % n).astype(np.int32),
        rounds=(choice.seeds // n).astype(np.int32) if rounds > 1 else None,
        gains=choice.gains,
        spread_gains=known.gains(choice.seeds, choice.gains, choice.sets),
        spread_estimate=None if same_sets else estimate,
        stderr=error,
        selection_estimate=estimate if same_sets else None,
        rr_sets=drawn,
        guarantee=guarantee,
        guarantee_kind=kind,
        lower=history[-1].lower,
        upper=history[-1].upper,
        history=tuple(history),
    )
