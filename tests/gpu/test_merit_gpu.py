"""MERIT on a GPU: the sets, seeds and campaigns of the CPU, for any history, load groups and length of rings."""

import re
from dataclasses import replace

import numpy as np
import pytest
from oracles.selection import check_same_selection

from gpukit.artifacts import write_graph
from gpukit.errors import DeviceError
from gpukit.graph.csr import Weights
from gpukit.merit import Costs, Params, SimulatedWorld, factory
from gpukit.merit.residual import Residual
from gpukit.merit.sets import CpuSets
from gpukit.papers.bench.counters import RATES, SUMS, find_ncu, measure
from gpukit.papers.merit.factory import make_sets, simulate
from gpukit.worlds.reverse import prepare

CASES = [
    ("ic", Weights(), {}),
    ("ic", Weights("const", 0.05), {}),
    ("ic", Weights("trivalency", seed=1), {}),
    ("lt", Weights(), {}),
    ("lt", Weights("const", 0.02), {}),
    ("lt", Weights(), {"lt_residual": "raw"}),
]


@pytest.fixture(autouse=True)
def tables(monkeypatch):
    """Sets of small graphs lie in hash tables, too, where no rings are asked for."""
    monkeypatch.setattr(factory, "TABLES_FROM", 0)


def follow(graph, model, gpu, eta, sizes, groups, options, *, tune=None):
    """Let a CPU and a GPU collection follow the same deaths and compare sets, seeds and hits."""
    residual = Residual(graph, eta, model)
    params = Params(eta, 1, model, seed=5, **options)
    reverse = prepare(graph, model)
    raw = params.lt_residual == "raw"
    cpu = [CpuSets(reverse, residual, 5, raw=raw, threads=2) for _ in range(2)]
    first = make_sets(reverse, residual, params, gpu, groups)
    cuda = [first, make_sets(reverse, residual, params, gpu, groups, share_graph_with=first)]
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
@pytest.mark.parametrize("groups", [1, 8])
def test_sets_and_seeds_through_a_history(random_graph, gpu, model, weights, options, groups):
    graph = random_graph(3000, 20_000, 6, weights)
    follow(graph, model, gpu, 300, (400, 3000, 1000, 2000, 9000, 2000, 9000), groups, options)


@pytest.mark.quick
def test_many_further_roots(random_graph, gpu):
    """A set gains over a thousand roots at a time, most of which it has as members."""
    follow(random_graph(12_000, 80_000, 6), "ic", gpu, 93, (300, 300, 300, 300, 300), 1, {})


@pytest.mark.parametrize("groups", [2, 4, 16])
def test_load_groups_change_nothing(random_graph, gpu, groups):
    follow(random_graph(3000, 20_000, 6), "ic", gpu, 200, (5000, 5000, 5000), groups, {})


def test_more_live_edges_than_a_block_holds(make_graph, gpu):
    """Three vertices have 700 live edges each, and their tails have in-neighbours of their own."""
    edges = [(leaf, hub) for hub in range(3) for leaf in range(100 + 700 * hub, 800 + 700 * hub)]
    edges += [(leaf + 2100, leaf) for leaf in range(100, 2200, 2)]
    follow(make_graph(4300, edges, Weights("const", 1.0)), "ic", gpu, 200, (2000, 3000), 1, {})


@pytest.mark.parametrize("segments", [7, 28])
@pytest.mark.parametrize(("headroom", "reach"), [(1, 8.0), (1, 0.01), (4, 0.01)])
def test_short_rings_turn_or_are_replaced(random_graph, gpu, monkeypatch, headroom, reach, segments):
    from gpukit.merit import sets_cuda

    monkeypatch.setattr(sets_cuda, "HEADROOM", headroom)
    monkeypatch.setattr(sets_cuda, "MIN_LENGTH", 64)

    def tune(cuda):
        for one in cuda:
            one._reach = reach
            one.state.blocks, one.state.segments = 7, segments

    graph, options = random_graph(3000, 20_000, 6), {"storage": "segments"}
    cuda = follow(graph, "ic", gpu, 300, (200, 40, 200) * 4, 1, options, tune=tune)
    assert cuda[0].length > 64


@pytest.mark.parametrize("tight", [False, True])
def test_short_tables_become_longer_or_give_way_to_rings(random_graph, gpu, monkeypatch, tight):
    """Tables for sets that turn out to be a hundred times as large; and in the third round no room for longer ones."""
    from gpukit.merit import hashed_sets_cuda

    real, lengths = hashed_sets_cuda.TableSets._make_tables, set()

    def make_tables(self, size, **options):
        if tight and size == 900:
            monkeypatch.setattr(hashed_sets_cuda, "FULL", 0.0)
        gone = real(self, size, **options)
        lengths.add(self.table)
        return gone

    def tune(cuda):
        for one in cuda:
            one._reach = 0.01

    monkeypatch.setattr(hashed_sets_cuda, "PLACES", 1)
    monkeypatch.setattr(hashed_sets_cuda.TableSets, "_make_tables", make_tables)
    cuda = follow(random_graph(3000, 20_000, 6), "ic", gpu, 300, (200, 400, 900, 300), 1, {}, tune=tune)
    assert cuda[0].state.tables != tight and len(lengths) > 1


def test_tables_become_longer_in_the_same_memory(random_graph, gpu, monkeypatch):
    """Where there is no room for other tables sets move within theirs, the last ones first, and are not drawn again."""
    from gpukit.merit import hashed_sets_cuda

    tables, lengthened, lengthen = hashed_sets_cuda.TableSets, [], hashed_sets_cuda.TableSets._lengthen

    def note(self, kept, length):
        lengthened.append(kept)
        lengthen(self, kept, length)

    def tune(cuda):
        cuda[0].state.ring_memory = 1 << 22
        for one in cuda:
            one.share = 0.5

    monkeypatch.setattr(hashed_sets_cuda, "ASIDE", 1)
    monkeypatch.setattr(tables, "_lengthen", note)
    cuda = follow(random_graph(3000, 20_000, 6), "ic", gpu, 300, (400,) * 9, 1, {}, tune=tune)
    assert cuda[0].state.tables and lengthened and set(lengthened) == {400}


def test_little_memory_means_fewer_rings(random_graph, gpu):
    def tune(cuda):
        cuda[0].state.ring_memory = 1 << 23
        for one in cuda:
            one.share = 0.5

    cuda = follow(random_graph(3000, 20_000, 6), "ic", gpu, 100, (200, 400, 300), 8, {}, tune=tune)
    assert cuda[0].segments < cuda[0].state.blocks


@pytest.mark.parametrize(
    "params",
    [
        Params(300, 8),
        Params(300, 4, "lt"),
        Params(300, 8, certificate="paper"),
        Params(300, 8, update="regenerate", ids="fresh"),
        Params(200, 8, "lt", lt_residual="raw", epsilon=0.3),
        Params(300, 8, storage="segments"),
        Params(300, 8, update="regenerate", ids="fresh", storage="global"),
        Params(300, 8, "lt", update="regenerate", ids="fresh", storage="global", certificate="paper"),
    ],
    ids=range(8),
)
def test_campaigns(random_graph, gpu, params):
    graph = random_graph(3000, 20_000, 4)
    for costs in (Costs.degree(graph), Costs(np.random.default_rng(1).integers(1, 10**6, 3000), scheme="file")):
        asked = replace(params, costs=costs, seed=3)
        cpu = simulate(graph, asked, SimulatedWorld(graph, params.model, 4))
        cuda = simulate(graph, asked, SimulatedWorld(graph, params.model, 4), gpu)
        assert len(cpu.rounds) == len(cuda.rounds)
        for one, other in zip(cpu.rounds, cuda.rounds, strict=True):
            assert one.batch.tolist() == other.batch.tolist() and one.activated.tolist() == other.activated.tolist()
            assert (one.sets, one.covered, one.hits) == (other.sets, other.covered, other.hits)
            assert (one.coverage_upper, one.refused, one.judged) == (other.coverage_upper, other.refused, other.judged)
        assert cuda.members == cpu.members or params.update != "coupled"
        assert 0 < cuda.memory <= cuda.planned_memory


def test_a_profiler_counts_the_campaigns(random_graph, tmp_path):
    """Every counter has a value, for a campaign or the beginning of one."""
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
