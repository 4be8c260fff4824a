"""Seeds chosen once: worlds with the right edges, greedy by brute force, and an exact test that decides."""

import numpy as np
import pytest
from oracles.statistics import check_mean
from oracles.worlds import edges
from scipy.stats import beta

from gpukit.graph.csr import Weights
from gpukit.merit import Costs, Params, SimulatedWorld
from gpukit.papers.merit.nonadaptive import JUDGES, LiveGraphs, _choose, choose_once, passes
from gpukit.worlds.reverse import prepare


def listed(worlds, w):
    n = worlds.indptrs.shape[1] - 1
    base, starts = worlds.offsets[w], worlds.indptrs[w]
    return {(u, int(v)) for u in range(n) for v in worlds.heads[base + starts[u] : base + starts[u + 1]]}


@pytest.mark.parametrize(("model", "weights"), [("ic", Weights()), ("lt", Weights()), ("ic", Weights("const", 0.3))])
def test_edges_are_live_as_often_as_they_should(make_graph, model, weights):
    """Each fails a right program with chance below 1e-6."""
    graph = make_graph(7, [(u, 6) for u in range(6)] + [(6, 0), (0, 5), (6, 5)], weights)
    runs = 3000
    worlds = LiveGraphs.draw(prepare(graph, model), 3, 0, runs)
    found = [listed(worlds, w) for w in range(runs)]
    for u, v, p in edges(graph):
        check_mean(sum((u, v) in one for one in found) / runs, p, runs, 1.0)
    if model == "lt":
        assert all(len({v for _, v in one}) == len(one) for one in found)


def reach(live, seeds):
    seen, stack = set(seeds), list(seeds)
    while stack:
        u = stack.pop()
        for a, b in live:
            if a == u and b not in seen:
                seen.add(b)
                stack.append(b)
    return seen


def test_greedy_is_lazy_but_greedy(random_graph):
    graph = random_graph(25, 60, 3)
    reverse, costs, eta = prepare(graph, "ic"), Costs.degree(graph), 14
    seeds: list[int] = []
    _choose(LiveGraphs.draw(reverse, 1, 0, 12), costs, eta, 1, seeds)
    worlds = LiveGraphs.draw(reverse, 1, 0, 12)
    live = [listed(worlds, w) for w in range(12)]
    value = lambda chosen: sum(min(len(reach(one, chosen)), eta) for one in live)  # noqa: E731
    for place in range(len(seeds)):
        before = value(seeds[:place])
        ratios = [(value([*seeds[:place], v]) - before) / costs.values[v] for v in range(25)]
        assert ratios[seeds[place]] == max(ratios) and ratios.index(max(ratios)) == seeds[place]
    assert sum(len(reach(one, seeds)) < eta for one in live) <= 1
    assert sum(len(reach(one, seeds[:-1])) < eta for one in live) > 1


def test_worlds_are_put_together_as_they_were(random_graph):
    """Some of two collections, in which vertices were seeds already: the same edges, and what is reached."""
    reverse, eta = prepare(random_graph(25, 60, 3), "ic"), 20
    parts, chosen = [LiveGraphs.draw(reverse, 1, first, 5) for first in (0, 5)], ([0, 3], [1, 4])
    for part in parts:
        part.take(7)
    found = LiveGraphs.joined([part.only(np.array(some)) for part, some in zip(parts, chosen, strict=True)])
    places = [(part, w) for part, some in zip(parts, chosen, strict=True) for w in some]
    for place, (part, w) in enumerate(places):
        live = listed(part, w)
        assert listed(found, place) == live and found.counts[place] == len(reach(live, [7]))
    for v in range(25):
        gains = [min(len(reach(listed(part, w), [7, v])), eta) - min(part.counts[w], eta) for part, w in places]
        assert found.gain(v, eta) == sum(gains)


def test_the_exact_test_is_clopper_and_pearson():
    for reached in range(1960, JUDGES + 1):
        lower = beta.ppf(0.005, reached, JUDGES - reached + 1)
        if abs(lower - 0.99) > 1e-9:
            assert passes(reached, JUDGES, 1, 200) == (lower > 0.99)


@pytest.mark.parametrize("model", ["ic", "lt"])
def test_seeds_reach_the_target_in_hidden_worlds(random_graph, model):
    """At least 0.99 by the judgement; 400 hidden worlds must not contradict it (chance below 1e-6)."""
    graph = random_graph(200, 700, 5)
    chosen = choose_once(graph, Params(60, model=model, seed=2), graphs=100)
    assert chosen.reached >= 0.99 * chosen.judges and chosen.cost == Costs.degree(graph).of(chosen.seeds)
    hits = sum(len(SimulatedWorld(graph, model, 9, w).diffuse(chosen.seeds)) >= 60 for w in range(400))
    assert hits >= 400 * 0.99 - 17
