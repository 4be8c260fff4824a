"""Files that name vertices: one reader of lines, and numbers in ASCII digits, for every option that takes one."""

import hashlib
import os
import threading
from decimal import Decimal
from pathlib import Path

import pytest

from gpukit.artifacts import read, read_graph, read_header
from gpukit.cli.vertices.read import in_units, number, text_lines, vertex_costs, words_of
from gpukit.errors import InputError, UsageError


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    from gpukit.cli.app import main

    folder = tmp_path_factory.mktemp("vertices")
    (folder / "e.txt").write_text("1 2\n2 3\n3 4\n4 1\n1 3\n")
    assert main(["graph", "import", str(folder / "e.txt"), "--undirected", "--out", str(folder / "g.h5")]) == 0
    assert main(["kpar", "index", str(folder / "g.h5"), "--out", str(folder / "i.h5"), "--device", "cpu"]) == 0
    return folder / "g.h5"


def commands(graph, file, out):
    """Return a command for every option that takes a file of vertices, by how its lines look: ids, or a number too."""
    cpu = ("--device", "cpu", "--out", out)
    gim = ("gim", "run", graph, "-k", 1, "--min-sets", 10, *cpu)
    return {
        "seeds": ("evaluate", "spread", graph, "--runs", 2, "--device", "cpu", "--seeds", file),
        "sources": ("kpar", "query", graph, "--index", graph.with_name("i.h5"), "-k", 1, *cpu, "--sources", file),
        "truth": ("kpar", "truth", graph, "-k", 1, "--out", out, "--sources", file),
        "include": (*gim, "--include", file),
        "exclude": (*gim, "--exclude", file),
        "vertices": ("diversity", "egos", graph, "--out", out, "--vertices", file),
        "replay": ("merit", "run", graph, "--eta", 2, *cpu, "--replay", file),
        "targets": (*gim, "--targets", file),
        "gim costs": ("gim", "run", graph, "--min-sets", 10, *cpu, "--budget", 1, "--costs", file),
        "merit costs": ("merit", "start", graph, "--eta", 2, *cpu, "--costs", file),
    }


OPTIONS = tuple(commands(Path("g.h5"), "", ""))
SEPARATORS = ("\u2028", "\x85", "\x0c", "\x00", "\r")


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("end", SEPARATORS, ids=lambda end: f"{ord(end):#x}")
def test_only_line_feeds_end_a_line(run, graph, tmp_path, option, end):
    lines = ("1 1", "2 1", "3 1", "4 1") if "costs" in option or option == "targets" else ("1", "2", "3")
    (tmp_path / "f.txt").write_bytes(f"# one{end}two\n{lines[0]}{end}{lines[1]}\n".encode())
    code, _, err = run(*commands(graph, tmp_path / "f.txt", tmp_path / "o.h5")[option])
    where = 2 if end == "\u2028" else 1
    assert code == 3 and f"f.txt, line {where}: " in err and err.splitlines()[-1].startswith("gpukit: error: "), err
    assert not (tmp_path / "o.h5").exists()


@pytest.mark.parametrize("option", OPTIONS)
def test_a_file_is_read_once(run, graph, tmp_path, option):
    """So the digest in the artifact is of what was read: a pipe, which holds everything only once, will do."""
    lines = ("1 1", "2 1", "3 1", "4 1") if "costs" in option or option == "targets" else ("1",)
    content = "".join(f"{line}\n" for line in lines).encode()
    pipe, out = tmp_path / "pipe", tmp_path / "o.h5"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,), daemon=True)
    writer.start()
    code, _, err = run(*commands(graph, pipe, out)[option])
    assert code == 0 or (option == "replay" and "of the record does not hold the seeds" in err), err
    writer.join(10)
    assert not writer.is_alive()
    name = option.rpartition(" ")[2]
    if out.exists() and name not in ("include", "exclude", "vertices"):  # these are ids in the parameters
        inputs = read_header(out).inputs
        assert inputs["sources" if name == "truth" else name] == hashlib.sha256(content).hexdigest()


def test_a_line_of_commas_holds_nothing():
    assert text_lines(Path("f"), b"1\n, ,\n\t,\n2\n") == [(1, "1"), (4, "2")]
    with pytest.raises(InputError, match="names no vertices"):
        text_lines(Path("f"), b",,\n")


@pytest.mark.parametrize("option", ["seeds", "sources", "vertices", "merit costs"])
def test_files_from_elsewhere_are_read(run, graph, tmp_path, option):
    """CR LF, a byte order mark, tabs, commas, comments, no end of the last line."""
    tail = b",0.5" if "costs" in option else b""
    text = b"\xef\xbb\xbf# \xe2\x80\xa8 a comment\r\n" + b"\r\n".join(b"%d" % v + tail + b"\t# c" for v in (1, 2, 3, 4))
    (tmp_path / "f.txt").write_bytes(text)
    code, _, err = run(*commands(graph, tmp_path / "f.txt", tmp_path / "o.h5")[option])
    assert code == 0, err


@pytest.mark.parametrize(
    "text", ["1_4", "٣.٥", "\uff11", "0x10", "nan", "inf", "1e", "--1", "1 ", "1e-7", "0.1" + "0" * 30 + "1"]
)
def test_costs_are_plain_decimal_numbers(run, graph, tmp_path, text):
    assert in_units(text, 6) is None
    (tmp_path / "c.txt").write_text("".join(f"{v} {text}\n" for v in (1, 2, 3, 4)))
    for option in ("merit costs", "gim costs"):
        code, _, err = run(*commands(graph, tmp_path / "c.txt", tmp_path / "o.h5")[option])
        if text != "1 ":
            assert code == 3 and "c.txt, line 1: " in err and "is not a number in" in err
    code, _, err = run("gim", "run", graph, "--budget", text, "--out", tmp_path / "seeds.h5")
    assert code == 2 and "--budget" in err


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("1.4", 1_400_000),
        ("+2", 2_000_000),
        (".5", 500_000),
        ("3.", 3_000_000),
        ("1E-6", 1),
        ("0.1" + "0" * 40, 100_000),
    ],
)
def test_exact_decimal_numbers(text, units):
    assert in_units(text, 6) == units == Decimal(text) * 10**6


def test_a_huge_exponent_is_no_work():
    assert in_units("1e999999999", 6) is None and in_units("1e-999999999", 6) is None
    assert in_units("0e999999999", 6) in (0, None)


@pytest.mark.parametrize("text", ["1_0", "٣", "1,", "nan", "infinity", "0x1", ""])
def test_numbers_in_lists(text):
    for kind in (int, float):
        with pytest.raises(UsageError, match="is not a number"):
            number(text, "-k", kind)
    assert (number(" 12", "-k", int), number("1e-3", "-k", float)) == (12, 0.001)


def test_constant_probabilities_are_plain_numbers(run, graph, tmp_path):
    code, _, err = run(
        "graph", "import", graph.with_name("e.txt"), "--weights", "const:0_1", "--out", tmp_path / "g.h5"
    )
    assert code == 2 and "P must be a probability" in err


def test_what_is_not_text_is_said_with_its_line():
    with pytest.raises(InputError, match=r"f, line 2: not text in UTF-8"):
        text_lines(Path("f"), b"1\n\xff\n")
    with pytest.raises(InputError, match=r"f, line 3: not text, it holds the control character '\\x00'"):
        text_lines(Path("f"), b"1\n\n2\x00\n")
    assert text_lines(Path("f"), b"\n 1 ,2\t# x\r\n\r\n#\n3") == [(2, "1 ,2"), (5, "3")]
    assert words_of("1, 2\t3,,4") == ["1", "2", "3", "4"] and text_lines(Path("f"), b"", none=True) == []


GOOD_TABLES = {
    "one column": b"vertex\n3\n1\n",
    "semicolons": b"rank;vertex\r\n1;3\r\n2;1\r\n",
    "quotes and a mark": b'\xef\xbb\xbf"vertex","score"\n"3",0.5\n"1",0.25\n',
    "comments": b"# seeds\nrank\tvertex\n\n1\t3\n# more\n2\t1\n",
    "pretty": b'{\n  "kind": "seeds",\n  "rows": [{"vertex": 3}, {"vertex": 1}]\n}',
}


@pytest.mark.parametrize("name", GOOD_TABLES)
def test_tables_with_a_column_vertex(record, graph, tmp_path, name):
    (tmp_path / "f").write_bytes(GOOD_TABLES[name])
    found = record(*commands(graph, tmp_path / "f", tmp_path / "o.h5")["truth"])["results"]
    assert [one["source"] for one in found] == [3, 1]
    record(*commands(graph, tmp_path / "f", tmp_path / "e.h5")["vertices"], "--device", "cpu")
    assert read(tmp_path / "e.h5").arrays["centres"].tolist() == [1, 3]


BAD_TABLES = [
    (b"vertex\n", "is a table without rows"),
    (b"rank,vertex\n1,3\n2\n", "line 3: 1 fields, but the header has 2"),
    (b"rank,vertex\n1,x\n", "line 2: 'x' is not a vertex id"),
    (b"rank,vertex\n1,77\n", "line 2: "),
    (b'rank,vertex\n1,"3\n', "line 2: a quote is not closed"),
    (b"vertex,target\n1,2\n", "the columns vertex and target"),
    (b'{"kind": "seeds"}', "is JSON, but no table"),
    (b'{"rows": [{"vertex": 3}, {"node": 1}]}', "is JSON, but no table"),
    (b'{"rows": [{"node": 3}]}', "has no column vertex; its columns are node"),
    (b'{"rows": []}', "is a table without rows"),
    (b'{"kind": ', "begins as JSON and is none"),
    (b"PAR1 and no more", "is broken Parquet"),
]


@pytest.mark.parametrize(("content", "says"), BAD_TABLES)
def test_broken_tables_are_a_line(run, graph, tmp_path, content, says):
    (tmp_path / "f").write_bytes(content)
    for option in ("seeds", "truth"):
        code, _, err = run(*commands(graph, tmp_path / "f", tmp_path / "o.h5")[option])
        last = err.splitlines()[-1]
        assert code == 3 and last.startswith("gpukit: error: ") and says in last and "\n" not in last, err


def test_a_header_that_could_be_names_is_refused(record, run, tmp_path):
    (tmp_path / "e.csv").write_text("vertex,ann\nann,bob\nbob,vertex\n")
    record("graph", "import", tmp_path / "e.csv", "--no-header", "--out", tmp_path / "g.h5")
    truth = ("kpar", "truth", tmp_path / "g.h5", "-k", 1, "--out", tmp_path / "o.h5", "--sources", tmp_path / "f")
    for text in ("vertex\nann\n", "ann,vertex\nbob,ann\n"):
        (tmp_path / "f").write_text(text)
        code, _, err = run(*truth)
        assert code == 3 and "line 1: " in err and "columns of a table, or vertices of the graph" in err
    for text in ("ann\nvertex\n", '"order","vertex"\n1,"ann"\n2,"vertex"\n'):
        (tmp_path / "f").write_text(text)
        assert [one["source"] for one in record(*truth)["results"]] == ["ann", "vertex"]


@pytest.mark.parametrize("header", ["id cost", "vertex,weight", '"node","cost"', "# c\nid\tcost"])
def test_numbers_may_have_a_header(record, run, graph, tmp_path, header):
    lines = "1 2\n2 1.5\n3 1\n4 3\n"
    for option in ("merit costs", "gim costs", "targets"):
        found = []
        for name, text in (("with", f"{header}\n{lines}"), ("without", lines)):
            (tmp_path / name).write_text(text)
            found.append(record(*commands(graph, tmp_path / name, tmp_path / f"{option}.h5")[option]))
        assert all(found[0][key] == found[1][key] for key in ("seeds", "cost", "spread_estimate") if key in found[1])
        for wrong in (f"{lines}{header}\n", f"3 cost\n{lines}", f"id\n{lines}"):
            (tmp_path / "wrong").write_text(wrong)
            assert run(*commands(graph, tmp_path / "wrong", tmp_path / "o.h5")[option])[0] == 3


def test_numbers_of_names_may_have_a_header(record, run, tmp_path):
    (tmp_path / "e.csv").write_text("ann,bob\nbob,name\nname,ann\n")
    record("graph", "import", tmp_path / "e.csv", "--no-header", "--out", tmp_path / "g.h5")
    words = ("merit", "start", tmp_path / "g.h5", "--eta", 1, "-b", 1, "--out", tmp_path / "o.h5", "--device", "cpu")
    (tmp_path / "c").write_text("person,cost\nann,1\nbob,9\nname,9\n")
    assert record(*words, "--costs", tmp_path / "c")["batch"] == ["ann"]
    (tmp_path / "c").write_text("name,cost\nann,1\nbob,9\n")
    code, _, err = run(*words, "--costs", tmp_path / "c")
    assert code == 3 and "c, line 1: 'cost' is not a number" in err


@pytest.mark.parametrize("option", ["seeds", "sources", "include"])
def test_another_header_is_told_what_to_be(run, graph, tmp_path, option):
    (tmp_path / "f").write_text("id\n1\n")
    err = run(*commands(graph, tmp_path / "f", tmp_path / "o.h5")[option])[2]
    assert ("the header calls the column vertex" in err) == (option != "sources"), err


COSTS = {"Groß, Jürgen": "3.93", "ann": "2", "bob": "0.5"}


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """A graph of three names, one with a comma."""
    import gpukit as gk

    folder = tmp_path_factory.mktemp("named")
    gk.from_edges(["ann", "bob"], ["bob", "Groß, Jürgen"]).save(folder / "g.h5")
    return read_graph(folder / "g.h5")


def costs_in(named, path):
    found, unpriced = vertex_costs(path, named, {})
    assert unpriced == 0
    return {name: found[vertex] / 10**6 for vertex, name in enumerate(named.original(range(3)).tolist())}


@pytest.mark.parametrize("form", ["csv", "more columns", "semicolons", "excel"])
def test_costs_are_read_from_tables(named, tmp_path, form):
    import pandas as pd

    table = pd.DataFrame({"name": [*COSTS], "Cost": [float(one) for one in COSTS.values()]})
    path = tmp_path / "costs.csv"
    if form == "excel":
        pytest.importorskip("openpyxl")
        table.to_excel(path.with_suffix(".xlsx"), index=False)
        path = path.with_suffix(".xlsx")
    elif form == "more columns":
        table.rename(columns={"name": "vertex"}).assign(team="T 1").to_csv(path, index=False)
    else:
        table.to_csv(path, index=False, sep=";" if form == "semicolons" else ",")
    assert costs_in(named, path) == {name: float(cost) for name, cost in COSTS.items()}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,team,cost\nann,T1,2\n", r"has 3 columns \(name, team, cost\); keep one of vertices and one of numbers"),
        ("ann,T1,2\n", "line 1: 'ann,T1,2' has three columns, or a decimal comma; give a name and a number"),
        ("Groß, Jürgen;3,93\n", "line 1: 'Groß, Jürgen;3,93' has three columns, or a decimal comma"),
        ("vertex;cost\nGroß, Jürgen;3,93\n", "line 2: '3,93' is not a number .*; write a point for the decimal comma"),
        ("name,cost\nann,2,3\n", "line 2: 3 fields, but the header has 2"),
        ("name,cost\ndora,2\n", "line 2: vertex 'dora' is not in the graph"),
    ],
)
def test_costs_that_are_not_understood_are_refused_with_what_to_do(named, tmp_path, text, said):
    (tmp_path / "costs.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        costs_in(named, tmp_path / "costs.csv")
