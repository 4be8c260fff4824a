"""kPAR: constants, ranking, index and queries against dense solves, networkx and a plain Python version."""

import math
from dataclasses import replace
from decimal import Decimal
from functools import partial
from threading import Barrier, get_ident

import numpy as np
import pytest
from oracles.ppr import exact, kpar, networkx_ppr

from gpukit.device.select import Device
from gpukit.errors import UsageError
from gpukit.evaluate.ppr import judge, power_method
from gpukit.kpar import Params, Prepared, Sources, build_index, query, rank
from gpukit.kpar.index.build import walk_counts
from gpukit.kpar.problem import NEVER, ONE, PATIENCE, Constants
from gpukit.kpar.query import answer_cpu
from gpukit.kpar.query.bounds import take_top
from gpukit.kpar.rule import LOST, goes_forward, packed, threshold_of, unpacked
from gpukit.kpar.threads import over_threads
from gpukit.papers.bench.kpar import Bench
from gpukit.papers.kpar import baselines
from gpukit.papers.kpar.baselines import fora, fora_index, monte_carlo
from gpukit.papers.kpar.query import printed_bounds, printed_schedule
from gpukit.papers.kpar.query import query as watched

PARAMS = Params()


def prepare(graph, params=PARAMS, **options):
    return Prepared.of(graph, build_index(graph, rank(graph, params).order, params, **options))


def check_same(one, other):
    for name in ("offsets", "nodes", "scores", "steps"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert [trace.tolist() for trace in one.traces] == [trace.tolist() for trace in other.traces]


def answers(result):
    return [
        list(zip(result.nodes[a:b].tolist(), result.scores[a:b].tolist(), strict=True))
        for a, b in zip(result.offsets, result.offsets[1:], strict=False)
    ]


@pytest.fixture(scope="module")
def graph(random_graph):
    return random_graph(300, 1500, 4)


@pytest.fixture(scope="module")
def prepared(graph):
    return prepare(graph, seed=3)


@pytest.fixture(scope="module")
def fora_of(graph):
    return fora_index(graph, seed=1)


def test_constants_follow_the_formulas():
    n, m, e = 75_879, 508_837, 0.5
    constants = Constants.of(n, m, PARAMS)
    log_term = math.log(2 * n * n * math.log2(n))
    psi = (2 * e / 3 + 2) * log_term / e**2
    assert float(constants.log_term) == pytest.approx(log_term, rel=1e-14)
    assert float(constants.psi) == pytest.approx(psi, rel=1e-14)
    assert float(constants.delta_min) == pytest.approx(16 / n, rel=1e-14)
    assert float(constants.delta_min / constants.delta_end) == pytest.approx(13.796, rel=1e-4)
    assert constants.walks_per_edge() / 2**64 == pytest.approx(math.sqrt(psi / (m * 16 / n)), rel=1e-14)


def test_schedule_halves_to_the_end_and_strides_on():
    n = 75_879
    constants = Constants.of(n, 508_837, PARAMS)
    least, end, log_n = 16 / n, float(constants.delta_end), math.log(n)
    # Long answers start below δ_min, and short ones above it.
    for k, first in ((10, 1 / (100 * log_n)), (100, least), (1000, 1 / (2000 * log_n)), (n, end)):
        schedule = constants.schedule(k)
        deltas = [step.delta for step in schedule]
        assert deltas[0] == pytest.approx(first, rel=1e-14)
        above = deltas.index(end)
        assert deltas[1 : above + 1] == [max(delta / 2, end) for delta in deltas[:above]]
        assert deltas[above + 1 :] == pytest.approx([end / 64**i for i in range(1, len(deltas) - above)], rel=1e-14)
        assert schedule[-1].rho // 8 < 1 << 12 <= schedule[-1].rho
        for step in schedule:
            rho = math.sqrt(step.delta * 16 / n) / float(constants.psi)
            assert step.rho == pytest.approx(rho * ONE, rel=1e-12, abs=1)
        assert {step.patience for step in schedule} == {PATIENCE * k}
        patience = [step.patience for step in constants.schedule(k, to_end=True)]
        assert patience == [NEVER] * above + [PATIENCE * k] * (len(deltas) - above)
    plain, short = printed_schedule(constants, 10), printed_schedule(constants, 10, short=True)
    halved = [1 / (100 * log_n) / 2**i for i in range(7)]
    assert [step.delta for step in short] == pytest.approx([*halved[:3], least], rel=1e-14)
    assert [step.delta for step in plain] == pytest.approx([*halved[:6], end], rel=1e-14)
    assert {step.patience for step in plain + short} == {0} and printed_schedule(constants, 1000)[0].delta == least


@pytest.mark.parametrize("epsilon", [0.5, 0.3, 0.1, 0.01])
@pytest.mark.parametrize("n", [10, 5000, 10**6, 10**9])
def test_every_test_passes_at_the_end(n, epsilon):
    # The widest interval is that of a score from walks alone; the limit of its place is at most its own upper bound.
    constants = Constants.of(n, 10 * n, Params(epsilon=epsilon))
    delta_min = float(constants.delta_min)
    steps = [step for step in constants.schedule(1, to_end=True) if step.patience == PATIENCE]
    assert steps[0].delta == float(constants.delta_end)
    scores = np.concatenate([delta_min * np.geomspace(1e-9, 10, 10_000), np.geomspace(delta_min, 1, 10_000)])
    for step in steps:
        (ua, ub, ud), (la, lb, ld) = step.upper, step.lower
        upper = scores + ua + np.sqrt(ub + ud * scores)
        lower = np.maximum(0, scores + la - np.sqrt(lb + ld * scores))
        accepted = (lower >= (1 - epsilon) * upper) & (scores <= (1 + epsilon) * lower)
        assert np.all(accepted | (upper <= delta_min))
        assert ua + math.sqrt(ub) <= delta_min, "an answer shorter than k would not pass"


@pytest.mark.parametrize("delta_step", [0, 2, 4])
def test_bounds_invert_the_concentration_inequality(delta_step):
    # Theorem 2 on the walk part: with the true value at a bound, the exponent is ln(2/p'_f).
    constants = Constants.of(5000, 40_000, PARAMS)
    step = constants.schedule(10)[delta_step]
    rho, log_term = step.rho / ONE, float(constants.log_term)
    for walked in (1e-5, 3e-4, 0.01):
        a, b, d = step.upper
        gap = a + math.sqrt(b + d * walked)
        assert gap**2 / (2 * rho * (walked + gap) + 2 * rho * gap / 3) == pytest.approx(log_term, rel=1e-9)
        a, b, d = step.lower
        gap = math.sqrt(b + d * walked) - a
        if gap < walked:
            assert gap**2 / (2 * rho * (walked - gap) + 2 * rho * gap / 3) == pytest.approx(log_term, rel=1e-9)


@pytest.mark.parametrize(
    "values", [{"alpha": 0.0}, {"alpha": 1.0}, {"alpha": 1e-12}, {"epsilon": 0.0}, {"epsilon": 0.6}]
)
def test_parameters_out_of_range(values):
    with pytest.raises(UsageError):
        Params(**values)


def test_too_small_an_epsilon_is_refused(graph):
    with pytest.raises(UsageError, match="62 bits"):
        Constants.of(10**9, 10**10, Params(epsilon=1e-5)).schedule(10)


def test_take_top_breaks_ties_by_id():
    generator = np.random.default_rng(0)
    for count, k, most in ((1, 1, 3), (50, 7, 4), (200, 199, 10), (200, 50, 10**6), (64, 64, 1)):
        ids = generator.permutation(1000)[:count].astype(np.int32)
        scores = generator.integers(0, most, count)
        keys, spare = np.empty(count, np.int64), np.empty(count, np.int64)
        best, spare_ids = np.empty(count, np.int32), np.empty(count, np.int32)
        take_top(ids, scores, count, k, keys, best, spare, spare_ids)
        expected = sorted(zip((-scores).tolist(), ids.tolist(), strict=True))[:k]
        assert list(zip((-keys[:k]).tolist(), best[:k].tolist(), strict=True)) == expected


def test_pagerank_agrees_with_networkx_and_sums_to_one(graph):
    found = rank(graph)
    assert sum(found.pagerank.tolist()) + found.remaining == ONE
    assert found.remaining <= 1e-10 * ONE
    np.testing.assert_allclose(found.pagerank / ONE, networkx_ppr(graph, np.full(graph.n, 1 / graph.n)), atol=2e-10)
    degrees = np.diff(graph.indptr)
    score = [found.pagerank[v] / degrees[v] for v in found.order]
    assert sorted(found.order.tolist()) == np.flatnonzero(degrees).tolist()
    assert all(a >= b * (1 - 1e-15) for a, b in zip(score, score[1:], strict=False))


def test_walk_counts_stay_within_the_budget(graph):
    order = rank(graph).order
    constants = Constants.of(graph.n, graph.m, PARAMS)
    plain = walk_counts(graph, order, constants, adaptive=False).astype(int)
    more = walk_counts(graph, order, constants).astype(int)
    degrees = np.diff(graph.indptr)
    per_edge = math.sqrt(float(constants.psi) / (graph.m * float(constants.delta_min)))
    assert plain.tolist() == [math.ceil(d * per_edge) for d in degrees]
    factors = (more[order] // plain[order]).tolist()
    assert factors == sorted(factors, reverse=True) and {8, 4, 2, 1} == set(factors)
    assert np.array_equal(more[order], plain[order] * factors)
    spent = [((more - plain)[more == factor * plain]).sum() for factor in (8, 4, 2)]
    budget = plain.sum() // 5
    assert spent[0] <= budget // 2 and sum(spent[:2]) <= 3 * budget // 4 and sum(spent) <= budget
    assert sum(spent) > 0.95 * budget


def test_index_is_the_same_both_ways_and_for_any_number_of_threads(graph, prepared):
    index = prepared.index
    begin, ends, freqs = index.forward
    rows = {}
    for v in range(graph.n):
        for i in range(begin[v], begin[v + 1]):
            rows[int(ends[i]), v] = int(freqs[i])
    assert sum(rows.values()) == index.total
    for t in range(graph.n):
        starts = index.starts[index.src_begin[t] : index.src_begin[t + 1]].tolist()
        often = index.frequencies[index.frequent_begin[t] : index.frequent_begin[t + 1]].tolist()
        counts = often + [1] * (len(starts) - len(often))
        assert {(t, v): c for v, c in zip(starts, counts, strict=True)} == {
            key: rows[key] for key in rows if key[0] == t
        }
        assert starts[: len(often)] == sorted(starts[: len(often)]) and min(often, default=2) >= 2
        assert starts[len(often) :] == sorted(starts[len(often) :])
        assert index.arrivals[t] == sum(counts)
    order = rank(graph).order
    for threads in (2, 5):
        other = build_index(graph, order, PARAMS, seed=3, threads=threads)
        assert all(np.array_equal(getattr(index, name), getattr(other, name)) for name in ("starts", "frequencies"))
    light = build_index(graph, order, PARAMS, seed=3, threads=2, memory=0)
    assert light.light and np.array_equal(light.arrivals, index.arrivals)


@pytest.mark.long
def test_walks_end_where_they_should(graph):
    # Each vertex's own share of its walks' ends, summed over the index: expectation and variance of independent walks.
    index = build_index(graph, rank(graph).order, PARAMS, seed=8)
    expected, variance = np.zeros(graph.n), np.zeros(graph.n)
    for v in range(graph.n):
        pi = exact(graph, np.eye(graph.n)[v])
        expected += index.walks[v] * pi
        variance += index.walks[v] * pi * (1 - pi)
    sure = variance < 1e-12
    assert np.allclose(index.arrivals[sure], expected[sure])
    z = (index.arrivals[~sure] - expected[~sure]) / np.sqrt(variance[~sure])
    assert np.abs(z).max() < 5 and abs((z**2).mean() - 1) < 0.4


@pytest.mark.parametrize("m", [300, 600, 1800])
def test_walks_bring_the_same_forward_as_by_start_lists(random_graph, m):
    """And an entry forward, which is written at a random place, counts as two."""
    graph, k = random_graph(120, m, 7), 5
    ready, sources = prepare(graph, seed=7), Sources.single(range(12))
    (edges, walks), ws = ready.rows(), answer_cpu.workspace(ready.index.walks, ready.index.arrivals)
    threshold = threshold_of(ready.schedule(k, False)[1][0][0])
    batch, brought = answer_cpu.Batch(sources.offsets, sources.vertices, sources.mass.view(np.int64)), 0
    for q in range(len(sources)):
        size = answer_cpu.begin(q, batch, ws)
        met = answer_cpu.push(size, size, threshold, edges, None, ws)[0]
        rows = walks.row_begin, walks.row_until
        large, forward_cost, _ = answer_cpu.value_walks(met, 1, threshold.coarse, *rows, None, ws)
        least, count, cost = answer_cpu.propose(large, k, met, walks, threshold, None, ws)
        if count > 0:
            scores = []
            for forward in (False, True):
                _, reached = answer_cpu.estimate(forward, least, count, met, edges, None, walks, None, ws)
                scores.append(ws.scores[:count].tolist())
                answer_cpu.forget_walked(reached, ws)
            brought += sum(scores[0]) - int(ws.reserves[2 * ws.candidates[:count]].sum())
            assert scores[0] == scores[1]
            assert goes_forward(least, forward_cost, cost) == (2 * forward_cost < cost)
        answer_cpu.leave_clean(met, ws)
    assert brought > 0 and goes_forward(0, 9, 1) and not goes_forward(1, 9, 18)


def test_packed_units_lose_a_small_part_and_keep_their_order():
    values = sorted([*range(5000), *(1 << i for i in range(12, 27)), *((1 << i) - 1 for i in range(1, 28))])
    kept = [int(unpacked(packed(value))) for value in values]
    lost = [value - left for value, left in zip(values, kept, strict=True)]
    assert kept == sorted(kept) and all(0 <= part <= left * LOST for part, left in zip(lost, kept, strict=True))
    assert not any(lost[:4096]) and any(lost)
    assert threshold_of(1 << 40).coarse == 14 and threshold_of((1 << 27) - 1).coarse == 0


@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize(("n", "m", "key", "epsilon"), [(300, 1500, 4, 0.5), (120, 130, 5, 0.5), (60, 900, 6, 0.2)])
def test_query_equals_the_plain_version(random_graph, monkeypatch, n, m, key, epsilon, coarse):
    graph = random_graph(n, m, key)
    params = Params(epsilon=epsilon)
    if coarse:
        # From far too large a δ on, so that tests fail, and with every kind of patience.
        factors, patience = (256, 64, 16, 4, 1, 0.1), (0, 200, 0, NEVER, 300, 0)

        def steps(self, k, **options):
            return [self._step(Decimal(f) * self.delta_min, p) for f, p in zip(factors, patience, strict=True)]

        monkeypatch.setattr(Constants, "schedule", steps)
    ready = prepare(graph, params, seed=key)
    generator = np.random.default_rng(key)
    vertices = generator.integers(0, n, 6).tolist()
    sets = [Sources.single([v]) for v in vertices] + [Sources.weighted([3, 1, 3, 8], [1, 5, 1, 10**6])]
    sources = Sources.joined(sets)
    delta_min = float(ready.constants.delta_min)
    forward, refused = set(), set()
    for k, to_end in ((1, False), (10, False), (n // 2, False), (n, False), (10, True)):
        found = query(ready, sources, k, to_end=to_end)
        check_same(watched(ready, sources, k, to_end=to_end, watch=True), found)
        schedule = ready.constants.schedule(k, to_end=to_end)
        for q, listed in enumerate(answers(found)):
            start = dict(zip(sets[q].vertices.tolist(), sets[q].mass.tolist(), strict=True))
            expected, steps = kpar(graph, ready.index, schedule, delta_min, start, k)
            assert (listed, found.steps[q]) == (expected, steps)
            forward.add(int(found.traces[q][-1, 7]))
            refused |= set(np.sign(found.traces[q][:, 8]).tolist())
    # Half as many entries forward as in lists there are in a sparse graph, or, of this denser one, where δ is large.
    both = m < 2 * n or (coarse and m < 10 * n)
    assert forward == ({0, 1} if both else {0}), "inverted lists and forward rows were not taken where they should be"
    assert refused == ({-1, 0, 1} if coarse else {-1, 0}), "a kind of step was not met"


def test_answers_depend_on_neither_threads_nor_batches_nor_rows(graph, prepared):
    sources = Sources.single(np.arange(40))
    whole = answers(query(prepared, sources, 25))
    assert answers(query(prepared, sources, 25, threads=3)) == whole
    assert [answers(query(prepared, Sources.single([v]), 25))[0] for v in range(40)] == whole
    light = prepare(graph, seed=3, memory=0)
    assert answers(query(light, sources, 25)) == whole
    assert answers(query(prepare(graph, seed=4), sources, 25)) != whole


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 16])
@pytest.mark.parametrize("count", [1, 2, 7, 8, 17, 40])
def test_any_number_of_threads_gives_the_same_bits(graph, prepared, fora_of, threads, count):
    """However few queries there are, and however they are shared out."""
    sources = Sources.single(np.arange(count))
    for ask in (partial(query, prepared), partial(fora, graph, fora_of), partial(monte_carlo, graph, seed=1)):
        one, other = ask(sources, 25), ask(sources, 25, threads=threads)
        check_same(one, other)


@pytest.mark.parametrize("kernel", ["answer", "_fora", "_count"])
@pytest.mark.parametrize("threads", [2, 3, 8])
def test_as_many_queries_as_threads_keep_them_all_at_work(graph, prepared, fora_of, monkeypatch, kernel, threads):
    """Each thread waits inside the kernel until all are there; a figure on T threads is one of T threads."""
    ask = {
        "answer": partial(query, prepared),
        "_fora": partial(fora, graph, fora_of),
        "_count": partial(monte_carlo, graph),
    }[kernel]
    home = answer_cpu if kernel == "answer" else baselines
    all_there, work = Barrier(threads, timeout=20), getattr(home, kernel)

    def joined(*arguments):
        all_there.wait()
        return work(*arguments)

    monkeypatch.setattr(home, kernel, joined)
    assert len(ask(Sources.single(np.arange(threads)), 5, threads=threads).steps) == threads


def test_definition_1_holds(graph, prepared):
    sources = Sources.single(np.arange(graph.n))
    delta = float(prepared.constants.delta_min)
    for k, to_end, epsilon in ((5, False, 0.5), (50, False, 0.5), (50, True, 0.25)):
        found = query(prepared, sources, k, threads=2, to_end=to_end)
        truths = power_method(graph, sources.offsets, sources.vertices, sources.mass / ONE, 0.2)
        quality = judge(truths, found.offsets, found.nodes, found.scores / ONE, k, epsilon=epsilon, delta=delta)
        assert quality.violations == 0 and quality.positions > 1000
        assert quality.precision > 0.93 and quality.ndcg > 0.999


def test_one_vertex_and_no_edges(make_graph):
    for n in (1, 4):
        ready = prepare(make_graph(n, []))
        found = watched(ready, Sources.single(range(n)), n, watch=True)
        check_same(query(ready, Sources.single(range(n)), n), found)
        assert answers(found) == [[(v, ONE)] for v in range(n)]


def test_dangling_source_returns_itself_alone(make_graph):
    ready = prepare(make_graph(4, [(0, 1), (2, 1), (2, 0)]))
    assert answers(query(ready, Sources.single([1, 3]), 3)) == [[(1, ONE)], [(3, ONE)]]


@pytest.mark.parametrize("shape", ["star", "clique", "apart", "path"])
def test_small_shapes_are_close_to_the_truth(make_graph, shape):
    edges = {
        "star": [(0, i) for i in range(1, 12)] + [(i, 0) for i in range(1, 12)],
        "clique": [(i, j) for i in range(12) for j in range(12) if i != j],
        "apart": [(i, (i + 1) % 6) for i in range(6)] + [(6 + i, 6 + (i + 1) % 6) for i in range(6)],
        "path": [(i, i + 1) for i in range(11)],
    }[shape]
    graph = make_graph(12, edges)
    ready = prepare(graph)
    found = watched(ready, Sources.single(range(12)), 12, to_end=True, watch=True)
    check_same(query(ready, Sources.single(range(12)), 12, to_end=True), found)
    for source in range(12):
        truth = exact(graph, np.eye(12)[source])
        nodes, scores = found.answer(source)
        assert set(nodes.tolist()) <= set(np.flatnonzero(truth > 1e-15).tolist())
        assert np.abs(scores - truth[nodes]).max() < 0.01
        assert (np.diff(scores) <= 0).all()


def test_weighted_sources_are_linear_and_exact(graph):
    mixed = Sources.weighted([5, 7, 2, 5, 2], [1, 0, 1, 1, 0])
    assert mixed.vertices.tolist() == [2, 5] and sum(mixed.mass.tolist()) == ONE
    assert mixed.mass[1] / ONE == pytest.approx(2 / 3, abs=1e-15)
    for wrong in (([], []), ([1], [0]), ([1, 2], [1, -1])):
        with pytest.raises(UsageError):
            Sources.weighted(*wrong)


@pytest.mark.parametrize("delta", [1, 16])
@pytest.mark.parametrize("method", ["monte-carlo", "fora"])
def test_baselines_are_close_to_the_truth(graph, method, delta):
    sources = Sources.joined([Sources.single([7]), Sources.weighted([1, 2], [1, 3])])

    def ask(k, threads):
        if method == "fora":
            return fora(graph, fora_index(graph, delta=delta, seed=1), sources, k, threads=threads)
        return monte_carlo(graph, sources, k, delta=delta, threads=threads, seed=1)

    found = ask(20, 2)
    assert answers(found) == answers(ask(20, 1))
    assert [sum(score for _, score in one) for one in answers(ask(graph.n, 1))] == [ONE, ONE]
    start = np.zeros(graph.n)
    start[[1, 2]] = 0.25, 0.75
    for q, truth in enumerate((exact(graph, np.eye(graph.n)[7]), exact(graph, start))):
        nodes, scores = found.answer(q)
        assert np.abs(scores - truth[nodes]).max() < 6 * math.sqrt(0.25 * delta / 17_000)
        assert scores.sum() <= 1


def test_a_larger_delta_takes_fewer_walks(graph):
    one, sixteen = (baselines.walks_needed(graph.n, PARAMS, delta) for delta in (1, 16))
    assert 15 * sixteen <= one <= 16 * sixteen
    # A vertex has ⌈d·√(walks/m)⌉ of them.
    stored = np.ceil(np.diff(graph.indptr) * math.sqrt(sixteen / graph.m))
    found = np.diff(fora_index(graph, delta=16).places)
    assert np.abs(found - stored).max() <= 1 and len(fora_index(graph).ends) > 2 * found.sum()


def test_last_resort_and_printed_bounds_are_close_to_the_truth(graph, prepared):
    sources = Sources.single(np.arange(60))
    delta = float(prepared.constants.delta_min)

    def judged(found):
        truths = power_method(graph, sources.offsets, sources.vertices, sources.mass / ONE, 0.2)
        return judge(truths, found.offsets, found.nodes, found.scores / ONE, 50, epsilon=0.5, delta=delta)

    with_walks = watched(prepared, sources, 50, resort=True)
    used = [trace[-1, 7] == 2 for trace in with_walks.traces]
    assert any(used) and judged(with_walks).violations == 0
    whole = watched(prepared, sources, graph.n, resort=True)
    sums = [sum(score for _, score in one) for one in answers(whole)]
    assert all(total <= ONE for total in sums) and ONE in sums, "walks of the last resort lose mass"
    printed = watched(prepared, sources, 50, printed=True)
    assert answers(printed) != answers(query(prepared, sources, 50)) and judged(printed).precision > 0.8


def test_the_printed_bound_passes_over_the_hubs_of_the_index(graph, prepared):
    index, constants = prepared.index, prepared.constants
    schedule = printed_schedule(constants, 50)
    # No hub among 300 vertices by 8ψ: those of a list take its place.
    hubs = np.argsort(index.arrivals)[-5:].astype(np.int32)
    bounds = {len(some): printed_bounds(constants, schedule, replace(index, hubs=some)) for some in (hubs, hubs[:0])}
    most = {5: np.sort(index.arrivals)[-6], 0: index.arrivals.max()}
    for count, found in bounds.items():
        expected = [one.delta / 2 + one.rho / ONE * int(most[count]) for one in schedule]
        assert found[:, 1].tolist() == expected
    stored = prepare(graph, seed=3, hubs=True).index
    assert np.array_equal(*(printed_bounds(constants, schedule, one) for one in (stored, index)))


def test_bench_names_the_threads_that_had_queries(graph):
    """Eight threads and three queries are three threads at work, whichever method."""
    bench = Bench(graph, PARAMS, Device("cpu", "", (), 8, ""), 1, 1e9, refine=True, repeat=1)
    bench.preprocessing()
    found = bench.on_threads(5, Sources.single([1, 2, 3]))
    assert (found["threads"], found["queries"], found["same_answers"]) == (3, 3, True)


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("count", [1, 3, 4, 101])
def test_ranges_make_up_the_whole_in_order(threads, count):
    parts = over_threads(lambda first, last: list(range(first, last)), count, threads)
    assert [q for part in parts for q in part] == list(range(count))
    assert max(len(part) for part in parts) <= 4 and len(parts) >= min(threads, count)
    with pytest.raises(ZeroDivisionError):
        over_threads(lambda first, last: 1 // (count - last), count, threads)


def test_a_batch_meets_the_threads_of_the_last_one():
    """The calling thread and its helpers, which keep their workspaces; also after a batch that failed."""

    def batch(wrong=None):
        all_there, at_work = Barrier(3, timeout=20), set()

        def work(first, last):
            at_work.add(get_ident())
            all_there.wait()
            return 1 // (first != wrong)

        over_threads(work, 3, 3)
        return at_work

    threads = batch()
    assert len(threads) == 3 and get_ident() in threads
    for place in range(3):
        with pytest.raises(ZeroDivisionError):
            batch(place)
    assert batch() == threads
