"""kPAR's second look at near ties against a plain version and the power method, on graphs of the copying model."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from oracles.ppr import kpar

from gpukit.evaluate.ppr import judge, power_method
from gpukit.graph.csr import Weights
from gpukit.kpar import Params, Prepared, Sources, build_index, query, rank
from gpukit.kpar.problem import NEVER, ONE, Constants
from gpukit.kpar.query.bounds import upper_bound
from gpukit.kpar.rule import LOST


def prepare(graph, params=None, **options):
    params = params or Params()
    return Prepared.of(graph, build_index(graph, rank(graph, params).order, params, **options))


def answers(result):
    return [list(zip(*(part.tolist() for part in _own(result, q)), strict=True)) for q in range(len(result.steps))]


def _own(result, q):
    own = slice(result.offsets[q], result.offsets[q + 1])
    return result.nodes[own], result.scores[own]


def web_like(make_graph, n, seed, absorbing=0.2):
    """Return a graph of the copying model: a page takes most of its links from one before it, and some link nowhere."""
    generator = np.random.default_rng(seed)
    rows = [[1, 2], [0, 2], [0, 1]]
    for v in range(3, n):
        model = rows[generator.integers(v)]
        count = 0 if generator.random() < absorbing else generator.integers(1, 9)
        copied = [
            model[i] if i < len(model) and generator.random() < 0.7 else generator.integers(v) for i in range(count)
        ]
        rows.append(copied)
        if generator.random() < 0.5:
            rows[generator.integers(v)].append(v)
    return make_graph(n, sorted({(v, int(u)) for v, row in enumerate(rows) for u in row if u != v}))


@pytest.mark.long
@pytest.mark.parametrize(("weighted", "memory"), [(False, None), (True, None), (False, 0)])
def test_refined_answers_equal_the_plain_version(make_graph, weighted, memory, monkeypatch):
    graph = web_like(make_graph, 150, 5)
    if weighted:
        words = np.random.default_rng(1).integers(1 << 20, 1 << 32, graph.m, np.uint32)
        graph = replace(graph, weights=Weights("file"), probabilities=words)
    factors = (300, 100, 30, 10, 3, 1)
    steps = [(Decimal(f), 0 if f < 300 else NEVER) for f in factors]
    monkeypatch.setattr(
        Constants, "schedule", lambda self, k, **_: [self._step(f * self.delta_min, p) for f, p in steps]
    )
    params = Params(weighted=weighted)
    ready = prepare(graph, params, seed=2, memory=memory)
    rows = ready.index if memory is None else prepare(graph, params, seed=2).index
    able = np.flatnonzero(np.diff(graph.indptr))[:30]
    sources = Sources.single(able)
    forward, flags, moved = set(), set(), 0
    for k in (1, 5, 25, 110, 150):
        schedule, delta = ready.constants.schedule(k), float(ready.constants.delta_min)
        found, first = query(ready, sources, k, threads=2, refine=True), query(ready, sources, k)
        assert first.certain is None
        for q, listed in enumerate(answers(found)):
            expected = kpar(graph, rows, schedule, delta, {int(able[q]): ONE}, k, refine=True)
            own = slice(found.offsets[q], found.offsets[q + 1])
            assert (listed, found.steps[q], found.certain[own].tolist()) == expected
        forward |= {int(trace[-1, 7]) for trace in found.traces}
        flags |= set(found.certain.tolist())
        moved += sum(one != other for one, other in zip(answers(found), answers(first), strict=True))
    assert forward == ({0, 1} if memory is None else {1}) and flags == {False, True} and moved > 5


def test_a_second_look_is_right_more_often_and_certain_places_always(make_graph):
    graph = web_like(make_graph, 400, 8)
    ready, sources = prepare(graph, seed=1), Sources.single(np.flatnonzero(np.diff(graph.indptr)))
    delta = float(ready.constants.delta_min)
    truths = list(power_method(graph, sources.offsets, sources.vertices, sources.mass / ONE, 0.2))
    for k in (3, 10, 60):
        first, found = query(ready, sources, k), query(ready, sources, k, refine=True)
        one, other = (
            judge(iter(truths), r.offsets, r.nodes, r.scores / ONE, k, epsilon=0.5, delta=delta) for r in (first, found)
        )
        assert other.violations == 0 and other.precision >= one.precision and other.precision >= 0.99
        for q, truth in enumerate(truths):
            own = slice(found.offsets[q], found.offsets[q + 1])
            kth = np.sort(truth)[-k]
            assert (truth[found.nodes[own][found.certain[own]]] >= kth * (1 - 1e-9)).all()
        assert 0.1 < found.certain.mean()


def test_upper_bounds_allow_for_what_walks_lose():
    """With no width of their own, they lie above the score by what rounding units down takes of the walks' part."""
    assert upper_bound(np.zeros((1, 6)), 0, 0.5, 0.25) == 0.5 + 0.25 * LOST == 0.5 + 0.25 / 2048
    wide = np.zeros((1, 6))
    wide[0, 2] = 1.0
    assert upper_bound(wide, 0, 0.5, 0.25) == 0.5 + 0.25 * LOST + np.sqrt(0.25 * (1 + LOST))
