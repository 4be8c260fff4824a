"""The catalogue of data sets, and the shipped files."""

import gzip
import lzma
from dataclasses import replace

import numpy as np
import pytest

from gpukit.datasets import fetch, find_dataset, load_catalogue, local_copy, shipped_file
from gpukit.errors import InputError, UsageError
from gpukit.graph import generators
from gpukit.graph.build import build_graph
from gpukit.graph.read.formats import read_edges

PAPERS = {"gim", "imgpu", "kpar", "merit", "structural-diversity"}
CATALOGUE = load_catalogue()
SHIPPED = [name for name, dataset in CATALOGUE.items() if dataset.shipped]


def test_every_paper_has_its_graphs():
    used = {paper: [d.name for d in CATALOGUE.values() if paper in d.used_by] for paper in PAPERS}
    assert {paper: len(names) for paper, names in used.items()} == {
        "gim": 6,
        "imgpu": 4,
        "kpar": 4,
        "merit": 4,
        "structural-diversity": 8,
    }
    assert {paper for d in CATALOGUE.values() for paper in d.used_by} == PAPERS


@pytest.mark.parametrize(("name", "printed"), [("NetHEPT", 32_235), ("NetPHY", 180_826)])
def test_imgpu_counts_ordered_pairs(name, printed):
    path = shipped_file(CATALOGUE[name])
    with (lzma if path.suffix == ".xz" else gzip).open(path, "rt") as lines:
        assert len({line.strip() for line in lines if not line.startswith("#")}) == printed


def test_an_undirected_graph_may_be_listed_once(tmp_path):
    both_ways, once_only = find_dataset("loc-Gowalla"), find_dataset("wiki-Vote")
    both_ways.check_sizes(tmp_path, both_ways.n, both_ways.m)
    both_ways.check_sizes(tmp_path, both_ways.n, both_ways.m // 2)
    for dataset, lines in ((both_ways, both_ways.m // 2 + 1), (once_only, once_only.m // 2)):
        with pytest.raises(InputError, match="edge lines, but"):
            dataset.check_sizes(tmp_path, dataset.n, lines)


def test_a_local_copy_is_taken_by_its_name(tmp_path, monkeypatch):
    dataset = find_dataset("com-DBLP")
    monkeypatch.setenv("GPUKIT_DATA", str(tmp_path))
    (tmp_path / "com-DBLP2.txt.gz").write_bytes(b"another")
    assert local_copy(dataset) is None
    (tmp_path / "com-DBLP.txt.gz").write_bytes(b"edges")
    found = fetch(dataset, tmp_path / "out.gz")
    assert (tmp_path / "out.gz").read_bytes() == b"edges" and found.source == str(tmp_path / "com-DBLP.txt.gz")
    monkeypatch.delenv("GPUKIT_DATA")
    assert local_copy(dataset) is None


@pytest.mark.parametrize("name", CATALOGUE)
def test_entries_are_complete(name):
    dataset = CATALOGUE[name]
    assert dataset.title and dataset.licence and dataset.n > 1 and dataset.m > 0
    assert dataset.page is None or dataset.page.startswith("http")
    assert dataset.shipped or dataset.stand_in
    assert bool(dataset.shipped) <= bool(dataset.sha256 and len(dataset.sha256) == 64)
    assert dataset.url is None or dataset.url.endswith(".gz") or dataset.member
    assert dataset.url is None or dataset.url.startswith("https://")
    assert dataset.directed or dataset.undirected


@pytest.mark.parametrize("name", [n for n, d in CATALOGUE.items() if d.stand_in])
def test_stand_ins_are_options_of_a_generator(name):
    dataset = CATALOGUE[name]
    for entry in filter(None, (dataset.stand_in, dataset.stand_in_clustered)):
        options = dict(entry["options"])
        assert options["vertices"] == dataset.n
        assert 0.45 < options["edges"] / dataset.m <= 1
        small = {"vertices": 400, "edges": 900} | ({"triangles": 50} if "triangles" in options else {})
        u, v, n = getattr(generators, entry["model"])(**options | small)
        assert (len(u), n) == (900, 400)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_files_are_what_the_catalogue_says(name, tmp_path):
    dataset = CATALOGUE[name]
    got = fetch(dataset, tmp_path / "e.gz")
    assert (got.sha256, got.verified, got.source) == (dataset.sha256, True, dataset.shipped)
    assert (tmp_path / "e.gz").read_bytes() == shipped_file(dataset).read_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["e.gz"]
    edges = read_edges(tmp_path / "e.gz")
    assert len(edges.u) == dataset.m
    if "--vertices" in dataset.options:
        assert dataset.options[dataset.options.index("--vertices") + 1] == str(dataset.n)
        assert max(edges.u.max(), edges.v.max()) < dataset.n
    else:
        assert len(np.union1d(edges.u, edges.v)) == dataset.n


# Counted independently of this code: distinct unordered pairs, self-loops, isolated vertices.
FACTS = {
    "wiki-Vote": (100_762, 0, 0),
    "soc-Epinions1": (405_740, 0, 0),
    "NetHEPT": (31_376, 39, 4),
    "NetPHY": (174_161, 0, 5),
    "email-Enron": (183_831, 0, 0),
    "soc-Slashdot0902": (504_230, 78_303, None),
    "web-NotreDame": (1_090_108, 27_455, None),
}


@pytest.mark.parametrize("name", FACTS)
def test_shipped_graphs_have_the_known_sizes(name):
    edges = read_edges(shipped_file(CATALOGUE[name]))
    options = CATALOGUE[name].options
    n = int(options[options.index("--vertices") + 1]) if "--vertices" in options else None
    graph = build_graph(edges.u, edges.v, undirected=True, ids=n is None, n=n, transpose=False)
    distinct, loops, isolated = FACTS[name]
    assert (graph.n, graph.m) == (CATALOGUE[name].n, 2 * distinct)
    assert graph.facts["self_loops_dropped"] == loops
    assert isolated is None or graph.facts["isolated"] == isolated


def test_names_are_found_in_any_case_and_near_ones_offered():
    assert find_dataset("NETHEPT").name == "NetHEPT"
    with pytest.raises(UsageError, match="did you mean .*soc-Pokec"):
        find_dataset("pokec")
    with pytest.raises(UsageError, match="gpukit data list"):
        find_dataset("zzz")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("datasets: [", "is no catalogue"),
        ("sets: {}", "is no catalogue"),
        ("datasets: {a: 3}", "is no catalogue"),
        ("datasets: {a: {title: t}}", "is no catalogue"),
        ("datasets: {a: {titel: t}}", "a has the unknown key 'titel'"),
    ],
)
def test_a_broken_catalogue_is_one_line(tmp_path, text, expected):
    (tmp_path / "d.yaml").write_text(text)
    with pytest.raises(InputError, match=expected) as caught:
        load_catalogue(tmp_path / "d.yaml")
    assert "\n" not in str(caught.value)


def test_a_missing_catalogue(tmp_path):
    with pytest.raises(InputError, match="no catalogue"):
        load_catalogue(tmp_path / "d.yaml")


def test_a_shipped_file_that_changed_is_refused(tmp_path):
    (tmp_path / "e.gz").write_bytes(b"before")
    with pytest.raises(InputError, match="SHA-256 .* not 00"):
        fetch(replace(CATALOGUE["wiki-Vote"], sha256="00"), tmp_path / "e.gz")
    assert (tmp_path / "e.gz").read_bytes() == b"before"
    assert len(list(tmp_path.iterdir())) == 1


def test_the_shipped_file_is_not_replaced_by_itself(tmp_path):
    with pytest.raises(UsageError, match="is the shipped file itself"):
        fetch(CATALOGUE["wiki-Vote"], shipped_file(CATALOGUE["wiki-Vote"]))


def test_without_an_address_the_page_is_named(tmp_path):
    with pytest.raises(InputError, match="twitter-asu cannot be downloaded; see http.*generate rmat"):
        fetch(CATALOGUE["twitter-asu"], tmp_path / "e.gz")
