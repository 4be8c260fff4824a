"""Messages of an import about its text: how it was read, possible mistakes, and advice."""

import json

import pytest

import gpukit as gk
from gpukit.artifacts import read_graph


@pytest.fixture
def gpukit(capsys):
    """Run one command; returns exit code, the record (or None) and standard error."""
    from gpukit.cli.app import main

    def run(*words):
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return code, json.loads(said.out) if "--json" in words and said.out else None, said.err

    return run


def test_what_was_understood_is_said_once(gpukit, tmp_path):
    path, out = tmp_path / "e.csv", tmp_path / "g.h5"
    path.write_text("n,from,to,kg\n0,5,6,.5\n1,6,7,.5\n2,7,5,.5\n")
    code, record, err = gpukit("graph", "import", path, "--out", out, "--json")
    assert code == 0
    said = {"separator": "comma", "header": True, "columns": ["from", "to"], "ids": "integer"}
    assert record["text"] == said
    assert "read with comma between columns, a header, ids in columns from and to: whole numbers" in err
    assert "4 columns, 2 of them (n, kg) are not used; --weights file reads one of weights" in err
    assert "index" not in err
    assert gpukit("graph", "info", out, "--json")[1]["text"] == said
    code, record, err = gpukit("graph", "import", path, "--out", out, "--columns", "1,2", "--json")
    assert record["text"]["columns"] == ["n", "from"]
    assert record["params"]["columns"] == "1,2"


def test_an_index_and_a_header_that_was_read_are_said(gpukit, tmp_path):
    path, out = tmp_path / "e.csv", tmp_path / "g.h5"
    path.write_text(",wer,wen,kg\n0,5,6,.5\n1,6,7,.5\n2,7,5,.5\n")
    code, _, err = gpukit("graph", "import", path, "--out", out)
    assert code == 3 and "has 4 columns (no name, wer, wen, kg); which two are the ends of an edge?" in err
    err = gpukit("graph", "import", path, "--out", out, "--columns", "wer,wen")[2]
    assert "a header, ids in columns wer and wen" in err
    path.write_text("wer,wen\nann,bob\nbob,cy\ncy,ann\n")
    code, _, err = gpukit("graph", "import", path, "--out", out)
    assert code == 3 and "the first line names wer and wen, which no other line does; --header says" in err
    for said, lines in (("--header", 3), ("--no-header", 4)):
        assert gpukit("graph", "import", path, "--out", out, said, "--json")[1]["lines"] == lines
    path.write_text("wer,wen\nann,wer\nbob,cy\ncy,ann\n")
    assert gpukit("graph", "import", path, "--out", out)[0] == 0


@pytest.mark.parametrize("text", ["007 12\n12 0030\n", "source,target\n12,13\n12,007\n", "12\t007\n", "12 +7\n"])
def test_numbers_that_are_not_written_as_such_are_names(gpukit, tmp_path, text):
    path, out = tmp_path / "e.csv", tmp_path / "g.h5"
    path.write_text(text)
    code, record, err = gpukit("graph", "import", path, "--out", out, "--json")
    assert code == 0 and record["text"]["ids"] == "text" and ": names" in err
    assert gpukit("graph", "import", path, "--out", out, "--ids", "integer", "--json")[1]["text"]["ids"] == "integer"
    path.write_text("1 2\n" * 200 + "1 007\n")
    code, _, err = gpukit("graph", "import", path, "--out", out)
    assert code == 3 and "line 201: '007' is no number in the usual form; --ids text keeps it unchanged" in err


def test_what_a_file_says_of_direction_is_used_or_contradicted_aloud(gpukit, tmp_path):
    path, out = tmp_path / "out.x", tmp_path / "g.h5"
    path.write_text("% sym unweighted\n1 2\n2 3\n")
    code, record, err = gpukit("graph", "import", path, "--out", out, "--json")
    assert (code, record["undirected"], record["m"]) == (0, True, 4)
    assert "the file says that edges have no direction" in err
    code, record, err = gpukit("graph", "import", path, "--out", out, "--directed", "--json")
    assert (code, record["undirected"], record["m"]) == (0, False, 2)
    assert "the file says that its edges are undirected; --directed reads each in one direction" in err
    path.write_text("% asym unweighted\n1 2\n2 3\n")
    code, record, err = gpukit("graph", "import", path, "--out", out, "--undirected", "--json")
    assert (code, record["undirected"], record["m"]) == (0, True, 4)
    assert "the file says that its edges are directed; --undirected reads each in both directions" in err


def test_lines_that_hold_no_edge_are_counted(gpukit, tmp_path):
    path, out = tmp_path / "e.txt", tmp_path / "g.h5"
    path.write_text("# a\n\n1 2\n# b\n2 3\nx\n")
    code, _, err = gpukit("graph", "import", path, "--out", out)
    assert code == 3 and "line 6: 1 field" in err
    code, record, err = gpukit("graph", "import", path, "--out", out, "--skip-bad", "1", "--json")
    assert code == 0 and record["lines"] == 2
    assert "; 3 lines blank or with a comment" in err
    assert "gpukit: skipped 1 line without an edge:\ngpukit:   line 6: 1 field" in err


def test_every_line_that_was_skipped_is_known(gpukit, tmp_path):
    """People read the first of them in plain words; records and Python have all."""
    path, out = tmp_path / "e.csv", tmp_path / "g.h5"
    bad = {4: ",ann", 6: "NULL,bob", 9: "ann", **{line: "a,b,c,d" for line in range(11, 21)}}
    lines = [bad.get(line, f"v{line},v{line + 1}") for line in range(2, 24)]
    path.write_text("\n".join(["from,to", *lines, ""]))
    code, record, err = gpukit("graph", "import", path, "--out", out, "--skip-bad", "13", "--json")
    assert code == 0 and [line.partition(":")[0] for line in record["skipped"]] == [f"line {line}" for line in bad]
    told = err[err.index("skipped 13 lines") :].splitlines()
    assert told[:4] == [
        "skipped 13 lines without an edge:",
        "gpukit:   line 4: a name is empty",
        "gpukit:   line 6: 'NULL' stands for a missing name",
        "gpukit:   line 9: 1 field, 'ann'",
    ]
    assert told[11] == "gpukit:   … and 3 more"
    assert gk.read_edges(path, skip_bad=13).skipped == record["skipped"]
    path.write_text("from,to\nann,bob\n")
    assert "skipped" not in gpukit("graph", "import", path, "--out", out, "--skip-bad", "13", "--json")[1]
    assert gk.read_edges(path).skipped == []


def test_lines_that_were_skipped_count_among_those_that_a_file_states(gpukit, tmp_path):
    path, out = tmp_path / "e.txt", tmp_path / "g.h5"
    path.write_text("# Nodes: 3 Edges: 3\n1 2\nx\n2 3\n")
    assert gpukit("graph", "import", path, "--out", out, "--skip-bad", "1")[0] == 0
    path.write_text("# Nodes: 3 Edges: 5\n1 2\nx\n2 3\n")
    code, _, err = gpukit("graph", "import", path, "--out", out, "--skip-bad", "1")
    assert code == 3 and "e.txt has 3 edges" in err.splitlines()[-1]


def test_names_that_are_alike_are_told_and_become_one(gpukit, tmp_path):
    """Five people are written in nine ways, in case and in blanks; blanks around names never count."""
    path, out = tmp_path / "e.csv", tmp_path / "g.h5"
    rows = "tom@acme.com,ann lee|TOM@ACME.COM ,Ann  Lee|bob,ann lee|bob,ann   lee|Ärger,cy|cy,ärger"
    path.write_text("from,to\n" + rows.replace("|", "\n"))
    told = (
        "from another name only in case or blanks, such as '{}' and '{}'; --fold-case and --strip make them one vertex"
    )
    digests, both = [], ["ann lee", "bob", "cy", "tom@acme.com", "Ärger"]
    for words, left, pair in (
        ([], "4 names differ", ("Ann  Lee", "ann   lee")),
        (["--fold-case"], "2 names differ", ("Ann  Lee", "ann   lee")),
        (["--strip"], "3 names differ", ("Ann Lee", "ann lee")),
        (["--fold-case", "--strip"], "", ()),
    ):
        code, record, err = gpukit("graph", "import", path, "--out", out, *words, "--json")
        assert code == 0
        assert ("in case or blanks" in err) == bool(left), err
        assert not left or f"{left} {told.format(*pair)}" in err, err
        options = {word[2:].replace("-", "_"): True for word in words}
        assert {name: value for name, value in record["params"].items() if name in ("fold_case", "strip")} == options
        digests.append(record["digest"])
    ways = ({}, {"fold_case": True}, {"strip": True}, {"fold_case": True, "strip": True})
    graphs = [gk.read_edges(path, **options) for options in ways]
    assert [graph.digest for graph in graphs] == digests and graphs[-1].vertices == both
    path.write_text("from,to\nann,bob cy\n")
    gpukit()
    assert "in case or blanks" not in gpukit("graph", "import", path, "--out", out)[2]
    path.write_text("1 2\n")
    code, _, err = gpukit("graph", "import", path, "--out", out, "--strip", "--force")
    assert code == 2 and "has numbers, no names; leave --fold-case and --strip out" in err


def test_the_formats_are_listed(gpukit, capsys):
    from gpukit.cli.app import main

    assert main(["graph", "import", "--format", "list"]) == 0
    said = capsys.readouterr().out
    assert "graphml" in said and ".graphml" in said and "METIS" in said
    code, _, err = gpukit("graph", "import", "none", "--out", "none.h5", "--format", "odd")
    assert code == 2 and "--format is 'odd'; edges, adjlist, metis" in err


def test_probabilities_below_the_least_are_said(gpukit, tmp_path):
    path, out = tmp_path / "e.txt", tmp_path / "g.h5"
    path.write_text("1 2 1e-15\n2 3 0.5\n3 1 1e-20\n")
    code, record, err = gpukit("graph", "import", path, "--weights", "file", "--out", out, "--json")
    assert code == 0 and record["probabilities_raised"] == 2
    assert "2 probabilities below 2^-32, the least that is stored, became 2^-32" in err
    assert "became" not in gpukit("graph", "import", path, "--out", out)[2]
    _, record, err = gpukit("graph", "import", path, "--weights", "const:1e-15", "--out", out, "--json")
    assert record["probabilities_raised"] == 3 and "3 probabilities below" in err


def test_an_edge_list_given_as_a_graph_is_told_how_it_becomes_one(gpukit, tmp_path):
    (tmp_path / "e.csv").write_text("1,2\n")
    code, _, err = gpukit("gim", "run", tmp_path / "e.csv", "-k", "1", "--out", tmp_path / "s.h5")
    assert code == 3 and "`gpukit graph import` makes one of an edge list" in err


def test_info_prints_a_line_a_fact(gpukit, tmp_path, capsys):
    (tmp_path / "e.txt").write_text("1 2\n2 3\n")
    digest = gpukit("graph", "import", tmp_path / "e.txt", "--out", tmp_path / "g.h5", "--json")[1]["digest"]
    from gpukit.cli.app import main

    assert main(["graph", "info", str(tmp_path / "g.h5")]) == 0
    assert f"digest                    {digest}" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("words", "named", "shares", "told"),
    [
        ("--weights file --scale max", "sum", [1, 20 / 173], "2 parallel edges merged: their weights are added"),
        ("--weights file --scale max --parallel-edges max", "merge", [1, 0.2], "the largest weight counts"),
        ("--weights file --scale max --parallel-edges first", "first", [1, 20 / 60], "the first line of each counts"),
        ("--weights file --scale max --parallel-edges combine", "combine", None, "each is a chance of its own"),
        ("", "merge", None, "2 parallel edges merged: an edge counts once"),
        ("--parallel-edges first", "first", None, "2 parallel edges merged: an edge counts once"),
    ],
)
def test_mails_of_several_rows(gpukit, tmp_path, words, named, shares, told):
    """60, 13 and 100 mails from ann to bob are 173, and the import says what it did with the rows."""
    (tmp_path / "mails.csv").write_text("from,to,mails\nann,bob,60\nann,bob,13\nann,bob,100\nbob,cy,20\n")
    file = tmp_path / "g.h5"
    weighted = ("--columns", "from,to,mails") if "file" in words else ("--columns", "from,to")
    words = words.split()
    code, record, err = gpukit("graph", "import", tmp_path / "mails.csv", *weighted, "--out", file, *words, "--json")
    assert (code, record["params"]["parallel_edges"]) == (0, named) and err.count(told) == 1
    if shares:
        assert (read_graph(file).probabilities + 1.0).tolist() == pytest.approx([2**32 * p for p in shares], abs=1)
    options = dict(zip((one[2:].replace("-", "_") for one in words[::2]), words[1::2], strict=True))
    options |= {"source": "from", "target": "to"} | ({"weight": "mails"} if "file" in words else {})
    assert gk.read_edges(tmp_path / "mails.csv", **options).digest == record["digest"]
    if "file" in words:
        ends, counts = (["ann"] * 3 + ["bob"], ["bob"] * 3 + ["cy"]), [60, 13, 100, 20]
        how = {name: options[name] for name in ("scale", "parallel_edges") if name in options}
        assert gk.from_edges(*ends, counts, **how).digest == record["digest"]
