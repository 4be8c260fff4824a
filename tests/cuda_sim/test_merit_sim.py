"""MERIT in the simulator gives the sets, seeds and campaigns of the CPU, on tiny graphs."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
from oracles.selection import check_same_selection

from gpukit.errors import DeviceError
from gpukit.graph.csr import Weights
from gpukit.merit import Costs, Params, SimulatedWorld
from gpukit.merit.residual import Residual
from gpukit.merit.sets import CpuSets
from gpukit.papers.merit.factory import make_sets, sets_in, simulate
from gpukit.worlds.reverse import prepare

MODELS = pytest.mark.parametrize(
    ("model", "weights", "options"),
    [
        ("ic", Weights(), {}),
        ("ic", Weights("const", 0.2), {}),
        ("lt", Weights(), {}),
        ("lt", Weights("const", 0.1), {"lt_residual": "raw"}),
    ],
)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    from gpukit.merit import best_cuda, cover_cuda, state_cuda
    from gpukit.papers.merit import cover_cuda as cover_rings
    from gpukit.papers.merit import rings

    monkeypatch.setattr(rings, "MIN_LENGTH", 64)
    for name, value in (("BLOCK", 32), ("MAX_CANDIDATES", 32), ("WANTED", 2), ("EPOCHS", 2)):
        for module in (cover_cuda, cover_rings):
            monkeypatch.setattr(module, name, value, raising=module is cover_cuda)
    monkeypatch.setattr(best_cuda, "BLOCK", 32)
    monkeypatch.setattr(state_cuda, "COVERED", 200)


def pair(graph, model, eta, simulator, storage="tables", **options):
    """Return a CPU collection, a GPU collection and the residual graph; segments have two load groups."""
    residual = Residual(graph, eta, model)
    params = Params(eta, 1, model, seed=5, **options)
    reverse = prepare(graph, model)
    gpu = make_sets(reverse, residual, params, simulator, storage=storage, groups=2)
    return CpuSets(reverse, residual, 5, raw=params.lt_residual == "raw"), gpu, residual


def check_equal(cpu, gpu, costs=None):
    for one, other in zip(cpu.export(), gpu.export(), strict=True):
        assert np.array_equal(one, other)
    if costs is not None:
        check_same_selection(cpu.select(3, costs, None), gpu.select(3, costs, None))


@pytest.mark.long
@MODELS
@pytest.mark.parametrize(("stage", "max_added", "bits"), [(256, 512, 10), (3, 512, 0), (1, 512, 0), (256, 0, 10)])
def test_sets_and_seeds_through_a_history(
    random_graph, simulator, model, weights, options, stage, max_added, bits, monkeypatch
):
    """A set gains more members at once than the table takes; the number of sets falls and rises.

    With few mark bits every vertex found may be a member, and has to be searched for.
    """
    from gpukit.papers.merit import table_cuda, update_cuda

    monkeypatch.setattr(table_cuda, "MARK_BITS", bits)
    for module in (update_cuda, table_cuda):
        monkeypatch.setattr(module, "STAGE", stage)
    monkeypatch.setattr(update_cuda, "MAX_ADDED", max_added)
    graph = random_graph(30, 90, 6, weights)
    costs = np.random.default_rng(1).integers(1, 5, 30)
    cpu, gpu, residual = pair(graph, model, 14, simulator, "segments", **options)
    generator = np.random.default_rng(3)
    for size in (5, 11, 5, 11, 4):
        for one in (cpu, gpu):
            one.update(size)
            one.extend(size)
        check_equal(cpu, gpu, costs)
        dead = generator.choice(np.flatnonzero(residual.dead == 0), 2, replace=False).astype(np.int32)
        weakened = residual.kill(dead)
        for one in (cpu, gpu):
            one.kill(dead, weakened)


@pytest.mark.long
@pytest.mark.parametrize(
    ("edges", "weights", "dead"),
    [
        ([(0, 3, 0.9999999), (1, 3, 0.00000004), (2, 3, 0.00000004), (3, 4, 0.5)], None, [[0], [2]]),
        ([(v, 41) for v in range(40)] + [(41, 42)], Weights("const", 0.024), [list(range(1, 39)), [39]]),
        ([(v, 41) for v in range(40)] + [(41, 42)], Weights(), [list(range(38)), [38]]),
    ],
    ids=["file", "const", "cascade"],
)
@pytest.mark.parametrize("storage", ["tables", "global"])
def test_clocks_choose_where_the_dead_hold_the_weight(make_graph, simulator, edges, weights, dead, storage):
    graph = make_graph(max(edge[1] for edge in edges) + 1, edges, weights)
    residual = Residual(graph, graph.n - 1, "lt")
    anew = storage == "global"
    params = Params(graph.n - 1, 1, "lt", seed=5, update="regenerate" if anew else "coupled")
    reverse = prepare(graph, "lt", "scan" if anew else "skip")
    cpu = CpuSets(reverse, residual, 5)
    gpu = make_sets(reverse, residual, params, simulator, storage=storage)
    for chosen in dead:
        vertices = np.array(chosen, np.int32)
        weakened = residual.kill(vertices)
        for one in (cpu, gpu):
            one.kill(vertices, weakened)
            if anew:
                one.restart(0)
            one.update(30)
            one.extend(30)
        check_equal(cpu, gpu)


def test_roots_drawn_in_several_steps(make_graph, simulator, monkeypatch):
    """Sets have only roots, and there are no mark bits: a root that one step finds is not drawn in another."""
    from gpukit.papers.merit import table_cuda

    monkeypatch.setattr(table_cuda, "MARK_BITS", 0)
    cpu, gpu, residual = pair(make_graph(60, [(0, 1)], Weights()), "ic", 6, simulator, "segments")
    for one in (cpu, gpu):
        one.extend(12)
    dead = np.array([20, 40], np.int32)
    weakened = residual.kill(dead)
    for one in (cpu, gpu):
        one.kill(dead, weakened)
        one.update(12)
    check_equal(cpu, gpu, np.ones(60, np.int64))


@pytest.mark.parametrize(("stage", "max_added"), [(256, 512), (1, 512), (256, 0)])
def test_members_that_become_roots(make_graph, simulator, stage, max_added, monkeypatch):
    """Most of 20 vertices are in every set, and 17 others die: sets gain few or many roots that are already members."""
    from gpukit.papers.merit import table_cuda, update_cuda

    for module in (update_cuda, table_cuda):
        monkeypatch.setattr(module, "STAGE", stage)
    monkeypatch.setattr(update_cuda, "MAX_ADDED", max_added)
    edges = [(v, (v * a + 1) % 20) for v in range(20) for a in (1, 3, 7)]
    cpu, gpu, residual = pair(make_graph(40, edges, Weights("const", 0.7)), "ic", 20, simulator, "segments")
    for one in (cpu, gpu):
        one.extend(12)
    dead = np.arange(23, 40, dtype=np.int32)
    weakened = residual.kill(dead)
    for one in (cpu, gpu):
        one.kill(dead, weakened)
        one.update(12)
    check_equal(cpu, gpu, np.ones(40, np.int64))


def test_more_live_edges_than_a_block_holds(make_graph, simulator, monkeypatch):
    """A vertex with more live edges than fit is processed in parts, also if its first part adds waiting vertices."""
    from gpukit.papers.merit import table_cuda, update_cuda

    for module in (update_cuda, table_cuda):
        monkeypatch.setattr(module, "STAGE", 3)
    edges = [(leaf, 0) for leaf in range(1, 5)] + [(5, 1), (6, 2), (7, 3), (8, 4)]
    cpu, gpu, _ = pair(make_graph(9, edges, Weights("const", 1.0)), "ic", 9, simulator, "segments")
    for one in (cpu, gpu):
        one.extend(60)
    check_equal(cpu, gpu)


def test_rings_that_turn_and_rings_that_are_too_short(random_graph, simulator, monkeypatch):
    """Rings of sufficient length are compacted; too short rings are replaced, and no set is lost."""
    from gpukit.papers.merit import rings

    graph = random_graph(30, 90, 2)
    for headroom, reach in ((1, 3.0), (1, 0.05)):
        monkeypatch.setattr(rings, "HEADROOM", headroom)
        cpu, gpu, residual = pair(graph, "ic", 14, simulator, "segments")
        gpu._reach, gpu.state.segments = reach, 2
        lengths = set()
        for vertex in range(0, 10, 2):
            for one in (cpu, gpu):
                one.update(6 if vertex % 4 == 0 else 2)
                one.extend(6 if vertex % 4 == 0 else 2)
            costs = np.ones(30, np.int64)
            check_same_selection(cpu.select(2, costs, None), gpu.select(2, costs, None))
            check_equal(cpu, gpu)
            lengths.add(gpu.length)
            dead = np.array([vertex], np.int32)
            weakened = residual.kill(dead)
            for one in (cpu, gpu):
                one.kill(dead, weakened)
            if residual.eta < 3:
                break
        assert len(lengths) > 1 or reach > 1


def test_rings_that_were_too_short_become_twice_as_long(random_graph, simulator):
    """The headroom of new rings is not added, which would take four times the memory."""
    cpu, gpu, _ = pair(random_graph(30, 90, 2), "ic", 14, simulator, "segments")
    for one in (cpu, gpu):
        one.extend(6)
    before = gpu.length
    gpu.redraw()
    check_equal(cpu, gpu)
    assert gpu.length == 2 * before


@pytest.mark.parametrize("storage", ["tables", "segments"])
def test_memory_was_planned_for(random_graph, simulator, monkeypatch, storage):
    """Rings or tables become longer for fewer sets, while the arrays of more sets still exist."""
    from gpukit.merit import sets_cuda
    from gpukit.papers.merit import rings

    for module in (sets_cuda, rings):
        monkeypatch.setattr(module, "FEW", 1)
    _, gpu, _ = pair(random_graph(12, 30, 1), "ic", 8, simulator, storage)
    gpu.owner = False  # without what it shares
    gpu.extend(16)
    gpu.restart(0)
    gpu.extend(5)
    gpu.redraw()
    assert gpu.memory() <= gpu.planned()


@pytest.mark.parametrize("storage", ["tables", "segments"])
def test_memory_is_given_back_at_once(random_graph, simulator, storage):
    """The next campaign plans with the memory that is free then, so no array may wait for a garbage collection."""
    _, gpu, residual = pair(random_graph(12, 30, 1), "ic", 8, simulator, storage)
    judge = make_sets(gpu.reverse, residual, Params(8, 1), simulator, share_graph_with=gpu, storage=storage)
    gpu.extend(5)
    judge.extend(5)
    gpu.select(2, np.ones(12, np.int64), judge)
    states = [weakref.ref(one) for one in (gpu, judge, gpu.state)]
    gc.disable()
    try:
        del gpu, judge
        assert [state() for state in states] == [None, None, None]
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "params",
    [
        Params(9, 2, epsilon=0.9, seed=1),
        Params(8, 3, "lt", epsilon=0.9, certificate="paper", seed=2),
        Params(4, 4, epsilon=0.9, seed=3),
    ],
    ids=["ic", "lt", "end"],
)
@pytest.mark.parametrize("storage", ["tables", "segments", "global"])
def test_campaigns(make_graph, simulator, params, storage, monkeypatch):
    from gpukit.merit import policy

    def fewer(*args):
        return replace(plans(*args), sizes=(5, 10))

    plans = policy.plan
    monkeypatch.setattr(policy, "plan", fewer)
    graph = make_graph(14, [(v, (3 * v + 1) % 14) for v in range(14)] + [(v, (v + 5) % 14) for v in range(14)])
    anew = {"update": "regenerate", "ids": "fresh"} if storage == "global" else {}
    params, sampler = replace(params, **anew, costs=Costs.degree(graph)), "scan" if anew else "skip"
    cpu, gpu = (
        simulate(
            graph,
            params,
            SimulatedWorld(graph, params.model, 4),
            device,
            sampler=sampler,
            make_sets=sets_in(storage, 2),
        )
        for device in (None, simulator)
    )
    for one, other in zip(cpu.rounds, gpu.rounds, strict=True):
        assert one.batch.tolist() == other.batch.tolist() and one.activated.tolist() == other.activated.tolist()
        assert (one.sets, one.covered, one.hits, one.kind) == (other.sets, other.covered, other.hits, other.kind)
        assert (one.coverage_upper, one.refused, one.judged) == (other.coverage_upper, other.refused, other.judged)
    assert gpu.memory <= gpu.planned_memory < 2 * gpu.memory
    assert cpu.memory == cpu.planned_memory == 0


def test_members_that_32_bits_do_not_number_are_refused(random_graph, simulator, monkeypatch):
    from gpukit.papers.merit import gamcss

    _, gpu, _ = pair(random_graph(12, 30, 1), "ic", 8, simulator, "global", update="regenerate", ids="fresh")
    monkeypatch.setattr(gamcss, "MAX_MEMBERS", 20)
    gpu.extend(2)
    with pytest.raises(DeviceError, match="GAMCSS numbers 20 at most"):
        gpu.extend(60)


def follow(cpu, gpu, residual, sizes, deaths, costs=None):
    """Let the same vertices die in two collections, and compare their sets and seeds in each round."""
    generator = np.random.default_rng(3)
    for size in sizes:
        for one in (cpu, gpu):
            one.update(size)
            one.extend(size)
        if costs is not None:
            check_same_selection(cpu.select(3, costs, None), gpu.select(3, costs, None))
        check_equal(cpu, gpu)
        dead = generator.choice(np.flatnonzero(residual.dead == 0), deaths, replace=False).astype(np.int32)
        weakened = residual.kill(dead)
        for one in (cpu, gpu):
            one.kill(dead, weakened)


@MODELS
@pytest.mark.parametrize(("stage", "stack", "few"), [(1024, 2048, 32), (2, 5, 0), (40, 42, 0)])
def test_tables_through_a_history(random_graph, simulator, model, weights, options, stage, stack, few, monkeypatch):
    """Members that a block has no room for are searched at once; a thread or a block draws missing roots."""
    from gpukit.merit import hashed_cuda, search_cuda

    monkeypatch.setattr(hashed_cuda, "FEW_ROOTS", few)
    for name, value in (("STAGE", stage), ("STACK", stack)):
        monkeypatch.setattr(search_cuda, name, value)
    graph = random_graph(30, 90, 6, weights)
    cpu, gpu, residual = pair(graph, model, 14, simulator, **options)
    follow(cpu, gpu, residual, (5, 11, 5, 11, 4), 2, np.random.default_rng(1).integers(1, 5, 30))


def test_tables_that_were_too_short_become_longer(random_graph, simulator, monkeypatch):
    """Tables are made for sets of one member."""
    from gpukit.merit import sets_cuda

    monkeypatch.setattr(sets_cuda, "PLACES", 1)
    cpu, gpu, residual = pair(random_graph(30, 90, 2), "ic", 14, simulator)
    gpu._reach = 0.1
    tables = set()
    for size in (6, 40, 12):
        follow(cpu, gpu, residual, (size,), 2, np.ones(30, np.int64))
        tables.add(gpu.table)
    assert tables != {gpu.table}


@pytest.mark.long
@pytest.mark.parametrize(("aside", "longest"), [(1, 2), (200, 1)])
def test_tables_become_longer_in_the_same_memory(random_graph, simulator, monkeypatch, aside, longest):
    """Growing sets move within the present memory, the last ones first, and none is drawn again."""
    from gpukit.merit import sets_cuda

    monkeypatch.setattr(sets_cuda, "PLACES", 1)
    monkeypatch.setattr(sets_cuda, "ASIDE", aside)
    monkeypatch.setattr(sets_cuda, "LONGEST", longest)
    cpu, gpu, residual = pair(random_graph(60, 120, 2), "ic", 20, simulator)
    gpu.state.set_memory, gpu._reach = 4 * 6000, 1.5
    drawn, tables, draw = [], [], gpu._draw
    monkeypatch.setattr(gpu, "_draw", lambda low, high: (drawn.append((low, high)), draw(low, high)))
    for size in (40, 40, 38, 40, 36, 36):
        follow(cpu, gpu, residual, (size,), 3, np.ones(60, np.int64))
        tables.append(gpu.table)
    assert len(set(tables)) > 1 and tables == sorted(tables), tables
    assert drawn == [(0, 40)], drawn
    assert gpu.memory() <= gpu.planned()


def test_seeds_that_a_selection_looked_for_are_not_looked_for_again(random_graph, simulator):
    """The number of sets rises and falls after a selection, and not all selected seeds die."""
    cpu, gpu, residual = pair(random_graph(40, 120, 2), "ic", 30, simulator)
    costs, known = np.ones(40, np.int64), []
    for size, all_seeds in ((20, True), (12, True), (26, False), (20, True), (16, True)):
        for one in (cpu, gpu):
            one.update(size)
            one.extend(size)
        check_equal(cpu, gpu)
        seeds = cpu.select(3, costs, None).seeds
        assert np.array_equal(seeds, gpu.select(3, costs, None).seeds)
        other = np.setdiff1d(np.flatnonzero(residual.dead == 0), seeds)[:1]
        dead = np.union1d(seeds if all_seeds else seeds[1:], other).astype(np.int32)
        weakened = residual.kill(dead)
        for one in (cpu, gpu):
            one.kill(dead, weakened)
        known.append(gpu._known)
    assert known == [20, 12, 0, 20, 16]


@pytest.mark.parametrize("weights", [Weights(), Weights("const", 0.5)], ids=["cascade", "const"])
def test_sets_that_lose_members_that_none_came_through_are_not_drawn_again(make_graph, simulator, weights, monkeypatch):
    """If a path's end or isolated vertices die, sets only lose them; such sets stay valid, also in longer tables."""
    from gpukit.merit import sets_cuda
    from gpukit.merit.hashed_cuda import GONE

    monkeypatch.setattr(sets_cuda, "PLACES", 1)
    chain = [(v, v + 1) for v in range(20)]
    cpu, gpu, residual = pair(make_graph(60, chain, weights), "ic", 30, simulator)
    costs, found = np.ones(60, np.int64), []
    for dead in ([0, 50, 51], [1, 2, 52], [53], [10, 54, 55, 56], [57]):
        for one in (cpu, gpu):
            one.update(25)
            one.extend(25)
        check_same_selection(cpu.select(3, costs, None), gpu.select(3, costs, None))
        check_equal(cpu, gpu)
        found.append((gpu.probes, gpu._pool.host(25 * gpu.table).tolist().count(GONE)))
        vertices = np.array(dead, np.int32)
        weakened = residual.kill(vertices)
        for one in (cpu, gpu):
            one.kill(vertices, weakened)
    (first, none), (second, gone) = found[:2]
    assert none == 0 < gone and second - first < first // 4


def test_rounds_that_begin_before_they_are_planned(random_graph, simulator, monkeypatch):
    """A round begins with as many sets as it needs, or more, or fewer, but not if tables have to become longer."""
    from gpukit.merit import sets_cuda

    cpu, gpu, residual = pair(random_graph(40, 120, 2), "ic", 30, simulator)
    costs = np.ones(40, np.int64)
    for ahead, size in ((0, 20), (20, 20), (20, 12), (12, 26), (26, 20)):
        gpu.begin(ahead)
        assert gpu._valid == ahead
        for one in (cpu, gpu):
            one.update(size)
            one.extend(size)
        check_same_selection(cpu.select(3, costs, None), gpu.select(3, costs, None))
        check_equal(cpu, gpu)
        dead = np.flatnonzero(residual.dead == 0)[:2].astype(np.int32)
        weakened = residual.kill(dead)
        for one in (cpu, gpu):
            one.kill(dead, weakened)
    monkeypatch.setattr(sets_cuda, "FULL", 0.0)
    gpu.begin(20)
    assert gpu._valid == 0


def test_parts_are_cut_and_joined(random_graph, simulator, monkeypatch):
    """Each set is counted once, in any order of larger and smaller trials."""
    from gpukit.merit import hashed_cuda

    monkeypatch.setattr(hashed_cuda, "PARTS", 3)
    cpu, gpu, residual = pair(random_graph(30, 90, 2), "ic", 14, simulator)
    follow(cpu, gpu, residual, (12, 20, 16, 12, 14, 4, 24, 20), 1, np.ones(30, np.int64))
    ends = [end for end, _ in gpu._parts]
    assert ends == sorted(ends) and 20 in ends and len(ends) == 3
    gpu.update(20)
    counted = gpu._counts(gpu._count_valid())
    assert np.array_equal(counted, np.bincount(gpu.export()[1], minlength=30))


def test_tables_for_sets_of_next_to_no_members_become_longer(random_graph, simulator, monkeypatch):
    """Tables double each time, for any expected size of sets."""
    from gpukit.merit import sets_cuda

    monkeypatch.setattr(sets_cuda, "PLACES", 1)
    cpu, gpu, residual = pair(random_graph(30, 90, 2), "ic", 14, simulator)
    gpu._reach = 0.001
    follow(cpu, gpu, residual, (12,), 2, np.ones(30, np.int64))
    assert gpu.table >= 16


def test_queues_that_are_too_short_take_fewer_sets(random_graph, simulator, monkeypatch):
    """A queue holds the members of one set, and a block holds almost none."""
    from gpukit.merit import search_cuda

    monkeypatch.setattr(search_cuda, "STAGE", 1)
    monkeypatch.setattr(search_cuda, "STACK", 2)
    cpu, gpu, residual = pair(random_graph(30, 90, 2, Weights("const", 0.9)), "ic", 14, simulator)
    gpu.state.waiting = type(gpu.state.waiting)((2, 30), np.int64)
    follow(cpu, gpu, residual, (40, 12), 2, np.ones(30, np.int64))
    assert gpu._at_once < 1


def test_tables_that_do_not_fit_are_refused(make_graph, simulator):
    """All vertices reach one vertex: the few sets that contain it need tables too long to fit."""
    graph = make_graph(30, [(v, 0) for v in range(1, 29)], Weights("const", 1.0))
    cpu, gpu, residual = pair(graph, "ic", 14, simulator)
    gpu.state.set_memory, gpu._reach = 4 * 2100, 1.0
    with pytest.raises(DeviceError, match="mRR sets .* are free on the GPU for one collection; use --device cpu"):
        follow(cpu, gpu, residual, (100,), 2, np.ones(30, np.int64))
