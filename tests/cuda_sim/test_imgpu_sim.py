"""The kernels of IMGPU in the simulator give the sums, seeds and gains of the CPU, with every method of counting."""

from dataclasses import replace

import numpy as np
import pytest
from oracles.reach import marginal_reach

from gpukit.errors import DeviceError, UsageError
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.imgpu import Params, maximise, run
from gpukit.imgpu.worlds_cpu import CpuWorlds
from gpukit.worlds.blocks import prepare_blocks

HOW = [
    {},
    {"combine": True},
    {"reorder": True, "unroll": 1},
    {"combine": True, "reorder": True, "unroll": 4, "split": 3},
    {"split": 2},
]
"""Switches of the paper's count by labels."""


@pytest.fixture(params=["shared", "global"])
def place(request, monkeypatch):
    """Memory in which searches read the worlds: shared or global."""
    from gpukit.imgpu import worlds_cuda

    if request.param == "global":
        monkeypatch.setattr(worlds_cuda, "RESIDENT", 0)
    return request.param


def check(graph, worlds, seeds=(), how=None, **options):
    """Compare with the CPU; ``how`` has switches of the paper's count by labels; None counts by searches."""
    from gpukit.imgpu.worlds_cuda import CudaWorlds
    from gpukit.papers.imgpu.levels_cuda import LevelWorlds
    from gpukit.papers.imgpu.switches import Switches

    ready = prepare_blocks(graph)
    cpu = CpuWorlds(ready, 9)
    gpu = CudaWorlds(ready, 9, **options) if how is None else LevelWorlds(ready, 9, how=Switches(**how), **options)
    assert np.array_equal(cpu.gains(0, worlds, list(seeds)), gpu.gains(0, worlds, list(seeds)))
    if how is None:
        assert np.array_equal(cpu.reached(3, worlds, [1, 2]), gpu.reached(3, worlds, [1, 2]))


@pytest.mark.long
@pytest.mark.parametrize("how", [None, *HOW], ids=range(1 + len(HOW)))
@pytest.mark.parametrize("p", [0.2, 0.5])
def test_sums_equal_the_cpu(simulator, random_graph, how, p):
    graph = random_graph(16, 42, 3, Weights("const", p))
    check(graph, 1, how=how)
    check(graph, 1, [4, 7], how, threads=7, blocks=1)


@pytest.mark.parametrize("how", [None, *HOW], ids=range(1 + len(HOW)))
def test_joins_above_joins(simulator, make_graph, how):
    pairs = np.sort(np.random.default_rng(1).integers(0, 16, (40, 2)), axis=1)
    graph = make_graph(16, pairs[pairs[:, 0] < pairs[:, 1]].tolist(), Weights("const", 1.0))
    check(graph, 1, [13], how)


def test_worlds_that_are_kept_and_counted_by_labels(simulator, random_graph):
    """The paper's count with fixed worlds: gains with and without a seed, short room, and an undirected graph."""
    from gpukit.papers.imgpu.levels import make_worlds

    ready = prepare_blocks(random_graph(14, 40, 5, Weights("const", 0.4)))
    cpu, gpu = CpuWorlds(ready, 9), make_worlds(ready, 9, simulator, combine=True)
    assert np.array_equal(cpu.keep(4, 3), gpu.keep(4, 3))
    gpu.choose(7)
    assert np.array_equal(cpu.gains(4, 3, [7]), gpu.gains(4, 3, [7]))
    gpu._make_room(4)
    before = gpu.cap
    assert np.array_equal(cpu.gains(0, 2, [3]), gpu.gains(0, 2, [3])) and gpu.cap > before
    u, v = np.random.default_rng(2).integers(0, 12, (2, 18))
    graph = build_graph(u, v, weights=Weights("const", 0.3), undirected=True, ids=False, n=12)
    ready = prepare_blocks(graph)
    cpu, gpu = CpuWorlds(ready, 9), make_worlds(ready, 9, simulator)
    assert np.array_equal(cpu.gains(0, 2, [3]), gpu.gains(0, 2, [3]))


def test_cycles_in_a_row(simulator, make_graph):
    """Each triangle leads to a lower one and also colours it, so colouring takes several rounds."""
    rows = [(v, v - v % 3 + (v + 1) % 3) for v in range(24)] + [(v + 3, v) for v in range(0, 21, 3)]
    for heaviest in (2, 1 << 30):
        check(make_graph(24, rows, Weights("const", 1.0)), 1, how={"split": heaviest}, threads=2, blocks=1)


@pytest.mark.parametrize("room", [2, 0], ids=["bitsets", "searches"])
def test_lists_give_way(simulator, make_graph, monkeypatch, room):
    """Labels of a chain of 7 joins exceed the longest list and become bitsets; without room, searches count."""
    from gpukit.papers.imgpu import labels_cuda

    monkeypatch.setattr(labels_cuda, "INLINE", 3)
    monkeypatch.setattr(labels_cuda, "POOL_ROWS", room)
    rows = [(v, w) for v in range(7) for w in (v + 1, 8 + v)] + [(8 + v, v + 1) for v in range(7)]
    check(make_graph(15, rows, Weights("const", 1.0)), 1, how={})
    check(make_graph(15, rows, Weights("const", 1.0)), 1, how={"combine": True})


@pytest.mark.parametrize(
    "how", [{}, {"split": 1 << 30}, {"combine": True, "split": 1 << 30}], ids=["split", "whole", "bands"]
)
def test_giant_components_and_long_labels(simulator, monkeypatch, how):
    """Hubs have hundreds of arcs: bitsets have several words, bands lie above labels, and work is split in halves."""
    from gpukit.papers.imgpu import labels_cuda

    monkeypatch.setattr(labels_cuda, "INLINE", 5)
    generator = np.random.default_rng(0)
    chance = (1 / (generator.random(300) + 0.01)) ** 0.9
    chance /= chance.sum()
    u, v = generator.choice(300, 1200, p=chance), generator.choice(300, 1200, p=generator.permutation(chance))
    graph = build_graph(u, v, weights=Weights("const", 0.4), ids=False, n=300)
    check(graph, 1, [3], how, threads=2, blocks=1)


SHAPES = {
    "edge": (2, [(0, 1)]),
    "star": (21, [(0, v) for v in range(1, 20)]),
    "into": (21, [(v, 0) for v in range(1, 20)]),
    "clique": (9, [(u, v) for u in range(9) for v in range(9) if u != v]),
    "path": (20, [(v, v + 1) for v in range(19)]),
    "cycle": (20, [(v, (v + 1) % 20) for v in range(20)]),
    "pairs": (24, [(v, v ^ 1) for v in range(20)]),
    # A core of 6, what reaches it beside other ends, what it reaches, and a second core that no pivot stands for.
    "bow-tie": (
        30,
        [(v, (v + 1) % 6) for v in range(6)]
        + [(6, 7), (7, 0), (6, 8), (8, 9), (7, 9), (3, 10), (10, 11), (10, 12), (9, 12), (13, 12)]
        + [(v, 20 + (v - 19) % 5) for v in range(20, 25)]
        + [(25, 20), (22, 26), (6, 26)],
    ),
}

NAMES = ("ALONE", "LOOKED", "CORE", "LARGE", "CORES")
LIMITS = [
    (128, 512, 16, 64, 8),
    (1, 512, 1, 2, 8),
    (3, 7, 1, 3, 1),
    (4, 99, 4, 5, 2),
    (2, 99, 1, 2, 0),
]
"""Few slots or arcs for a thread, cores of any size, several or none."""


def limit(monkeypatch, limits):
    from gpukit.imgpu import count_cuda, search_cuda

    for name, value in zip(NAMES, limits, strict=True):
        monkeypatch.setattr(search_cuda, name, value)
    monkeypatch.setattr(count_cuda, "ALONE", limits[0])


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_short_searches(simulator, make_graph, monkeypatch, place, shape, limits):
    """Worlds with several cores, and large ones without a core, give the gains that a search from each vertex finds."""
    from gpukit.imgpu.worlds_cuda import CudaWorlds

    limit(monkeypatch, limits)
    n, edges = SHAPES[shape]
    whole = prepare_blocks(make_graph(n, edges, Weights("const", 1.0)))
    for seeds in ([n - 1, 1], []):
        gpu, expected = CudaWorlds(whole, 9, threads=5, blocks=1), marginal_reach(n, edges, seeds)
        assert (gpu._resident > 0) == (place == "shared") and gpu.gains(0, 1, seeds).tolist() == expected


def test_worlds_that_shared_memory_has_no_room_for(simulator, make_graph, monkeypatch):
    """Worlds have more slots than expected: first fewer blocks share a multiprocessor, then global memory is used."""
    from gpukit.imgpu import worlds_cuda

    pairs = prepare_blocks(make_graph(48, [(v, v + 1) for v in range(0, 48, 2)], Weights("const", 1.0)))
    monkeypatch.setattr(worlds_cuda, "RESIDENT", 2)
    expected = CpuWorlds(pairs, 9).gains(0, 3, [2])
    for room, resident in ((400, 1), (250, 0)):
        monkeypatch.setattr(worlds_cuda, "shared_memory", lambda room=room: worlds_cuda.STATIC + room)
        monkeypatch.setattr(worlds_cuda, "_multiprocessor", lambda: (2 * (worlds_cuda.STATIC + 260), 1 << 16))
        for work in ("gains", "keep", "reached"):
            gpu = worlds_cuda.CudaWorlds(pairs, 9)
            assert gpu._resident == 2 and gpu._fit.slots < 48
            if work == "keep":
                assert np.array_equal(gpu.keep(0, 3), CpuWorlds(pairs, 9).gains(0, 3, []))
                gpu.choose(2)
            if work == "reached":
                assert np.array_equal(gpu.reached(0, 3, [2, 47]), CpuWorlds(pairs, 9).reached(0, 3, [2, 47]))
            else:
                assert np.array_equal(gpu.gains(0, 3, [2]), expected)
            assert gpu._resident == resident


def test_a_bit_for_each_of_many_vertices(simulator, random_graph, place):
    """The bits of the vertices take more room than the rows."""
    check(random_graph(900, 30, 4, Weights("const", 0.9)), 2, [17, 60], threads=16, blocks=1)


@pytest.mark.long
@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("p", [0.01, 0.25, 0.9])
def test_short_searches_of_random_worlds(simulator, random_graph, monkeypatch, place, p, limits):
    """Worlds have no live arc, many small components, or one component of nearly all vertices."""
    limit(monkeypatch, limits)
    graph = random_graph(90, 300, 4, Weights("const", p))
    check(graph, 2, threads=16, blocks=1)
    check(graph, 2, [17, 60], threads=16, blocks=1)


@pytest.mark.parametrize("alone", [128, 2])
@pytest.mark.parametrize("p", [0.001, 0.4])
def test_kept_worlds_are_counted_again_as_they_are(simulator, random_graph, monkeypatch, p, alone, place):
    """What the seeds reach is left out. Worlds are drawn again only if other seeds or worlds are requested."""
    from gpukit.imgpu.worlds_cuda import CudaWorlds

    limit(monkeypatch, (alone, 99, 1, 2, 8))
    ready = prepare_blocks(random_graph(25, 60, 5, Weights("const", p)))
    cpu, gpu = CpuWorlds(ready, 9), CudaWorlds(ready, 9)
    assert np.array_equal(cpu.gains(4, 3, []), gpu.keep(4, 3))
    for seeds in ([], [7], [7, 2]):
        if seeds:
            gpu.choose(seeds[-1])
        with monkeypatch.context() as patch:
            patch.delattr(CudaWorlds, "count")
            assert np.array_equal(cpu.gains(4, 3, seeds), gpu.gains(4, 3, seeds[::-1]))
            for first, count, others in ((4, 2, seeds), (3, 3, seeds), (4, 3, [*seeds, 9])):
                with pytest.raises(AttributeError, match="count"):
                    gpu.gains(first, count, others)
    assert np.array_equal(cpu.gains(4, 3, [7]), gpu.gains(4, 3, [7]))
    u, v = np.random.default_rng(2).integers(0, 12, (2, 18))
    graph = build_graph(u, v, weights=Weights("const", 0.3), undirected=True, ids=False, n=12)
    ready = prepare_blocks(graph)
    cpu, gpu = CpuWorlds(ready, 9), CudaWorlds(ready, 9)
    assert np.array_equal(cpu.gains(0, 2, []), gpu.keep(0, 2))
    gpu.choose(3)
    assert np.array_equal(cpu.gains(0, 2, [3]), gpu.gains(0, 2, [3]))


@pytest.mark.parametrize("scheme", [Weights(), Weights("trivalency", seed=1)], ids=str)
def test_other_probabilities(simulator, random_graph, scheme):
    check(random_graph(16, 45, 5, scheme), 2, [2])


def test_worlds_larger_than_their_place(simulator, random_graph, monkeypatch, place):
    from gpukit.imgpu.worlds_cuda import CudaWorlds

    ready = prepare_blocks(random_graph(20, 60, 5, Weights("const", 0.5)))
    gpu = CudaWorlds(ready, 9)
    gpu._make_room(4)
    before = gpu.cap
    assert np.array_equal(gpu.gains(0, 2, [3]), CpuWorlds(ready, 9).gains(0, 2, [3]))
    assert gpu.cap > before
    gpu._make_room(4)
    assert np.array_equal(gpu.reached(0, 2, [3]), CpuWorlds(ready, 9).reached(0, 2, [3]))


def test_a_world_that_does_not_fit(simulator, random_graph):
    from gpukit.imgpu.worlds_cuda import CudaWorlds

    with pytest.raises(DeviceError, match="one world needs .* use --device cpu"):
        CudaWorlds(prepare_blocks(random_graph(20, 60, 5, Weights("const", 0.5))), 9, memory=1000)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["directed", "undirected"])
def test_seeds_equal_the_cpu(simulator, random_graph, monkeypatch, kind):
    from gpukit.imgpu import fixed_cuda
    from gpukit.imgpu.worlds_cuda import CudaWorlds

    monkeypatch.setattr(fixed_cuda, "BLOCK", 2)
    if kind == "directed":
        graph = random_graph(12, 25, 3, Weights("const", 0.3))
    else:
        u, v = np.random.default_rng(2).integers(0, 12, (2, 18))
        graph = build_graph(u, v, weights=Weights("const", 0.3), undirected=True, ids=False, n=12)
    worlds = CudaWorlds(prepare_blocks(graph), 5)
    memory = worlds._work.array.nbytes + worlds._words.array.nbytes + 100
    for fresh, options in ((False, {}), (False, {"memory": memory}), (True, {})):
        params = Params(2, 3, fresh, seed=5)
        cpu, gpu = maximise(graph, params), maximise(graph, params, simulator, **options)
        assert (cpu.seeds.tolist(), cpu.gains.tolist()) == (gpu.seeds.tolist(), gpu.gains.tolist())
        assert (cpu.spread_estimate, cpu.stderr) == (gpu.spread_estimate, gpu.stderr)
        assert gpu.streamed == bool(options)


def test_worlds_that_outgrow_what_they_are_kept_in(simulator, random_graph):
    """Worlds have more live arcs than expected: if memory allows, their arrays grow, but not the working space."""
    from gpukit.imgpu.worlds_cuda import KEPT_ARC, KEPT_SLOT, CudaWorlds

    ready = prepare_blocks(random_graph(20, 90, 3, Weights("const", 0.9)))
    worlds = CudaWorlds(replace(ready, mean_live=1e-3), 9)
    worlds._make_room(90)
    cap, space = worlds.cap, worlds._work.array.nbytes + worlds._words.array.nbytes
    assert np.array_equal(worlds.keep(0, 4), CpuWorlds(ready, 9).gains(0, 4, []))
    assert worlds.cap == cap and len(worlds._slots.heads.array) > 64
    worlds.memory = space + 80 * KEPT_SLOT + 70 * KEPT_ARC
    assert worlds.keep(0, 4) is None


@pytest.mark.parametrize(("alone", "looked", "block"), [(32, 128, 2), (2, 128, 5), (32, 2, 8)])
def test_searches_by_threads_and_by_blocks(simulator, random_graph, monkeypatch, alone, looked, block):
    """Short searches, searches that find too much for a thread, and searches of too many arcs give the same gains."""
    from gpukit.imgpu import fixed_cuda
    from gpukit.imgpu.worlds_cuda import CudaWorlds

    for name, value in (("ALONE", alone), ("LOOKED", looked), ("BLOCK", block), ("ALONE_BLOCK", 3)):
        monkeypatch.setattr(fixed_cuda, name, value)
    ready = prepare_blocks(random_graph(14, 50, 5, Weights("const", 0.3)))
    cpu, gpu = CpuWorlds(ready, 9), CudaWorlds(ready, 9)
    assert np.array_equal(cpu.keep(0, 3), gpu.keep(0, 3))
    for seed in (6, 2):
        cpu.choose(seed)
        gpu.choose(seed)
        others = [v for v in range(14) if v not in (6, 2)]
        assert cpu.evaluate(others) == gpu.evaluate(others)


def test_memory_that_somebody_else_takes(simulator, random_graph, monkeypatch):
    """Worlds that do not fit unexpectedly are drawn again for each seed; the answer is the same."""
    from gpukit.imgpu import worlds_cuda

    def index(*_):
        raise MemoryError("taken")

    graph, params = random_graph(16, 42, 3, Weights("const", 0.3)), Params(2, 3, False, seed=5)
    cpu = maximise(graph, params)
    monkeypatch.setattr(worlds_cuda.CudaWorlds, "_index", index)
    gpu = maximise(graph, params, simulator)
    assert gpu.streamed
    assert (cpu.seeds.tolist(), cpu.gains.tolist()) == (gpu.seeds.tolist(), gpu.gains.tolist())


def test_as_many_worlds_as_on_the_cpu(simulator, random_graph, monkeypatch):
    """The two halves of the worlds are kept one after the other, each from its own first world."""
    monkeypatch.setattr(run, "FIRST_WORLDS", 4)
    monkeypatch.setattr(run, "MAX_WORLDS", 4)
    graph = random_graph(6, 9, 6, Weights("const", 0.4))
    cpu, gpu = maximise(graph, Params(1, seed=6)), maximise(graph, Params(1, seed=6), simulator, blocks=1, threads=32)
    assert (cpu.seeds.tolist(), cpu.gains.tolist()) == (gpu.seeds.tolist(), gpu.gains.tolist())
    assert (cpu.worlds, cpu.optimism, cpu.spread_estimate) == (gpu.worlds, gpu.optimism, gpu.spread_estimate)
    assert cpu.worlds == 4 and min(cpu.optimism) > 0


@pytest.mark.parametrize("count", [2, 3, 5])
def test_several_gpus(simulator, random_graph, monkeypatch, count):
    """Two to five GPUs share three worlds, which are kept, drawn fresh, or drawn again because room is short."""
    from gpukit.imgpu import worlds_devices

    graph, several = random_graph(12, 25, 3, Weights("const", 0.3)), replace(simulator, gpus=(0,) * count)
    keep = worlds_devices.CudaWorlds.keep_here

    def short(self, first, *arguments):
        return keep(self, first, *arguments) if first == 0 else None

    for fresh, kept in ((False, keep), (True, keep), (False, short)):
        monkeypatch.setattr(worlds_devices.CudaWorlds, "keep_here", kept)
        params = Params(2, 3, fresh, seed=5)
        cpu, gpu = maximise(graph, params), maximise(graph, params, several)
        assert (cpu.seeds.tolist(), cpu.gains.tolist()) == (gpu.seeds.tolist(), gpu.gains.tolist())
        assert (cpu.spread_estimate, cpu.stderr) == (gpu.spread_estimate, gpu.stderr)
        assert gpu.streamed == (kept is short)


def test_gpus_share_the_worlds_evenly(simulator, random_graph):
    """GPUs get consecutive ranges of worlds, and progress counts the worlds of all GPUs."""
    from gpukit.imgpu.worlds_devices import MultiCudaWorlds

    ready = prepare_blocks(random_graph(8, 12, 3, Weights("const", 0.3)))
    cpu, gpus, told = CpuWorlds(ready, 9), MultiCudaWorlds(ready, 9, (0, 0, 0)), []
    assert np.array_equal(cpu.reached(2**47, 8, [1]), gpus.reached(2**47, 8, [1], lambda *done: told.append(done)))
    assert told == [(2, 8), (5, 8), (8, 8)]
    assert np.array_equal(cpu.keep(4, 5), gpus.keep(4, 5))
    assert [part._range for part in gpus._parts] == [(4, 1), (5, 2), (7, 2)]
    gpus.choose(3)
    assert np.array_equal(cpu.gains(4, 5, [3]), gpus.gains(4, 5, [3]))
    cpu.choose(3)
    assert cpu.evaluate([0, 1, 2]) == gpus.evaluate([0, 1, 2])
    assert np.array_equal(cpu.keep(0, 1), gpus.keep(0, 1)) and len(gpus._kept) == 1


def test_levels_are_counted_on_one_gpu(simulator, random_graph):
    from gpukit.papers.imgpu.levels import make_worlds

    ready = prepare_blocks(random_graph(8, 12, 3, Weights("const", 0.3)))
    with pytest.raises(UsageError, match="counted by level on one GPU"):
        make_worlds(ready, 9, replace(simulator, gpus=(0, 0)))
