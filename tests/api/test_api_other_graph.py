"""Files made on another graph are refused, with the digests of both graphs, wherever a graph is given with them."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gpukit as gk
from gpukit.errors import InputError

HERE = gk.from_edges([1, 2, 3, 4], [2, 3, 4, 5])
THERE = gk.from_edges([1, 2, 3], [3, 1, 2])
SEEDS = gk.influence_maximization(HERE, 1)
ROUNDS = gk.influence_maximization(HERE, 1, rounds=2)


def refused(ask: Callable[[], object], other: gk.Graph = THERE) -> None:
    here, there = HERE.digest[:12], other.digest[:12]
    with pytest.raises(
        InputError, match=rf"was made on another graph \({here}…, and this one is {there}…\); "
    ) as error:
        ask()
    assert "\n" not in str(error.value)


def observe(activated: Any) -> None:
    campaign = gk.Campaign(THERE, 3, batch=1)
    campaign.next_batch()
    campaign.observe(activated)


ASKED: dict[str, Callable[[Any], object]] = {
    "spread": lambda one: gk.estimate_spread(THERE, one, runs=10),
    "include": lambda one: gk.influence_maximization(THERE, 1, include=one),
    "exclude": lambda one: gk.influence_maximization(THERE, 1, exclude=one),
    "among": lambda one: gk.PageRankIndex(THERE).top_k(1, k=1, among=one),
    "sources": lambda one: gk.PageRankIndex(THERE).top_k_many(one, k=1),
    "observe": observe,
    "replay": lambda one: gk.seed_minimization(THERE, 1, replay=[one]),
}


@pytest.mark.parametrize("name", ASKED)
def test_seeds_of_another_graph_are_refused_and_a_list_of_them_is_not(name: str) -> None:
    refused(lambda: ASKED[name](SEEDS))
    vertex = next(iter(gk.Campaign(THERE, 3, batch=1).next_batch())) if name == "observe" else SEEDS.seeds[0]
    ASKED[name]([] if name == "observe" else [vertex])
    found = gk.influence_maximization(THERE, 1)
    if name not in ("observe", "replay"):
        ASKED[name](found)


def test_seeds_of_several_rounds() -> None:
    refused(lambda: gk.estimate_spread(THERE, ROUNDS, runs=10))
    assert gk.estimate_spread(HERE, ROUNDS, runs=10).runs == 10


def test_seeds_may_be_judged_by_other_probabilities(tmp_path: Path) -> None:
    other = HERE.with_weights("const:0.5")
    spread = gk.estimate_spread(other, SEEDS.seeds, runs=50).mean
    assert gk.estimate_spread(other, SEEDS, runs=50).mean == spread
    assert gk.estimate_spread(HERE, SEEDS, weights="const:0.5", runs=50).mean == spread
    assert (
        gk.estimate_spread(gk.from_edges([1, 2, 3, 4], [2, 3, 4, 5], weights="const:0.5"), SEEDS, runs=50).mean
        == spread
    )
    SEEDS.save(tmp_path / "S.h5")
    loaded = gk.load(tmp_path / "S.h5")
    assert gk.estimate_spread(HERE, loaded, weights="const:0.5", runs=50).mean == spread
    assert gk.estimate_spread(other, gk.load(tmp_path / "S.h5", graph=HERE), runs=50).mean == spread
    refused(lambda: gk.estimate_spread(other, loaded, runs=50), other)  # its digest alone does not say which edges


@pytest.mark.parametrize(
    "graph",
    [
        gk.from_edges([1, 2, 3, 4], [2, 3, 4, 1]), gk.from_edges([2, 3, 4, 5], [3, 4, 5, 6]),
        gk.from_edges(["1", "2", "3", "4"], ["2", "3", "4", "5"]), gk.from_edges([1, 2, 3, 4, 5], [2, 3, 4, 5, 6]),
        gk.from_edges([1, 2, 3, 4], [2, 3, 4, 5], undirected=True),
    ],
    ids=["edges", "ids", "names", "more", "directions"],
)  # fmt: skip
def test_another_graph_is_told_by_its_edges_and_its_vertices(graph: gk.Graph) -> None:
    refused(lambda: gk.estimate_spread(graph, SEEDS, runs=10), graph)


def test_what_is_loaded_belongs_to_its_graph(tmp_path: Path) -> None:
    campaign = gk.Campaign(HERE, 2)
    campaign.next_batch()
    index = gk.PageRankIndex(HERE)
    answers = (
        SEEDS, index, index.top_k(1, k=2), campaign, gk.seed_minimization(HERE, 2),
        gk.DiversityIndex(HERE, undirected=True), gk.structural_diversity(HERE, 2, undirected=True),
        gk.estimate_spread(HERE, SEEDS, runs=10),
    )  # fmt: skip
    THERE.save(tmp_path / "G.h5")
    for number, answer in enumerate(answers):
        file = tmp_path / f"{number}.h5"
        answer.save(file)
        assert gk.load(file, graph=HERE) == answer
        refused(lambda file=file: gk.load(file, graph=THERE))
    refused(lambda: gk.PageRankIndex.open(tmp_path / "G.h5", tmp_path / "1.h5"))


def test_the_way_out_is_named() -> None:
    with pytest.raises(InputError, match=re.escape("; give the graph it was made on, or only its vertices, as a list")):
        gk.estimate_spread(THERE, SEEDS)
