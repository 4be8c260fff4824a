"""Forward runs do not depend on threads, on batches or on how many runs there are."""

import numba
import pytest

from gpukit.evaluate import forward_curve, forward_spread, spread_cpu
from gpukit.graph.csr import Weights

MODELS = ("ic", "lt")


@pytest.fixture(scope="module", params=[Weights(), Weights("const", 0.02), Weights("trivalency", seed=4)])
def graph(request, random_graph):
    """A random graph of 400 vertices with each scheme; sums into a vertex stay below one for LT."""
    return random_graph(400, 1600, 11, request.param)


@pytest.mark.parametrize("model", MODELS)
def test_threads_and_batches(graph, model, monkeypatch):
    seeds = list(range(0, 400, 40))
    whole = forward_spread(graph, seeds, model=model, runs=500, seed=8)
    before = numba.get_num_threads()
    try:
        for threads, batch in ((1, 64), (min(2, before), 7), (1, 1000)):
            numba.set_num_threads(threads)
            monkeypatch.setattr(spread_cpu, "BATCH", batch)
            assert forward_spread(graph, seeds, model=model, runs=500, seed=8) == whole
    finally:
        numba.set_num_threads(before)


@pytest.mark.parametrize("model", MODELS)
def test_prefixes(graph, model):
    seeds = list(range(0, 400, 50))
    curve = forward_curve(graph, seeds, [1, 3, 8], model=model, runs=300, seed=2)
    assert curve == [forward_spread(graph, seeds[:k], model=model, runs=300, seed=2) for k in (1, 3, 8)]
    totals = [point.total for point in curve]
    assert totals == sorted(totals)


@pytest.mark.parametrize("model", MODELS)
def test_seed_set_order_does_not_matter(graph, model):
    seeds = [5, 300, 17, 200]
    found = forward_spread(graph, seeds, model=model, runs=200)
    assert forward_spread(graph, seeds[::-1], model=model, runs=200) == found
    assert forward_spread(graph, seeds, model=model, runs=200, seed=1) != found
