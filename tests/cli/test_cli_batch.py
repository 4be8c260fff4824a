"""``gpukit batch``: its commands write the same files as alone; the first failing command ends it, with its exit
code."""

import io
import json

import pytest

from gpukit.cli.app import main

EDGES = "1 2\n2 3\n3 1\n3 4\n4 5\n5 3\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.txt").write_text(EDGES)
    return tmp_path


def test_a_batch_writes_what_its_commands_write(folder, capsys):
    alone = [
        ["graph", "import", "edges.txt", "--out", "G.h5", "--weights", "wc"],
        ["gim", "baseline", "G.h5", "--method", "degree", "-k", "2", "--out", "one.h5"],
    ]
    for words in alone:
        assert main(words) == 0
    capsys.readouterr()
    assert main(["gim", "baseline", "G.h5", "--method", "random", "-k", "2", "--out", "two.h5", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    (folder / "a folder").mkdir()
    (folder / "lines.txt").write_text(
        "# with names that have blanks\n\n"
        "graph import edges.txt --out 'a folder/G.h5' --weights wc\n"
        "gim baseline 'a folder/G.h5' --method degree -k 2 --out 'a folder/one.h5'\n"
        "gim baseline 'a folder/G.h5' --method random -k 2 --out 'a folder/two.h5' > 'a folder/two.json'\n"
    )
    assert main(["batch", "lines.txt", "--", "--json"]) == 0
    assert capsys.readouterr().out.count('"params"') == 2, "what has no file is printed"
    for name in ("G.h5", "one.h5", "two.h5"):
        assert (folder / name).read_bytes() == (folder / "a folder" / name).read_bytes(), name
    kept = json.loads((folder / "a folder/two.json").read_text())
    assert kept.keys() == printed.keys()
    assert [kept[key] for key in ("params", "graph", "seeds")] == [printed[key] for key in ("params", "graph", "seeds")]


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("graph info none.h5 > info.json", 3, "none.h5 does not exist"),
        ("graph info G.h5 --colour > info.json", 2, "--colour"),
        ("graph info G.h5 > info.json --json", 2, "can follow >"),
        ("graph info 'G.h5", 2, "no closing quotation"),
        ("batch -", 2, "cannot be in a batch"),
        ("evaluate nothing", 2, "nothing"),
    ],
)
def test_the_first_that_fails_ends_it(folder, capsys, monkeypatch, line, code, said):
    assert main(["graph", "import", "edges.txt", "--out", "G.h5"]) == 0
    monkeypatch.setattr(
        "sys.stdin", io.StringIO(f"graph info G.h5 > first.json\n{line}\ngraph info G.h5 > last.json\n")
    )
    capsys.readouterr()
    assert main(["batch", "-"]) == code
    *_, last = capsys.readouterr().err.strip().split("\n")
    assert last.startswith("gpukit: error: line 2: ") and said in last
    assert not (folder / "info.json").exists() and not (folder / "last.json").exists()
    # What can be known of a line before it runs is said before any does.
    known = {"graph info G.h5 > info.json --json", "graph info 'G.h5", "batch -"}
    assert (folder / "first.json").exists() == (line not in known)


def test_an_error_names_the_file_and_the_line(folder, capsys):
    (folder / "x.txt").write_text("# two lines\ncite gim\ncite nothing\n")
    assert main(["batch", "x.txt", "--json"]) == 2
    assert capsys.readouterr().err.startswith("gpukit: error: x.txt, line 3: ")
    (folder / "x.txt").write_text("graph info none.h5\n")
    assert main(["batch", "x.txt"]) == 3
    assert capsys.readouterr().err.startswith("gpukit: error: x.txt, line 1: none.h5 does not exist")
    (folder / "x.txt").write_text("batch y.txt\n")
    assert main(["batch", "x.txt"]) == 2
    assert capsys.readouterr().err.startswith("gpukit: error: x.txt, line 1: a batch cannot be in a batch")


@pytest.mark.parametrize("line", ["cite gim --help", "--version"])
def test_help_does_not_end_a_batch(folder, capsys, line):
    (folder / "x.txt").write_text(f"{line}\ncite gim > gim.bib\n")
    assert main(["batch", "x.txt"]) == 0
    assert "commands  2" in capsys.readouterr().out and (folder / "gim.bib").read_text().startswith("@article")
