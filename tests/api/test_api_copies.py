"""Copies of answers, indexes and campaigns, pickled ones among them: as good as the first, and apart from it."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpukit as gk
from gpukit.errors import InputError

ROOT = Path(gk.__file__).parents[1]
PATH = gk.from_edges([1, 2, 3], [2, 3, 4], undirected=True)
STAR = gk.from_edges(["hub"] * 4, ["a", "b", "c", "d"], weights="const:1")
COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda one: pickle.loads(pickle.dumps(one)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.fixture(params=COPIES, name="copied")
def _copied(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return COPIES[request.param]


def test_answers(copied: Callable[[Any], Any]) -> None:
    for one in (
        PATH, gk.influence_maximization(STAR, 2), gk.estimate_spread(STAR, ["hub"], runs=10),
        gk.PageRankIndex(PATH).top_k(1), gk.structural_diversity(PATH, 2), gk.DiversityIndex(PATH),
        gk.seed_minimization(STAR, 3, worlds=2),
    ):  # fmt: skip
        again = copied(one)
        assert again == one and repr(again) == repr(one) and again.to_pandas().equals(one.to_pandas())


def test_an_index_that_changes_leaves_its_copy_as_it_was(copied: Callable[[Any], Any]) -> None:
    index = gk.PageRankIndex(PATH, updatable=True)
    index.update(add=[(1, 3)])
    again = copied(index)
    before = again.top_k(1)
    assert again == index and before == index.top_k(1)
    assert index.update(remove=[(1, 3)]).removed == 2
    assert (again.graph.m, index.graph.m) == (8, 6) and again != index and again.top_k(1) == before
    assert again.update(remove=[(1, 3)]).removed == 2 and again == index and again.top_k(1) == index.top_k(1)


def test_an_opened_index_is_opened_again(copied: Callable[[Any], Any], tmp_path: Path) -> None:
    PATH.save(tmp_path / "G.h5")
    gk.PageRankIndex(PATH).save(tmp_path / "I.h5")
    with gk.PageRankIndex.open(tmp_path / "G.h5", tmp_path / "I.h5") as index:
        state = len(pickle.dumps(index))
        with copied(index) as again:
            assert again == index and again.top_k(1) == index.top_k(1) and again.graph == PATH
    assert state < 1000  # the names of the files, not their contents


@pytest.mark.parametrize("chosen", [False, True])
def test_campaigns_go_on_apart(copied: Callable[[Any], Any], chosen: bool) -> None:
    campaign = gk.Campaign(STAR, 4, batch=1, costs="uniform")
    if chosen:
        campaign.next_batch()
    again = copied(campaign)
    assert again.next_batch() == campaign.next_batch() == ["hub"]
    campaign.observe(["a", "b", "c"])
    again.observe([])
    assert campaign.done and not again.done and (campaign.activated, again.activated) == (4, 1)
    second = again.next_batch()
    fresh = gk.Campaign(STAR, 4, batch=1, costs="uniform")
    fresh.next_batch()
    fresh.observe([])
    assert fresh.next_batch() == second and fresh == again


def test_errors_keep_their_line() -> None:
    with pytest.raises(InputError) as caught:
        gk.estimate_spread(STAR, ["nobody"])
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is InputError and str(again) == str(caught.value)


def test_answers_are_sequences() -> None:
    seeds = gk.influence_maximization(STAR, 2)
    assert seeds[0] == "hub" and [*reversed(seeds)] == [seeds[1], seeds[0]] == seeds[::-1]
    assert np.array(seeds).tolist() == seeds.seeds
    found = gk.PageRankIndex(PATH).top_k_many([1, 2], k=2)
    assert found[1] == found.answers[1] and found[-1] == found[1]


def test_errors_are_there_from_the_first_line() -> None:
    line = "import gpukit as gk; print(gk.errors.GpukitError.__name__)"
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "GpukitError\n", done.stderr
