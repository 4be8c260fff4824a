"""The kernels of worlds in the simulator give the sets, seeds and counts of the CPU."""

import sys
import threading
from collections import Counter

import numpy as np
import pytest

from gpukit.graph.csr import Weights
from gpukit.worlds.collection import CpuCollection, Query
from gpukit.worlds.reverse import NEVER, ORDER_BIT, Ending, prepare


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Keep launches small: the simulator runs about 10,000 threads per second."""
    from gpukit.worlds import candidates_cuda, collection_cuda

    monkeypatch.setattr(collection_cuda, "SPARE_PAIRS", 500)
    monkeypatch.setattr(candidates_cuda, "MAX_CANDIDATES", 128)


def pair(graph, model, sampler, rounds=1, **options):
    from gpukit.papers.gim.per_edge_cuda import PerEdge
    from gpukit.worlds.collection_cuda import CudaCollection

    reverse = prepare(graph, model, sampler, rounds=rounds)
    options |= {"sampler": PerEdge()} if sampler == "scan" else {}
    return CpuCollection(reverse, 5), CudaCollection(reverse, 5, **options)


def check_equal(cpu, gpu):
    for a, b in zip(cpu.export(), gpu.export(), strict=True):
        assert np.array_equal(a, b)
    assert cpu.members() == gpu.members()


KEPT = [
    ("ic", Weights()),
    ("ic", Weights("const", 0.02)),
    ("ic", Weights("const", 0.3)),
    ("ic", Weights("trivalency", seed=2)),
    ("lt", Weights()),
    ("lt", Weights("const", 0.03)),
]
"""Models and weights of sets that are not trivial."""


@pytest.mark.parametrize(("model", "weights"), KEPT, ids=str)
def test_kept_sets_and_seeds_equal_the_cpu(simulator, random_graph, monkeypatch, model, weights):
    """Kept sets are drawn in several passes and batches; seeds are chosen by sets plus the known worth of vertices."""
    from gpukit.gim.known import Known
    from gpukit.worlds import collection_cuda
    from gpukit.worlds.collection_cuda import CudaCollection

    monkeypatch.setattr(collection_cuda, "LOOKS", 64)
    monkeypatch.setattr(collection_cuda, "FEWEST_LOOKS", 16)
    reverse = prepare(random_graph(40, 160, 1, weights), model, kept=True)
    cpu, gpu = CpuCollection(reverse, 5), CudaCollection(reverse, 5)
    known = Known.of(reverse, None)
    for size in (16, 30):
        cpu.extend(size)
        gpu.extend(size)
        check_equal(cpu, gpu)
        bonus = known.in_units(size)
        for forced in ([], [7, 3]):
            query = Query(4, np.array(forced, np.int32), None, True, bonus)
            expected, found = cpu.select(query), gpu.select(query)
            assert found.seeds.tolist() == expected.seeds.tolist()
            assert found.gains.tolist() == expected.gains.tolist()
            assert found.largest.tolist() == expected.largest.tolist()


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("gpus", [(0,), (0, 0)])
def test_sets_of_a_range_of_ids_equal_the_cpu(simulator, random_graph, monkeypatch, kept, gpus):
    from gpukit.worlds import collection_cuda
    from gpukit.worlds.collection_devices import MultiCudaCollection

    monkeypatch.setattr(collection_cuda, "LOOKS", 64)
    monkeypatch.setattr(collection_cuda, "FEWEST_LOOKS", 16)
    reverse = prepare(random_graph(40, 160, 1, Weights("const", 0.05)), "ic", kept=kept)
    cpu = CpuCollection(reverse, 5, 9)
    gpu = (
        collection_cuda.CudaCollection(reverse, 5, 9) if gpus == (0,) else MultiCudaCollection(reverse, 5, 9, gpus=gpus)
    )
    for one in (cpu, gpu):
        one.extend_over(150)
    assert (cpu.size, cpu.ids) == (gpu.size, gpu.ids) and (cpu.size < 60 if kept else cpu.size == 150)
    check_equal(cpu, gpu)
    none = collection_cuda.CudaCollection(prepare(random_graph(40, 60, 1, Weights("const", 1e-9)), "ic", kept=True), 5)
    none.extend_over(20)
    assert none.size == 0 and none.export()[0].tolist() == [0]


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("representative", [3, -1])
def test_sets_that_end_early_equal_the_cpu(simulator, random_graph, kept, representative):
    """Two kinds of marks and a limit end sets; a vertex may represent the ended sets."""
    from gpukit.worlds.collection_cuda import CudaCollection

    reverse = prepare(random_graph(40, 200, 3, Weights("const", 0.3)), "ic", kept=kept)
    marks = np.zeros(40, np.uint8)
    marks[[3, 5, 6]], marks[[3, 8, 9]] = 1, 2
    marks[3] = 3
    marks[::7] |= 2 << ORDER_BIT
    for ending in (
        Ending(marks, 3, representative, 40),
        Ending(marks, 4, representative, 9),
        Ending(marks[:1], 3, representative, 9),
    ):
        cpu, gpu = CpuCollection(reverse, 5, ending=ending), CudaCollection(reverse, 5, ending=ending)
        for size in (8, 30):
            cpu.extend(size)
            gpu.extend(size)
            check_equal(cpu, gpu)
            assert gpu.ended() == cpu.ended()
            query = Query(3, np.array([3], np.int32), None, True, None)
            expected, found = cpu.select(query), gpu.select(query)
            assert found.seeds.tolist() == expected.seeds.tolist() and found.gains.tolist() == expected.gains.tolist()
        assert 0 < sum(not one for one in np.diff(cpu.export()[0])) + (representative >= 0)
    assert representative >= 0 or gpu.ended() > 0


@pytest.mark.long
@pytest.mark.parametrize("weights", [Weights("const", 0.26), Weights("trivalency", seed=2)], ids=str)
@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("marked", [0, 3, 2500])
def test_rows_of_a_hub_that_a_block_draws_together(simulator, make_graph, monkeypatch, weights, rounds, marked):
    """One thread draws some of the 43 or 18 rows, and 32 threads draw the others; sets end before or during this."""
    from gpukit.worlds import sample_cuda
    from gpukit.worlds.collection_cuda import CudaCollection

    monkeypatch.setattr(sample_cuda, "ROWS_ALONE", 8 if weights.p else 1)
    others = np.arange(2, 2702)
    edges = [(v, 0) for v in others] + [(v, 1) for v in others[:64]] + [(0, 1), (1, 0)]
    graph = make_graph(2702, edges, weights)
    roots = np.where(np.arange(2702) < 2, 1000, 1)
    reverse = prepare(graph, "ic", rounds=rounds, root_weights=roots)
    assert len(reverse.rows) - 2702 >= (42 if weights.p else 17)
    marks = np.zeros(2702, np.uint8)
    marks[2 : 2 + marked] = 1
    ending = Ending(marks, 1, -1, 2702) if marked and rounds == 1 else NEVER
    cpu, gpu = CpuCollection(reverse, 5, ending=ending), CudaCollection(reverse, 5, ending=ending)
    for one in (cpu, gpu):
        one.extend(6)
    check_equal(cpu, gpu)
    assert gpu.ended() == cpu.ended()


@pytest.mark.parametrize(
    ("model", "sampler", "rounds", "weights"),
    [
        ("ic", "skip", 1, Weights()),
        ("ic", "skip", 2, Weights("const", 0.2)),
        ("ic", "skip", 1, Weights("trivalency", seed=2)),
        ("lt", "skip", 1, Weights()),
        ("lt", "skip", 1, Weights("const", 0.03)),
        ("lt", "skip", 2, Weights()),
        ("ic", "scan", 1, Weights("trivalency", seed=2)),
        ("lt", "scan", 1, Weights()),
    ],
)
def test_sets_equal_the_cpu(simulator, random_graph, model, sampler, rounds, weights):
    cpu, gpu = pair(random_graph(40, 260, 1, weights), model, sampler, rounds)
    for size in (16, 30):
        cpu.extend(size)
        gpu.extend(size)
    check_equal(cpu, gpu)


@pytest.mark.parametrize("margin", [0, 40])
@pytest.mark.parametrize(("rounds", "marked"), [(1, False), (1, True), (2, False)])
def test_tables_that_grow_while_sets_are_drawn(simulator, random_graph, monkeypatch, margin, rounds, marked):
    """Tables grow before a step, or after a step that found no slot and is repeated."""
    from gpukit.worlds import block_cuda, sample_cuda
    from gpukit.worlds.collection_cuda import CudaCollection
    from gpukit.worlds.graph_cuda import SLACK

    monkeypatch.setattr(block_cuda, "SLOTS", 4)
    monkeypatch.setattr(block_cuda, "FULLEST", 0)  # no room for what is expected: tables begin with four slots
    monkeypatch.setattr(sample_cuda, "MARGIN", margin)
    monkeypatch.setattr(sample_cuda, "ROWS_ALONE", 1)
    reverse = prepare(random_graph(60, 900, 1, Weights("trivalency", seed=2)), "ic", rounds=rounds)
    marks = np.zeros(60, np.uint8)
    marks[:3] = 1
    ending = Ending(marks, 1, 2, 60) if marked else NEVER
    cpu, gpu = CpuCollection(reverse, 5, ending=ending), CudaCollection(reverse, 5, ending=ending)
    for one in (cpu, gpu):
        one.extend(24)
    check_equal(cpu, gpu)
    assert gpu.graph.slack == SLACK


def test_no_block_takes_nearly_all_sets(simulator, random_graph, monkeypatch):
    """Four blocks run one after the other, and still share the sets."""
    from gpukit.device.arguments import View
    from gpukit.worlds import samplers_cuda

    cpu, gpu = pair(random_graph(40, 200, 1), "ic", "skip")
    run, taken = samplers_cuda.launch, []

    def in_four(kernel, _blocks, block, tables, samples, _group, begin, space, out, control):
        space.queue.array.fill(0)
        four = space._replace(ranks=View(space.ranks.array.reshape(4, -1)))
        run(kernel, 4, block, tables, samples, 2, begin, four, out, control)
        taken.extend(len(np.unique(part[part > 0] >> np.uint64(32))) for part in space.queue.array.reshape(4, -1))

    monkeypatch.setattr(samplers_cuda, "launch", in_four)
    for one in (cpu, gpu):
        one.extend(40)
    check_equal(cpu, gpu)
    assert taken == [22, 18, 0, 0]


def test_walks_that_outgrow_their_place_or_stack(simulator, make_graph, monkeypatch):
    """Walks follow a long path into a cycle, and short cycles; if a stack is too low, the general kernel takes over."""
    from gpukit.worlds import collection_cuda, samplers_cuda, walk_cuda

    monkeypatch.setattr(collection_cuda, "SPARE_PAIRS", 1)
    edges = [(v, v - 1) for v in range(1, 70)] + [(60, 69), (70, 71), (71, 72), (72, 70), (73, 73 + 1), (74, 73)]
    graph = make_graph(75, edges)
    for levels in (32, 2):
        monkeypatch.setattr(walk_cuda, "LEVELS", levels)
        cpu, gpu = pair(graph, "lt", "skip")
        gpu._mean = 1.0
        for size in (16, 40):
            cpu.extend(size)
            gpu.extend(size)
        check_equal(cpu, gpu)
        assert gpu._sampler is (samplers_cuda.skip if levels == 2 else samplers_cuda.walk)


def test_a_stack_that_is_too_low_costs_no_memory(simulator, make_graph, monkeypatch):
    """The general kernel draws the same sets at once, in the room of the walks."""
    from gpukit.worlds import collection_cuda, sample_cuda, samplers_cuda, walk_cuda

    monkeypatch.setattr(collection_cuda, "SPARE_PAIRS", 4000)
    monkeypatch.setattr(walk_cuda, "LEVELS", 2)
    cpu, gpu = pair(make_graph(70, [(v, v - 1) for v in range(1, 70)] + [(60, 69)]), "lt", "skip")
    rooms = []
    launch = samplers_cuda.launch

    def note(kernel, grid, block, *args):
        rooms.append((kernel, args[1], args[-2].entry_base, len(args[-2].entries.array)))
        launch(kernel, grid, block, *args)

    monkeypatch.setattr(samplers_cuda, "launch", note)
    cpu.extend(16)
    gpu.extend(16)
    check_equal(cpu, gpu)
    (first, *walked), (then, *general) = rooms
    assert (first, then) == (walk_cuda.walk, sample_cuda.sample) and walked == general


def test_selection_and_coverage_equal_the_cpu(simulator, random_graph):
    cpu, gpu = pair(random_graph(40, 200, 3), "ic", "skip", rounds=2)
    cpu.extend(12)
    gpu.extend(12)
    forced, blocked = np.array([7, 43], np.int32), np.zeros(80, np.bool_)
    blocked[:5] = True
    for query in (Query(2, bounds=True), Query(2, forced, blocked, bounds=True)):
        expected = cpu.select(query)
        found = gpu.select(query)
        assert np.array_equal(expected.seeds, found.seeds)
        assert np.array_equal(expected.gains, found.gains)
        assert np.array_equal(expected.largest, found.largest)
    assert np.array_equal(cpu.coverage(expected.seeds), gpu.coverage(expected.seeds))


def test_seeds_in_more_sets_than_there_are_threads(simulator, make_graph):
    cpu, gpu = pair(make_graph(30, [(0, v) for v in range(1, 20)] + [(20, v) for v in range(21, 30)]), "ic", "skip")
    for collection in (cpu, gpu):
        collection.extend(150)
    expected, found = (collection.select(Query(4, bounds=True)) for collection in (cpu, gpu))
    assert expected.gains[0] > 64
    for name in ("seeds", "gains", "largest"):
        assert np.array_equal(getattr(expected, name), getattr(found, name))


@pytest.mark.long
@pytest.mark.parametrize("rounds", [1, 2])
def test_seeds_chosen_in_several_epochs(simulator, random_graph, monkeypatch, rounds):
    """A warp updates small sets, the whole block updates large ones."""
    from gpukit.worlds import cover_cuda, select_cuda

    monkeypatch.setattr(select_cuda, "TARGET_CANDIDATES", 12)
    cpu, gpu = pair(random_graph(60, 700, 4, Weights("const", 0.11)), "ic", "skip", rounds)
    for collection in (cpu, gpu):
        collection.extend(120)
    sizes = np.diff(cpu.export()[0])
    monkeypatch.setattr(cover_cuda, "LARGE_SET", int(np.median(sizes)))
    for query in (
        Query(12 // rounds, bounds=True),
        Query(20 // rounds),
        Query(6, np.array([7, 43, 2], np.int32), bounds=True),
    ):
        expected, found = cpu.select(query), gpu._select_on_device(query)
        assert np.array_equal(expected.seeds, found.seeds) and np.array_equal(expected.gains, found.gains)
        assert np.array_equal(expected.largest, found.largest) or not query.bounds


def test_candidates_are_numbered_across_blocks(simulator, random_graph):
    """1,200 elements have more words of marks than a block has threads."""
    cpu, gpu = pair(random_graph(30, 120, 2), "ic", "skip", rounds=40)
    for collection in (cpu, gpu):
        collection.extend(4)
    expected, found = (collection.select(Query(1, bounds=True)) for collection in (cpu, gpu))
    for name in ("seeds", "gains", "largest"):
        assert np.array_equal(getattr(expected, name), getattr(found, name))


def test_room_for_sets_that_are_larger_than_was_expected(simulator, random_graph, monkeypatch):
    """Blocks with too little room get more, and keep it as long as they need it."""
    from gpukit.worlds import collection_cuda
    from gpukit.worlds.graph_cuda import SLACK

    monkeypatch.setattr(collection_cuda, "SPARE_PAIRS", 0)
    cpu, gpu = pair(random_graph(60, 600, 1, Weights("const", 0.3)), "ic", "skip")
    slacks = []
    for size, mean in ((8, None), (16, 0.5), (24, None)):
        if mean is not None:
            gpu._mean = gpu.graph.mean = mean
        cpu.extend(size)
        gpu.extend(size)
        slacks.append(gpu.graph.slack)
    check_equal(cpu, gpu)
    assert slacks[0] == SLACK < slacks[1] and all(SLACK <= slack <= 8 * SLACK for slack in slacks)


def test_spilled_and_split_collections_equal_the_cpu(simulator, random_graph):
    from gpukit.worlds.collection_devices import MultiCudaCollection

    cpu, gpu = pair(random_graph(30, 120, 2), "ic", "skip", memory=600)
    split = MultiCudaCollection(cpu.reverse, 5, gpus=(0, 0))
    for size in (10, 33):
        for collection in (cpu, gpu, split):
            collection.extend(size)
    assert gpu._host is not None
    check_equal(cpu, gpu)
    check_equal(cpu, split)
    expected = cpu.select(Query(2))
    for other in (gpu, split):
        assert np.array_equal(expected.seeds, other.select(Query(2)).seeds)


def eight(gpu):
    """Return the request for the first eight samples."""
    return gpu.reverse.samples(5, 0, 8, gpu.ending)._replace(kept=gpu.graph.no_ids.view, marks=gpu._marks.view)


def test_a_full_table_is_seen_between_the_same_barriers(simulator, random_graph, monkeypatch):
    """If a thread reads the flag while another may set it, the two can leave the loop at different barriers."""
    from numba.cuda.simulator import kernel, kernelapi

    from gpukit.worlds import collection_cuda
    from gpukit.worlds import sample_cuda as kernels

    passed, touched, arrays = Counter(), {"read": set(), "set": set()}, {}

    def note(what, place):
        if place == kernels.FULL:
            thread = threading.current_thread()
            touched[what].add((thread.thread_id, (thread.blockIdx.x, passed[thread])))

    class Counters(np.ndarray):
        def __getitem__(self, place):
            note("read", place)
            return super().__getitem__(place)

        def __setitem__(self, place, value):
            note("set", place if value else None)
            super().__setitem__(place, value)

    def array(self, shape, dtype):
        made = np.zeros(shape, kernelapi.numpy_support.as_dtype(dtype))
        return arrays.setdefault(sys._getframe(1).f_lineno, made.view(Counters) if shape == kernels.COUNTERS else made)

    wait = kernel.BlockThread.syncthreads
    monkeypatch.setattr(kernel.BlockThread, "syncthreads", lambda self: (passed.update([self]), wait(self))[1])
    monkeypatch.setattr(kernelapi.FakeCUDAShared, "array", array)
    monkeypatch.setattr(kernels, "STAGE", 2)  # the other live edges are followed at once
    monkeypatch.setattr(kernels, "_add", lambda *args: args[-1].__setitem__(kernels.FULL, 1))
    gpu = pair(random_graph(20, 200, 1, Weights("const", 0.5)), "ic", "skip")[1]
    assert gpu._draw(eight(gpu), 2000, gpu._memory()) == collection_cuda.TOO_FEW and gpu._counts.array.sum() == 0
    for reader, interval in touched["read"]:
        assert not [setter for setter, when in touched["set"] if when == interval and setter != reader]
    assert len(touched["set"]) > 1


def test_a_batch_that_found_no_room_writes_no_entries(simulator, random_graph, monkeypatch):
    """The place of the entries is then arbitrary, and may lie before the first entry."""
    from gpukit.worlds import samplers_cuda

    gpu = pair(random_graph(20, 60, 1), "ic", "skip")[1]
    run = samplers_cuda.launch

    def before_the_first(*args):
        *others, out, control = args
        out.entries.array.fill(-7)
        run(*others, out._replace(entry_base=-(1 << 20)), control)

    monkeypatch.setattr(samplers_cuda, "launch", before_the_first)
    gpu._draw(eight(gpu), 2000, gpu._memory())
    assert (gpu._entries.array == -7).all()
