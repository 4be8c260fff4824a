"""Shards: joined in any order they are the whole collection; what does not fit together is refused."""

from dataclasses import replace

import numpy as np
import pytest
from oracles.coverage import greedy, greedy_rounds

from gpukit.errors import InputError, UsageError
from gpukit.gim.shards import Shard, join, select
from gpukit.worlds.collection import CpuCollection
from gpukit.worlds.reverse import prepare

MADE = (("graph", "abc"), ("model", "ic"), ("sampler", "skip"), ("rounds", 1), ("seed", 5))


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
    assert found.spread_estimate == pytest.approx(graph.n * counts[-1] / 80)
    assert (found.rr_sets, found.guarantee, found.guarantee_kind, found.rounds) == (80, None, "none", None)


def test_choice_over_rounds(graph):
    offsets, members = join([shard(graph, 0, 60, rounds=2)])
    sets = [members[a:b].tolist() for a, b in zip(offsets, offsets[1:], strict=False)]
    found = select(offsets, members, graph.n, 2, 2)
    seeds, _ = greedy_rounds(sets, graph.n, 2, 2)
    assert (found.rounds * graph.n + found.seeds).tolist() == seeds


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
