"""Influence maximisation from a graph and parameters to seeds with a guarantee, on any device.

Sample ids, below 2**48, say which random numbers a set is made of; collections that must be independent lie apart:

=============  ====================================================================
first id       collection
=============  ====================================================================
0              R₁ of OPIM-C; the search phase of IMM, and its last phase if re-used
2**46          the last phase of IMM with ``samples="fresh"``
2**47          R₂ of OPIM-C
=============  ====================================================================
"""

from collections.abc import Mapping
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING

import numpy as np

from gpukit.device.select import Device
from gpukit.device.timing import PhaseTimer
from gpukit.gim.imm import imm
from gpukit.gim.opim import Progress, opim
from gpukit.gim.problem import Params, Problem, Result, Step, validate
from gpukit.gim.selection import Choice
from gpukit.graph.csr import Graph
from gpukit.worlds.bounds import CONTEXT
from gpukit.worlds.collection import Collection
from gpukit.worlds.factory import make_collection
from gpukit.worlds.reverse import prepare

if TYPE_CHECKING:
    from gpukit.worlds.collection_cuda import Shape

FRESH_FIRST = 1 << 46
JUDGE_FIRST = 1 << 47


def maximise(
    graph: Graph,
    params: Params,
    device: Device | None = None,
    *,
    tables: Mapping[str, np.ndarray] | None = None,
    shape: "Shape | None" = None,
    timer: PhaseTimer | None = None,
    progress: Progress | None = None,
) -> Result:
    """Find seeds of large expected spread.

    Parameters
    ----------
    graph : Graph
        With its transpose and edge probabilities.
    params : Params
        What is asked for.
    device : Device, optional
        Where to run; one CPU thread if not given. The result does not depend on it.
    tables : mapping of arrays, optional
        Sampling tables of the graph (:func:`gpukit.worlds.tables.build_tables`), if at hand.
    shape : Shape, optional
        Launch shape of the scan sampler on a GPU.
    timer : PhaseTimer, optional
        Charged with the phases ``transfer``, ``sampling``, ``selection`` and ``bounds``.
    progress : callable, optional
        Told (sets drawn, sets wanted next) before each size.

    Returns
    -------
    Result

    Raises
    ------
    UsageError
        If a parameter is out of range for this graph.
    InputError
        If the graph has no edges, no transpose, no probabilities, or breaks the condition of LT.
    DeviceError
        If the work does not fit on the device.
    """
    problem = validate(graph, params)
    timer = timer or PhaseTimer()
    progress = progress or (lambda done, total: None)
    reverse = prepare(
        graph,
        params.model,
        params.sampler,
        tables=None if tables is None else dict(tables),
        rounds=params.rounds,
        root_weights=problem.weights,
    )
    with timer.phase("transfer"):
        first = make_collection(reverse, params.seed, 0, device, shape=shape)

    def another(first_id: int) -> Collection:
        return make_collection(reverse, params.seed, first_id, device, shape=shape, share_graph_with=first)

    with localcontext(CONTEXT):
        if params.bound == "opim":
            choice, hit, ratio, certified, history = opim(problem, first, another(JUDGE_FIRST), timer, progress)
            size = history[-1].sets
            kind = "certified" if certified else "a priori"
            return _result(problem, choice, hit, size, 2 * size, float(ratio), kind, history)
        choice, last, drawn, history = imm(problem, first, lambda: another(FRESH_FIRST), timer, progress)
        aim = problem.family.ratio - Decimal(repr(params.epsilon))
        sound = params.samples != "original"
        guarantee = (1.0 if problem.unique else max(0.0, float(aim))) if sound else None
        kind = "a priori" if sound else "none"
        covered, own = choice.covered, not problem.unique
        return _result(problem, choice, covered, last.size, drawn, guarantee, kind, history, own=own)


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
    own: bool = False,
) -> Result:
    """Return the result; ``hit`` of ``sets`` are other sets than the seeds were chosen from, or their ``own``."""
    estimate = problem.family.mass * hit / sets
    n, rounds = problem.graph.n, problem.params.rounds
    return Result(
        seeds=(choice.seeds % n).astype(np.int32),
        rounds=(choice.seeds // n).astype(np.int32) if rounds > 1 else None,
        gains=choice.gains,
        spread_estimate=None if own else estimate,
        selection_estimate=estimate if own else None,
        rr_sets=drawn,
        guarantee=guarantee,
        guarantee_kind=kind,
        lower=history[-1].lower,
        upper=history[-1].upper,
        history=tuple(history),
    )
