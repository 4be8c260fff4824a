"""A list of seeds that is fixed in advance, for comparison with campaigns."""

from collections.abc import Mapping

import numpy as np

from gpukit.device.select import Device
from gpukit.graph.csr import Graph
from gpukit.merit.batch import drawn_sets
from gpukit.merit.problem import Params, check
from gpukit.merit.world import World

MOST_SETS, MOST_MEMBERS = 1 << 16, 1 << 22
"""Most sets that the list is chosen from, and roughly the most members in them."""


def fixed_list(
    graph: Graph, params: Params, device: Device | None = None, *, tables: Mapping[str, np.ndarray] | None = None
) -> np.ndarray:
    """Return all vertices in the order in which a fixed list buys them: a function of graph, costs, model, seed and η.

    The first vertices, at most η, are chosen by greedy coverage per cost. The sets are plain RR sets: they are the mRR
    sets of a campaign that has to activate all vertices. The other vertices follow by rising cost.

    Parameters
    ----------
    graph, params, device, tables
        As for :func:`gpukit.merit.batch.expected_batch`.

    Returns
    -------
    int64 array, shape (n,)
    """
    costs = check(graph, params).values
    sets, _ = drawn_sets(graph, params, graph.n, (MOST_SETS, MOST_MEMBERS), device, tables)
    first = sets.select(min(params.eta, graph.n), costs, None).seeds
    return np.concatenate([first, np.setdiff1d(np.argsort(costs, kind="stable"), first, assume_unique=True)])


def cost_in(world: World, order: np.ndarray, costs: np.ndarray, eta: int) -> int:
    """Return the cost of buying a list in a new world until η vertices are active; active vertices are not bought."""
    active, cost, reached = np.zeros(len(order), np.bool_), 0, 0
    for v in order:
        if reached >= eta:
            break
        if not active[v]:
            found = world.diffuse(np.array([v], np.int32))
            active[found] = True
            cost, reached = cost + int(costs[v]), reached + len(found)
    return cost
