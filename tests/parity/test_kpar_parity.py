"""One seed, one answer: threads, batches, and rows or counts alone change nothing."""

import numpy as np
import pytest

from gpukit.device.select import Device
from gpukit.kpar import Params, Prepared, Sources, build_index, query, rank
from gpukit.kpar.problem import Result
from gpukit.kpar.run import index_on, prepare_on, query_on, rank_on
from gpukit.papers.kpar.baselines import fora, fora_index, monte_carlo


def check_same(one, other):
    assert np.array_equal(one.offsets, other.offsets) and np.array_equal(one.steps, other.steps)
    assert np.array_equal(one.nodes, other.nodes) and np.array_equal(one.scores, other.scores)


@pytest.mark.parametrize("to_end", [False, True])
@pytest.mark.parametrize("k", [1, 30, 500])
def test_threads_and_batches_change_nothing(random_graph, k, to_end):
    graph, params = random_graph(500, 2200, 8), Params()
    sources = Sources.joined([Sources.single(np.arange(0, 500, 9)), Sources.weighted([3, 7], [1, 5])])

    def ask(threads):
        device = Device("cpu", "", (), threads, "")
        order = rank_on(device, graph, params).order
        prepared = prepare_on(device, graph, index_on(device, graph, order, params, seed=2**64 - 1))
        return query_on(device, prepared, sources, k, to_end=to_end)

    one = ask(1)
    for threads in (2, 5):
        check_same(one, ask(threads))
    prepared = Prepared.of(graph, build_index(graph, rank(graph).order, seed=2**64 - 1, memory=0))
    cuts = [0, 1, 20, len(sources)]
    parts = [query(prepared, sources.part(a, b), k, to_end=to_end) for a, b in zip(cuts, cuts[1:], strict=False)]
    check_same(one, Result.joined(parts))


def test_baselines_do_not_depend_on_threads(random_graph):
    graph, sources = random_graph(200, 900, 3), Sources.single(np.arange(9))
    one, five = (fora(graph, fora_index(graph, threads=t), sources, 20, threads=t) for t in (1, 5))
    check_same(one, five)
    check_same(*(monte_carlo(graph, sources, 20, threads=t) for t in (1, 5)))
