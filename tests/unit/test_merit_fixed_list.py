"""The list that campaigns are compared with, checked against a list made in another way."""

from dataclasses import replace

import numpy as np
import pytest

from gpukit.device.select import Device
from gpukit.merit import Costs, Params, SimulatedWorld
from gpukit.merit.fixed_list import cost_in, fixed_list


def reach(graph, model, seeds, worlds=400, key=99):
    """Return what seeds reach on average, by simulation."""
    return np.mean(
        [len(SimulatedWorld(graph, model, key, world).diffuse(np.array(seeds, np.int32))) for world in range(worlds)]
    )


@pytest.mark.parametrize("model", ["ic", "lt"])
def test_each_is_about_the_best_reach_per_cost(random_graph, model):
    """By simulation no vertex gains more per cost than the one chosen, by more than the noise of both estimates."""
    graph = random_graph(40, 90, 5)
    costs = Costs.degree(graph)
    order = fixed_list(graph, Params(6, 1, model, costs=costs))
    assert sorted(order) == list(range(graph.n))
    before: list[int] = []
    for chosen in order[:4]:
        base = reach(graph, model, before) if before else 0.0
        rest = [v for v in range(graph.n) if v not in before]
        ratios = {v: (reach(graph, model, [*before, v]) - base) / costs.values[v] for v in rest}
        assert ratios[chosen] >= 0.85 * max(ratios.values())
        before.append(chosen)


@pytest.mark.parametrize("model", ["ic", "lt"])
def test_it_depends_on_no_batch_and_no_threads(random_graph, model):
    graph = random_graph(300, 900, 7)
    params = Params(40, 1, model, costs=Costs.uniform(graph), seed=3)
    order = fixed_list(graph, params)
    assert (order == fixed_list(graph, replace(params, batch=9), Device("cpu", "", (), 3, ""))).all()
    assert (order != fixed_list(graph, replace(params, seed=4))).any()


@pytest.mark.parametrize("eta", [1, 7, 50])
def test_who_is_active_is_not_bought(random_graph, eta):
    graph = random_graph(50, 120, 3)
    costs = Costs.degree(graph)
    order = fixed_list(graph, Params(eta, 1, costs=costs))
    for number in range(5):
        world, active, spent = SimulatedWorld(graph, "ic", 2, number), set(), 0
        for v in order.tolist():
            if len(active) < eta and v not in active:
                active |= set(world.diffuse(np.array([v], np.int32)).tolist())
                spent += int(costs.values[v])
        assert cost_in(SimulatedWorld(graph, "ic", 2, number), order, costs.values, eta) == spent


def test_small_graphs(make_graph):
    lone = make_graph(1, [])
    assert fixed_list(lone, Params(1, 1, costs=Costs.uniform(lone))).tolist() == [0]
    star = make_graph(5, [(0, v) for v in range(1, 5)])
    params = Params(5, 1, costs=Costs.uniform(star))
    order = fixed_list(star, params)
    assert order[0] == 0 and sorted(order) == list(range(5))
    assert cost_in(SimulatedWorld(star, "ic", 1), order, np.ones(5, np.int64), 5) == 1
    # A dear hub is bought last.
    dear = replace(params, costs=Costs(np.array([9, 1, 1, 1, 1]), params.costs.unit, "file"))
    assert fixed_list(star, dear)[-1] == 0
