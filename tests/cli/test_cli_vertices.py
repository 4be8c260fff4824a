"""Files that name vertices: one reader of lines, and numbers in ASCII digits, for every option that takes one."""

import hashlib
import os
import threading
from decimal import Decimal
from pathlib import Path

import pytest

from gpukit.artifacts import read_header
from gpukit.cli.vertices import in_units, number, text_lines, words_of
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
