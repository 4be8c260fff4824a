"""Shards: joined in any order they give the whole collection; shards that do not fit together are refused."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from oracles.coverage import greedy, greedy_rounds

from gpukit.errors import InputError, UsageError
from gpukit.gim.known import Known
from gpukit.gim.shards import Shard, join, select, separate
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.worlds.collection import CpuCollection
from gpukit.worlds.reverse import prepare

MADE = (("graph", "abc"), ("model", "ic"), ("sampler", "skip"), ("stream", "RR_IC"), ("rounds", 1), ("seed", 5))
MADE += (("sets", "plain"), ("targets", "none"))


@pytest.fixture(scope="module")
def graph(random_graph):
    return random_graph(50, 120, 3)


def shard(graph, first, count, rounds=1):
    collection = CpuCollection(prepare(graph, "ic", rounds=rounds), 5, first)
    collection.extend(count)
    return Shard(f"rr-{first}", first, *collection.export(), MADE)


def plain(graph):
    return Known(Decimal(graph.n), None, None)


def kept(graph, first, ids, threads=1, weights=None, model="ic"):
    collection = CpuCollection(prepare(graph, model, kept=True, root_weights=weights), 5, first, threads)
    collection.extend_over(ids)
    assert collection.ids == ids and collection.size <= ids
    return Shard(f"rr-{first}", first, *collection.export(), MADE, ids), collection.reverse


def test_any_split_is_the_whole(graph):
    whole = shard(graph, 7, 100)
    parts = [shard(graph, 47, 60), shard(graph, 7, 1), shard(graph, 8, 39)]
    offsets, members = join(parts)
    assert np.array_equal(offsets, whole.offsets) and np.array_equal(members, whole.members)
    assert join([whole])[0].tolist() == whole.offsets.tolist()


def test_choice_is_greedy(graph):
    offsets, members = join([shard(graph, 0, 80)])
    sets = [members[a:b].tolist() for a, b in zip(offsets, offsets[1:], strict=False)]
    found = select((offsets, members), plain(graph), graph.n, 1, 4)
    seeds, counts = greedy(sets, graph.n, 4)
    assert found.seeds.tolist() == seeds
    assert np.cumsum(found.gains).tolist() == counts
    assert found.spread_estimate is None, "these very sets would flatter the seeds"
    assert found.selection_estimate == pytest.approx(graph.n * counts[-1] / 80)
    assert (found.rr_sets, found.guarantee, found.guarantee_kind, found.rounds) == (80, None, "none", None)


def test_choice_over_rounds(graph):
    offsets, members = join([shard(graph, 0, 60, rounds=2)])
    sets = [members[a:b].tolist() for a, b in zip(offsets, offsets[1:], strict=False)]
    found = select((offsets, members), plain(graph), graph.n, 2, 2)
    seeds, _ = greedy_rounds(sets, graph.n, 2, 2)
    assert (found.rounds * graph.n + found.seeds).tolist() == seeds


@pytest.mark.parametrize("rounds", [1, 2])
def test_judge_counts_what_the_seeds_hit(graph, rounds):
    sets, judge = join([shard(graph, 0, 60, rounds)]), join([shard(graph, 100, 70, rounds)])
    alone, judged = (select(sets, plain(graph), graph.n, rounds, 3, judge=one) for one in (None, judge))
    assert judged.seeds.tolist() == alone.seeds.tolist() and judged.gains.tolist() == alone.gains.tolist()
    elements = set((judged.seeds + graph.n * (0 if rounds == 1 else judged.rounds)).tolist())
    hit = sum(bool(elements & set(judge[1][a:b].tolist())) for a, b in zip(judge[0], judge[0][1:], strict=False))
    assert judged.spread_estimate == graph.n * hit / 70
    assert (judged.selection_estimate, judged.rr_sets, alone.rr_sets) == (None, 130, 60)


def test_only_the_judge_is_unbiased(graph):
    """200 sets and 5 seeds of 50 vertices: what they cover of these sets is far above what they reach."""
    flattered, judged = [], []
    truth = shard(graph, 1 << 30, 60_000)
    for i in range(40):
        sets, judge = join([shard(graph, 1000 * i, 200)]), join([shard(graph, 1000 * i + 200, 400)])
        alone, found = (select(sets, plain(graph), graph.n, 1, 5, judge=one) for one in (None, judge))
        mark = np.isin(truth.members, found.seeds)
        reached = graph.n * np.mean(np.add.reduceat(mark, truth.offsets[:-1]) > 0)
        flattered.append(alone.selection_estimate / reached - 1)
        judged.append(found.spread_estimate / reached - 1)
    error = np.std(judged) / np.sqrt(len(judged))
    assert abs(np.mean(judged)) < 4 * error + 0.01
    assert np.mean(flattered) > 0.05 and np.mean(flattered) > 8 * error


@pytest.mark.parametrize(("first", "line"), [(7, "both hold sample id 7"), (0, "both hold sample id 0"), (8, None)])
def test_judge_shares_no_sample_id(graph, first, line):
    sets, judge = [shard(graph, 0, 4), shard(graph, 4, 4)], [shard(graph, first, 8)]
    if line is None:
        separate(sets, judge)
    else:
        with pytest.raises(InputError, match=line):
            separate(sets, judge)


@pytest.mark.parametrize("place", range(len(MADE)))
def test_judge_of_another_collection(graph, place):
    other = [*MADE]
    other[place] = (MADE[place][0], "other")
    with pytest.raises(InputError, match=f"differ in {MADE[place][0]}"):
        separate([shard(graph, 0, 8)], [replace(shard(graph, 8, 8), made_from=tuple(other))])


@pytest.mark.parametrize(
    ("first", "line"),
    [(9, "leave a gap"), (5, "overlap"), (0, "overlap"), (8, None)],
    ids=["gap", "over", "twice", "fit"],
)
def test_ids_must_follow_each_other(graph, first, line):
    parts = [shard(graph, 0, 8), shard(graph, first, 8)]
    if line is None:
        assert len(join(parts)[0]) == 17
    else:
        with pytest.raises(InputError, match=line):
            join(parts)


@pytest.mark.parametrize("place", range(len(MADE)))
def test_shards_of_different_collections(graph, place):
    other = [*MADE]
    other[place] = (MADE[place][0], "other")
    with pytest.raises(InputError, match=f"differ in {MADE[place][0]}"):
        join([shard(graph, 0, 8), replace(shard(graph, 8, 8), made_from=tuple(other))])


@pytest.mark.parametrize("k", [0, 51])
def test_k_out_of_range(graph, k):
    with pytest.raises(UsageError, match="1 to 50"):
        select(join([shard(graph, 0, 8)]), plain(graph), graph.n, 1, k)


@pytest.mark.parametrize("model", ["ic", "lt"])
def test_kept_sets_of_a_range_are_the_plain_ones_with_more_than_a_root(graph, model):
    weights = np.arange(graph.n) % 5
    all_ = CpuCollection(prepare(graph, model, root_weights=weights), 5, 30)
    all_.extend(20_000)
    offsets, members = all_.export()
    large = [members[a:b].tolist() for a, b in zip(offsets, offsets[1:], strict=False) if b - a > 1]
    for threads in (1, 3):
        found, _ = kept(graph, 30, 20_000, threads, weights, model)
        assert [found.members[a:b].tolist() for a, b in zip(found.offsets, found.offsets[1:], strict=False)] == large
        assert found.end == 20_030


def test_any_split_of_kept_sets_is_the_whole(graph):
    whole, _ = kept(graph, 7, 100)
    parts = [kept(graph, first, ids)[0] for first, ids in ((47, 60), (7, 1), (8, 39))]
    offsets, members = join(parts)
    assert np.array_equal(offsets, whole.offsets) and np.array_equal(members, whole.members)
    with pytest.raises(InputError, match="leave a gap"):
        join([kept(graph, 7, 100)[0], kept(graph, 108, 5)[0]])


@pytest.mark.parametrize("weighted", [False, True])
def test_choice_counts_what_is_known(graph, weighted):
    """By hand: each step takes the vertex of the most units, those it is worth by itself and those of new sets."""
    weights = np.arange(graph.n) % 5 if weighted else None
    found, reverse = kept(graph, 0, 300, weights=weights)
    known = Known.of(reverse, weights)
    sets = [set(found.members[a:b].tolist()) for a, b in zip(found.offsets, found.offsets[1:], strict=False)]
    bonus = known.in_units(len(sets))
    units, open_, seeds, gains = bonus.of(), list(sets), [], []
    for _ in range(6):
        values = [
            units[v] + bonus.unit * sum(v in one for one in open_) if v not in seeds else -1 for v in range(graph.n)
        ]
        seeds.append(int(np.argmax(values)))
        gains.append(sum(seeds[-1] in one for one in open_))
        open_ = [one for one in open_ if seeds[-1] not in one]
    result = select((found.offsets, found.members), known, graph.n, 1, 6)
    assert result.seeds.tolist() == seeds and result.gains.tolist() == gains
    spread = float(known.bonus(result.seeds)) + float(known.gamma) * sum(gains) / len(sets)
    assert result.selection_estimate == pytest.approx(spread) == pytest.approx(result.spread_gains.sum())


def test_sets_that_could_tell_nothing_are_not_missed(graph):
    weights = np.zeros(graph.n, np.int64)
    weights[[4, 9]] = 3, 5
    star = build_graph(np.array([4, 9, 9]), np.array([1, 2, 3]), n=graph.n, ids=False, weights=Weights("const", p=0.5))
    found, reverse = kept(star, 0, 50, weights=weights)
    result = select((found.offsets, found.members), Known.of(reverse, weights), graph.n, 1, 2)
    assert (result.seeds.tolist(), result.selection_estimate, result.rr_sets) == ([9, 4], 8.0, 0)
