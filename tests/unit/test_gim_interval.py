"""Two standard errors around an estimate hold the truth in 95 % of runs, also where few sets, none or all are hit."""

from functools import cache

import numpy as np
import pytest
from oracles.worlds import spread
from scipy.stats import binom

from gpukit.gim import Params, maximise
from gpukit.gim.judge import standard_error
from gpukit.gim.known import Known
from gpukit.gim.shards import select
from gpukit.graph.csr import Weights
from gpukit.worlds.collection import CpuCollection
from gpukit.worlds.reverse import prepare

LEVEL = 0.95
SEEDS = 150
OFF, ON = {"optimism": None, "epsilon": 0.3}, {"max_members": 100, "epsilon": 0.3}
WAYS = {
    "one seed": OFF | {"k": 1},
    "one seed, settled": ON | {"k": 1},
    "two seeds, settled": ON | {"k": 2},
    "a seed to include": OFF | {"k": 2, "include": [1]},
    "all seeds to include": OFF | {"k": 2, "include": [0, 1]},
    "all seeds to include, settled": ON | {"k": 2, "include": [0, 1]},
    "targets": OFF | {"k": 1, "root_weights": np.array([0, 3, 1, 0, 2])},
    "more sets": OFF | {"k": 2, "min_sets": 200},
}


@pytest.mark.parametrize("sets", [*range(1, 31), 60, 100, 300, 1000, 3000])
def test_any_share_of_any_number_of_sets(sets):
    """By enumeration, at the shares where an interval begins or ends: between them the level is no lower."""
    hits = np.arange(sets + 1)
    errors = np.array([standard_error(1, hit, sets) for hit in hits.tolist()])
    ends = np.concatenate([hits / sets - 2 * errors, hits / sets + 2 * errors])
    for beside in (ends - 1e-9, ends + 1e-9):
        for p in beside[(beside > 0) & (beside < 1)]:
            held = np.abs(hits / sets - p) <= 2 * errors
            assert binom.pmf(hits[held], sets, p).sum() >= LEVEL


def test_many_sets_keep_the_usual_error():
    for sets, share in ((100_000, 0.5), (1_000_000, 0.01)):
        usual = (share * (1 - share) / sets) ** 0.5
        assert usual < standard_error(1, round(share * sets), sets) < 1.0003 * usual


@pytest.fixture(scope="module", params=["wc", "const", "file"])
def tiny(request, make_graph):
    edges = [(0, 1), (1, 2), (2, 0), (3, 1), (3, 4)]
    if request.param == "file":
        return make_graph(5, [(u, v, p) for (u, v), p in zip(edges, (0.05, 0.5, 0.9, 0.5, 0.99), strict=True)])
    return make_graph(5, edges, Weights() if request.param == "wc" else Weights("const", 0.2))


@pytest.mark.parametrize("sets", ["kept", "plain"])
@pytest.mark.parametrize("way", WAYS)
def test_intervals_of_small_graphs(tiny, sets, way):
    """By exact spreads. A right program of level 95 % holds fewer with chance 1e-6."""
    weights = WAYS[way].get("root_weights")
    exact = cache(lambda seeds: float(spread(tiny, seeds, "ic", weights)))
    held = 0
    for seed in range(SEEDS):
        found = maximise(tiny, Params(seed=seed, sets=sets, **WAYS[way]))
        held += abs(found.spread_estimate - exact(tuple(sorted(found.seeds.tolist())))) <= 2 * found.stderr + 1e-9
    assert held >= binom.ppf(1e-6, SEEDS, LEVEL)


def test_none_or_all_sets_hit_are_not_certain(make_graph):
    """A star: few sets are all hit by its hub, none by a leaf."""
    graph = make_graph(40, [(0, v, 0.98) for v in range(1, 40)])
    for seed, everything in ((0, 40), (1, 0)):
        runs = [maximise(graph, Params(k=1, include=[seed], sets="plain", seed=number, **OFF)) for number in range(10)]
        certain = [found for found in runs if found.spread_estimate == everything]
        assert certain and all(found.stderr > 0 for found in certain)
    judge = CpuCollection(prepare(graph, "ic"), 3)
    judge.extend(5)
    known = Known.of(prepare(graph, "ic"), None)
    found = select(judge.export(), known, 40, 1, 1, judge=judge.export())
    assert found.spread_estimate == 40 and found.stderr > 0


@pytest.mark.parametrize("sets", ["kept", "plain"])
def test_what_is_certain_has_no_error(tiny, sets):
    found = maximise(tiny, Params(k=5, sets=sets, **OFF))
    assert (found.spread_estimate, found.stderr) == (5, 0)
