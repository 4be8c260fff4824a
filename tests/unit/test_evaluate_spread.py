"""Forward Monte Carlo against enumeration of all worlds, and run by run against a plain replay of the keyed draws."""

import math
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from oracles import worlds
from oracles.statistics import check_cells, check_mean

from gpukit.device.philox import Stream, draw4, stream_tag
from gpukit.errors import InputError, UsageError
from gpukit.evaluate import SpreadEstimate, Until, forward_curve, forward_rounds, forward_spread
from gpukit.evaluate.batches import share_runs
from gpukit.evaluate.plan import Plan
from gpukit.evaluate.rule import lt_quota
from gpukit.evaluate.spread_cpu import run_on_cpu
from gpukit.graph.csr import Weights

RUNS = 40_000
MODELS = ("ic", "lt")
NO_TARGETS = np.empty(0, np.int64)


def _plan(graph, stages, rounds, model, seed=3, targets=NO_TARGETS):
    starts = np.cumsum([0] + [len(stage) for stage in stages], dtype=np.int64)
    seeds = np.array([v for stage in stages for v in stage], np.int32)
    return Plan(graph, model, targets, seeds, starts, np.array(rounds, np.int64), seed)


@pytest.fixture(scope="module")
def explicit(make_graph):
    """A graph with unequal probabilities whose sums suit LT, a cycle, and an edge that is always live."""
    return make_graph(
        6,
        [(0, 1, 0.5), (0, 2, 0.25), (1, 2, 0.5), (2, 3, 0.75), (3, 0, 0.125), (3, 4, 1.0), (1, 5, 0.25), (4, 5, 0.5)],
    )


@pytest.mark.parametrize("model", MODELS)
def test_sets_of_activated_vertices_are_distributed_right(explicit, model):
    """Targets are powers of two, so that a run's value is the set it activated; false alarm at most 1e-6."""
    plan = _plan(explicit, [[0]], [0], model, targets=1 << np.arange(6))
    values, counts = np.unique(run_on_cpu(plan, RUNS), return_counts=True)
    expected: dict[int, Fraction] = {}
    for chance, rows in worlds.worlds(explicit, model):
        reached = worlds.reach(rows, 1)
        expected[reached] = expected.get(reached, Fraction(0)) + chance
    check_cells(dict(zip(values.tolist(), counts.tolist(), strict=True)), expected)


def test_coins_of_a_row_are_independent(make_graph):
    """A star with nine leaves: a row of three Philox calls, each of 512 outcomes; false alarm at most 1e-6."""
    chances = [(i + 1) / 16 for i in range(9)]
    graph = make_graph(10, [(0, i + 1, p) for i, p in enumerate(chances)])
    values = run_on_cpu(_plan(graph, [[0]], [0], "ic", targets=np.append(0, 1 << np.arange(9))), RUNS)
    seen, counts = np.unique(values, return_counts=True)
    expected = {
        mask: math.prod(Fraction(p) if mask >> i & 1 else 1 - Fraction(p) for i, p in enumerate(chances))
        for mask in range(512)
    }
    check_cells(dict(zip(seen.tolist(), counts.tolist(), strict=True)), expected)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("key", range(3))
def test_spread_is_the_expectation(random_graph, model, key):
    """Hoeffding: each of the 12 means is off by more than its radius with probability at most 1e-6."""
    graph = random_graph(7, 10, key)
    for seeds in ([0], [2, 5]):
        estimate = forward_spread(graph, seeds, model=model, runs=RUNS, seed=key)
        check_mean(estimate.spread, worlds.spread(graph, seeds, model), RUNS, graph.n)


@pytest.mark.parametrize("model", MODELS)
def test_targets_weigh_vertices(explicit, model):
    targets = np.array([0, 3, 0, 1, 8, 2])
    estimate = forward_spread(explicit, [0, 2], model=model, runs=RUNS, targets=targets)
    check_mean(estimate.spread, worlds.spread(explicit, [0, 2], model, targets), RUNS, 14)
    assert forward_spread(explicit, [0], model=model, runs=2, targets=np.zeros(6, np.int64)).total == 0


@pytest.mark.parametrize("model", MODELS)
def test_rounds_count_a_vertex_once(explicit, model):
    rounds = [[0], [0, 3], [1]]
    estimate = forward_rounds(explicit, rounds, model=model, runs=RUNS)
    check_mean(estimate.spread, worlds.rounds_spread(explicit, rounds, model), RUNS, 6)
    assert forward_rounds(explicit, [[0]], model=model, runs=50) == forward_spread(explicit, [0], model=model, runs=50)


def _replay(graph, stages, rounds, model, seed, run):
    """Return the number activated up to each stage, from the definition of the keyed draws."""
    into: dict[int, list[tuple[int, Fraction]]] = {}
    for u, v, p in worlds.edges(graph):
        into.setdefault(v, []).append((u, p))
    stream = Stream.FORWARD_IC if model == "ic" else Stream.FORWARD_LT
    ever: set[int] = set()
    active: set[int] = set()
    counts = []
    for i, (stage, round_) in enumerate(zip(stages, rounds, strict=True)):
        if i and round_ != rounds[i - 1]:
            active = set()
        active |= set(stage)
        tag = stream_tag(stream, round_)
        changed = True
        while changed:
            changed = False
            for v, row in into.items():
                if v in active:
                    continue
                if model == "lt":
                    low, high, _, _ = draw4(seed, tag, run, v, 0)
                    happens = sum(p for u, p in row if u in active) > Fraction(high << 32 | low, 2**64)
                else:
                    happens = any(u in active and _live(graph, seed, tag, run, u, v, p) for u, p in row)
                if happens:
                    active.add(v)
                    changed = True
        ever |= active
        counts.append(len(ever))
    return counts


def _live(graph, seed, tag, run, u, v, p):
    position = graph.indices[graph.indptr[u] : graph.indptr[u + 1]].tolist().index(v)
    word = draw4(seed, tag, run, u, position // 4)[position % 4]
    return Fraction(int(word), 2**32) < p


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("scheme", [Weights(), Weights("const", 0.125)])
def test_every_run_replays(random_graph, model, scheme):
    """Prefixes and rounds together; 400 runs pass the reset of the epoch counter."""
    graph = random_graph(12, 30, 5, scheme)
    stages, rounds = [[3], [7, 1], [3, 2], [0]], [0, 0, 1, 2]
    values = run_on_cpu(_plan(graph, stages, rounds, model), 400)
    for run in [*range(10), *range(80, 90), *range(390, 400)]:
        assert values[run].tolist() == _replay(graph, stages, rounds, model, 3, run)


def test_long_rows_and_many_calls(make_graph):
    """A hub whose row spans several groups of Philox calls, then vertices that it reaches for certain."""
    n = 3000
    graph = make_graph(n, [(0, v, 0.5) for v in range(1, 2001)] + [(1, v, 1.0) for v in range(2001, n)])
    estimate = forward_spread(graph, [0], runs=2000)
    assert abs(estimate.spread - (1 + 1000 + 999 / 2)) < 6 * estimate.stderr
    assert forward_spread(graph, [1], runs=2).total == 2 * 1000


@pytest.mark.parametrize("model", MODELS)
def test_certain_edges(make_graph, model):
    cycle = make_graph(9, [(v, (v + 1) % 9) for v in range(9)])
    assert forward_spread(cycle, [4], model=model, runs=5).total == 45
    lonely = make_graph(3, [])
    assert forward_spread(lonely, [2, 0], model=model, runs=5) == SpreadEstimate(2.0, 0.0, 5, 10, 20)
    assert forward_spread(make_graph(1, []), [0], model=model, runs=2).spread == 1.0


@pytest.mark.parametrize("model", MODELS)
def test_seeds_that_others_already_activated(make_graph, model):
    path = make_graph(4, [(0, 1), (1, 2), (2, 3)])
    curve = forward_curve(path, [1, 2, 0], [1, 2, 3], model=model, runs=4)
    assert [point.total for point in curve] == [12, 12, 16]


def test_estimate_from_values():
    values = np.array([3, 5, 3, 2**40], np.int64)
    estimate = SpreadEstimate.of(values)
    assert estimate.total == sum(values.tolist())
    assert estimate.total_sq == 9 + 25 + 9 + 2**80
    assert estimate.stderr == pytest.approx(np.std(values.astype(float), ddof=1) / 2)


@pytest.mark.parametrize("scale", [0, 1, 3, 7, 2**31 - 1, 2**32])
def test_lt_quota_is_exact(scale):
    for word in (0, 1, 2**32 - 1, 2**32, 2**63, 2**64 // 3, 2**64 - 1):
        quota = lt_quota(np.uint32(word & 0xFFFFFFFF), np.uint32(word >> 32), scale)
        assert quota == word * scale // 2**64 + 1


@pytest.mark.parametrize(
    ("seeds", "change", "message"),
    [
        ([], {}, "at least one"),
        ([0.5], {}, "whole numbers"),
        ([6], {}, r"not in \[0, 6\)"),
        ([-1], {}, r"not in \[0, 6\)"),
        ([1, 2, 1], {}, "vertex 1 is among the seeds more than once"),
        ([1], {"runs": 1}, "1 runs"),
        ([1], {"model": "sir"}, "neither ic nor lt"),
        ([1], {"seed": -1}, "seed -1"),
        ([1], {"seed": 2**64}, "seed 18446744073709551616"),
        ([1], {"targets": np.ones(5, np.int64)}, "targets"),
        ([1], {"targets": np.array([1, 1, 1, 1, 1, -1])}, "targets"),
        ([1], {"targets": np.full(6, 2**62)}, "targets"),
    ],
)
def test_bad_arguments(explicit, seeds, change, message):
    with pytest.raises(UsageError, match=message):
        forward_spread(explicit, seeds, **{"runs": 10, **change})


def test_bad_prefixes_and_rounds(explicit):
    with pytest.raises(UsageError, match="prefixes go up to 9, and there are 2 seeds"):
        forward_curve(explicit, [0, 1], [1, 9], runs=10)
    for prefixes in ([], [0], [3], [2, 1], [1, 1]):
        with pytest.raises(UsageError, match="prefixes"):
            forward_curve(explicit, [0, 1], prefixes, runs=10)
    for rounds in ([], [[0]] * 256):
        with pytest.raises(UsageError, match="rounds"):
            forward_rounds(explicit, rounds, runs=10)
    with pytest.raises(UsageError, match="at least one"):
        forward_rounds(explicit, [[0], []], runs=10)


def test_graphs_that_do_not_fit(make_graph):
    with pytest.raises(InputError, match="no edge probabilities"):
        forward_spread(make_graph(2, [(0, 1)], Weights("none")), [0], runs=10)
    heavy = make_graph(3, [(0, 2, 0.75), (1, 2, 0.75)])
    assert forward_spread(heavy, [0, 1], runs=10).spread >= 2
    with pytest.raises(InputError, match="vertex 2"):
        forward_spread(heavy, [0, 1], model="lt", runs=10)


def test_progress_reaches_the_end(explicit):
    calls = []
    forward_spread(explicit, [0], runs=200, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (200, 200)
    assert calls == sorted(calls)


def _stop(values, error):
    """Return after how many runs two standard errors are small enough for each stage, by NumPy's own formulas."""
    runs = 1024
    while runs < len(values):
        some = values[:runs].astype(float)
        if np.all(2 * some.std(axis=0, ddof=1) / math.sqrt(runs) <= error * some.mean(axis=0)):
            break
        runs *= 2
    return runs


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("error", [0.2, 0.08, 0.06, 0.03])
def test_as_many_runs_as_an_error_needs(random_graph, model, error):
    graph = random_graph(60, 150, 5)
    values = run_on_cpu(_plan(graph, [[3], [7, 1]], [0, 0], model), 1 << 16)
    found = forward_curve(graph, [3, 7, 1], [1, 3], model=model, runs=Until(error), seed=3)
    stop = _stop(values, error)
    assert stop < 1 << 16
    assert found == forward_curve(graph, [3, 7, 1], [1, 3], model=model, runs=stop, seed=3)
    assert max(one.error for one in found) <= error


def test_an_error_never_takes_more_runs_than_allowed(random_graph):
    graph = random_graph(60, 150, 5)
    calls = []
    for most in (2, 1000, 1024, 1025, 5000):
        calls.clear()
        told = lambda *done: calls.append(done)  # noqa: E731
        found = forward_spread(graph, [3], runs=Until(1e-4, most), seed=3, progress=told)
        assert found == forward_spread(graph, [3], runs=most, seed=3)
        assert (found.error > 1e-4 or most == 2) and calls[-1] == (most, most) and calls == sorted(calls)


def test_errors_of_sure_and_worthless_spreads(make_graph):
    graph = make_graph(3, [(0, 1, 1.0), (1, 2, 1.0)])
    assert forward_spread(graph, [0], runs=Until(1e-6)).runs == 1024
    assert forward_spread(graph, [0], runs=Until(1e-6), targets=np.zeros(3, np.int64)).error == 0


@pytest.mark.parametrize("made", [{"error": 0}, {"error": 1}, {"error": math.nan}, {"error": 0.1, "max_runs": 1}])
def test_errors_and_runs_that_cannot_be_asked_for(made):
    with pytest.raises(UsageError, match="allowed"):
        Until(**made)


@pytest.mark.parametrize("model", MODELS)
def test_runs_from_the_middle(explicit, model):
    plan = _plan(explicit, [[0], [2]], [0, 1], model)
    assert np.array_equal(run_on_cpu(plan, 150, first=77), run_on_cpu(plan, 227)[77:])


def test_an_interrupt_while_batches_are_handed_out_drops_those_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    submit, given, ran = ThreadPoolExecutor.submit, [], []

    def interrupted(pool: ThreadPoolExecutor, *work: object) -> object:
        given.append(work)
        if len(given) == 200:
            raise KeyboardInterrupt
        return submit(pool, *work)

    def run_batch(state: int, first: int, count: int) -> None:
        time.sleep(0.02)
        ran.append(first)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        share_runs([0, 1], run_batch, 1000, 1, None)
    assert len(ran) < 100
