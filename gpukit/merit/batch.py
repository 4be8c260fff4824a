"""The default batch: a share of the seeds that one round would need, by what they are expected to reach."""

from collections.abc import Mapping

import numpy as np

from gpukit.device.select import Device
from gpukit.graph.csr import Graph
from gpukit.merit.factory import make_cpu_sets
from gpukit.merit.problem import check
from gpukit.merit.residual import Residual
from gpukit.parameters.merit import USUAL_BATCH, Params
from gpukit.worlds.reverse import prepare

LOOKS = 8
"""Rounds that a campaign has at least, where each goes as expected. Half a batch, a sixteenth of the seeds, is what a
last round buys in vain."""

FIRST, MOST_SETS, MOST_MEMBERS = 128, 1024, 1 << 24
"""Sets that are drawn first, and the most sets and members of the estimate."""


def expected_batch(
    graph: Graph, params: Params, device: Device | None = None, *, tables: Mapping[str, np.ndarray] | None = None
) -> int:
    """Return the batch for a campaign that names none, in [1, 16]: a function of graph, costs, η, model and seed.

    Greedy by coverage per cost chooses seeds from mRR sets, until these hit 1 - 1/e of the sets: what seeds that reach
    η vertices in every world would hit. The batch is an eighth of these seeds. So a single round seldom reaches much
    more than η, and where seeds reach little each, batches stay large and sets few.

    Parameters
    ----------
    graph : Graph
        With its transpose.
    params : Params
        Their batch does not count.
    device : Device, optional
        Its CPU threads draw the sets, on a GPU too; the batch does not depend on it.
    tables : mapping of arrays, optional
        Sampling tables of the graph, if at hand.
    """
    costs = check(graph, params)
    reverse = prepare(graph, params.model, tables=None if tables is None else dict(tables))
    sets = make_cpu_sets(reverse, Residual(graph, params.eta, params.model), params, device)
    sets.extend(FIRST)
    offsets, _ = sets.export()
    size = max(FIRST, min(MOST_SETS, MOST_MEMBERS * FIRST // int(offsets[-1])))
    sets.extend(size)
    limit = min(LOOKS * USUAL_BATCH, graph.n)
    covered = np.cumsum(sets.select(limit, costs.values, None).gains)
    needed = int(np.searchsorted(covered, size * (1 - np.exp(-1)))) + 1
    return max(1, min(needed, limit) // LOOKS)
