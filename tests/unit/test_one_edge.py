"""A graph of one edge: the arrays with an entry for each edge have one entry, and every system counts that entry."""

from collections import Counter

import numpy as np
import pytest
from oracles.mrr import mrr_distribution
from oracles.statistics import check_cells, check_mean
from oracles.worlds import mask_of, rr_distribution, spread

from gpukit.evaluate import forward_spread
from gpukit.gim import Params, maximise
from gpukit.graph.csr import Weights
from gpukit.imgpu.worlds_cpu import CpuWorlds
from gpukit.merit.residual import Residual
from gpukit.merit.sets import CpuSets
from gpukit.papers.gim import skim
from gpukit.papers.merit.nonadaptive import LiveGraphs
from gpukit.worlds.blocks import prepare_blocks
from gpukit.worlds.collection import CpuCollection
from gpukit.worlds.reverse import prepare

RUNS = 20_000
SCHEMES = {
    **{f"file {p}": p for p in (0.9, 0.5, 0.1, 0.01)},
    "uniform": Weights("uniform", low=0.5, high=0.5, seed=1),
    "trivalency": Weights("trivalency", seed=2),
    "const": Weights("const", 0.3),
    "wc": Weights(),
}


@pytest.fixture(scope="module", params=SCHEMES)
def graph(request, make_graph):
    """Return the edge 1 → 0 between four vertices, so that rows without an edge come before and after it."""
    scheme = SCHEMES[request.param]
    return make_graph(4, [(1, 0, scheme)]) if isinstance(scheme, float) else make_graph(4, [(1, 0)], scheme)


def masks(collection):
    offsets, members = collection.export()
    return Counter(mask_of(members[low:end]) for low, end in zip(offsets, offsets[1:], strict=False))


@pytest.mark.parametrize("model", ["ic", "lt"])
@pytest.mark.parametrize("sampler", ["skip", "scan"])
def test_plain_sets(graph, model, sampler):
    collection = CpuCollection(prepare(graph, model, sampler), 3)
    collection.extend(RUNS)
    check_cells(masks(collection), rr_distribution(graph, model))


@pytest.mark.parametrize("model", ["ic", "lt"])
def test_kept_sets(graph, model):
    """The only set that is not trivial is that of vertex 0 with the edge live."""
    reverse = prepare(graph, model, kept=True)
    collection = CpuCollection(reverse, 3)
    collection.extend_over(RUNS)
    assert masks(collection).keys() <= {0b11}
    share = float(spread(graph, [1], model) - 1) / 4
    assert reverse.sets_of(4 * RUNS) == pytest.approx(4 * RUNS * share, abs=1)
    check_mean(collection.size / RUNS, share, RUNS, 1)


@pytest.mark.parametrize("model", ["ic", "lt"])
@pytest.mark.parametrize("sets", ["kept", "plain"])
@pytest.mark.parametrize("optimism", [0.01, None])
def test_seeds_estimate_and_bounds(graph, model, sets, optimism):
    found = maximise(graph, Params(k=1, model=model, sets=sets, optimism=optimism, min_sets=RUNS, seed=5))
    best = float(spread(graph, [1], model))
    assert found.seeds.tolist() == [1] and found.lower <= best <= found.upper
    assert found.guarantee <= 1
    check_mean(found.spread_estimate, best, RUNS // 4, 4)


def test_an_isolated_vertex_is_worth_itself(make_graph):
    """It must be a seed and counts for little; the edge is between heavy targets."""
    weights = np.array([1, 10_000, 10_000])
    found = maximise(make_graph(3, [(1, 2, 0.9)]), Params(k=1, include=[0], root_weights=weights, seed=1))
    assert found.lower == found.spread_estimate == 1 <= found.upper


def test_worlds_of_imgpu(graph):
    worlds = CpuWorlds(prepare_blocks(graph), 11)
    for v, total in enumerate(worlds.gains(0, RUNS, [])):
        check_mean(total / RUNS, spread(graph, [v], "ic"), RUNS, 1)


@pytest.mark.parametrize("model", ["ic", "lt"])
def test_simulation(graph, model):
    check_mean(forward_spread(graph, [1], model=model, runs=RUNS).spread, spread(graph, [1], model), RUNS, 1)


@pytest.mark.parametrize("model", ["ic", "lt"])
@pytest.mark.parametrize("dead", [[], [3], [0]])
def test_sets_of_campaigns(graph, model, dead):
    residual = Residual(graph, 2 + len(dead), model)
    sets = CpuSets(prepare(graph, model), residual, 7)
    if dead:
        chosen = np.array(dead, np.int32)
        sets.kill(chosen, residual.kill(chosen))
    sets.update(RUNS)
    sets.extend(RUNS)
    check_cells(masks(sets), mrr_distribution(graph, model, 2, set(dead)))


def test_live_graphs_of_the_papers(graph):
    """The instances of SKIM, and the worlds of the non-adaptive baseline: the edge is there as often as it is live."""
    p, runs = float(spread(graph, [1], "ic") - 1), 2000
    drawn = skim.draw_instances(graph, 3, runs), LiveGraphs.draw(prepare(graph, "ic"), 3, 0, runs)
    for one in drawn:
        check_mean(len(one.heads) / runs, p, runs, 1)
        assert set(one.heads.tolist()) <= {0}
