"""Vertices that a configuration names are looked up in the edge list before any rule; all errors are reported at
once."""

from pathlib import Path

import pytest
import yaml
from test_configuration import dry_run

from gpukit.cli.workflow import config_vertices
from gpukit.cli.workflow.configuration import check_configuration
from gpukit.errors import InputError

SCHEMA = Path(__file__).resolve().parents[2] / "workflow/schemas/config.schema.json"
NAMES = ["ann", "bob", "cleo", "dan"]


@pytest.fixture
def folder(tmp_path):
    """Return a folder with an edge list of names with counts, one of numbers, and files that name vertices."""
    lines = [f"{NAMES[i % 4]},{NAMES[(i + step) % 4]},{i + step}" for i in range(4) for step in (1, 2)]
    (tmp_path / "mails.csv").write_text("\n".join(["from,to,count", *lines]) + "\n")
    (tmp_path / "numbers.txt").write_text("10 20\n20 30\n30 10\n")
    (tmp_path / "seeds.txt").write_text("ann\nbob\n")
    (tmp_path / "wrong.txt").write_text("ann\nnobody\nbob\neve\n")
    (tmp_path / "prices.txt").write_text("ann 2\nbob 0.5\n")
    return tmp_path


def of(systems, *graphs, **sections):
    """Return a configuration of the edge list of names, and other graphs."""
    named = {"name": "mails", "edges": "mails.csv", "weights": "file", "scale": "max", "systems": systems}
    sizes = {"gim": {"k": 2}, "merit": {"eta": [2], "batch": 1}, "kpar": {"k": [2]}, "diversity": {"t": 2}}
    both = {name: sizes.get(name, {}) | sections.get(name, {}) for name in {**sizes, **sections}}
    return {"graphs": [named, *graphs], **both}


def wrong(config, folder):
    """Return the lines that refuse a configuration; none if it serves."""
    try:
        check_configuration(config, SCHEMA, (), [folder])
    except InputError as error:
        return str(error).splitlines()
    return []


GENERATED = {"name": "er", "generate": "er --vertices 40 --edges 90", "systems": ["gim"]}
NUMBERS = {"name": "numbers", "edges": "numbers.txt", "systems": ["gim"]}
MAILS = "graphs[0] (mails): "


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (of(["gim"], gim={"include": ["nobody"]}), [f"{MAILS}gim.include: 'nobody' is neither a vertex of the"]),
        (of(["gim"], gim={"exclude": ["ann", "an"]}), [f"{MAILS}gim.exclude: 'an' is neither a vertex of the graph"]),
        (of(["gim"], gim={"targets": "wrong.txt"}), [f"{MAILS}gim.targets: wrong.txt, line 1: one column, 2 are"]),
        (of(["kpar"], kpar={"sources": ["ann", "eve"]}), [f"{MAILS}kpar.sources: kpar.sources, line 2: vertex 'eve'"]),
        (of(["kpar"], kpar={"sources": ["ann:x,bob:1"]}), [f"{MAILS}kpar.sources: kpar.sources, line 1: 'ann:x' is"]),
        (of(["kpar"], kpar={"sources": "wrong.txt"}), [f"{MAILS}kpar.sources: wrong.txt, line 2: vertex 'nobody'"]),
        (of(["merit"], merit={"costs": "seeds.txt"}), [f"{MAILS}merit.costs: seeds.txt, line 1: one column, 2 are"]),
        (of(["gim"], seeds={"own": "wrong.txt"}), [f"{MAILS}seeds.own: wrong.txt, line 2: vertex 'nobody' is not"]),
        (of(["merit"], GENERATED, seeds={"own": "seeds.txt"}), ["graphs[1] (er): seeds.own: seeds.txt, line 1: 'ann'"]),
        (of(["gim"], NUMBERS, gim={"include": ["ann"]}), ["graphs[1] (numbers): gim.include: 'ann' is neither a"]),
        (of(["merit"], NUMBERS, gim={"include": [40]}), ["graphs[1] (numbers): gim.include: vertex 40 is not in the"]),
        (of(["merit"], NUMBERS, gim={"include": [30]}), []),
        (of(["kpar"], kpar={"sources": ["ann", "bob:0.5,cleo:2"], "weighted": True}), []),
        (of(["gim", "merit"], merit={"costs": "prices.txt"}, seeds={"own": "seeds.txt"}), []),
        (of(["kpar"], merit={"costs": "seeds.txt"}, seeds={"own": "wrong.txt"}, gim={"include": ["nobody"]}), []),
    ],
)  # fmt: skip
def test_names_are_looked_up_in_the_edge_list(folder, monkeypatch, config, said):
    monkeypatch.chdir(folder)
    found = wrong(config, Path())
    assert len(found) == len(said) and all(line.startswith(start) for line, start in zip(found, said, strict=True)), (
        found
    )


def test_a_file_tells_all_lines_that_name_no_vertex(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (line,) = wrong(of(["gim"], seeds={"own": "wrong.txt"}), Path())
    assert line.endswith("; so it is in line 4")


def test_what_is_wrong_with_one_graph_hides_nothing_of_another(folder):
    typo = {"name": "typo", "edges": "mails.csv", "columns": "from,two", "systems": ["gim"]}
    found = wrong(of(["gim"], typo, gim={"k": 50, "include": ["eve"]}), folder)
    assert len(found) == 3 and found[0].startswith("graphs[1] (typo): ") and "two" in found[0]
    assert found[1].startswith(f"{MAILS}gim.k is 50") and found[2].startswith(f"{MAILS}gim.include: ")


@pytest.mark.parametrize(
    ("entry", "said"),
    [({"scale": "in-sum"}, "scale is in-sum"), ({"scale": "", "weights": "wc"}, "weights is wc"), ({}, "")],
)
def test_walks_need_weights_of_edges(folder, entry, said):
    config = of(["kpar"], kpar={"weighted": True})
    config["graphs"][0] |= entry
    found = wrong(config, folder)
    assert [line.partition(", but ")[2].partition(",")[0] for line in found] == [said] * bool(said)


def test_long_edge_lists_are_left_to_the_rules(folder, monkeypatch):
    config = of(["gim"], seeds={"own": "wrong.txt"})
    monkeypatch.setattr(config_vertices, "LOOKED_THROUGH", 10)
    assert wrong(config, folder) == []


def test_a_file_of_seeds_has_a_job_of_its_own(folder):
    """If it fails, Snakemake deletes what the job made: the spreads of other methods are not among it."""
    config = of(["gim"], seeds={"own": "seeds.txt"}) | {"baselines": ["degree"], "results": "out"}
    (folder / "mine.yaml").write_text(yaml.safe_dump(config))
    done = dry_run(
        folder, "out/spread/mails/ic/own.h5", "out/spread/mails/ic/degree.h5", "--configfile", str(folder / "mine.yaml")
    )
    assert done.returncode == 0, done.stdout
    (command,) = [line for line in done.stdout.splitlines() if "--out out/spread/mails/ic/own.h5" in line]
    assert "--out out/spread/mails/ic/degree.h5" not in command and "degree.h5" in done.stdout


def test_there_are_no_more_parts_than_queries(folder):
    config = of(["kpar"], kpar={"sources": ["ann", "bob"]}, shards={"count": 3}) | {"results": "out"}
    (folder / "mine.yaml").write_text(yaml.safe_dump(config))
    done = dry_run(folder, "sharded", "--configfile", str(folder / "mine.yaml"))
    assert done.returncode != 0
    assert "shards.count is 3, but kpar.sources has 2 queries; lower shards.count" in done.stdout
