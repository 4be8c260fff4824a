"""The spread kernels in the simulator give the values of the CPU, run by run, for any grid."""

import numpy as np
import pytest

from gpukit.errors import DeviceError
from gpukit.evaluate import forward_spread, spread
from gpukit.evaluate.plan import Plan
from gpukit.evaluate.spread_cpu import run_on_cpu
from gpukit.graph.csr import Weights

MODELS = ("ic", "lt")
KERNELS = ("ic, short rows", "ic, long rows", "lt")
STAGES = [[3], [7, 1], [3, 2, 38]]


def _plan(graph, model, rounds, targets):
    seeds = np.array([v for stage in STAGES for v in stage], np.int32)
    starts = np.cumsum([0] + [len(stage) for stage in STAGES], dtype=np.int64)
    return Plan(graph, model, targets, seeds, starts, np.array(rounds, np.int64), 2**63 + 5)


@pytest.fixture
def model_of(monkeypatch):
    """Return a function that makes a kernel treat rows as long or short, and returns the kernel's model."""

    def choose(kernel):
        from gpukit.evaluate import spread_cuda

        monkeypatch.setattr(spread_cuda, "LONG", 0 if "long" in kernel else 1000)
        return kernel[:2]

    return choose


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scheme", [Weights(), Weights("trivalency", seed=4)])
@pytest.mark.parametrize("rounds", [[0, 0, 1], [0, 1, 2]])
def test_values_equal_the_cpu(random_graph, model_of, kernel, scheme, rounds):
    from gpukit.evaluate.spread_cuda import run_on_gpus

    model = model_of(kernel)
    graph = random_graph(40, 130, 6, scheme)
    for targets, blocks, threads in ((np.empty(0, np.int64), 2, 32), (np.arange(40), 1, 8)):
        plan = _plan(graph, model, rounds, targets)
        assert np.array_equal(run_on_gpus(plan, 3, [0], blocks=blocks, threads=threads), run_on_cpu(plan, 3))


@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_longer_than_a_group(make_graph, model_of, monkeypatch, kernel):
    """A hub has 45 out-edges: a group of lanes needs several passes, and the frontier exceeds the groups."""
    from gpukit.evaluate import spread_cuda, spread_together_cuda

    model = model_of(kernel)
    for module in (spread_cuda, spread_together_cuda):
        monkeypatch.setattr(module, "PIECE", 16)
    graph = make_graph(50, [(0, v) for v in range(1, 46)] + [(v, 46 + v % 4) for v in range(1, 46)])
    plan = Plan(graph, model, np.empty(0, np.int64), *_one_stage([0]), 1)
    values = spread_cuda.run_on_gpus(plan, 2, [0], blocks=2, threads=16)
    assert np.array_equal(values, run_on_cpu(plan, 2))
    assert values.min() >= 46


def test_more_runs_than_a_word_has_bits(make_graph, model_of, monkeypatch):
    """The runs of three words share the rows, and a second launch simulates the remaining runs with other coins."""
    from gpukit.evaluate import spread_cuda

    model_of("ic, long rows")
    graph = make_graph(9, [(v, (v + d) % 9) for v in range(9) for d in (1, 2, 4)], Weights("const", 0.4))
    plan = Plan(graph, "ic", np.arange(9), *_one_stage([0, 5]), 3)
    values = spread_cuda.run_on_gpus(plan, 150, [0], threads=8)
    assert np.array_equal(values, run_on_cpu(plan, 150)) and len(np.unique(values)) > 5
    monkeypatch.setattr(spread_cuda, "WORDS", 1)
    assert np.array_equal(spread_cuda.run_on_gpus(plan, 70, [0], threads=8, first=2), values[2:72])


def _one_stage(seeds):
    return np.array(seeds, np.int32), np.array([0, len(seeds)], np.int64), np.zeros(1, np.int64)


def test_public_function_and_progress(make_graph, simulator):
    calls = []
    graph = make_graph(5, [(0, 1), (1, 2), (3, 2)])
    found = forward_spread(graph, [0], runs=3, device=simulator, progress=lambda *done: calls.append(done))
    assert found == forward_spread(graph, [0], runs=3)
    assert calls == [(3, 3)]


@pytest.mark.parametrize("model", MODELS)
def test_an_error_needs_as_many_runs_as_on_the_cpu(random_graph, simulator, monkeypatch, model):
    monkeypatch.setattr(spread, "FIRST_RUNS", 4)
    graph, until = random_graph(12, 30, 6), spread.Until(0.3, 64)
    found = forward_spread(graph, [3, 7], model=model, runs=until, seed=2, device=simulator)
    assert found == forward_spread(graph, [3, 7], model=model, runs=until, seed=2)
    assert 4 < found.runs <= 64


def test_graph_that_does_not_fit(make_graph, simulator, monkeypatch):
    from gpukit.device import arrays

    monkeypatch.setattr(arrays, "gpu_limit", [100])
    with pytest.raises(DeviceError, match="graph"):
        forward_spread(make_graph(5, [(0, 1), (1, 2), (3, 2)]), [0], runs=3, device=simulator)


@pytest.mark.parametrize("kernel", KERNELS)
def test_batches_of_several_gpus_cover_all_runs(random_graph, simulator, monkeypatch, model_of, kernel):
    from gpukit.evaluate import spread_cuda

    model = model_of(kernel)

    def launch(asked, blocks, threads, *args):
        # A cooperative kernel has one block in the simulator.
        assert (asked, blocks) == ((spread_cuda.ic_together, 1) if model == "ic" else (spread_cuda.lt_runs, 2))
        args[-1].array[:] = 7

    monkeypatch.setattr(spread_cuda, "launch", launch)
    plan = _plan(random_graph(40, 130, 6), model, [0, 0, 1], np.empty(0, np.int64))
    assert (spread_cuda.run_on_gpus(plan, 90, [0, 0], blocks=2) == 7).all()
