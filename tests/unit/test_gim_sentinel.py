"""Choosing with a sentinel: when there is one, and what it may not change."""

from dataclasses import replace
from decimal import Decimal
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from oracles.worlds import spread

from gpukit.device.select import Device
from gpukit.device.timing import PhaseTimer
from gpukit.gim import Params, maximise, run, sentinel
from gpukit.gim.known import Known
from gpukit.gim.problem import validate
from gpukit.gim.selection import choose
from gpukit.graph.csr import Weights
from gpukit.worlds.factory import make_collection
from gpukit.worlds.reverse import NEVER, ORDER_BIT, prepare

N = 2000
REPEATS = 60


@pytest.fixture(scope="module")
def dense(make_graph):
    """Return a graph where half of the sets hold half of the vertices, with a hub."""
    edges = np.random.default_rng(4).integers(0, N, (8000, 2))
    hub = np.stack([np.full(200, 9), np.arange(200, 400)], axis=1)
    edges = np.concatenate([edges, hub])
    return make_graph(N, edges[edges[:, 0] != edges[:, 1]].tolist(), Weights("const", 0.5))


def problem_of(graph, params):
    reverse = prepare(graph, params.model, kept=params.kept)
    problem = replace(validate(graph, params), known=Known.of(reverse, None))
    return problem, lambda first, ending=NEVER: make_collection(reverse, 5, first, ending=ending)


def test_the_hub_is_the_sentinel(dense):
    assert sentinel.find(*problem_of(dense, Params(k=5))) == 9
    barred = sentinel.find(*problem_of(dense, Params(k=5, exclude=[9])))
    assert barred not in (None, 9)


OTHERWISE = {
    "one seed": Params(k=1),
    "all seeds": Params(k=N),
    "off": Params(k=5, sentinels="off"),
    "forced": Params(k=5, include=[3]),
    "budget": Params(budget=5),
    "imm": Params(k=5, bound="imm"),
    "rounds": Params(k=5, rounds=2),
    "scan": Params(k=5, sampler="scan"),
}


@pytest.mark.parametrize("params", OTHERWISE.values(), ids=OTHERWISE)
def test_no_sentinel(dense, params):
    assert sentinel.find(*problem_of(dense, params)) is None


def test_members_beside_the_sentinel_are_expanded_first(make_graph):
    """Those of small in-degree before the others: 4 and 20 where the mean is 1."""
    edges = [(0, 1), (0, 2), *((v, 1) for v in range(3, 6)), *((v, 2) for v in range(3, 22)), (4, 3)]
    ending = sentinel.ends_at(make_graph(len(edges), edges, Weights("const", 0.1)), [0], 0)
    assert {v: mark >> ORDER_BIT for v, mark in enumerate(ending.marks.tolist()) if mark >> ORDER_BIT} == {1: 3, 2: 2}
    assert np.flatnonzero(ending.marks & ending.all_marks).tolist() == [0]


def test_the_certificate_alone_begins_with_enough_sets(dense):
    found, few = (maximise(dense, Params(k=5, optimism=None, min_sets=least)) for least in (None, 0))
    assert few.rr_sets < 4096 <= found.rr_sets


def test_no_sentinel_where_sets_are_small(random_graph):
    graph = random_graph(N, 8000, 1)
    assert sentinel.find(*problem_of(graph, Params(k=5))) is None
    assert sentinel.find(*problem_of(graph, Params(k=5, model="lt"))) is None


def test_no_sentinel_where_nobody_is_in_large_sets(make_graph):
    """Two cycles, whose sets hold one of them each, and no vertex is in three quarters of them."""
    edges = [(v, (v + 1) % 1000 + 1000 * side) for side in (0, 1) for v in range(1000 * side, 1000 * side + 1000)]
    edges = [(u, 1000 * (u // 1000) + (u + 1) % 1000) for u, _ in edges]
    assert sentinel.find(*problem_of(make_graph(N, edges, Weights("const", 1.0)), Params(k=3))) is None


@pytest.mark.long
@pytest.mark.parametrize("optimism", [0.01, None])
@pytest.mark.parametrize("sets", ["kept", "plain"])
def test_answers_are_as_good_and_proved(dense, optimism, sets):
    params = Params(k=5, optimism=optimism, sets=sets, epsilon=0.2)
    found, whole = maximise(dense, params), maximise(dense, replace(params, sentinels="off"))
    assert found.guarantee_kind == "certified" and found.guarantee >= 1 - 1 / np.e - 0.2
    assert found.lower <= whole.upper and whole.lower <= found.upper
    error = 3 * (found.stderr**2 + whole.stderr**2) ** 0.5
    assert found.spread_estimate > 0.99 * whole.spread_estimate - error
    assert len(set(found.seeds.tolist())) == 5 and (found.gains >= 0).all()


def test_threads_change_nothing(dense):
    one, three = (maximise(dense, Params(k=5), Device("cpu", "", (), threads, "")) for threads in (1, 3))
    assert one.seeds.tolist() == three.seeds.tolist() and one.gains.tolist() == three.gains.tolist()
    assert one.facts() == three.facts() and one.history == three.history


@pytest.mark.long
def test_exchange_finds_the_best_in_its_place(dense):
    """Against whole sets: a poor sentinel goes, for the vertex that most of what the others leave has."""
    problem, another = problem_of(dense, Params(k=3))
    poor = int(np.argmin(np.diff(dense.indptr)))
    seeds = np.array([poor, 4, 5], np.int32)
    found = sentinel.exchange(replace(problem, sentinel=poor), seeds, another, 3000)
    whole = another(sentinel.SWAP_FIRST)
    whole.extend(3000)
    gamma = float(problem.known.gamma)

    def worth(chosen):
        return float(problem.known.bonus(chosen)) + gamma * int(whole.coverage(chosen)[-1]) / 3000

    values = [worth(np.array([4, 5, v])) if v not in (4, 5) else 0 for v in range(N)]
    assert set(found.tolist()) - {4, 5} == {int(np.argmax(values))}
    best = np.array([int(np.argmax(values)), 4, 5], np.int32)
    assert sentinel.exchange(replace(problem, sentinel=int(best[0])), best, another, 3000) is None


@pytest.mark.long
def test_no_rival_adds_more_than_the_last_seed(dense, monkeypatch):
    """Over whole sets: nothing in the sentinel's place is worth more than that bound, which decides who is asked."""
    problem, another = problem_of(dense, Params(k=8))
    problem = replace(problem, sentinel=int(np.argmin(np.diff(dense.indptr))))
    whole = another(0)
    whole.extend(2000)
    choice = choose(whole, problem, PhaseTimer(), bounds=False)
    assert choice.seeds[0] == problem.sentinel
    a_set = float(problem.known.gamma) / whole.size

    def worth(chosen):
        return float(problem.known.bonus(chosen)) + a_set * int(whole.coverage(chosen)[-1])

    others, total = choice.seeds[1:], worth(choice.seeds)
    most = max(worth(np.append(others, v)) for v in range(N) if v not in others) - total
    last = worth(choice.seeds) - worth(choice.seeds[:-1])
    assert 0 < most <= last * (1 + 1e-9)
    for share, asked in ((0.99 * last / total, True), (1.01 * last / total, False)):
        monkeypatch.setattr(sentinel, "WORTHWHILE", Decimal(share))
        assert sentinel.has_rivals(problem, choice) == asked


def test_gains_are_those_of_whole_sets(dense):
    problem, another = problem_of(dense, Params(k=3))
    seeds = np.array([9, 4, 5], np.int32)
    whole = another(sentinel.GAINS_FIRST)
    whole.extend(500)
    assert sentinel.gains(problem, seeds, another, 500).tolist() == np.diff(whole.coverage(seeds)).tolist()


EDGES = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5), (5, 6), (6, 4), (7, 5), (2, 0)]


@pytest.mark.parametrize("weights", [Weights(), Weights("const", 0.5), Weights("trivalency", seed=3)], ids=str)
@pytest.mark.parametrize("optimism", [0.1, None])
def test_certificate_by_enumeration(make_graph, monkeypatch, weights, optimism):
    """On a tiny graph, where every set may be large: no bound is broken, whichever vertex is the sentinel."""
    graph = make_graph(8, EDGES, weights)
    exact = cache(lambda seeds: spread(graph, seeds, "ic"))
    best = max(exact(seeds) for seeds in combinations(range(8), 2))
    params = Params(k=2, epsilon=0.3, optimism=optimism, max_members=20_000)
    for seed in range(REPEATS):
        monkeypatch.setattr(run, "find", lambda problem, another, vertex=seed % 8: vertex)
        found = maximise(graph, replace(params, seed=seed))
        value = float(exact(tuple(sorted(found.seeds.tolist()))))
        assert found.guarantee_kind == "certified" and found.guarantee * float(best) <= value + 1e-9
        assert found.lower <= value + 1e-9 and found.upper >= float(best) - 1e-9
