"""The kernels of kPAR in the simulator give the answers and traces of the CPU; tiny graphs only."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from numba import cuda

from gpukit.errors import InputError
from gpukit.graph.csr import Weights
from gpukit.graph.probabilities import stored
from gpukit.kpar import Params, Prepared, Sources, build_index, query, rank
from gpukit.kpar.problem import CONTENDERS, NEVER, Constants

WEIGHTED = Params(weighted=True)

SHAPES = {
    "random": (8, None, 20),
    "sparse": (30, None, 35),
    "star": (8, [(0, i) for i in range(1, 8)] + [(i, 0) for i in range(1, 4)], 0),
    "no edges": (3, [], 0),
}


def check_equal(found, expected):
    assert (found.certain is None) == (expected.certain is None)
    assert found.certain is None or np.array_equal(found.certain, expected.certain)
    assert np.array_equal(found.offsets, expected.offsets)
    assert np.array_equal(found.nodes, expected.nodes) and np.array_equal(found.scores, expected.scores)
    assert [trace.tolist() for trace in found.traces] == [trace.tolist() for trace in expected.traces]


@pytest.fixture(params=SHAPES)
def graph(request, make_graph, random_graph):
    n, edges, m = SHAPES[request.param]
    return random_graph(n, m, 3) if edges is None else make_graph(n, edges)


@pytest.fixture
def weigh():
    """Return a function that gives edges weights of many magnitudes; a small residue pushes nothing along the least."""

    def weighed(graph, decades=9):
        weights = 10.0 ** -np.random.default_rng(1).uniform(0, decades, graph.m)
        return replace(graph, probabilities=stored(weights), weights=Weights("file"))

    return weighed


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Let small answers take the code path of large ones."""
    from gpukit.kpar.query import select_cuda

    monkeypatch.setattr(select_cuda, "SORTED_IN_BLOCK", 8)


@pytest.mark.long
def test_queries_equal_the_cpu(simulator, graph):
    from gpukit.kpar.batch.prepared_cuda import CudaPrepared

    index = build_index(graph, rank(graph).order, Params(), seed=3)
    cpu, gpu = Prepared.of(graph, index), CudaPrepared.of(graph, index)
    one, several = Sources.single([0]), Sources.joined([Sources.single([2]), Sources.weighted([1, 2, 0], [1, 2, 9])])
    for sources, k, to_end in ((one, 1, False), (several, graph.n // 3, False), (one, graph.n, True)):
        check_equal(gpu.query(sources, k, to_end=to_end), query(cpu, sources, k, to_end=to_end))


@pytest.mark.long
def test_queries_along_weighted_edges_equal_the_cpu(simulator, graph, weigh):
    from gpukit.kpar.batch.prepared_cuda import CudaPrepared

    graph = weigh(graph)
    index = build_index(graph, rank(graph, WEIGHTED).order, WEIGHTED, seed=3)
    cpu, gpu = Prepared.of(graph, index), CudaPrepared.of(graph, index)
    sources = Sources.joined([Sources.single([0]), Sources.weighted([1, 2, 0], [1, 2, 9])])
    for k, to_end in ((1, False), (graph.n // 3, True), (graph.n, False)):
        check_equal(gpu.query(sources, k, to_end=to_end), query(cpu, sources, k, to_end=to_end))


@pytest.mark.long
@pytest.mark.parametrize("tiled_push", [False, True])
@pytest.mark.parametrize("memory", [None, 0])
@pytest.mark.parametrize("weighted", [False, True])
def test_queries_without_tiles_equal_the_cpu(simulator, random_graph, weigh, coarse, tiled_push, memory, weighted):
    """Indexes have start lists or draw walks again; some queries are refined and restricted to some vertices."""
    from gpukit.kpar.batch.prepared_cuda import CudaPrepared
    from gpukit.papers.kpar.untiled_cuda import UntiledPrepared

    graph, params = weigh(random_graph(30, 90, 3)), Params(weighted=weighted)
    index = build_index(graph, rank(graph, params).order, params, seed=3, memory=memory)
    cpu = Prepared.of(graph, index)
    gpu = UntiledPrepared.like(CudaPrepared.of(graph, index), tiled_push=tiled_push)
    for k, more in ((2, {}), (30, {}), (3, {"refine": True, "among": np.arange(30) % 3 == 1})):
        found = [query(cpu, Sources.single([0, 7]), k, **more), gpu.query(Sources.single([0, 7]), k, **more)]
        check_equal(*found)


@pytest.mark.long
@pytest.mark.parametrize("memory", [None, 0])
@pytest.mark.parametrize("weighted", [False, True])
def test_answers_among_some_vertices_equal_the_cpu(simulator, random_graph, weigh, coarse, memory, weighted):
    """Indexes have start lists or draw walks again; fewer vertices are allowed than have a reserve."""
    from gpukit.kpar.batch.prepared_cuda import CudaPrepared
    from gpukit.kpar.batch.workspace_cuda import Shape

    graph, params = weigh(random_graph(30, 90, 3)), Params(weighted=weighted)
    index = build_index(graph, rank(graph, params).order, params, seed=3, memory=memory)
    cpu, gpu = Prepared.of(graph, index), CudaPrepared.of(graph, index)
    among = np.arange(30) % 3 == 1
    sources = Sources.single([0, 7])
    for k, shape in ((1, Shape()), (2, Shape(slots_per_team=4)), (10, Shape())):
        found, expected = gpu.query(sources, k, among=among, shape=shape), query(cpu, sources, k, among=among)
        check_equal(found, expected)
        assert among[expected.nodes].all() and not np.array_equal(expected.nodes, query(cpu, sources, k).nodes)


@pytest.mark.long
def test_all_steps_along_weighted_edges_run_on_the_device_chosen(simulator, random_graph, weigh):
    from gpukit.kpar.run import index_on, prepare_on, query_on, rank_on

    graph, among = weigh(random_graph(8, 20, 3)), np.arange(8) % 2 == 0
    order = rank_on(simulator, graph, WEIGHTED).order
    index = index_on(simulator, graph, order, WEIGHTED, seed=3)
    found = query_on(simulator, prepare_on(simulator, graph, index), Sources.single([1, 4]), 3, among=among)
    expected = build_index(graph, rank(graph, WEIGHTED).order, WEIGHTED, seed=3)
    assert np.array_equal(index.starts, expected.starts) and not among.all()
    check_equal(found, query(Prepared.of(graph, expected), Sources.single([1, 4]), 3, among=among))


@pytest.fixture
def coarse(monkeypatch):
    """Replace the schedule by a few steps, from a δ so large that tests fail, with every kind of patience."""

    def steps(self, k, **options):
        kinds = zip((512, 128, 32, 8, 1), (0, 0, NEVER, 60, 0), strict=True)
        return [self._step(Decimal(factor) * self.delta_min, patience) for factor, patience in kinds]

    monkeypatch.setattr(Constants, "schedule", steps)


@pytest.mark.long
def test_refused_and_untested_steps_equal_the_cpu(simulator, random_graph, coarse):
    from gpukit.kpar.batch.prepared_cuda import CudaPrepared

    graph = random_graph(30, 90, 3)
    index = build_index(graph, rank(graph).order, Params(), seed=3)
    sources = Sources.single([0, 7])
    expected = query(Prepared.of(graph, index), sources, 4)
    assert {-1, 0, 1} <= set(np.sign(np.concatenate(expected.traces)[:, 8]).tolist())
    check_equal(CudaPrepared.of(graph, index).query(sources, 4), expected)


@pytest.mark.long
@pytest.mark.parametrize(
    ("memory", "blocks", "slots_per_team", "weighted"),
    [(None, 2, 1, False), (None, 1, 4, False), (0, 1, 1, False), (None, 1, 4, True), (0, 2, 1, True)],
)
def test_refined_answers_equal_the_cpu(
    simulator, blocks_at_once, random_graph, weigh, monkeypatch, memory, blocks, slots_per_team, weighted
):
    """Walks are drawn again or read by start; there are more candidates than are examined, and scores change."""
    from gpukit.kpar.batch.prepared_cuda import CudaPrepared
    from gpukit.kpar.batch.workspace_cuda import Shape

    factors = ((3000, NEVER), (300, NEVER), (100, 0), (30, 0), (10, 0), (3, 0), (1, 0))
    monkeypatch.setattr(
        Constants, "schedule", lambda self, k, **_: [self._step(Decimal(f) * self.delta_min, p) for f, p in factors]
    )
    graph, params = weigh(random_graph(60, 300, 0), decades=0.3), Params(weighted=weighted)
    index = build_index(graph, rank(graph, params).order, params, seed=3, memory=memory)
    cpu, gpu = Prepared.of(graph, index), CudaPrepared.of(graph, index)
    sources = Sources.joined([Sources.single([0, 3]), Sources.weighted(np.arange(60), np.ones(60, np.int64))])
    first, expected = query(cpu, sources, 3), query(cpu, sources, 3, refine=True)
    assert (first.scores != expected.scores).any() and {True, False} == set(expected.certain.tolist())
    assert max(trace[-1, 5] for trace in expected.traces) > 3 + CONTENDERS // 2
    assert {trace[-1, 7] for trace in expected.traces} == {int(memory == 0)}
    shape = Shape(1, blocks, slots_per_team=slots_per_team)
    check_equal(gpu.query(sources, 3, refine=True, shape=shape), expected)
    check_equal(gpu.query(sources, 3, shape=shape), first)


@pytest.mark.long
def test_blocks_that_work_together_equal_the_cpu(simulator, blocks_at_once, random_graph, coarse):
    from gpukit.kpar.batch.prepared_cuda import CudaPrepared
    from gpukit.kpar.batch.workspace_cuda import Shape

    graph = random_graph(7, 14, 3)
    index = build_index(graph, rank(graph).order, Params(), seed=3)
    sources = Sources.single([2, 0])
    expected = query(Prepared.of(graph, index), sources, 3)
    check_equal(CudaPrepared.of(graph, index).query(sources, 3, shape=Shape(2, 2)), expected)


@pytest.mark.long
@pytest.mark.parametrize(
    ("k", "queries", "shape"),
    [(1, 7, (1, 1, 4)), (1, 7, (2, 2, 4)), (1, 7, (3, 1, 4)), (1, 7, (1, 2, 2)), (8, 2, (1, 2, 4)), (1, 1, (1, 1, 4))],
)
def test_start_lists_read_together_equal_the_cpu(simulator, blocks_at_once, random_graph, coarse, k, queries, shape):
    """Slots are refilled or filled in part; some queries draw walks forward; a batch leaves no data to the next."""
    from gpukit.kpar.batch.prepared_cuda import CudaPrepared
    from gpukit.kpar.batch.workspace_cuda import Shape

    graph = random_graph(8, 20, 15)
    index = build_index(graph, rank(graph).order, Params(), seed=3)
    cpu, gpu = Prepared.of(graph, index), CudaPrepared.of(graph, index)
    expected = query(cpu, Sources.single(np.arange(queries)), k)
    if queries == 7:
        tested = [trace[trace[:, 8] != -1][0] for trace in expected.traces]
        suspended = [row[8] for row in tested if row[7] == 0]
        assert 4 < len(suspended) < queries and max(suspended) > 0 and graph.indptr[7] == graph.indptr[6]
    teams, blocks, slots_per_team = shape
    shape = Shape(teams, blocks, slots_per_team=slots_per_team)
    check_equal(gpu.query(Sources.single(np.arange(queries)), k, shape=shape), expected)
    _, long, _, _, marks, units = gpu.space._work["rows"]
    assert not marks.array.any() and not units.array.any()
    assert not long.array[:, :3].any()
    check_equal(gpu.query(Sources.single([5]), k), query(cpu, Sources.single([5]), k))


def test_queries_whose_heads_have_nothing_beside_them_equal_the_cpu(simulator, random_graph, monkeypatch):
    """The array of heads with ω does not fit; or in-edges need room, so that array is freed."""
    from gpukit.kpar.batch import heads_cuda
    from gpukit.kpar.batch.prepared_cuda import CudaPrepared
    from gpukit.kpar.batch.workspace_cuda import Shape

    graph, sources, shape = random_graph(8, 20, 15), Sources.single([0, 3]), Shape(1, 1, slots_per_team=4)
    index = build_index(graph, rank(graph).order, Params(), seed=3)
    cpu, gpu = Prepared.of(graph, index), CudaPrepared.of(graph, index)
    expected = query(cpu, sources, 2)
    check_equal(gpu.query(sources, 2, shape=shape), expected)
    assert gpu.heads.bits < heads_cuda.BARE
    monkeypatch.setattr(heads_cuda, "free_memory", lambda: 0)
    check_equal(gpu.query(sources, 2, refine=True, shape=shape), query(cpu, sources, 2, refine=True))
    assert gpu.heads.bits == heads_cuda.BARE
    check_equal(gpu.query(sources, 2, shape=shape), expected)


@pytest.mark.parametrize(
    ("n", "queries", "expected"),
    [
        (2_000_000, 512, (10, 1)),
        (4_194_304, 32, (8, 4)),
        (4_194_304, 31, (4, 1)),
        (12_000_000, 512, (8, 4)),
        (12_000_000, 31, (1, 4)),
        (33_554_432, 2, (1, 4)),
        (33_554_432, 1, (1, 1)),
    ],
)
def test_queries_of_large_graphs_share_start_lists(simulator, n, queries, expected):
    from gpukit.kpar.batch import workspace_cuda
    from gpukit.kpar.batch.workspace_cuda import Shape

    space = workspace_cuda.Workspaces(n, 1)
    assert space.teams(queries, Shape()) == expected
    assert space.teams(queries, Shape(teams=3, slots_per_team=1)) == (3, 1)
    assert space.teams(queries, Shape(slots_per_team=1)) == (max(1, workspace_cuda.AT_WORK // n), 1)


@pytest.mark.parametrize(
    ("slots", "expected"),
    [(9.9, (2, 4)), (8.1, (2, 4)), (7.9, (1, 4)), (4.1, (1, 4)), (3.9, (1, 2)), (1.9, (2, 1)), (0.9, (1, 1))],
)
def test_slots_leave_half_of_the_memory(simulator, monkeypatch, slots, expected):
    """Half of the free memory has room for ``slots`` slots and a group's pairs; the first slot exists already."""
    from gpukit.kpar.batch import workspace_cuda
    from gpukit.kpar.query import team_cuda

    space = workspace_cuda.Workspaces(1000, 1)
    space.arrays(1, 1, 1)
    needed = 1000 * ((slots - 1) * workspace_cuda.BYTES_PER_VERTEX + 4 * team_cuda.PAIRS)
    monkeypatch.setattr(workspace_cuda, "free_memory", lambda: int(2 * needed / 0.9))
    assert space._fitting(2, 4) == expected


@pytest.mark.long
def test_light_index_gives_the_same(simulator, random_graph):
    from gpukit.kpar.batch.prepared_cuda import CudaPrepared

    graph = random_graph(12, 25, 3)
    index = build_index(graph, rank(graph).order, Params(), seed=3, memory=0)
    sources = Sources.single([0])
    expected = query(Prepared.of(graph, index), sources, 5)
    check_equal(CudaPrepared.of(graph, index).query(sources, 5), expected)


def test_selection_of_many_with_ties(simulator, monkeypatch):
    """Selection by histograms, with lists shrunk repeatedly and with ties, finds NumPy's k-th largest value."""
    from gpukit.kpar.query import select_cuda, team_cuda

    monkeypatch.setattr(select_cuda, "RANKED", 3)

    @cuda.jit
    def select(values, k, spare, other, control, found):
        pool = cuda.shared.array(team_cuda.POOL, np.int64)
        sums = cuda.shared.array(team_cuda.PREFIX_SUMS, np.int64)
        stages = cuda.shared.array(team_cuda.STAGE, np.int32), cuda.shared.array(team_cuda.STAGE, np.int32)
        small = cuda.shared.array(8, np.int32)
        small[cuda.threadIdx.x] = 0
        team = team_cuda.Team(control, 0, 0, 1, team_cuda.Memory(pool, sums, *stages, small))
        value, above, equal, _, _ = select_cuda.kth(values, len(values), k, spare, other, team, np.int64(1), 0)
        found[0], found[1], found[2] = value, above, equal

    generator = np.random.default_rng(1)
    for values in (
        generator.integers(1, 40, 60),
        (1 << 61) + generator.integers(0, 1 << 50, 40),
        np.concatenate([np.zeros(5, np.int64), generator.integers(0, 1 << generator.integers(1, 62, 40))]),
    ):
        for k in (1, 17, len(values)):
            found, control = np.zeros(3, np.int64), np.zeros(team_cuda.CONTROL, np.int64)
            select[1, 8](values, k, np.zeros_like(values), np.zeros_like(values), control, found)
            value = np.sort(values)[::-1][k - 1]
            assert found.tolist() == [value, (values > value).sum(), (values == value).sum()]


@pytest.mark.parametrize("weighted", [False, True])
def test_rank_and_index_equal_the_cpu(simulator, graph, weigh, weighted):
    from gpukit.kpar import rank_cuda
    from gpukit.kpar.index import build_cuda

    graph, params = weigh(graph), Params(weighted=weighted)
    expected, found = rank(graph, params), rank_cuda.rank(graph, params)
    assert np.array_equal(expected.pagerank, found.pagerank) and np.array_equal(expected.order, found.order)
    assert (expected.rounds, expected.remaining) == (found.rounds, found.remaining)
    for options in ({"hubs": True}, {"adaptive": False}, {"memory": 0, "hubs": True}):
        cpu = build_index(graph, expected.order, params, seed=5, **options)
        gpu = build_cuda.build_index(graph, found.order, params, seed=5, **options)
        names = ["walks", "arrivals", "src_begin", "starts", "frequent_begin", "frequencies", "hubs"]
        for name in names if "hubs" in options else names[:-1]:
            a, b = getattr(cpu, name), getattr(gpu, name)
            assert a.dtype == b.dtype and np.array_equal(a, b), name
        assert all(np.array_equal(a, b) for a, b in zip(cpu.forward, gpu.forward, strict=True))
        if not cpu.light:
            rows = build_cuda.forward_rows(graph.n, gpu.src_begin, gpu.starts, gpu.frequent_begin, gpu.frequencies)
            assert all(np.array_equal(a, b) for a, b in zip(cpu.forward, rows, strict=True))


def test_chances_of_edges_equal_the_cpu(simulator, random_graph, make_graph, weigh):
    """Rows begin at any position among the edges of a thread."""
    from gpukit.kpar import weights, weights_cuda

    plain = random_graph(50, 200, 4)
    empty = make_graph(3, [])
    for graph in (weigh(plain), weigh(empty)):
        assert np.array_equal(weights_cuda.edge_chances(graph), weights.edge_chances(graph))
    with pytest.raises(InputError, match="--weights file"):
        weights_cuda.edge_chances(replace(plain, weights=Weights("none")))


def test_queries_on_an_updatable_index_equal_the_cpu(simulator, random_graph):
    from gpukit.kpar.batch.prepared_cuda import CudaPrepared
    from gpukit.kpar.update.paths import build_updatable, sizes_of

    graph = random_graph(8, 20, 3)
    index = build_updatable(graph, sizes_of(graph, rank(graph).order, Params()), seed=3)
    found = CudaPrepared.of(graph, index).query(Sources.single([0, 3]), 4)
    check_equal(found, query(Prepared.of(graph, index), Sources.single([0, 3]), 4))


@pytest.mark.parametrize("weighted", [False, True])
def test_baselines_equal_the_cpu(simulator, random_graph, weigh, monkeypatch, weighted):
    from gpukit.papers.kpar import baselines, baselines_cuda

    monkeypatch.setattr(baselines, "walks_needed", lambda n, params, delta: 300)
    monkeypatch.setattr(baselines_cuda, "walks_needed", lambda n, params, delta: 300)
    graph, params = weigh(random_graph(15, 30, 8)), Params(weighted=weighted)
    sources = Sources.joined([Sources.single([0]), Sources.weighted([1, 2, 0], [1, 2, 9])])
    cpu, gpu = (one.fora_index(graph, params, seed=4) for one in (baselines, baselines_cuda))
    assert np.array_equal(cpu.places, gpu.places) and np.array_equal(cpu.ends, gpu.ends)
    for expected, found in (
        (baselines.fora(graph, cpu, sources, 6), baselines_cuda.CudaFora(graph, gpu).query(sources, 6)),
        tuple(one.monte_carlo(graph, sources, 6, params, seed=4) for one in (baselines, baselines_cuda)),
    ):
        assert np.array_equal(found.offsets, expected.offsets)
        assert np.array_equal(found.nodes, expected.nodes) and np.array_equal(found.scores, expected.scores)


def test_bench_hands_forward_rows_to_the_cpu(simulator, random_graph, monkeypatch):
    from gpukit.kpar.index import build_cpu
    from gpukit.papers.bench.kpar import Bench

    bench = Bench(random_graph(8, 12, 3), Params(), simulator, 3, 1.0, refine=True, repeat=1)
    bench.preprocessing()
    # Called all the same, it fails.
    monkeypatch.setattr(build_cpu, "forward_rows", None)
    assert bench.on_threads(2, Sources.single([1]))["same_answers"]


@pytest.mark.long
def test_launches_that_take_no_longer_than_a_moment(simulator, make_graph, monkeypatch):
    """Several launches give the answers of one launch of the whole batch, for kPAR and for FORA+."""
    from gpukit.kpar.batch import prepared_cuda, workspace_cuda
    from gpukit.papers.kpar import baselines, baselines_cuda

    graph = make_graph(3, [(0, 1)])
    index, walks = build_index(graph, rank(graph).order, Params(), seed=3), baselines.fora_index(graph, seed=3)
    sources, seen, launched = Sources.single([0, 1, 2, 0, 1]), [], []
    gpu, fora = prepared_cuda.CudaPrepared.of(graph, index), baselines_cuda.CudaFora(graph, walks)
    monkeypatch.setattr(workspace_cuda, "A_LAUNCH", 2)
    monkeypatch.setattr(workspace_cuda.Workspaces, "teams", lambda self, queries, shape: (1, 1))
    for module in (prepared_cuda, baselines_cuda):
        monkeypatch.setattr(module, "launch", lambda *args, run=module.launch: (launched.append(args[0]), run(*args)))
    found = gpu.query(sources, 2, progress=lambda *done: seen.append(done))
    check_equal(found, query(Prepared.of(graph, index), sources, 2))
    assert seen == [(2, 5), (4, 5), (5, 5)] and len(launched) == 3
    found, expected = fora.query(sources, 2), baselines.fora(graph, walks, sources, 2)
    assert np.array_equal(found.nodes, expected.nodes) and np.array_equal(found.scores, expected.scores)
    assert len(launched) == 6


@pytest.mark.parametrize("n", [2, 1000, 2**22, 2**25, 2**26 + 1, 2**30])
def test_heads_tell_between_which_numbers_their_walks_are(simulator, monkeypatch, n):
    """A word has the head in its lower bits, and above it ω, or a range of ω if there are too few digits."""
    from gpukit.device.arrays import Buffer
    from gpukit.kpar.batch import heads_cuda
    from gpukit.kpar.problem import ONE

    monkeypatch.setattr(heads_cuda, "free_memory", lambda: 1 << 40)
    powers = 2 ** np.arange(32)
    walks = np.unique(np.r_[0:40, powers, powers - 1, powers + 1, 2**32 - 1]).astype(np.uint32)[:n]
    heads = heads_cuda.heads_of(n, Buffer(np.arange(len(walks), dtype=np.int32)), walks)
    spare = 31 - max(1, (n - 1).bit_length())
    assert (heads.bits, heads.digits) == ((31 - spare, spare - 5) if spare >= 5 else (31, 0))

    @cuda.jit
    def ranges(heads, found):
        i = cuda.grid(1)
        found[i, 0], found[i, 1] = heads_cuda.walks_within(np.int64(heads.words[i]), heads)

    found = np.zeros((len(walks), 2), np.int64)
    ranges[len(walks), 1](heads._replace(words=heads.words.array), found)
    least, largest = found.T
    assert np.array_equal(heads.words.array & ((1 << heads.bits) - 1), np.arange(len(walks)))
    if heads.bits == 31:
        assert set(least) == {1} and set(largest) == {ONE}
    else:
        assert (least <= walks).all() and (walks <= largest).all()
        assert (largest - least <= least >> heads.digits).all()
        assert (least[walks < 2 << heads.digits] == walks[walks < 2 << heads.digits]).all()
