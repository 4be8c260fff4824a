"""IMGPU on a GPU gives the same sums, seeds and gains as the CPU, with every method of counting."""

from dataclasses import replace

import numpy as np
import pytest

from gpukit.device.select import detect
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.imgpu import Params, maximise
from gpukit.imgpu.worlds_cpu import CpuWorlds
from gpukit.worlds.blocks import prepare_blocks

HOW = [
    (None, {}),
    (None, {"blocks": 3, "threads": 96}),
    ({}, {}),
    ({"combine": True}, {"blocks": 3, "threads": 64}),
    ({"reorder": True, "unroll": 1}, {"threads": 1024}),
    ({"combine": True, "reorder": True, "unroll": 4, "split": 3}, {"threads": 96}),
    ({"split": 1 << 30, "unroll": 128}, {}),
]
"""Switches of the paper's count by labels, None for searches; and the shape of launches."""


@pytest.fixture(params=["shared", "global"])
def place(request, monkeypatch):
    """Memory in which searches read the worlds: shared or global."""
    from gpukit.imgpu import worlds_cuda

    if request.param == "global":
        monkeypatch.setattr(worlds_cuda, "RESIDENT", 0)
    return request.param


def undirected(n, m, p):
    u, v = np.random.default_rng(2).integers(0, n, (2, m))
    return build_graph(u, v, weights=Weights("const", p), undirected=True, ids=False, n=n)


def acyclic(make_graph, n, m, p):
    pairs = np.sort(np.random.default_rng(1).integers(0, n, (m, 2)), axis=1)
    return make_graph(n, pairs[pairs[:, 0] < pairs[:, 1]].tolist(), Weights("const", p))


def check(ready, worlds, seeds=(), how=None, **options):
    from gpukit.imgpu.worlds_cuda import CudaWorlds
    from gpukit.papers.imgpu.levels_cuda import LevelWorlds
    from gpukit.papers.imgpu.switches import Switches

    cpu = CpuWorlds(ready, 9)
    gpu = CudaWorlds(ready, 9, **options) if how is None else LevelWorlds(ready, 9, how=Switches(**how), **options)
    for first in (0, 2**40):
        assert np.array_equal(cpu.gains(first, worlds, list(seeds)), gpu.gains(first, worlds, list(seeds)))
    assert np.array_equal(cpu.reached(3, worlds, [1, 2]), gpu.reached(3, worlds, [1, 2]))


@pytest.mark.parametrize(("how", "options"), HOW, ids=range(len(HOW)))
@pytest.mark.parametrize("p", [0.01, 0.05, 0.15, 0.4, 1.0])
def test_sums_equal_the_cpu(random_graph, gpu, place, how, options, p):
    """Worlds range from sparse ones to ones with a component of nearly all vertices."""
    ready = prepare_blocks(random_graph(2000, 20_000, 3, Weights("const", p)))
    check(ready, 60, (), how, **options)
    check(ready, 30, [4, 7, 1999], how, **options)


@pytest.mark.parametrize(("how", "options"), HOW, ids=range(len(HOW)))
@pytest.mark.parametrize("p", [0.2, 0.5, 1.0])
def test_joins_above_joins(make_graph, gpu, place, how, options, p):
    ready = prepare_blocks(acyclic(make_graph, 700, 2500, p))
    check(ready, 20, (), how, **options)
    check(ready, 10, [600], how, **options)


@pytest.mark.parametrize("scheme", [Weights(), Weights("trivalency", seed=1)], ids=str)
def test_other_probabilities(random_graph, gpu, scheme, place):
    check(prepare_blocks(random_graph(3000, 30_000, 5, scheme)), 100, [2])


@pytest.mark.parametrize("pairs", [True, False])
def test_undirected_graphs(gpu, pairs):
    for p in (0.02, 0.2):
        ready = prepare_blocks(undirected(3000, 12_000, p), pairs=pairs)
        assert ready.paired == pairs
        check(ready, 100)
        check(ready, 50, [2, 3])


def test_worlds_that_outgrow_what_they_are_kept_in(random_graph, gpu):
    from gpukit.imgpu.worlds_cuda import CudaWorlds

    ready = prepare_blocks(random_graph(2000, 20_000, 5, Weights("const", 0.2)))
    worlds = CudaWorlds(replace(ready, mean_live=1.0), 9)
    worlds._make_room(6000)
    assert np.array_equal(worlds.keep(0, 50), CpuWorlds(ready, 9).gains(0, 50, []))


@pytest.mark.parametrize("p", [0.005, 0.05, 0.1, 0.4])
def test_kept_worlds_are_counted_again_as_they_are(random_graph, gpu, p, place):
    """Probabilities lie below, near and above the threshold of a giant component; what the seeds reach is left out."""
    from gpukit.imgpu.worlds_cuda import CudaWorlds

    ready = prepare_blocks(random_graph(2000, 20_000, 3, Weights("const", p)))
    cpu, found = CpuWorlds(ready, 9), CudaWorlds(ready, 9)
    assert (found._resident == 0) == (place == "global")
    assert np.array_equal(cpu.gains(7, 300, []), found.keep(7, 300))
    for seeds in ([1999], [1999, 3]):
        found.choose(seeds[-1])
        assert np.array_equal(cpu.gains(7, 300, seeds), found.gains(7, 300, seeds))


def hundreds_of_thousands(weights):
    ends = np.random.default_rng(3).integers(0, 1 << 18, (2, 1_200_000)) ** 3 >> 36
    return prepare_blocks(build_graph(*ends, weights=weights, ids=False, n=1 << 18))


@pytest.mark.parametrize("weights", [Weights("const", 0.1), Weights()], ids=str)
def test_worlds_too_large_for_numbers_of_16_bits(gpu, weights):
    """One case has most vertices in one core; the other has no core."""
    from gpukit.imgpu.worlds_cuda import CudaWorlds

    ready = hundreds_of_thousands(weights)
    assert CudaWorlds(ready, 9)._resident == 0
    check(ready, 3, [1, 70_000])


@pytest.mark.parametrize("p", [0.01, 0.015])
def test_worlds_of_thousands_of_arcs(gpu, p, place):
    """Worlds with and without a core nearly fill shared memory."""
    from gpukit.imgpu.worlds_cuda import CudaWorlds

    ready = hundreds_of_thousands(Weights("const", p))
    assert (CudaWorlds(ready, 9)._resident == 0) == (place == "global")
    check(ready, 40, [1, 70_000])


@pytest.mark.parametrize("kind", ["sparse", "dense", "undirected", "wc"])
@pytest.mark.parametrize("options", [{}, {"memory": 1 << 25}], ids=["kept", "streamed"])
def test_seeds_equal_the_cpu(random_graph, gpu, kind, options):
    graph = {
        "sparse": lambda: random_graph(1500, 9000, 1, Weights("const", 0.1)),
        "dense": lambda: random_graph(1000, 9000, 2, Weights("const", 0.3)),
        "undirected": lambda: undirected(1500, 5000, 0.1),
        "wc": lambda: random_graph(1500, 9000, 3),
    }[kind]()
    for fresh in (False, True):
        params = Params(20, 3000, fresh, seed=5)
        cpu, found = maximise(graph, params), maximise(graph, params, gpu, **options)
        assert (cpu.seeds.tolist(), cpu.gains.tolist()) == (found.seeds.tolist(), found.gains.tolist())
        assert (cpu.spread_estimate, cpu.stderr) == (found.spread_estimate, found.stderr)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_several_gpus_give_the_same(random_graph, gpu, count):
    """The parts share one GPU, or each has its own. In one case there are more parts than worlds."""
    gpus = tuple(range(count + 1)) if len(detect()[0]) > count else (0,) * (count + 1)
    graph, several = random_graph(1500, 9000, 1, Weights("const", 0.1)), replace(gpu, gpus=gpus)
    for params in (Params(20, 3000, seed=5), Params(5, 300, True, seed=5), Params(2, 3, seed=5), Params(3, seed=5)):
        one, found = maximise(graph, params, gpu), maximise(graph, params, several)
        assert (one.seeds.tolist(), one.gains.tolist()) == (found.seeds.tolist(), found.gains.tolist())
        assert (one.spread_estimate, one.stderr, one.worlds) == (found.spread_estimate, found.stderr, found.worlds)


def test_worlds_larger_than_their_place(random_graph, gpu):
    from gpukit.imgpu.worlds_cuda import CudaWorlds

    ready = prepare_blocks(random_graph(2000, 20_000, 5, Weights("const", 0.2)))
    found = CudaWorlds(ready, 9)
    found._make_room(500)
    assert np.array_equal(found.gains(0, 50, [3]), CpuWorlds(ready, 9).gains(0, 50, [3]))
    found._make_room(500)
    assert np.array_equal(found.reached(0, 50, [3]), CpuWorlds(ready, 9).reached(0, 50, [3]))


def test_real_graph(gpu):
    """CPU and GPU agree on NetHEPT with the settings of the paper: 2,000 fixed worlds and 50 seeds."""
    from pathlib import Path

    from gpukit.graph.read.formats import read_edges

    edges = read_edges(Path(__file__).parents[2] / "data/NetHEPT.txt.gz")
    for directed in (True, False):
        graph = build_graph(edges.u, edges.v, weights=Weights("const", 0.01), undirected=not directed)
        params = Params(50, 2000)
        cpu, found = maximise(graph, params), maximise(graph, params, gpu)
        assert (cpu.seeds.tolist(), cpu.gains.tolist()) == (found.seeds.tolist(), found.gains.tolist())
