"""Shards: joined in any order they are the whole collection; what does not fit together is refused."""

from dataclasses import replace

import numpy as np
import pytest
from oracles.coverage import greedy, greedy_rounds

from gpukit.errors import InputError, UsageError
from gpukit.gim.shards import Shard, join, select, separate
from gpukit.worlds.collection import CpuCollection
from gpukit.worlds.reverse import prepare

MADE = (("graph", "abc"), ("model", "ic"), ("sampler", "skip"), ("stream", "RR_IC"), ("rounds", 1), ("seed", 5))


@pytest.fixture(scope="module")
def graph(random_graph):
    return random_graph(50, 120, 3)


def shard(graph, first, count, rounds=1):
    collection = CpuCollection(prepare(graph, "ic", rounds=rounds), 5, first)
    collection.extend(count)
    return Shard(f"rr-{first}", first, *collection.export(), MADE)


def test_any_split_is_the_whole(graph):
    whole = shard(graph, 7, 100)
    parts = [shard(graph, 47, 60), shard(graph, 7, 1), shard(graph, 8, 39)]
    offsets, members = join(parts)
    assert np.array_equal(offsets, whole.offsets) and np.array_equal(members, whole.members)
    assert join([whole])[0].tolist() == whole.offsets.tolist()


def test_choice_is_greedy(graph):
    offsets, members = join([shard(graph, 0, 80)])
    sets = [members[a:b].tolist() for a, b in zip(offsets, offsets[1:], strict=False)]
    found = select(offsets, members, graph.n, 1, 4)
    seeds, counts = greedy(sets, graph.n, 4)
    assert found.seeds.tolist() == seeds
    assert np.cumsum(found.gains).tolist() == counts
    assert found.spread_estimate is None, "these very sets would flatter the seeds"
    assert found.selection_estimate == pytest.approx(graph.n * counts[-1] / 80)
    assert (found.rr_sets, found.guarantee, found.guarantee_kind, found.rounds) == (80, None, "none", None)


def test_choice_over_rounds(graph):
    offsets, members = join([shard(graph, 0, 60, rounds=2)])
    sets = [members[a:b].tolist() for a, b in zip(offsets, offsets[1:], strict=False)]
    found = select(offsets, members, graph.n, 2, 2)
    seeds, _ = greedy_rounds(sets, graph.n, 2, 2)
    assert (found.rounds * graph.n + found.seeds).tolist() == seeds


@pytest.mark.parametrize("rounds", [1, 2])
def test_judge_counts_what_the_seeds_hit(graph, rounds):
    sets, judge = join([shard(graph, 0, 60, rounds)]), join([shard(graph, 100, 70, rounds)])
    alone, judged = (select(*sets, graph.n, rounds, 3, judge=one) for one in (None, judge))
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
        alone, found = (select(*sets, graph.n, 1, 5, judge=one) for one in (None, judge))
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
        select(*join([shard(graph, 0, 8)]), graph.n, 1, k)
