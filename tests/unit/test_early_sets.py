"""Sets that end early, against whole sets cut in plain Python."""

import numpy as np
import pytest

from gpukit.graph.csr import Weights
from gpukit.worlds.collection import CpuCollection
from gpukit.worlds.reverse import ORDER_BIT, Ending, prepare

SETS = 300


def sets_of(collection):
    offsets, members = collection.export()
    return [members[a:b].tolist() for a, b in zip(offsets[:-1], offsets[1:], strict=True)]


def cut(sets, ending):
    """Return sets as the rule says, whatever order their members were found in."""
    found = []
    for one in sets:
        met = int(np.bitwise_or.reduce(ending.marks if len(ending.marks) == 1 else ending.marks[one]))
        over = met & ending.all_marks == ending.all_marks or len(one) > ending.limit
        found.append(([ending.representative] if ending.representative >= 0 else []) if over else one)
    return found


def ending_of(name, n):
    """Return a rule with any order of search, which decides nothing."""
    marks = np.random.default_rng(4).integers(0, 1 << 8 - ORDER_BIT, n, np.uint8) << ORDER_BIT
    if name == "sentinel":
        marks[7] |= 1
        return Ending(marks, 1, 7, n)
    if name == "limit":
        return Ending(marks, 1, -1, 12)
    if name == "alike":
        return Ending(np.zeros(1, np.uint8), 1, -1, 12)
    marks[[3, 8]] |= 1
    marks[[8, 9, 11]] |= 2
    marks[20:30] |= 4
    return Ending(marks, 7, -1, n)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("name", ["sentinel", "limit", "alike", "several"])
@pytest.mark.parametrize(
    ("model", "weights"), [("ic", Weights("const", 0.3)), ("ic", Weights("trivalency", seed=1)), ("lt", Weights())]
)
def test_they_are_whole_sets_cut(random_graph, model, weights, name, kept):
    reverse = prepare(random_graph(60, 300, 5, weights), model, kept=kept)
    ending = ending_of(name, 60)
    whole, early = CpuCollection(reverse, 3, 17), CpuCollection(reverse, 3, 17, 2, ending)
    whole.extend(SETS)
    for size in (40, SETS):
        early.extend(size)
    wanted = cut(sets_of(whole), ending)
    assert sets_of(early) == wanted
    assert early.ended() == sum(not one for one in wanted)
    assert early.members() == sum(map(len, wanted))


def test_many_ends_in_a_batch(make_graph):
    """More sets than a batch, a giant one each, on a graph of several levels."""
    n = 3000
    rng = np.random.default_rng(2)
    edges = np.unique(rng.integers(0, n, (12_000, 2)), axis=0)
    graph = make_graph(n, edges[edges[:, 0] != edges[:, 1]].tolist(), Weights("const", 0.6))
    reverse = prepare(graph, "ic", kept=True)
    ending = ending_of("sentinel", n)
    whole, early = CpuCollection(reverse, 1), CpuCollection(reverse, 1, ending=ending)
    for one in (whole, early):
        one.extend(1200)
    assert sets_of(early) == cut(sets_of(whole), ending)
    assert 8 * early.members() < whole.members()


def test_what_seeds_with_the_sentinel_cover(random_graph):
    reverse = prepare(random_graph(60, 300, 5, Weights("const", 0.3)), "ic", kept=True)
    whole, early = CpuCollection(reverse, 3), CpuCollection(reverse, 3, ending=ending_of("sentinel", 60))
    for one in (whole, early):
        one.extend(SETS)
    seeds = np.array([7, 2, 30, 11])
    assert np.array_equal(early.coverage(seeds), whole.coverage(seeds))
