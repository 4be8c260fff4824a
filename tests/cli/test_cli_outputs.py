"""Outputs of commands: every command of the table checks its outputs before any work."""

import os
import stat

import pytest

from gpukit.cli import app
from gpukit.cli.outputs import is_output


def leaves(command, words):
    """Yield every command below one, with the words that call it."""
    for name, one in getattr(command, "commands", {}).items():
        yield from leaves(one, [*words, name])
    if not getattr(command, "commands", {}):
        yield words, command


COMMANDS = [leaf for name, _, _ in app.COMMANDS for leaf in leaves(app._load(name), [name])]
WRITERS = [(words, command) for words, command in COMMANDS if any(is_output(one.name) for one in command.params)]


def complete(words, command, given):
    """Return the words of a call with every parameter that the command needs, and some that are given."""
    for one in command.params:
        if one.name in given:
            words = [*words, one.opts[0], f"{'a=' if one.name == 'out_figures' else ''}{given[one.name]}"]
        elif one.required:
            listed = one.type_descriptor.choices
            value = listed[0] if listed else WORDS.get(one.name, "1")
            words = [*words, value] if one.param_type_name == "argument" else [*words, one.opts[0], value]
    return words


WORDS = {"name": "NetHEPT", "table": "runs=none.tsv", "figure": "a=none.svg"}
"""Values of parameters that are not numbers, file names or choices."""


def ids(values):
    return [" ".join(words) for words, _ in values]


def test_the_table_has_the_commands_that_write():
    assert len(WRITERS) >= 35
    assert {"report page", "data fetch", "kpar query", "papers bench gim", "merit next", "papers report item"} <= set(
        ids(WRITERS)
    )


@pytest.mark.parametrize(("words", "command"), COMMANDS, ids=ids(COMMANDS))
def test_what_names_an_output_is_checked(words, command):
    """The check knows outputs by their names; a parameter that sounds like one must have such a name."""
    for one in command.params:
        text = f"{one.help or ''}".lower()
        if any(sign in text for sign in ("to write", "where to keep", "goes;")):
            assert is_output(one.name), f"{' '.join(words)}: call the parameter {one.name} `out` or `out_…`"


@pytest.mark.parametrize(("words", "command"), WRITERS, ids=ids(WRITERS))
@pytest.mark.parametrize("kind", ["FIFO", "link", "device", "folder", "no folder"])
def test_no_command_writes_over_something_else(run, tmp_path, monkeypatch, words, command, kind):
    monkeypatch.chdir(tmp_path)
    target = tmp_path / "target"
    if kind == "FIFO":
        os.mkfifo(target)
    elif kind == "link":
        (tmp_path / "theirs").write_text("theirs")
        target.symlink_to("theirs")
    elif kind == "device":
        try:
            os.mknod(target, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("making a device needs root")
    elif kind == "folder":
        target.mkdir()
    else:
        target = tmp_path / "none" / "target"
    before = os.lstat(target).st_ino if kind != "no folder" else None
    for output in [one.name for one in command.params if is_output(one.name)]:
        given = {one.name: tmp_path / one.name for one in command.params if is_output(one.name)} | {output: target}
        code, out, err = run(*complete(words, command, given))
        assert (code, out) == (3, "") and err.count("\n") == 1, err
        assert f"cannot write {target}: " in err and kind.replace("link", "symbolic link") in err
    assert kind == "no folder" or os.lstat(target).st_ino == before
    assert kind != "link" or (tmp_path / "theirs").read_text() == "theirs"
    assert {path.name for path in tmp_path.iterdir()} <= {"target", "theirs"}


def test_an_input_by_another_name_is_not_replaced(run, tmp_path):
    table = tmp_path / "t.tsv"
    table.write_text("kept")
    os.link(table, tmp_path / "hard")
    (tmp_path / "folder").symlink_to(tmp_path)
    for words in (
        ("report", "plot", "runtime", table, "--out", tmp_path / "hard"),
        ("report", "plot", "runtime", table, "--out", tmp_path / "folder" / "t.tsv"),
        ("report", "table", "runs", f"a/b={table}", "--out", tmp_path / "hard"),
        ("report", "page", "--table", f"runs={table}", "--figure", "a=b", "--out", table),
        ("report", "page", "--table", "runs=none", "--figure", f"a={table}", "--out", table),
        ("papers", "report", "item", "gim", "x", "--table", "a=b", "--printed", table, "--out", "o", "--figure", table),
    ):
        code, _, err = run(*words)
        assert code == 2 and "is an input, too" in err and err.count("\n") == 1
    assert table.read_text() == "kept"


def test_two_outputs_are_two_files(run, tmp_path):
    words = ("papers", "report", "item", "gim", "x", "--table", "a=b", "--printed", "p", "--out", tmp_path / "o")
    code, _, err = run(*words, "--figure", f"{tmp_path}/./o")
    assert code == 2 and "give each its own" in err


def test_a_name_is_no_input_where_a_file_has_it_too(good, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "NetHEPT").write_text("a file that happens to be called as the data set\n")
    for _ in range(2):
        good("data", "fetch", "NetHEPT", "--out", "NetHEPT.gz")


def test_the_state_of_a_campaign_is_checked_as_an_output(run, tmp_path):
    (tmp_path / "state").symlink_to(tmp_path / "elsewhere")
    code, _, err = run("merit", "next", tmp_path / "g.h5", tmp_path / "state", "--observed", "")
    assert code == 3 and "it is a symbolic link" in err


WRITTEN = {
    "data": b"\x1f\x8b\x08",
    "html": b"<!doctype html>\n",
    "json": b'{"params": {}}',
    "record": b'{\n "benchmark": "gim"}',
    "svg": b'<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "">',
    "tsv": b"a\tb\n1\t2\n",
}


def foreign(command, output):
    """Return a file of each kind that a command does not write by that option."""
    by_option = {"out_figure": "svg", "out_figures": "svg", "out_record": "json"}
    own = by_option.get(output, command.callback.writes)
    others = {name: content for name, content in WRITTEN.items() if name != own}
    return others | {"text": b"friends\n", "broken": b"\x89HDF\r\n\x1a\n"}


@pytest.mark.parametrize(("words", "command"), WRITERS, ids=ids(WRITERS))
def test_no_command_replaces_a_file_of_another_kind(run, tmp_path, words, command):
    assert "force" in {one.name for one in command.params}
    if words == ["export"]:
        return  # below: it must have read the artifact to know
    outputs = [one.name for one in command.params if is_output(one.name)]
    for output in outputs:
        for name, content in foreign(command, output).items():
            target = tmp_path / name
            target.write_bytes(content)
            given = {one: tmp_path / one for one in outputs} | {output: target}
            code, out, err = run(*complete(words, command, given))
            assert (code, out) == (2, "") and err.count("\n") == 1, err
            assert f"error: {target} exists, and " in err and "replace it with --force" in err
            assert target.read_bytes() == content


def test_a_kind_is_told_by_what_commands_write(good, run, tmp_path):
    """One of each kind is replaced by itself, by another kind of artifact with --force only, and never an input."""
    edges, graph, seeds = (tmp_path / name for name in ("edges.csv", "G.h5", "S.h5"))
    edges.write_text("a,b\nb,c\n")
    for _ in range(2):
        good("graph", "import", edges, "--ids", "text", "--out", graph)
        good("gim", "baseline", graph, "-k", 1, "--method", "degree", "--out", seeds)
    bytes_before = graph.read_bytes()
    words = ("gim", "baseline", graph, "-k", 1, "--method", "degree", "--out")
    other = tmp_path / "other.h5"
    other.write_bytes(bytes_before)
    code, _, err = run(*words, other)
    assert code == 2 and "is an artifact of kind graph, but this command writes one of kind seeds" in err
    assert other.read_bytes() == bytes_before
    good(*words, other, "--force")
    assert other.read_bytes() == seeds.read_bytes()
    code, _, err = run(*words, graph, "--force")
    assert code == 2 and "is an input, too" in err and graph.read_bytes() == bytes_before
    (tmp_path / "empty.h5").touch()
    good(*words, tmp_path / "empty.h5")
    for _ in range(2):
        good("report", "table", "artifacts", seeds, "--out", tmp_path / "t.tsv")


@pytest.mark.parametrize("form", ["csv", "tsv", "json", "parquet"])
def test_export_replaces_its_own_tables(good, run, tmp_path, form):
    if form == "parquet":
        pytest.importorskip("pyarrow")
    edges, graph, seeds, out = (tmp_path / name for name in ("edges.csv", "G.h5", "S.h5", f"T.{form}"))
    edges.write_text("a,b\nb,c\n")
    good("graph", "import", edges, "--ids", "text", "--out", graph)
    good("gim", "baseline", graph, "-k", 1, "--method", "degree", "--out", seeds)
    for more in ((), ("--graph", graph)):
        good("export", seeds, *more, "--out", out)
    table = out.read_bytes()
    for content in (table, b"from,to\nann,bob\n", b"PAR1", b'{"kind": "seed'):
        out.write_bytes(content)
        code, _, err = run("export", graph, "--out", out)
        assert code == 2 and err.count("\n") == 1 and f"is no .{form} table of graph" in err
        assert out.read_bytes() == content
        good("export", graph, "--out", out, "--force")
