"""Balance of work among devices, with stand-ins for them: every vertex once, whatever the strategy and the speeds."""

import itertools
import threading
import time

import numpy as np
import pytest

from gpukit.diversity import balance
from gpukit.diversity.balance import WorkLists, features, fit, pack, run, sample
from gpukit.errors import UsageError
from gpukit.papers.diversity.balance import STRATEGIES, Even, make_network, makespan

SKEWED = np.random.default_rng(3).pareto(1.2, 500) + 0.1


def drain(lists, order):
    """Let devices take batches in an order that repeats, until nobody gets any; return what each took."""
    taken, idle = [[] for _ in lists.shares], set()
    for device in itertools.cycle(order):
        batch = lists.take(device)
        taken[device] += batch.tolist()
        idle = idle | {device} if len(batch) == 0 else set()
        if len(idle) == len(taken):
            return taken


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("cost", [SKEWED, np.zeros(7), np.ones(1), np.empty(0)], ids=["skewed", "zero", "one", "none"])
def test_every_vertex_once(strategy, cost):
    for order in ([0, 1, 2], [0, 0, 0, 0, 1, 2], [2, 1, 1, 0]):
        lists = STRATEGIES[strategy](cost, 3)
        taken = drain(lists, order)
        assert sorted(sum(taken, [])) == list(range(len(cost)))
        assert [share.tasks for share in lists.shares] == [len(one) for one in taken]
        assert np.isclose(sum(share.cost for share in lists.shares), cost.sum())


def test_batches():
    """A device takes seven eighths of what waits for it, or all of it where nothing can be stolen."""
    lists = WorkLists(np.ones(160), 2)
    assert [len(lists.take(0)) for _ in range(4)] == [70, 10, 40, 20]  # half of what the other has
    lists = WorkLists(np.ones(160), 2, least=11.0)
    assert len(lists.take(0)) == 80
    for strategy in ("none", "pack"):
        lists = STRATEGIES[strategy](np.ones(160), 2)
        assert [len(lists.take(0)) for _ in range(2)] == [80, 0]


def test_first_tasks_first():
    """Each list is done in the order of the tasks' numbers, whatever they cost: the end may be stolen."""
    lists = WorkLists(np.array([1.0, 5, 1, 5, 9, 9]), 2)
    assert [one.tasks.tolist() for one in lists._lists] == [[0, 1, 4], [2, 3, 5]]


def test_packing_is_longest_first():
    # 7 | 6 | 5, then 4 joins 5, 3 joins 6, 2 joins 7, and 1 the lowest of 9, 9, 9.
    assert [one.tolist() for one in pack(np.array([1.0, 2, 3, 4, 5, 6, 7]), 3)] == [[6, 1, 0], [5, 2], [4, 3]]
    lists = pack(SKEWED, 4)
    loads = [SKEWED[one].sum() for one in lists]
    assert max(loads) <= max(SKEWED.max(), 4 / 3 * SKEWED.sum() / 4)  # Graham's bound
    assert all(np.all(np.diff(SKEWED[one]) <= 0) for one in lists)


def in_order(kind, cost, devices):
    """Return lists of a kind with equal numbers of tasks in the given order."""
    return type("InOrder", (kind,), {"assign": staticmethod(Even.assign)})(cost, devices)


def steal_once(strategy):
    """Three devices with lists 0 … 9, 10 … 19, 20 … 29; device 2 has finished, 1 has begun; what does 2 take?"""
    lists = in_order(STRATEGIES[strategy], np.ones(30), 3)
    lists._grain = 2.0
    while lists._lists[2].waiting:
        lists.take(2)
    assert lists.take(1).tolist() == [10, 11]
    lists._grain = 100.0
    return lists, lists.take(2).tolist()


def test_stealing(monkeypatch):
    monkeypatch.setattr(balance, "FRONT", 0.2)
    assert steal_once("pack")[1] == []
    # Both others have 10 unfinished; the first of them gives. Dynamic moves half, from the back.
    lists, stolen = steal_once("dynamic")
    assert stolen == [5, 6, 7, 8, 9]
    assert [one.waiting for one in lists._lists] == [5, 8, 0]
    assert lists.shares[2].stolen == 5
    assert steal_once("exhausted")[1] == list(range(10))
    assert steal_once("random")[1] in (list(range(10)), list(range(12, 20)))


def test_dynamic_stops_before_it_overshoots(monkeypatch):
    monkeypatch.setattr(balance, "FRONT", 0.2)
    lists = in_order(WorkLists, np.array([8.0, 4, 3, 2, 1]), 2)  # 8, 4, 3 | 2, 1
    lists._grain = 1.0
    assert lists.take(0).tolist() == [0]
    assert lists.take(1).tolist() == [3]
    assert lists.take(1).tolist() == [4]
    # 15 are unfinished, 8 of them run: 3 may move, 4 + 3 may, no more waits.
    assert lists.take(1).tolist() == [1]
    assert lists.take(0).tolist() == [2]  # half of the thief's 4 + 3 is more than 3, which waits


def test_uneven_devices_are_balanced_by_stealing():
    """A device four times slower: with stealing it ends with less than half of an even share."""
    cost = np.full(200, 1.0)

    def device(speed):
        return lambda tasks: time.sleep(0.0004 * len(tasks) / speed)

    for strategy in STRATEGIES:
        shares = run([device(4), device(1)], STRATEGIES[strategy](cost, 2), np.full(200, 3))
        assert sum(share.tasks for share in shares) == 200
        assert [share.vertices for share in shares] == [3 * share.tasks for share in shares]
        if strategy in ("none", "pack"):
            assert [share.tasks for share in shares] == [100, 100]
        else:
            assert shares[0].stolen > 0
            assert shares[0].tasks > 110


def test_run_does_every_task_once_and_reports_errors():
    generator = np.random.default_rng(8)
    for strategy in STRATEGIES:
        seen, done = np.zeros(60, int), []

        def work(tasks, seen=seen):
            seen[tasks] += 1

        lists = STRATEGIES[strategy](generator.random(60), 4)
        run([work] * 4, lists, np.full(60, 2), lambda *one, done=done: done.append(one))
        assert np.all(seen == 1)
        assert max(done) == (120, 120)

    def broken(tasks):
        raise RuntimeError("device lost")

    before = threading.active_count()
    with pytest.raises(RuntimeError, match="device lost"):
        run([work, broken], WorkLists(np.ones(60), 2), np.ones(60, int))
    assert threading.active_count() == before


def test_cost_model_is_recovered():
    generator = np.random.default_rng(5)
    degrees, edges = generator.integers(1, 200, 4000), generator.integers(1, 5000, 4000)
    for model, full in (("comp", False), ("core", False), ("truss", True), ("truss", False)):
        known = features(model, full, degrees, edges)
        truth = np.linspace(2e-6, 1e-6, known.shape[1])
        groups = sample(4000, 0.05)
        assert sum(map(len, groups)) == 200
        seconds = [known[group].sum(axis=0) @ truth + 0.003 for group in groups]
        assert np.allclose(fit([known[group] for group in groups], seconds), truth, rtol=1e-3)
    assert np.all(fit([np.ones((2, 2))], [0.0]) > 0)


def test_sample():
    for fraction, count in ((0.0001, 1), (0.05, 50), (1.0, 1000)):
        groups = sample(1000, fraction)
        chosen = np.concatenate(groups)
        assert all(map(len, groups))
        assert len(chosen) == count
        assert np.all(np.diff(chosen) > 0)
        assert 0 <= chosen[0] < 1000 / count and 999 - 1000 / count < chosen[-1] <= 999
    for wrong in (0, -0.1, 1.01):
        with pytest.raises(UsageError, match="sample"):
            make_network(None, fraction=wrong)
    with pytest.raises(UsageError, match="balance 'steal' is unknown"):
        make_network(None, strategy="steal")


def test_makespan_of_a_simulation():
    ones = np.ones(16)
    assert [makespan(ones, ones, 4, strategy) for strategy in STRATEGIES] == [1.0] * len(STRATEGIES)
    first = np.array([8.0] * 8 + [1.0] * 24)  # the first of four equal parts has nearly all the work
    assert makespan(np.ones(32), first, 4, "none") == pytest.approx(64 * 4 / 88)
    wrong = np.random.default_rng(1).pareto(1.5, 400)
    ends = {strategy: makespan(np.ones(400), wrong, 4, strategy) for strategy in STRATEGIES}
    assert 1 <= ends["dynamic"] < ends["pack"]
    assert makespan(np.empty(0), np.empty(0), 4, "dynamic") == 1.0
