"""The default batch size: a fraction of the seeds that a campaign of one round is expected to need."""

from collections.abc import Mapping

import numpy as np

from gpukit.device.select import Device
from gpukit.graph.csr import Graph
from gpukit.merit.factory import make_cpu_sets
from gpukit.merit.problem import check
from gpukit.merit.residual import Residual
from gpukit.merit.sets import CpuSets
from gpukit.parameters.merit import USUAL_BATCH, Params
from gpukit.worlds.reverse import prepare

LOOKS = 8
"""Fewest rounds of a campaign that goes as expected. Its last round wastes half a batch on average, which is a
sixteenth of the seeds."""

FIRST, MOST_SETS, MOST_MEMBERS = 128, 1024, 1 << 24
"""Number of sets drawn first, and limits for the estimate: most sets, and roughly the most members in them."""


def expected_batch(
    graph: Graph, params: Params, device: Device | None = None, *, tables: Mapping[str, np.ndarray] | None = None
) -> int:
    """Return the default batch of a campaign, in [1, 16]: a function of graph, costs, η, model and seed.

    Greedy coverage per cost chooses seeds until they hit 1 - 1/e of the mRR sets; seeds that reach η vertices in every
    world would hit that fraction. The batch is an eighth of these seeds. So a single round seldom reaches much more
    than η. If each seed reaches few vertices, the batch is large, and a round needs few sets.

    Parameters
    ----------
    graph : Graph
        With its transpose.
    params : Params
        Their batch is ignored.
    device : Device, optional
        Its CPU threads draw the sets, even if it is a GPU; the batch does not depend on it.
    tables : mapping of arrays, optional
        Sampling tables of the graph, if available.
    """
    costs = check(graph, params)
    sets, size = drawn_sets(graph, params, params.eta, (MOST_SETS, MOST_MEMBERS), device, tables)
    limit = min(LOOKS * USUAL_BATCH, graph.n)
    covered = np.cumsum(sets.select(limit, costs.values, None).gains)
    needed = int(np.searchsorted(covered, size * (1 - np.exp(-1)))) + 1
    return max(1, min(needed, limit) // LOOKS)


def drawn_sets(
    graph: Graph,
    params: Params,
    eta: int,
    limits: tuple[int, int],
    device: Device | None,
    tables: Mapping[str, np.ndarray] | None,
) -> tuple[CpuSets, int]:
    """Return mRR sets of the first round of a campaign that has to activate η vertices, and the number of these sets.

    ``limits``: the most sets and, roughly, the most members in them.
    """
    reverse = prepare(graph, params.model, tables=None if tables is None else dict(tables))
    sets = make_cpu_sets(reverse, Residual(graph, eta, params.model), params, device)
    sets.extend(FIRST)
    offsets, _ = sets.export()
    size = max(FIRST, min(limits[0], limits[1] * FIRST // int(offsets[-1])))
    sets.extend(size)
    return sets, size
