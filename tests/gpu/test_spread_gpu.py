"""Forward Monte Carlo on a real GPU: equal to the CPU, run by run."""

import numpy as np
import pytest

from gpukit.device.select import choose, detect
from gpukit.evaluate import forward_curve, forward_rounds, forward_spread
from gpukit.evaluate.plan import Plan
from gpukit.evaluate.spread_cpu import run_on_cpu
from gpukit.graph.csr import Weights

MODELS = ("ic", "lt")
SCHEMES = (Weights(), Weights("const", 0.01), Weights("trivalency", seed=5))


@pytest.fixture(scope="module", params=SCHEMES, ids=lambda scheme: scheme.scheme)
def graph(request, make_graph):
    """A graph of 5,000 vertices with hubs of high in- and out-degree; in-weights under constant p allow LT."""
    generator = np.random.default_rng(2)
    tails = (5000 * generator.random(40_000) ** 3).astype(np.int64)
    heads = generator.permutation(5000)[generator.integers(0, 5000, 40_000)]
    return make_graph(5000, np.column_stack([tails, heads]).tolist(), request.param)


@pytest.mark.parametrize("name", ["ic, short rows", "ic, long rows", "lt"])
def test_values_equal_the_cpu(graph, gpu, monkeypatch, name):
    from gpukit.evaluate import spread_cuda
    from gpukit.evaluate.spread_cuda import run_on_gpus

    model = name[:2]
    monkeypatch.setattr(spread_cuda, "LONG", 0 if "long" in name else 1000)
    seeds = np.arange(0, 5000, 250, dtype=np.int32)
    plan = Plan(
        graph, model, np.arange(5000), seeds, np.array([0, 1, 7, 20]), np.array([0, 0, 1]), 2**64 - 1
    )  # fmt: skip
    expected = run_on_cpu(plan, 700)
    for grid in ({}, {"blocks": 1, "threads": 32}, {"blocks": 700, "threads": 1024}, {"blocks": 37, "threads": 8}):
        assert np.array_equal(run_on_gpus(plan, 700, gpu.gpus, **grid), expected), grid


@pytest.mark.parametrize("model", MODELS)
def test_public_functions(graph, gpu, model):
    seeds, rounds = [4999, 0, 17, 230], [[0], [17, 5], [0, 2]]
    on_gpu, on_cpu = ({"model": model, "runs": 3000, "seed": 6, "device": device} for device in (gpu, None))
    assert forward_spread(graph, seeds, **on_gpu) == forward_spread(graph, seeds, **on_cpu)
    assert forward_curve(graph, seeds, [1, 2, 4], **on_gpu) == forward_curve(graph, seeds, [1, 2, 4], **on_cpu)
    assert forward_rounds(graph, rounds, **on_gpu) == forward_rounds(graph, rounds, **on_cpu)


@pytest.mark.parametrize("model", MODELS)
def test_small_graphs(make_graph, gpu, model):
    for n, edges in ((1, []), (3, []), (2, [(0, 1)]), (33, [(v, (v + 1) % 33) for v in range(33)])):
        graph = make_graph(n, edges)
        expected = forward_spread(graph, [0], model=model, runs=40)
        assert forward_spread(graph, [0], model=model, runs=40, device=gpu) == expected


@pytest.mark.parametrize("model", MODELS)
def test_several_gpus(graph, model):
    """Two GPUs that share the runs give the values of the CPU."""
    if len(detect()[0]) < 2:
        pytest.skip("needs two GPUs")
    expected = forward_spread(graph, [0, 9], model=model, runs=20_000)
    assert forward_spread(graph, [0, 9], model=model, runs=20_000, device=choose("cuda", 2)) == expected
