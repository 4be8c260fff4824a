"""kPAR's best among some vertices against a plain version and the power method."""

from decimal import Decimal

import numpy as np
import pytest
from oracles.ppr import exact, kpar

from gpukit.kpar import Params, Prepared, Sources, build_index, query, rank
from gpukit.kpar.problem import ONE, Constants


def listed(result, q):
    own = slice(result.offsets[q], result.offsets[q + 1])
    return list(zip(result.nodes[own].tolist(), result.scores[own].tolist(), strict=True))


@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("k", [1, 4, 20])
def test_answers_equal_the_plain_version(random_graph, monkeypatch, k, refine):
    monkeypatch.setattr(
        Constants,
        "schedule",
        lambda self, k, **_: [self._step(Decimal(f) * self.delta_min, 0) for f in (300, 30, 3, 1)],
    )
    graph = random_graph(60, 180, 4)
    index = build_index(graph, rank(graph).order, Params(), seed=2)
    ready, named = Prepared.of(graph, index), list(range(1, 60, 3))
    among = np.isin(np.arange(60), named)
    found = query(ready, Sources.single(np.arange(12)), k, refine=refine, among=among)
    schedule, delta = ready.constants.schedule(k), float(ready.constants.delta_min)
    forward = set()
    for q in range(12):
        expected = kpar(graph, ready.index, schedule, delta, {q: ONE}, k, refine=refine, among=named)
        assert (listed(found, q), found.steps[q]) == expected[:2]
        if refine:
            assert found.certain[found.offsets[q] : found.offsets[q + 1]].tolist() == expected[2]
        forward.add(int(found.traces[q][-1, 7]))
    assert forward == {int(k == 20)}


def test_the_guarantee_holds_for_the_best_of_those_named(random_graph):
    graph = random_graph(300, 1500, 7)
    ready = Prepared.of(graph, build_index(graph, rank(graph).order, Params(), seed=1))
    among = np.random.default_rng(3).random(300) < 0.2
    sources, k = Sources.single(np.arange(40)), 5
    found, delta = query(ready, sources, k, among=among), float(ready.constants.delta_min)
    differ = 0
    for q in range(40):
        truth = exact(graph, np.arange(300) == q)
        best = np.sort(truth[among])[::-1]
        places = listed(found, q)
        assert all(among[v] for v, _ in places)
        for i, (v, score) in enumerate(places):
            if best[i] > delta:
                assert abs(score / ONE - truth[v]) <= 0.5 * truth[v] and truth[v] >= 0.5 * best[i]
        differ += [v for v, _ in places] != [v for v, _ in listed(query(ready, sources.part(q, q + 1), k), 0)]
    assert differ > 30


def test_all_named_is_as_no_one_named(random_graph):
    graph = random_graph(30, 90, 1)
    ready, sources = Prepared.of(graph, build_index(graph, rank(graph).order, Params())), Sources.single([0, 3])
    all_, first = query(ready, sources, 6, among=np.ones(30, np.bool_)), query(ready, sources, 6)
    assert [listed(all_, q) for q in (0, 1)] == [listed(first, q) for q in (0, 1)]
