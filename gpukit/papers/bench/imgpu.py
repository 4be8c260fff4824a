"""Greedy choice over Monte-Carlo worlds, timed repeatedly after a warm-up, and MixGreedy in the same run."""

from functools import partial
from statistics import median
from typing import Any

import numpy as np

from gpukit.device.select import Device
from gpukit.evaluate import forward_spread
from gpukit.graph.csr import Graph
from gpukit.imgpu import Params, maximise
from gpukit.papers.bench.machine import timed, timed_phases
from gpukit.papers.imgpu.baselines import mix_greedy
from gpukit.papers.imgpu.levels import make_worlds
from gpukit.worlds.blocks import prepare_blocks

BYTES_PER_ARC = 64
"""Least memory traffic of a live arc: a 32-byte sector of tails and one of heads."""

SWITCHES: dict[str, dict[str, Any]] = {
    "none": {"unroll": 1},
    "K": {"unroll": 1, "combine": True},
    "R": {"unroll": 1, "reorder": True},
    "U": {"unroll": 16},
    "KRU": {"unroll": 16, "combine": True, "reorder": True},
}
"""The paper's optimisations, singly and together (its Fig. 10)."""

JUDGE_RUNS = 20_000


def measure(graph: Graph, params: Params, device: Device, *, repeat: int, bandwidth: float) -> dict[str, Any]:
    """Run one configuration ``repeat`` times after a warm-up.

    Parameters
    ----------
    graph, params, device
        As for :func:`gpukit.imgpu.maximise`.
    repeat : int
        Timed runs, at least 1.
    bandwidth : float
        Bytes per second that the device's memory moves (:func:`gpukit.papers.bench.machine.copy_bandwidth`).

    Returns
    -------
    dict
        ``algorithm_ms``: worlds and selection, with the graph on the device: ``median``, ``min``, ``max``;
        ``phases_ms``: the median of each phase, including the estimate; ``floor_ms``: the least time to read the live
        arcs of all worlds; ``spread`` and ``stderr`` of the seeds by forward simulation; ``seeds``.
    """
    record, result = timed_phases(
        lambda timer: maximise(graph, params, device, timer=timer), device, repeat, ("worlds", "selection")
    )
    judged = forward_spread(graph, result.seeds, runs=JUDGE_RUNS, seed=params.seed, device=device)
    passes = params.k if params.fresh or result.streamed else 1
    return {
        "params": {"k": params.k, "worlds": result.worlds, "fresh": params.fresh, "seed": params.seed},
        **record,
        "floor_ms": passes * result.worlds * prepare_blocks(graph).mean_live * BYTES_PER_ARC / bandwidth * 1e3,
        "evaluations": result.evaluations,
        "streamed": result.streamed,
        "spread_estimate": result.spread_estimate,
        "spread": judged.spread,
        "stderr": judged.stderr,
        "seeds": result.seeds.tolist(),
    }


def switches(graph: Graph, worlds: int, device: Device, *, repeat: int, seed: int) -> dict[str, float]:
    """Return the milliseconds to sum the reach of every vertex over worlds, with each optimisation."""
    ready = prepare_blocks(graph, pairs=False)
    found, sums = {}, []
    for name, options in SWITCHES.items():
        counter = make_worlds(ready, seed, device, **options)
        sums.append(counter.gains(0, worlds, []))
        found[name] = 1e3 * median(timed(partial(counter.gains, 0, worlds, []))[0] for _ in range(repeat))
    assert all(np.array_equal(sums[0], other) for other in sums)
    return found


def measure_mix_greedy(graph: Graph, k: int, runs: int, seed: int) -> dict[str, Any]:
    """Time MixGreedy on one CPU thread (one draw per arc), once after a warm-up, and evaluate its seeds."""
    mix_greedy(graph, 1, 2, seed)
    spent, seeds = timed(lambda: mix_greedy(graph, k, runs, seed))
    judged = forward_spread(graph, seeds, runs=JUDGE_RUNS, seed=seed)
    return {"algorithm_ms": spent * 1e3, "spread": judged.spread, "stderr": judged.stderr, "seeds": seeds.tolist()}
