"""mRR sets on the CPU: exact distributions, the biased update and its repair, equality for any history and threads."""

from collections import Counter
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from oracles.mrr import mrr_distribution
from oracles.statistics import ALPHA, check_cells, chi_square_p
from oracles.worlds import mask_of

from gpukit.device import memory
from gpukit.errors import DeviceError
from gpukit.graph.csr import Weights
from gpukit.merit.residual import Residual
from gpukit.merit.sets import CpuSets
from gpukit.papers.merit.printed import PrintedUpdate
from gpukit.worlds.reverse import prepare

RUNS = 40_000
PrintedSets = partial(CpuSets, make_update=PrintedUpdate)


def test_roots_split_by_the_mean_have_another_law():
    # Lemma 3.4 with V = 0 … 4, the root 0, the set {0, 1, 2}, and two new roots: k_Δ = 2 · (5 - 3)/(5 - 1) = 1 of them
    # is from outside the set. Of the six pairs that are drawn from all vertices with equal chance, {1, 2} never comes.
    inside, outside = {1, 2}, {3, 4}
    split = {frozenset({u, v}) for u in inside for v in outside}
    drawn = {frozenset(pair) for pair in combinations(inside | outside, 2)}
    assert drawn - split == {frozenset(inside), frozenset(outside)} and len(drawn) == 6


class Pair:
    """A collection and its residual graph."""

    def __init__(self, graph, model="ic", eta=3, kind=CpuSets, **options):
        self.residual = Residual(graph, eta, model)
        self.sets = kind(prepare(graph, model), self.residual, options.pop("seed", 7), **options)

    def kill(self, *vertices):
        chosen = np.array(vertices, np.int32)
        self.sets.kill(chosen, self.residual.kill(chosen))

    def bring(self, size):
        self.sets.update(size)
        self.sets.extend(size)
        return self.lists()

    def lists(self):
        offsets, members = self.sets.export()
        return [members[low:high].tolist() for low, high in zip(offsets, offsets[1:], strict=False)]


def fresh_after(graph, size, dead, **options):
    """Return the sets of a collection that is new in the residual graph."""
    pair = Pair(graph, **options)
    pair.kill(*dead)
    return pair.bring(size)


def chance_of_middle(kind, fixed):
    """Return how often c is in a set with root b once a is dead, on a → c → b; with the root fixed before or after."""
    pair = Pair(fixed["graph"], eta=3, kind=kind)
    pair.bring(RUNS)
    segment = pair.sets._segments[0]
    before = segment.arena[segment.sets.starts[:RUNS]].copy()
    pair.kill(0)
    lists = pair.bring(RUNS)
    after = segment.arena[segment.sets.starts[:RUNS]]
    chosen = (before == 1) if fixed["before"] else (after == 1)
    hits = [2 in members for members, one in zip(lists, chosen, strict=True) if one]
    return sum(hits), len(hits)


@pytest.mark.parametrize("before", [True, False])
def test_the_printed_update_is_biased_and_the_coupled_one_is_not(make_graph, before):
    """Vertices a, b, c = 0, 1, 2, edges a → c → b with p = ½, root b, then a is activated: c is in the set with ½.

    As printed it is 3/8 for sets that had root b before. Each bound fails a right program with chance below 1e-6.
    """
    graph = make_graph(3, [(0, 2, 0.5), (2, 1, 0.5)])
    hits, runs = chance_of_middle(CpuSets, {"graph": graph, "before": before})
    check_cells({True: hits, False: runs - hits}, {True: 0.5, False: 0.5})
    hits, runs = chance_of_middle(PrintedSets, {"graph": graph, "before": True})
    check_cells({True: hits, False: runs - hits}, {True: 0.375, False: 0.625})


GRAPHS = {
    "dense": (5, [(u, v) for u in range(5) for v in range(5) if u < v or (u, v) in ((4, 0), (3, 1))]),
    "sparse": (6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3), (2, 0)]),
}


@pytest.mark.parametrize("key", GRAPHS)
@pytest.mark.parametrize(
    ("model", "weights", "raw"),
    [
        ("ic", Weights(), False),
        ("ic", Weights("const", 0.4), False),
        ("lt", Weights(), False),
        ("lt", Weights("const", 0.2), False),
        ("lt", Weights(), True),
    ],
)
def test_updated_sets_follow_the_residual_graph(make_graph, key, model, weights, raw):
    """Whole sets against enumeration: false alarms below 1e-6 by Bernstein's bound, and 1e-6 by chi-square."""
    n, edges = GRAPHS[key]
    graph = make_graph(n, edges, weights)
    pair = Pair(graph, model, eta=n - 1, raw=raw)
    check(pair.bring(RUNS), mrr_distribution(graph, model, n - 1, set(), raw))
    dead = []
    for vertex in (0, 2):
        pair.kill(vertex)
        dead.append(vertex)
        lists = pair.bring(RUNS)
        check(lists, mrr_distribution(graph, model, n - 1 - len(dead), set(dead), raw))
        assert lists == fresh_after(graph, RUNS, dead, model=model, eta=n - 1, raw=raw)


def check(lists, distribution):
    counts = Counter(mask_of(members) for members in lists)
    check_cells(counts, distribution)
    assert chi_square_p(counts, distribution) > ALPHA


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("model", ["ic", "lt"])
def test_random_graphs_and_histories(make_graph, model, seed):
    """Six random residual graphs a model: updated step by step, against enumeration (as above)."""
    generator = np.random.default_rng(seed)
    n = 6
    edges = {(int(u), int(v)) for u, v in generator.integers(0, n, (9, 2)) if u != v}
    graph = make_graph(n, sorted(edges))
    pair, dead, eta = Pair(graph, model, eta=5, seed=seed), [], 5
    for vertex in generator.permutation(n)[:3].tolist():
        pair.bring(int(generator.integers(1, 20_000)))
        pair.kill(vertex)
        dead.append(vertex)
        eta -= 1
    check(pair.bring(20_000), mrr_distribution(graph, model, eta, set(dead)))


def test_the_printed_update_fails_that_test(make_graph):
    n, edges = GRAPHS["sparse"]
    graph = make_graph(n, edges, Weights("const", 0.4))
    pair = Pair(graph, "ic", eta=n - 1, kind=PrintedSets)
    pair.bring(RUNS)
    pair.kill(0)
    lists = pair.bring(RUNS)
    counts = Counter(mask_of(members) for members in lists)
    assert chi_square_p(counts, mrr_distribution(graph, "ic", n - 2, {0})) < ALPHA


@pytest.mark.parametrize("model", ["ic", "lt"])
@pytest.mark.parametrize("weights", [Weights(), Weights("const", 0.03), Weights("trivalency", seed=2)])
@pytest.mark.parametrize("threads", [1, 3])
def test_coupled_sets_are_those_drawn_afresh(random_graph, model, weights, threads):
    """Byte for byte, whatever the order of deaths, partial updates and growth, and the number of threads."""
    graph = random_graph(400, 2500, 5, weights)
    if model == "lt" and weights.scheme == "trivalency":
        pytest.skip("weights of this scheme sum to more than LT allows")
    generator = np.random.default_rng(0)
    pair, dead = Pair(graph, model, eta=60, threads=threads), []
    for size in (50, 700, 20, 300, 900):
        lists = pair.bring(size)
        expected = fresh_after(graph, size, dead, model=model, eta=60)
        assert lists == expected
        chosen = generator.choice(np.flatnonzero(pair.residual.dead == 0), 9, replace=False).tolist()
        pair.kill(*chosen)
        dead += chosen
    probes = pair.sets.probes
    pair.bring(900)
    again = Pair(graph, model, eta=60)
    again.kill(*dead)
    again.bring(900)
    assert pair.sets.probes - probes < again.sets.probes


def test_ids_choose_the_sets(random_graph):
    graph = random_graph(200, 900, 3)
    one, other = Pair(graph, eta=20), Pair(graph, eta=20)
    whole = one.bring(300)
    other.sets.restart(100)
    assert other.bring(200) == whole[100:]
    other.sets.restart(0)
    assert other.bring(10) == whole[:10]


def test_no_living_in_neighbour_under_lt(make_graph):
    """A vertex whose only in-neighbours died chooses none, although its weights sum to one."""
    graph = make_graph(4, [(0, 3), (1, 3), (2, 3)])
    pair = Pair(graph, "lt", eta=4)
    pair.bring(100)
    pair.kill(0, 1)
    assert all(members in ([2], [3], [2, 3]) for members in pair.bring(100))
    pair.kill(2)
    assert pair.bring(100) == [[3]] * 100


def test_the_dead_may_hold_nearly_all_of_the_weight(make_graph):
    """Where further draws would hardly ever end: sets follow the residual graph, also when the next one dies."""
    edges = [(0, 3, 0.9999999), (1, 3, 0.00000004), (2, 3, 0.00000004), (3, 4, 0.5), (2, 4, 0.25)]
    graph, dead = make_graph(5, edges), []
    pair = Pair(graph, "lt", eta=4)
    check(pair.bring(RUNS), mrr_distribution(graph, "lt", 4))
    for vertex in (0, 2):
        pair.kill(vertex)
        dead.append(vertex)
        lists = pair.bring(RUNS)
        check(lists, mrr_distribution(graph, "lt", 4 - len(dead), set(dead)))
        assert lists == fresh_after(graph, RUNS, dead, model="lt", eta=4)


def test_arenas_move_and_stamps_start_again(random_graph, monkeypatch):
    from gpukit.merit import sets, update_cpu

    graph = random_graph(300, 1500, 8)
    plain = Pair(graph, eta=30)
    monkeypatch.setattr(sets, "ROOM", 4)
    tight = Pair(graph, eta=30)
    tight.sets._segments[0].stamp = update_cpu.DEAD - 3000
    for vertex in range(0, 60, 5):
        assert plain.bring(1000) == tight.bring(1000)
        for pair in (plain, tight):
            pair.kill(vertex)


def test_sets_that_do_not_fit_are_not_drawn(random_graph, monkeypatch):
    """The prediction covers what the arenas come to; where less is free, nothing more is drawn."""
    asked = []
    monkeypatch.setattr(memory, "UNASKED", 0)
    monkeypatch.setattr(memory, "host_free_bytes", lambda: 1 << 40)
    check = memory.check_budget
    monkeypatch.setattr(memory, "check_budget", lambda *what: asked.append(sum(what[0].values())) or check(*what))
    pair = Pair(random_graph(200, 800, 1), eta=20, threads=2)
    pair.bring(2000)
    del asked[:]
    pair.sets.extend(200_000)
    held = sum(one.arena.nbytes + 24 * len(one.sets.starts) for one in pair.sets._segments)
    assert max(asked) / 3 <= held <= max(asked)
    monkeypatch.setattr(memory, "host_free_bytes", lambda: 1 << 20)
    size = pair.sets.size
    with pytest.raises(DeviceError, match=r"2,000,000 mRR sets .* are free on this machine; use a larger epsilon"):
        pair.sets.extend(2_000_000)
    assert pair.sets.size == size
    with pytest.raises(DeviceError, match=r"4,096 threads.*lower --threads"):
        Pair(random_graph(200, 800, 1), eta=20, threads=4096)
