"""Influence maximisation, timed repeatedly after a warm-up, with the least time of the sampling."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpukit.device.select import Device
from gpukit.device.timing import PhaseTimer
from gpukit.gim.problem import Params, Result
from gpukit.graph.csr import Graph
from gpukit.papers.bench.machine import timed_phases
from gpukit.papers.gim import maximise

BYTES_PER_MEMBER = 16 + 32 + 64 + 8
"""Least memory traffic of a member: its row, a sector of in-neighbours, a table slot read and written, the member
stored."""


def measure(
    graph: Graph,
    params: Params,
    device: Device,
    *,
    tables: Mapping[str, np.ndarray] | None,
    repeat: int,
    bandwidth: float,
) -> dict[str, Any]:
    """Run one configuration ``repeat`` times after a warm-up.

    Parameters
    ----------
    graph, params, device, tables
        As for :func:`gpukit.gim.run.maximise`.
    repeat : int
        Timed runs, at least 1.
    bandwidth : float
        Bytes per second that the device's memory moves (:func:`gpukit.papers.bench.machine.copy_bandwidth`).

    Returns
    -------
    dict
        ``algorithm_ms``: sampling, selection, bounds and judging, with the graph on the device: ``median``, ``min``,
        ``max``; ``phases_ms``: the median of each phase; ``cold_ms``: the first run, including the loading of kernels,
        and their compilation if they were not cached; ``rr_sets``, ``spread_estimate``, ``selection_estimate``,
        ``guarantee``, ``seeds``; ``floor_ms`` and ``floor_share`` of the sampling.
    """

    def run(timer: PhaseTimer) -> Result:
        return maximise(graph, params, device, tables=tables, timer=timer)

    phases = ("sampling", "selection", "bounds", "judging")
    record, result = timed_phases(run, device, repeat, phases, with_memory=True)
    floor = result.rr_sets * mean_members(graph, params, device, tables) * BYTES_PER_MEMBER / bandwidth * 1e3
    return {
        "params": {"k": params.k, "epsilon": params.epsilon, "model": params.model, "bound": params.bound}
        | {
            "samples": params.samples,
            "sampler": params.sampler,
            "min_sets": params.fewest,
            "optimism": params.optimism,
            "seed": params.seed,
        },
        **record,
        "rr_sets": result.rr_sets,
        "spread_estimate": result.spread_estimate,
        "selection_estimate": result.selection_estimate,
        "guarantee": result.guarantee,
        "seeds": result.seeds[:10].tolist(),
        "floor_ms": floor,
        "floor_share": floor / record["phases_ms"]["sampling"],
    }


def mean_members(graph: Graph, params: Params, device: Device, tables: Mapping[str, np.ndarray] | None) -> float:
    """Return the mean size of the first 32,768 RR sets."""
    from gpukit.worlds.factory import make_collection
    from gpukit.worlds.reverse import prepare

    reverse = prepare(graph, params.model, params.sampler, tables=None if tables is None else dict(tables))
    collection = make_collection(reverse, params.seed, 0, device)
    collection.extend(1 << 15)
    return collection.members() / (1 << 15)
