"""Sizes that the workflow knows before it makes a graph equal those of the graph."""

import pytest

from gpukit.cli.workflow.config_graphs import words
from gpukit.cli.workflow.graph_sizes import Size, size_of
from gpukit.graph.memory import UNEQUAL_BYTES

BASE = {"generate": "", "fetch": "", "edges": "", "undirected": False}
MADE = {
    "rmat --vertices 100 --edges 300": Size(100, 300),
    "rmat --vertices 100 --edges 300 --undirected": Size(100, 600),
    "er --vertices 100 --edges 300": Size(100, 300),
    "er --vertices 100 --edges 300 --undirected": Size(100, 600),
    "affiliation --vertices 1000 --edges 3000 --triangles 500": Size(1000, 6000),
}


@pytest.mark.parametrize("text", MADE)
def test_exact_generators_have_the_size_that_they_are_asked_for(text, record, tmp_path):
    assert size_of(BASE | {"generate": text}, []) == MADE[text]
    made = record("graph", "generate", *words(text, "generate"), "--out", tmp_path / "g.h5")
    assert (made["n"], made["m"]) == MADE[text]


@pytest.mark.parametrize(
    "text", ["ba --vertices 100 --attach 3", "holme-kim --vertices 100 --attach 2 --triad 0.3", "rmat --scale 7"]
)
def test_others_have_at_most_that(text, record, tmp_path):
    size = size_of(BASE | {"generate": text}, [])
    made = record("graph", "generate", *words(text, "generate"), "--out", tmp_path / "g.h5")
    assert made["n"] == size.vertices and 0.5 * size.edges < made["m"] <= size.edges


def test_the_catalogue_and_bytes_of_a_file_tell(tmp_path):
    assert size_of(BASE | {"fetch": "com-Orkut", "undirected": True}, []) == Size(3072441, 234370166)
    assert size_of(BASE | {"edges": "data/wiki-Vote.txt.gz"}, []) == Size(7115, 103689)
    (tmp_path / "e.txt").write_text("1 2\n" * 50)
    assert size_of(BASE | {"edges": "e.txt"}, [tmp_path]).edges >= 40
    assert size_of(BASE | {"edges": "gone.txt"}, [tmp_path]) == Size(0, 0)


def test_twitter_is_asked_room_for():
    twitter = size_of(BASE | {"fetch": "twitter-2010"}, [])
    assert twitter.graph_mb > 5900, "its indices alone"
    assert twitter.build_mb > UNEQUAL_BYTES * twitter.edges // 10**6
