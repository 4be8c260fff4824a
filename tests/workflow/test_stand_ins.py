"""Stand-ins of the papers' graphs have the properties that claims depend on: sizes, tails of degrees, edges,
triangles."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml

from gpukit.cli.workflow.config_graphs import command_options, words
from gpukit.graph import generators

PAPERS = Path(__file__).parents[2] / "config/paper"
LARGEST = 2_000_000
"""Edges of the largest stand-in that is drawn here; larger ones differ from it by their sizes alone."""


def stand_ins():
    """Yield paper, scale, graph and generator of each stand-in for a real graph."""
    for path in sorted(PAPERS.glob("*.yaml")):
        for scale, entry in yaml.safe_load(path.read_text())["scales"].items():
            for graph in entry["graphs"]:
                if "real" in graph:
                    yield path.stem, scale, graph["name"], graph["generate"]


ALL = list(stand_ins())


def made_by(text):
    """Return the model and its options."""
    return words(text, "generate")[0], command_options("generate", ["graph", "generate"], words(text, "generate"))


@pytest.fixture(scope="module", params=[one for one in ALL if made_by(one[3])[1]["edges"] <= LARGEST], ids=" ".join)
def drawn(request):
    """Return the paper, the graph's name, its options, and its edges in every direction that they have."""
    paper, _, name, text = request.param
    model, options = made_by(text)
    options = {key: value for key, value in options.items() if value is not None}
    kept = ("vertices", "edges", "a", "b", "c", "undirected", "no_dangling", "triangles")
    options = {key: options[key] for key in kept if key in options}
    u, v, n = getattr(generators, model)(**options)
    if model == "affiliation" or options.get("undirected"):
        u, v = np.concatenate((u, v)), np.concatenate((v, u))
    return paper, name, options, u, v, n


def test_a_stand_in_is_of_one_kind_at_every_scale():
    """What is shown below of the drawn ones then holds of the larger ones, too."""
    kinds = {}
    for paper, scale, name, text in ALL:
        model, options = made_by(text)
        assert options["edges"] and options["vertices"], f"{paper}, {scale}: {name} has no exact size"
        sizes = ("vertices", "edges", "triangles")
        kind = (model, *sorted((key, value) for key, value in options.items() if key not in sizes))
        assert kinds.setdefault((paper, name), kind) == kind


@pytest.mark.long
def test_every_vertex_has_an_edge_and_out_of_directed_ones_one_leads(drawn):
    """Else sources of kPAR answer themselves, and vertices without edges are the cheapest seeds of MERIT."""
    paper, _, _, u, _, n = drawn
    without = n - len(np.unique(u))
    assert without == 0 if paper != "diversity" else without < 0.05 * n  # those have no ego-network, and no claim


def test_degrees_have_a_tail(drawn):
    _, _, _, u, v, n = drawn
    outward, inward = np.bincount(u, minlength=n), np.bincount(v, minlength=n)
    assert inward.max() > 20 * inward.mean()
    assert outward.max() > 20 * outward.mean()


def test_cascades_of_imgpu_end(drawn):
    """At p = 0.01 an edge's head activates less than one other on average, so that it matters which seeds one has."""
    paper, _, _, u, v, n = drawn
    if paper == "imgpu":
        assert 0.01 * np.bincount(u, minlength=n).astype(float) @ np.bincount(v, minlength=n) / len(u) < 1


@pytest.mark.long
def test_triangles_are_those_of_the_real_graph(drawn):
    """Contexts of trusses and cores are made of triangles; a small dense graph has others by chance."""
    paper, _, options, u, v, n = drawn
    if paper == "diversity":
        dense = len(u) / n > 50  # Orkut at small scale
        assert 0.9 < triangles(u, v, n) / options["triangles"] < (2 if dense else 1.1)


def triangles(u, v, n):
    """Return the number of triangles: pairs of later neighbours, by degree, that are joined."""
    rank = np.argsort(np.argsort(np.bincount(u, minlength=n), kind="stable"))  # few neighbours follow a hub
    forward = rank[u] < rank[v]
    keys = np.sort(rank[u[forward]].astype(np.int64) * n + rank[v[forward]])
    begin = np.searchsorted(keys, np.arange(n + 1) * n)
    heads, found = keys % n, 0
    for first, last in pairwise(begin):
        row = heads[first:last]
        a, b = np.triu_indices(len(row), 1)
        wanted = row[a] * n + row[b]
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found += int((keys[place] == wanted).sum())
    return found
