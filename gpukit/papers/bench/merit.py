"""Campaigns of MERIT and its competitors in the same hidden worlds, timed after a warm-up."""

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from statistics import mean
from typing import Any

import numpy as np

from gpukit.device.select import Device
from gpukit.device.timing import PhaseTimer, marker, synchroniser
from gpukit.graph.csr import Graph
from gpukit.merit import Params, Result, SimulatedWorld
from gpukit.merit.problem import check
from gpukit.papers.bench.machine import profiled
from gpukit.papers.merit.baselines import METHODS, configure
from gpukit.papers.merit.factory import Storage, sets_in, simulate

BYTES_PER_MEMBER = 16 + 32 + 8 + 8
"""Least memory traffic of a drawn member: its row, a sector of in-neighbours, a bit set and cleared, the member
stored."""


class TooLong(Exception):
    """A campaign took longer than it may."""


WARM_ETA = 50
"""Target of the campaign that loads compiled code on a CPU; on a GPU this is a complete campaign, in a separate
world."""


def measure(
    graph: Graph,
    params: Params,
    method: str,
    device: Device,
    *,
    tables: Mapping[str, np.ndarray] | None,
    worlds: int,
    groups: int | None,
    bandwidth: float,
    limit: float = math.inf,
) -> dict[str, Any]:
    """Run a campaign in each of the worlds 0 … worlds - 1; a profiler sees only these.

    Parameters
    ----------
    graph, params, device, tables
        As for :func:`gpukit.merit.simulate`; the method changes them (:data:`gpukit.papers.merit.baselines.METHODS`).
    groups : int or None
        β of sets in segments; None: sets are in hash tables, unless the method keeps them differently.
    method : str
        Name of a method.
    worlds : int
        Campaigns, at least 1.
    bandwidth : float
        Bytes per second that the device's memory moves.
    limit : float, optional
        Seconds. A campaign stops after the first round that ends later.

    Returns
    -------
    dict
        ``time_s``: mean, least, most and each of a campaign without the world's own time; ``phases_s``: means;
        ``phases_each_s``: of each campaign; ``cost``: mean and each; means of ``rounds``, ``sets`` (of the last
        trials), ``probes``, ``updating_probes``; ``members`` and ``memory``: most; ``floor_s``: the traffic of
        the probes at full bandwidth. ``stopped``: the number of campaigns that the limit stopped. If there are any,
        ``time_s`` is a lower bound, and there are no costs, means and most.
    """
    asked, where = configure(method, params, device)
    storage = METHODS[method].storage or ("tables" if groups is None else "segments")
    beta = groups or 1
    check(graph, asked)  # before the first campaign, which has another target
    run(graph, asked if where.kind == "cuda" else _smaller(asked), worlds, where, tables, storage, beta)
    spent, phases, results = [], [], []
    for number in range(worlds):
        with profiled(where):
            result, seconds = run(graph, asked, number, where, tables, storage, beta, limit)
        spent.append(seconds["total"] - seconds["diffuse"] - seconds["transfer"])
        phases.append(seconds)
        results += [] if result is None else [result]
    found = {
        "method": method,
        "device": where.record(),
        "params": {"eta": asked.eta, "batch": asked.batch, "model": asked.model, "epsilon": asked.epsilon}
        | {"update": asked.update, "ids": asked.ids, "certificate": asked.certificate, "seed": asked.seed},
        "groups": beta,
        "worlds": worlds,
        "time_s": {"mean": mean(spent), "min": min(spent), "max": max(spent), "each": spent},
        "phases_s": {name: mean(one.get(name, 0.0) for one in phases) for name in phases[0]},
        "phases_each_s": phases,
        "stopped": worlds - len(results),
    }
    if found["stopped"]:
        return found
    probes = mean(one.probes for one in results)
    return found | {
        "cost": {"mean": mean(one.amount for one in results), "each": [one.amount for one in results]},
        "rounds": mean(len(one.rounds) for one in results),
        "sets": mean(sum(turn.sets for turn in one.rounds) for one in results),
        "probes": probes,
        "updating_probes": mean(one.updating_probes for one in results),
        "members": max(one.members for one in results),
        "memory": max(one.memory for one in results),
        "floor_s": probes * BYTES_PER_MEMBER / bandwidth,
    }


def run(
    graph: Graph,
    params: Params,
    number: int,
    device: Device,
    tables: Mapping[str, np.ndarray] | None,
    storage: Storage,
    groups: int,
    limit: float = math.inf,
) -> tuple[Result | None, dict[str, float]]:
    """Return a campaign in one world, None if it took longer than the limit, and its seconds by phase."""
    timer = PhaseTimer(synchroniser(device), marker(device))
    with timer.phase("diffuse"):
        world = SimulatedWorld(graph, params.model, params.seed, number)
    sampler = "scan" if storage == "global" else "skip"
    used = tables if params.model == "ic" and sampler == "skip" else None
    start = time.perf_counter()

    def stop(active: int, eta: int) -> None:
        if active < eta and time.perf_counter() - start > limit:
            raise TooLong

    make_sets = sets_in(storage, groups)
    try:
        result = simulate(
            graph, params, world, device, sampler=sampler, tables=used, timer=timer, make_sets=make_sets, progress=stop
        )
    except TooLong:
        return None, timer.seconds()
    return result, timer.seconds()


def _smaller(params: Params) -> Params:
    return replace(params, eta=min(params.eta, max(params.size + 1, WARM_ETA)))
