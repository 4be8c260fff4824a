"""Edges that do not fit on one GPU are divided among all GPUs. The simulated GPUs share the host's memory."""

from dataclasses import replace

import numpy as np
import pytest

from gpukit.device import arrays, partitioned, placing
from gpukit.errors import DeviceError
from gpukit.evaluate import forward_spread
from gpukit.graph.csr import Weights

GPUS = (0, 1)


@pytest.fixture
def held_back(simulator, monkeypatch):
    """Return a function that limits the GPUs' memory and returns a list of (kind, bytes) of arrays elsewhere."""
    elsewhere: list[tuple[str, int]] = []

    class Noted(arrays.Pinned):
        def __init__(self, array, gpus=()):
            elsewhere.append(("host", array.nbytes))
            super().__init__(array, gpus)

    class Divided(partitioned.Partitioned):
        def __init__(self, array, parts, gpus):
            assert gpus == GPUS and array.nbytes <= sum(parts) < array.nbytes + partitioned.granularity(gpus)
            elsewhere.append(("gpus", array.nbytes))
            super().__init__(array, parts, gpus)

    monkeypatch.setattr(placing, "Pinned", Noted)
    monkeypatch.setattr(placing, "Partitioned", Divided)
    yield lambda size: arrays.limit_memory(size, GPUS) or elsewhere
    arrays.limit_memory(None, GPUS)


GIVEN = {"rows": np.zeros(100, np.int64), "heads": np.arange(300, dtype=np.int32), "words": np.zeros(200, np.int32)}


def test_what_several_gpus_have_room_for_together_is_made_once(held_back, caplog):
    caplog.set_level("INFO", "gpukit")
    elsewhere = held_back(3200)
    placed = placing.Placement(GIVEN, ("heads", "words"), {"work": 500}, "use --device cpu", gpus=GPUS)
    one, other = placed.here(), placed.here()
    assert elsewhere == [("gpus", 1200), ("gpus", 800)] and list(one) == list(GIVEN)
    assert one["heads"].array is other["heads"].array and np.array_equal(one["heads"].host(), GIVEN["heads"])
    assert isinstance(one["heads"], arrays.Far) and not isinstance(one["rows"], arrays.Far)
    assert caplog.messages == ["2.0 KiB lie in parts on the GPUs 0, 1, as one has 3.1 KiB free"]


@pytest.mark.parametrize("why", ["unreadable", "refused"])
def test_the_host_has_edges_where_gpus_cannot_share_them(held_back, monkeypatch, caplog, why):
    """Edges go to host memory, and the reason is logged once."""

    def refuse(*given):
        raise DeviceError("the driver refused it")

    caplog.set_level("INFO", "gpukit")
    elsewhere = held_back(3200)
    if why == "unreadable":
        monkeypatch.setattr(placing, "unreadable", lambda gpus: "GPU 0 cannot read the memory of GPU 1")
    else:
        monkeypatch.setattr(placing, "Partitioned", refuse)
    placing.Placement(GIVEN, ("heads", "words"), {"work": 500}, "use --device cpu", gpus=GPUS)
    assert elsewhere == [("host", 1200)]
    reason = "GPU 0 cannot read the memory of GPU 1" if why == "unreadable" else "the driver refused it"
    assert caplog.messages == [f"1.2 KiB lie in host memory, as the GPU has 3.1 KiB free, and {reason}"]


def test_one_gpu_has_no_parts(held_back):
    elsewhere = held_back(3200)
    placing.Placement(GIVEN, ("heads", "words"), {"work": 500}, "use --device cpu", gpus=(0, 0))
    assert elsewhere == [("host", 1200)]


@pytest.mark.parametrize(("model", "limit"), [("ic", 5800), ("lt", 5000)])
def test_sets_of_a_graph_in_parts_equal_the_cpu(held_back, random_graph, model, limit):
    from gpukit.worlds.collection import CpuCollection
    from gpukit.worlds.collection_devices import MultiCudaCollection
    from gpukit.worlds.reverse import prepare

    reverse = prepare(random_graph(40, 400, 3, Weights("trivalency", seed=2)), model)
    elsewhere = held_back(limit)
    cpu, several = CpuCollection(reverse, 5), MultiCudaCollection(reverse, 5, gpus=GPUS, memory=1 << 20)
    assert elsewhere and set(elsewhere) == {("gpus", 4 * len(reverse.indices))}
    assert several.graphs[0].indices.array is several.graphs[1].indices.array
    again = MultiCudaCollection(reverse, 5, 20, gpus=GPUS, graphs=several.graphs)
    assert again.graphs is several.graphs and len(elsewhere) <= 2
    for one in (cpu, several):
        one.extend(20)
    for a, b in zip(cpu.export(), several.export(), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("model", ["ic", "lt"])
def test_spread_in_a_graph_in_parts_equals_the_cpu(held_back, random_graph, simulator, model):
    graph = random_graph(200, 2000, 3, Weights("const", 0.05))
    expected = forward_spread(graph, [1, 2, 3], model=model, runs=8, seed=4)
    elsewhere = held_back(23_800)
    device = replace(simulator, gpus=GPUS)
    assert forward_spread(graph, [1, 2, 3], model=model, runs=8, seed=4, device=device) == expected
    assert elsewhere == [("gpus", 4 * graph.m)]


def test_answers_in_a_graph_in_parts_equal_the_cpu(held_back, random_graph, simulator):
    """Rows of the index are divided, too; arrays that do not fit on two GPUs are in host memory."""
    from gpukit.kpar import Params, Prepared, build_index, query, rank
    from gpukit.kpar.problem import Sources
    from gpukit.kpar.run import prepare_on

    graph = random_graph(40, 800, 3)
    index = build_index(graph, rank(graph).order, Params(), seed=1)
    sources = Sources.single(np.arange(2))
    expected = query(Prepared.of(graph, index), sources, 4)
    elsewhere = held_back(10_000)
    prepared = prepare_on(replace(simulator, gpus=GPUS), graph, index)
    starts = 4 * len(index.starts)
    assert elsewhere[0] == ("gpus", 4 * graph.m)
    assert ("gpus", starts) in elsewhere[1:] and elsewhere[-2:] == [("host", starts)] * 2
    for one in prepared:  # the simulator runs one kernel at a time
        found = one.query(sources, 4)
        for name in ("nodes", "scores", "certain"):
            assert np.array_equal(getattr(found, name), getattr(expected, name))
