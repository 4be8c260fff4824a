"""Campaigns: they reach their target whatever the update, threads or interruption; bounds, selection and worlds."""

import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from oracles.statistics import check_mean
from oracles.worlds import activation
from scipy import stats

from gpukit.device.select import Device
from gpukit.errors import InputError, UsageError
from gpukit.graph.csr import Weights
from gpukit.merit import Costs, Params, ReplayedWorld, SimulatedWorld
from gpukit.merit.bounds import JUDGES, SERVES, judging, max_coverage, plan
from gpukit.merit.factory import make_sets
from gpukit.merit.policy import JUDGE_FIRST, Policy
from gpukit.merit.residual import Residual
from gpukit.merit.sets import CpuSets, top_by_ratio
from gpukit.papers.merit.baselines import configure
from gpukit.papers.merit.factory import Campaign, simulate
from gpukit.worlds.reverse import prepare


def facts(result):
    """Return all that a campaign decided."""
    return [
        (one.batch.tolist(), one.cost, one.activated.tolist(), one.sets, one.covered, one.hits, one.kind)
        + (one.coverage_upper, one.refused, one.judged)
        for one in result.rounds
    ]


@pytest.fixture(scope="module")
def graph(random_graph):
    return random_graph(600, 3000, 12)


@pytest.fixture(scope="module")
def sparse(random_graph):
    """A graph on which campaigns have many rounds."""
    return random_graph(600, 500, 12)


# --- bounds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("certificate", ["fresh", "paper"])
@pytest.mark.parametrize(
    ("n", "b", "epsilon", "sums"), [(75879, 16, 0.5, 28817), (4847571, 4, 0.5, 1), (50, 1, 0.1, 9)]
)
def test_sizes_are_the_printed_ones_with_the_square(n, b, epsilon, sums, certificate):
    found = plan(n, b, epsilon, certificate, sums)
    delta = 1 / n
    accuracy = (epsilon - delta) * (1 - delta)
    ratio = 1 - (1 - 1 / b) ** b
    choices = math.lgamma(n + 1) - math.lgamma(b + 1) - math.lgamma(n - b + 1)
    start = 2 * (math.sqrt(math.log(6 / delta)) + math.sqrt((choices + math.log(6 / delta)) / ratio)) ** 2
    sizes = found.sizes
    assert sizes[0] == pytest.approx(start, abs=1)
    assert sizes[-1] == pytest.approx(start * n / (accuracy**2 * b), rel=1e-8, abs=1)
    assert all(small < large <= -(-17 * small // 16) for small, large in zip(sizes, sizes[1:], strict=False))
    assert len(sizes) == pytest.approx(1 + math.log(sizes[-1] / sizes[0]) / math.log(1.0625), abs=6)
    failure = math.log(3 * len(sizes) / delta)
    a, judged = (failure + choices, 1) if certificate == "paper" else (failure + math.log(SERVES), JUDGES)
    assert found.judging(sizes[-1]) == math.ceil(sizes[-1] / judged)
    assert float(found.lower) == pytest.approx(a, rel=1e-6)
    assert float(found.upper) == pytest.approx(failure + min(choices, math.log(sums)), rel=1e-6)
    assert float(found.target) == pytest.approx(ratio * (1 - accuracy), rel=1e-9)
    low = (math.sqrt(900 + 2 * a / 9) - math.sqrt(a / 2)) ** 2 - a / 18
    for most in (10, 2 * 900, 40 * 900):
        high = (math.sqrt(most + float(found.upper) / 2) + math.sqrt(float(found.upper) / 2)) ** 2
        size = judged * 10**5
        assert found.accepts(size, most, 900) == (low * judged > float(found.target) * high)


def test_no_smaller_epsilon_than_the_least_could_be_met():
    """Without a certificate, even the smallest graphs would take more sets than there are sample ids."""
    for n in range(2, 12):
        for b in range(1, n):
            assert plan(n, b, 1e-6, "fresh", 1).sizes[-1] > 1 << 48


def test_smallest_graphs_have_finite_sizes():
    for n in range(2, 12):
        for b in range(1, n):
            found = plan(n, b, 0.5, "fresh", 1)
            assert 1 <= found.sizes[0] <= found.sizes[-1] and found.target > 0


@pytest.mark.parametrize("certificate", ["fresh", "paper"])
def test_what_would_certify_is_what_would_be_accepted(certificate):
    found = plan(75879, 16, 0.5, certificate, 28817)
    share = 10**4 // found.judging(10**4)
    size, answers = 10**4 * share, set()
    for covered in range(share, 4000, 37 * share):
        for most in (covered, 2 * covered, 5 * covered):
            answers.add(found.would_certify(size, most, covered))
            assert found.would_certify(size, most, covered) == found.accepts(size, most, covered // share)
    assert answers == {True, False}
    for most, covered in ((50, 40), (400, 300), (9000, 7000), (9, 0)):
        place = found.needed(size, most, covered)
        grown = [found.would_certify(s, most * s / size, covered * s / size) for s in found.sizes]
        assert not any(grown[:place]) and all(grown[place:])


@pytest.mark.parametrize("seed", range(8))
def test_no_seeds_of_the_same_cost_cover_more(seed):
    """The bound against all subsets, and against the paper's Λ(S)/ρ_b."""
    generator = np.random.default_rng(seed)
    sets = [set(np.flatnonzero(generator.random(9) < 0.25).tolist()) | {int(generator.integers(9))} for _ in range(40)]
    costs = generator.integers(1, 6, 9).tolist()
    left, gains, batch = sets, [], []
    for _ in range(3):
        counts = Counter(v for one in left for v in one)
        v = max(counts, key=lambda v: (counts[v] / costs[v], -v))
        batch.append(v)
        gains.append(counts[v])
        left = [one for one in left if v not in one]
    budget = sum(costs[v] for v in batch)
    counts = np.array([sum(v in one for one in sets) for v in range(9)])
    without = max_coverage(gains, [costs[v] for v in batch], len(sets), [(len(sets), 1)])
    for share in (9, 2):  # with few leaders the rest of the budget counts at the last one's ratio
        most = max_coverage(gains, [costs[v] for v in batch], len(sets), top_by_ratio(counts, np.array(costs), share))
        check_bound(sets, costs, budget, most)
        assert most <= without <= sum(gains) / (1 - (1 - 1 / 3) ** 3)


def check_bound(sets, costs, budget, most):
    """Fail if vertices that cost no more than a budget hit more sets."""
    for mask in range(1 << 9):
        chosen = {v for v in range(9) if mask >> v & 1}
        if sum(costs[v] for v in chosen) <= budget:
            assert sum(bool(one & chosen) for one in sets) <= most


@pytest.mark.parametrize("seed", range(20))
def test_leaders_are_the_first_of_all_by_ratio_and_id(seed):
    generator = np.random.default_rng(seed)
    size, share = int(generator.integers(1, 60)), int(generator.integers(1, 20))
    counts, costs = generator.integers(0, 4, size), generator.integers(1, 5, size)
    by_ratio = sorted(range(size), key=lambda v: (-counts[v] / costs[v], v))[: 2 * share]
    assert top_by_ratio(counts, costs, share) == [(counts[v], costs[v]) for v in by_ratio if counts[v] > 0]


def test_leaders_are_a_fractional_knapsack():
    leaders = [(9, 3), (10, 4), (8, 4), (1, 2)]
    for costs, expected in (([3], 9), ([5], 14), ([2], 6), ([7, 4], 27), ([14], 29)):
        assert max_coverage([1000] * len(costs), costs, 1000, leaders) == expected


def test_sums_of_costs(make_graph):
    graph = make_graph(4, [(0, 1), (0, 2), (0, 3), (1, 2)])
    assert Costs.degree(graph).values.tolist() == [4, 2, 1, 1]
    assert Costs.uniform(graph).sums(5) == 1
    costs = Costs(np.array([10, 14, 22, 10]))
    possible = {sum(c) for c in np.array(np.meshgrid(*[costs.values] * 3)).reshape(3, -1).T.tolist()}
    assert len(possible) <= costs.sums(3) == 10


# --- selection -------------------------------------------------------------------------------------------------------


def greedy(lists, costs, b):
    """Return seeds and gains of ratio greedy, by scans in exact arithmetic."""
    left, seeds, gains = [set(one) for one in lists], [], []
    while len(seeds) < b and left:
        counts = Counter(v for one in left for v in one)
        best = min(counts, key=lambda v: (-Decimal(counts[v]) / int(costs[v]), v))
        for v in counts:
            if counts[v] * costs[best] == counts[best] * costs[v]:
                best = min(best, v)
        seeds.append(best)
        gains.append(counts[best])
        left = [one for one in left if best not in one]
    return seeds, gains


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("scheme", ["degree", "uniform", "file"])
def test_selection_is_greedy_by_coverage_per_cost(graph, monkeypatch, threads, few, scheme):
    from gpukit.merit import sets

    if few:
        monkeypatch.setattr(sets, "MIN_CANDIDATES", 1)
        monkeypatch.setattr(sets, "CANDIDATES_PER_SEED", 0)
    costs = Costs(np.random.default_rng(1).integers(1, 10**6, graph.n))
    costs = {"degree": Costs.degree(graph), "uniform": Costs.uniform(graph), "file": costs}[scheme]
    residual = Residual(graph, 60, "ic")
    chosen, judge = (CpuSets(prepare(graph, "ic"), residual, 3, first, threads=threads) for first in (0, 1 << 47))
    for size in (40, 500):
        for one in (chosen, judge):
            one.extend(size)
        found = chosen.select(30, costs.values, judge)
        seeds, gains, hits = found.seeds, found.gains, found.hits
        offsets, members = chosen.export()
        lists = [members[low:high].tolist() for low, high in zip(offsets, offsets[1:], strict=False)]
        assert (seeds.tolist(), gains.tolist()) == greedy(lists, costs.values.tolist(), 30)
        offsets, members = judge.export()
        lists = [members[low:high] for low, high in zip(offsets, offsets[1:], strict=False)]
        assert hits == sum(np.isin(one, seeds).any() for one in lists)
        ratios = sorted((count / cost for count, cost in found.leaders), reverse=True)
        counts = np.bincount(chosen.export()[1], minlength=graph.n)
        assert ratios == sorted((counts / costs.values)[counts > 0], reverse=True)[:60]
    chosen.restart(0)
    chosen.extend(3)
    assert chosen.select(600, costs.values, None).gains.sum() == 3


# --- campaigns -------------------------------------------------------------------------------------------------------

CASES = [
    Params(150, 4),
    Params(150, 4, "lt"),
    Params(150, 16, certificate="paper"),
    Params(150, 3, "lt", lt_residual="raw", certificate="paper"),
    Params(60, 1, epsilon=0.8),
]


def trials_of(monkeypatch, graph, params):
    """Return of each round of a campaign its trials (sets, ids of judging sets used up before) and what it decided."""
    trials, rounds, choose, select = [], [], Policy.choose, CpuSets.select

    def noted(policy):
        trials.clear()
        found = choose(policy)
        rounds.append((list(trials), found))
        return found

    def chosen(sets, b, costs, judge):
        trials.append((sets._valid, None if judge is None else judge.first - JUDGE_FIRST))
        return select(sets, b, costs, judge)

    monkeypatch.setattr(Policy, "choose", noted)
    monkeypatch.setattr(CpuSets, "select", chosen)
    simulate(graph, params, SimulatedWorld(graph, params.model, 9))
    return [one for one in rounds if one[1].sets > 0]


@pytest.mark.parametrize("certificate", ["fresh", "paper"])
def test_rounds_begin_near_the_sets_they_need(sparse, monkeypatch, certificate):
    rounds = trials_of(monkeypatch, sparse, Params(200, 1, certificate=certificate))
    assert len(rounds) > 20 and max(one.sets for _, one in rounds) > 4 * min(one.sets for _, one in rounds)
    for (_, last), (trials, _) in zip(rounds, rounds[1:], strict=False):
        assert trials[0][0] > 0.88 * last.sets
        assert all(small[0] < large[0] <= 4.5 * small[0] for small, large in zip(trials, trials[1:], strict=False))
    assert sum(len(trials) for trials, _ in rounds[1:]) < 1.6 * len(rounds)


@pytest.mark.parametrize("update", ["coupled", "regenerate"])
def test_refused_judging_sets_are_never_asked_again(sparse, monkeypatch, update):
    monkeypatch.setattr("gpukit.merit.policy.SERVES", 6)
    monkeypatch.setattr("gpukit.merit.policy.DOUBT", 1.0)
    monkeypatch.setattr("gpukit.merit.policy.LESS", 0.9)
    refused = 0
    for seed in range(4):
        rounds = trials_of(monkeypatch, sparse, Params(150, 3, update=update, seed=seed))
        refused += sum(one.refused for _, one in rounds)
        spans = {}
        for number, (trials, one) in enumerate(rounds):
            assert trials[-1][1] == one.judged and len({used for _, used in trials}) == one.refused + 1
            for size, used in trials:
                first, last, most = spans.get(used, (number, number, 0))
                spans[used] = first, number, max(most, judging(size))
        used = sorted(spans)
        for low, high in zip(used, used[1:], strict=False):
            assert low + spans[low][2] <= high and spans[low][1] <= spans[high][0]
        assert all(last - first < 6 for first, last, _ in spans.values()) and len(spans) >= len(rounds) // 6
    assert refused > 3


def test_judging_sets_that_served_are_as_good_as_new(sparse, monkeypatch):
    """What batches hit of judging sets of earlier rounds, and of new ones: equal means, by Student's test at 1e-6.

    All tests count as passed, as in the campaign that :class:`gpukit.merit.policy.Judge` speaks of.
    """
    monkeypatch.setattr("gpukit.merit.bounds.Plan.would_certify", lambda *_: True)
    monkeypatch.setattr("gpukit.merit.bounds.Plan.accepts", lambda *_: True)
    shares = []
    for seed in range(60):
        campaign = Campaign(sparse, Params(150, 3, seed=seed))
        world, policy = SimulatedWorld(sparse, "ic", seed), campaign._policy
        for _ in range(6):
            last = campaign.choose()
            new = CpuSets(policy._sets.reverse, policy.residual, seed, JUDGE_FIRST + 10**9)
            new.extend(1000)
            shares.append(last.hits / policy._judge.sets._valid - new.count_hits(last.batch) / 1000)
            campaign.observe(world.diffuse(last.batch))
        assert policy._judge.used == 0
    by_campaign = np.array(shares).reshape(60, 6).mean(axis=1)
    assert 0 < by_campaign.std() < 0.05
    assert stats.ttest_1samp(by_campaign, 0.0).pvalue > 1e-6


@pytest.mark.parametrize("params", CASES, ids=range(len(CASES)))
def test_campaigns_reach_their_target_and_agree(graph, params):
    """Coupled and regenerated sets of the same ids, other threads: the same campaign."""
    result = simulate(graph, params, SimulatedWorld(graph, params.model, 9))
    assert result.activated >= params.eta
    assert result.activated - len(result.rounds[-1].activated) < params.eta
    assert len(set(result.seeds.tolist())) == len(result.seeds)
    everyone = np.concatenate([one.activated for one in result.rounds])
    assert len(np.unique(everyone)) == result.activated
    costs = Costs.degree(graph)
    for one in result.rounds:
        assert set(one.batch.tolist()) <= set(one.activated.tolist())
        assert 1 <= len(one.batch) <= params.batch and one.cost == costs.of(one.batch)
        assert (one.sets == 0) == (one.kind == "end")
    assert result.amount == pytest.approx(0.01 * (np.diff(graph.indptr)[result.seeds] + 1).sum())
    again = simulate(graph, replace(params, update="regenerate"), SimulatedWorld(graph, params.model, 9))
    assert facts(again) == facts(result)
    assert result.updating_probes < again.updating_probes or sum(one.sets > 0 for one in result.rounds) == 1
    three = Device("cpu", "", (), 3, "")
    assert facts(simulate(graph, params, SimulatedWorld(graph, params.model, 9), three)) == facts(result)


@pytest.mark.parametrize("update", ["coupled", "paper", "regenerate"])
@pytest.mark.parametrize("ids", ["kept", "fresh"])
def test_resuming_after_each_round_changes_nothing(graph, update, ids):
    if ids == "fresh" and update != "regenerate":
        with pytest.raises(UsageError, match="fresh ids"):
            Params(100, 4, update=update, ids=ids)
        return
    params = Params(100, 4, update=update, ids=ids, seed=5)
    check_resuming(graph, params)


def check_resuming(graph, params):
    """Compare a campaign with one that is begun again before and after each observation; return it."""
    whole = simulate(graph, params, SimulatedWorld(graph, "ic", 5))
    world, rounds = SimulatedWorld(graph, "ic", 5), ()
    while True:
        campaign = Campaign(graph, params, rounds)
        if campaign.left <= 0:
            break
        campaign.choose()
        waiting = Campaign(graph, params, campaign.rounds)
        assert waiting.pending
        waiting.observe(world.diffuse(waiting.rounds[-1].batch))
        rounds = waiting.rounds
    assert facts(campaign.result()) == facts(whole)
    return whole


def test_a_world_serves_one_campaign(graph):
    world = SimulatedWorld(graph, "ic", 5)
    simulate(graph, Params(100, 4), world)
    with pytest.raises(InputError, match="make a new world"):
        simulate(graph, Params(100, 4), world)


def test_resuming_goes_on_with_the_same_judging_sets(sparse, monkeypatch):
    """Also after refusals, and when the judging sets have served long enough."""
    monkeypatch.setattr("gpukit.merit.policy.SERVES", 3)
    monkeypatch.setattr("gpukit.merit.policy.DOUBT", 1.0)
    monkeypatch.setattr("gpukit.merit.policy.LESS", 0.9)
    rounds = check_resuming(sparse, Params(150, 3, seed=2)).rounds
    used = {one.judged for one in rounds if one.sets}
    assert sum(one.refused for one in rounds) > 0 and len(used) > 1 + sum(one.refused > 0 for one in rounds)


@pytest.mark.parametrize(
    ("n", "edges"),
    [
        (1, []),
        (5, []),
        (2, [(0, 1)]),
        (30, [(0, v) for v in range(1, 30)]),
        (30, [(v, 0) for v in range(1, 30)]),
        (8, [(u, v) for u in range(8) for v in range(8) if u != v]),
        (9, [(0, 1), (1, 0), (4, 5), (8, 7)]),
    ],
)
@pytest.mark.parametrize("model", ["ic", "lt"])
@pytest.mark.parametrize("batch", [1, 2])
def test_small_graphs_up_to_everyone(make_graph, n, edges, model, batch):
    graph = make_graph(n, edges)
    for eta in {1, n // 2 + 1, n}:
        params = Params(eta, min(batch, n), model)
        result = simulate(graph, params, SimulatedWorld(graph, model, 1))
        assert eta <= result.activated <= n
        assert facts(simulate(graph, replace(params, update="regenerate"), SimulatedWorld(graph, model, 1))) == facts(
            result
        )


def test_a_star_is_reached_through_its_centre(make_graph):
    graph = make_graph(40, [(0, v) for v in range(1, 40)], Weights("const", 1.0))
    result = simulate(graph, Params(40, 1, costs=Costs.uniform(graph)), SimulatedWorld(graph, "ic", 1))
    assert result.seeds.tolist() == [0] and result.cost == 1


def test_the_end_game_takes_the_cheapest(make_graph):
    graph = make_graph(6, [(0, 1)])
    costs = Costs(np.array([5, 4, 1, 3, 1, 2]))
    result = simulate(graph, Params(3, 3, costs=costs), SimulatedWorld(graph, "ic", 1))
    assert result.seeds.tolist() == [2, 4, 5] and result.rounds[0].kind == "end"


@pytest.mark.parametrize("eta", [2, 16])
def test_the_end_game_buys_no_more_than_it_has_to(make_graph, eta):
    """A star of which any 16 vertices would do: its centre does alone, and is what a batch of one buys."""
    star = make_graph(40, [(0, v) for v in range(1, 40)], Weights("const", 1.0))
    result = simulate(star, Params(eta, 16, costs=Costs.uniform(star)), SimulatedWorld(star, "ic", 1))
    assert result.seeds.tolist() == [0] and result.rounds[0].kind == "certified"


@pytest.mark.parametrize("update", ["coupled", "regenerate"])
def test_the_end_game_is_replayed_as_it_went(graph, update):
    params = Params(16, 16, update=update, costs=Costs.uniform(graph))
    for world in range(6):
        first = simulate(graph, params, SimulatedWorld(graph, "ic", world))
        assert first.cost <= 16 <= first.activated
        assert facts(simulate(graph, params, ReplayedWorld([one.activated for one in first.rounds]))) == facts(first)


def test_a_record_replays_a_campaign(graph):
    params = Params(100, 4)
    first = simulate(graph, params, SimulatedWorld(graph, "ic", 2))
    records = [one.activated for one in first.rounds]
    assert facts(simulate(graph, params, ReplayedWorld(records))) == facts(first)
    with pytest.raises(InputError, match="the record ends after 1"):
        simulate(graph, params, ReplayedWorld(records[:1]))
    with pytest.raises(InputError, match="does not hold the seeds"):
        simulate(graph, replace(params, seed=1), ReplayedWorld(records))


def test_competitors_have_the_threads_in_print_or_what_there_is():
    params = Params(10, 4)
    for there, wanted in ((16, (16, 4, 1)), (2, (2, 2, 1))):
        device = Device("cpu", "", (), there, "")
        assert tuple(configure(name, params, device)[1].threads for name in ("pasti", "pasti-4", "asti")) == wanted
    changed = {name: configure(name, params, device)[0] for name in ("merit", "reused", "printed")}
    assert {name: (one.update, one.certificate) for name, one in changed.items()} == {
        "merit": ("coupled", "fresh"),
        "reused": ("coupled", "paper"),
        "printed": ("paper", "paper"),
    }


def test_refusals(graph):
    for params, message in (
        ({"eta": 0}, "eta is 0"),
        ({"eta": 601}, "eta is 601"),
        ({"eta": 5, "batch": 601}, "batch is 601"),
        ({"eta": 5, "batch": 0}, "batch is 0"),
    ):
        with pytest.raises(UsageError, match=message):
            Campaign(graph, Params(**params))
    for epsilon in (1.0, 9e-7, 1e-300, 0.0, float("nan")):
        with pytest.raises(UsageError, match=r"epsilon is .* \[1e-6, 1\)"):
            Params(5, epsilon=epsilon)
    with pytest.raises(UsageError, match="update"):
        Params(5, update="none")
    with pytest.raises(InputError, match="vertex 3 costs"):
        Campaign(graph, Params(5, costs=Costs(np.where(np.arange(600) == 3, 0, 1))))
    with pytest.raises(UsageError, match=r"gpukit\.papers\.merit have it"):
        make_sets(prepare(graph, "ic"), Residual(graph, 5, "ic"), Params(5, update="paper"), None)
    campaign = Campaign(graph, Params(50, 2))
    with pytest.raises(UsageError, match="no batch"):
        campaign.observe(np.array([1]))
    campaign.choose()
    with pytest.raises(UsageError, match="not observed yet"):
        campaign.choose()
    with pytest.raises(InputError, match="twice"):
        campaign.observe(np.array([4, 4]))
    campaign.observe(np.array([], np.int64))
    before = campaign.rounds[0].batch[0]
    campaign.choose()
    with pytest.raises(InputError, match=f"vertex {before} was active before"):
        campaign.observe(np.array([before]))
    assert campaign.pending and campaign.left == 48


# --- worlds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [Weights(), Weights("const", 0.3)])
@pytest.mark.parametrize("model", ["ic", "lt"])
def test_worlds_activate_as_often_as_they_should(make_graph, model, weights):
    """Activation frequencies over 4,000 worlds against enumeration; each fails wrongly with chance below 1e-6."""
    graph = make_graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3), (2, 0), (1, 4)], weights)
    runs, seeds = 4000, [0, 2]
    hits = np.zeros(6)
    for number in range(runs):
        whole = SimulatedWorld(graph, model, 3, number).diffuse(np.array(seeds, np.int32))
        hits[whole] += 1
        world = SimulatedWorld(graph, model, 3, number)
        parts = [world.diffuse(np.array([0], np.int32))]
        if 2 not in parts[0]:
            parts.append(world.diffuse(np.array([2], np.int32)))
        assert np.sort(np.concatenate(parts)).tolist() == whole.tolist()
    for v, expected in enumerate(activation(graph, seeds, model)):
        check_mean(hits[v] / runs, expected, runs, 1.0)
