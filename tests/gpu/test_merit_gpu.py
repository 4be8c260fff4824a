"""MERIT on a GPU gives the sets, seeds and campaigns of the CPU, for any history, load groups and ring length."""

import re
from dataclasses import replace

import numpy as np
import pytest
from oracles.selection import check_same_selection

from gpukit.artifacts import write_graph
from gpukit.cli.app import main
from gpukit.device.select import detect
from gpukit.errors import DeviceError
from gpukit.graph.csr import Weights
from gpukit.merit import Costs, Params, SimulatedWorld
from gpukit.merit.residual import Residual
from gpukit.merit.sets import CpuSets
from gpukit.papers.bench.counters import RATES, SUMS, find_ncu, measure
from gpukit.papers.merit.factory import sets_in, simulate
from gpukit.worlds.reverse import prepare

CASES = [
    ("ic", Weights(), {}),
    ("ic", Weights("const", 0.05), {}),
    ("ic", Weights("trivalency", seed=1), {}),
    ("lt", Weights(), {}),
    ("lt", Weights("const", 0.02), {}),
    ("lt", Weights(), {"lt_residual": "raw"}),
]


TABLES, RINGS = sets_in("tables"), sets_in("segments")


def follow(graph, model, gpu, eta, sizes, make_sets=TABLES, *, options=None, tune=None):
    """Let the same vertices die in a CPU and a GPU collection, and compare sets, seeds and hits."""
    residual = Residual(graph, eta, model)
    params = Params(eta, 1, model, seed=5, **options or {})
    reverse = prepare(graph, model)
    raw = params.lt_residual == "raw"
    cpu = [CpuSets(reverse, residual, 5, raw=raw, threads=2) for _ in range(2)]
    first = make_sets(reverse, residual, params, gpu)
    cuda = [first, make_sets(reverse, residual, params, gpu, share_graph_with=first)]
    if tune is not None:
        tune(cuda)
    costs = Costs.degree(graph).values
    generator = np.random.default_rng(3)
    for _, judge in (cpu, cuda):
        judge.restart(1 << 47)
    for size in sizes:
        for sets, judge in (cpu, cuda):
            for one in (sets, judge):
                one.update(size)
                one.extend(size)
        check_same_selection(*(sets.select(16, costs, judge) for sets, judge in (cpu, cuda)))
        for one, other in zip(cpu, cuda, strict=True):
            for a, b in zip(one.export(), other.export(), strict=True):
                assert np.array_equal(a, b)
        dead = generator.choice(np.flatnonzero(residual.dead == 0), 23, replace=False).astype(np.int32)
        weakened = residual.kill(dead)
        for one in (*cpu, *cuda):
            one.kill(dead, weakened)
    return cuda


@pytest.mark.parametrize(("model", "weights", "options"), CASES)
@pytest.mark.parametrize("make_sets", [TABLES, sets_in("segments", 8)], ids=["tables", "segments"])
def test_sets_and_seeds_through_a_history(random_graph, gpu, model, weights, options, make_sets):
    graph = random_graph(3000, 20_000, 6, weights)
    follow(graph, model, gpu, 300, (400, 3000, 1000, 2000, 9000, 2000, 9000), make_sets, options=options)


@pytest.mark.quick
def test_many_further_roots(random_graph, gpu):
    """A set gains over a thousand roots at once; most of them are already its members."""
    follow(random_graph(12_000, 80_000, 6), "ic", gpu, 93, (300, 300, 300, 300, 300))


@pytest.mark.parametrize("groups", [2, 4, 16])
def test_load_groups_change_nothing(random_graph, gpu, groups):
    follow(random_graph(3000, 20_000, 6), "ic", gpu, 200, (5000, 5000, 5000), sets_in("segments", groups))


def test_more_live_edges_than_a_block_holds(make_graph, gpu):
    """Three vertices have 700 live in-edges each, and half of their in-neighbours have in-edges, too."""
    edges = [(leaf, hub) for hub in range(3) for leaf in range(100 + 700 * hub, 800 + 700 * hub)]
    edges += [(leaf + 2100, leaf) for leaf in range(100, 2200, 2)]
    follow(make_graph(4300, edges, Weights("const", 1.0)), "ic", gpu, 200, (2000, 3000))


@pytest.mark.parametrize("segments", [7, 28])
@pytest.mark.parametrize(("headroom", "reach"), [(1, 8.0), (1, 0.01), (4, 0.01)])
def test_short_rings_turn_or_are_replaced(random_graph, gpu, monkeypatch, headroom, reach, segments):
    from gpukit.papers.merit import rings

    monkeypatch.setattr(rings, "HEADROOM", headroom)
    monkeypatch.setattr(rings, "MIN_LENGTH", 64)

    def tune(cuda):
        for one in cuda:
            one._reach = reach
            one.state.blocks, one.state.segments = 7, segments

    cuda = follow(random_graph(3000, 20_000, 6), "ic", gpu, 300, (200, 40, 200) * 4, RINGS, tune=tune)
    assert cuda[0].length > 64


def test_short_tables_become_longer(random_graph, gpu, monkeypatch):
    """Tables are made for sets of a hundredth of the true size."""
    from gpukit.merit import sets_cuda

    real, lengths = sets_cuda.CudaSets._make_tables, set()

    def make_tables(self, size, **options):
        gone = real(self, size, **options)
        lengths.add(self.table)
        return gone

    def tune(cuda):
        for one in cuda:
            one._reach = 0.01

    monkeypatch.setattr(sets_cuda, "PLACES", 1)
    monkeypatch.setattr(sets_cuda.CudaSets, "_make_tables", make_tables)
    follow(random_graph(3000, 20_000, 6), "ic", gpu, 300, (200, 400, 900, 300), tune=tune)
    assert len(lengths) > 1


def test_tables_that_do_not_fit_are_refused(random_graph, gpu):
    def tune(cuda):
        cuda[0].state.set_memory = 1 << 20

    with pytest.raises(DeviceError, match="mRR sets .* are free on the GPU for one collection; use --device cpu"):
        follow(random_graph(3000, 20_000, 6), "ic", gpu, 300, (9000,), tune=tune)


def test_many_sets_of_a_small_graph(random_graph, gpu):
    """All sets together have about a thousand times as many roots as the graph has vertices."""
    follow(random_graph(200, 900, 6), "ic", gpu, 100, (60_000, 90_000, 40_000))


def test_tables_become_longer_in_the_same_memory(random_graph, gpu, monkeypatch):
    """If no second tables fit, sets move within the present memory, the last ones first; they are not drawn again."""
    from gpukit.merit import sets_cuda

    tables, lengthened, lengthen = sets_cuda.CudaSets, [], sets_cuda.CudaSets._lengthen

    def note(self, kept, length):
        lengthened.append(kept)
        lengthen(self, kept, length)

    def tune(cuda):
        cuda[0].state.set_memory = 1 << 22
        for one in cuda:
            one.share = 0.5

    monkeypatch.setattr(sets_cuda, "ASIDE", 1)
    monkeypatch.setattr(tables, "_lengthen", note)
    follow(random_graph(3000, 20_000, 6), "ic", gpu, 300, (400,) * 9, tune=tune)
    assert lengthened and set(lengthened) == {400}


def test_little_memory_means_fewer_rings(random_graph, gpu):
    def tune(cuda):
        cuda[0].state.set_memory = 1 << 23
        for one in cuda:
            one.share = 0.5

    cuda = follow(random_graph(3000, 20_000, 6), "ic", gpu, 100, (200, 400, 300), RINGS, tune=tune)
    assert cuda[0].segments < cuda[0].state.blocks


@pytest.mark.parametrize(
    ("params", "storage"),
    [
        (Params(300, 8), "tables"),
        (Params(300, 4, "lt"), "tables"),
        (Params(300, 8, certificate="paper"), "tables"),
        (Params(300, 8, update="regenerate", ids="fresh"), "tables"),
        (Params(200, 8, "lt", lt_residual="raw", epsilon=0.3), "tables"),
        (Params(300, 8), "segments"),
        (Params(300, 8, update="regenerate", ids="fresh"), "global"),
        (Params(300, 8, "lt", update="regenerate", ids="fresh", certificate="paper"), "global"),
    ],
    ids=range(8),
)
def test_campaigns(random_graph, gpu, params, storage):
    graph = random_graph(3000, 20_000, 4)
    how = {"sampler": "scan" if storage == "global" else "skip", "make_sets": sets_in(storage)}
    for costs in (Costs.degree(graph), Costs(np.random.default_rng(1).integers(1, 10**6, 3000), scheme="file")):
        asked = replace(params, costs=costs, seed=3)
        cpu = simulate(graph, asked, SimulatedWorld(graph, params.model, 4), **how)
        cuda = simulate(graph, asked, SimulatedWorld(graph, params.model, 4), gpu, **how)
        assert len(cpu.rounds) == len(cuda.rounds)
        for one, other in zip(cpu.rounds, cuda.rounds, strict=True):
            assert one.batch.tolist() == other.batch.tolist() and one.activated.tolist() == other.activated.tolist()
            assert (one.sets, one.covered, one.hits) == (other.sets, other.covered, other.hits)
            assert (one.coverage_upper, one.refused, one.judged) == (other.coverage_upper, other.refused, other.judged)
        assert cuda.members == cpu.members or params.update != "coupled"
        assert 0 < cuda.memory <= cuda.planned_memory


def test_worlds_over_several_gpus_give_the_same_file(random_graph, tmp_path):
    """One GPU and two write the same file of campaigns in five worlds; the test needs two GPUs."""
    if len(detect()[0]) < 2:
        pytest.skip("needs two GPUs")
    write_graph(tmp_path / "G.h5", random_graph(3000, 20_000, 6, Weights()))
    words = ["merit", "run", str(tmp_path / "G.h5"), "--eta", "300", "--batch", "8", "--worlds", "5"]
    for gpus in (2, 1):  # the first call says how many GPUs the process has
        out = ["--device", "cuda", "--gpus", str(gpus), "--out", str(tmp_path / f"{gpus}.h5")]
        assert main([*words, *out]) == 0
    assert (tmp_path / "1.h5").read_bytes() == (tmp_path / "2.h5").read_bytes()


def test_a_profiler_counts_the_campaigns(random_graph, tmp_path):
    """The profiler returns every counter of a campaign."""
    write_graph(tmp_path / "G.h5", random_graph(3000, 20_000, 6, Weights()))
    words = ["papers", "bench", "merit", str(tmp_path / "G.h5"), "--models", "ic", "--eta", "30", "--worlds", "1"]
    words += ["--batch", "8", "--device", "cuda", "--methods"]
    try:
        ncu = find_ncu()
        found = {method: measure(ncu, [*words, method], 2000) for method in ("merit", "gamcss")}
    except DeviceError as error:
        if not re.search("not on PATH|ERR_NVGPUCTRPERM|LibraryNotLoaded", str(error)):
            raise
        pytest.skip(f"no counters here: {error}")
    for one in found.values():
        assert not one["cut"] and one["launches"] > one["rounds"] and one["kernel_s"] > 0
        assert None not in [one[name] for name in (*SUMS, *RATES)]
        assert 0 < one["occupancy_pct"] <= 100 and 0 < one["sm_throughput_pct"] <= 100
    assert found["gamcss"]["global_atomics"] > 0 and found["gamcss"]["atomic_sectors"] > 0
    first = measure(ncu, [*words, "merit"], 3)
    assert first["cut"] and first["launches"] == 3 and first["kernel_s"] < found["merit"]["kernel_s"]
