"""Used data equals written data: checks that run during the work, when each check runs, and one opening of a file."""

import importlib
import io
import os
import threading
import time
from contextlib import redirect_stdout
from pathlib import Path

import h5py
import numpy as np
import pytest
from mutants import change, flip, refused

from gpukit import artifacts, pending
from gpukit.artifacts import store
from gpukit.cli.app import main
from gpukit.errors import InputError, UsageError


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every file be a large one."""
    monkeypatch.setattr(store, "AT_ONCE", 0)
    monkeypatch.setattr(store, "MEANING", 0)


# --- checks beside the work -------------------------------------------------------------------------------------------


def test_what_is_printed_waits_for_the_checks() -> None:
    gate, out = threading.Event(), io.StringIO()

    def command() -> None:
        with redirect_stdout(out), pending.beside():
            pending.later(lambda: gate.wait() and None)
            print("answer")

    thread = threading.Thread(target=command)
    thread.start()
    time.sleep(0.2)
    assert out.getvalue() == ""
    gate.set()
    thread.join()
    assert out.getvalue() == "answer\n"


def fail() -> None:
    raise InputError("damaged")


@pytest.mark.parametrize("end", [lambda: None, lambda: print("answer"), lambda: 1 // 0])
def test_a_failed_check_is_the_error_whatever_the_command_does(end, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(InputError, match="damaged"), pending.beside():
        pending.later(fail)
        end()
    assert capsys.readouterr().out == ""
    pending.finish_checks()  # nothing is left behind


def test_a_check_that_cannot_be_done_hides_no_error_of_the_command() -> None:
    """As where both import a module, which fails: the second to do so is told of another error."""
    with pytest.raises(UsageError, match="no compiler"), pending.beside():
        pending.later(lambda: importlib.import_module("gpukit.nowhere") and None)
        raise UsageError("no compiler")
    with pytest.raises(ImportError), pending.beside():
        pending.later(lambda: importlib.import_module("gpukit.nowhere") and None)


def test_an_interrupted_command_does_not_wait() -> None:
    gate = threading.Event()
    with pytest.raises(KeyboardInterrupt), pending.beside():
        pending.later(lambda: gate.wait() and None)
        raise KeyboardInterrupt
    gate.set()


def test_nothing_is_put_in_place_before_the_checks(tmp_path: Path) -> None:
    (tmp_path / "M.h5").write_text("before")
    with pytest.raises(InputError, match="damaged"), pending.beside():
        pending.later(fail)
        artifacts.write_metrics(tmp_path / "M.h5", {"a": [1]})
    assert (tmp_path / "M.h5").read_text() == "before" and os.listdir(tmp_path) == ["M.h5"]


def test_outside_a_command_a_check_has_ended_with_the_reading(file: Path, large: None) -> None:
    flip(file, "ids")
    refused(file, "checksum of dataset ids", artifacts.read_graph)


def test_a_damaged_large_file_gives_no_answer(file: Path, large: None, capsys: pytest.CaptureFixture) -> None:
    out = file.parent / "out.h5"
    words = ["gim", "sample", str(file), "--first", "0", "--count", "9", "--out", str(out), "--device", "cpu"]
    assert main([*words, "--json"]) == 0
    out.unlink()
    flip(file, "ids")
    capsys.readouterr()
    assert main([*words, "--json"]) == 3
    printed, said = capsys.readouterr()
    assert printed == "" and "checksum of dataset ids" in said and not out.exists()


# --- what is checked when -------------------------------------------------------------------------------------------


@pytest.fixture
def untrue(file: Path) -> Path:
    """Return a graph of which each checksum and each bound is right, but not the transpose."""
    change(file, {"transpose/indices_1": np.array([3, 0, 3, 4, 5, 1, 0, 1, 2, 3, 4], np.int32)})
    return file


@pytest.mark.parametrize("size", [0, 1 << 20])
def test_the_meaning_of_large_files_is_checked_where_it_is_asked_for(untrue: Path, monkeypatch, size: int) -> None:
    monkeypatch.setattr(store, "MEANING", size)
    if size:
        refused(untrue, "not the transpose", artifacts.read_graph)
    else:
        artifacts.read_graph(untrue)
        monkeypatch.setattr(pending, "again", True)
        refused(untrue, "not the transpose", artifacts.read_graph)
    refused(untrue, "not the transpose")


def test_the_option_verify_checks_all(untrue: Path, large: None, capsys: pytest.CaptureFixture) -> None:
    words = ["gim", "sample", str(untrue), "--first", "0", "--count", "9", "--out", f"{untrue}.out", "--device", "cpu"]
    for options, code in (([], 0), (["--verify"], 3), ([], 0)):
        assert main([*options, *words]) == code
    assert "not the transpose" in capsys.readouterr().err


@pytest.mark.parametrize("full", [False, True])
def test_every_reading_compares_the_checksums(file: Path, large: None, full: bool) -> None:
    store.read(file, full=full)
    flip(file, "ids")
    for _ in range(2):
        refused(file, "checksum of dataset ids", lambda path: store.read(path, full=full))


# --- one opening ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("gim", "sample", "{}", "--first", "0", "--count", "9", "--out", "{}.out"),
        ("imgpu", "run", "{}", "-k", "1", "--worlds", "9", "--out", "{}.out"),
        ("kpar", "rank", "{}", "--out", "{}.out"),
        ("merit", "start", "{}", "--eta", "3", "--out", "{}.out"),
        ("diversity", "egos", "{}", "--undirected", "--out", "{}.out"),
        ("evaluate", "spread", "{}", "--ids", "5", "--runs", "9"),
    ],
)
def test_graph_and_digest_are_of_one_opening(file: Path, words, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    opened: list[Path] = []
    whole = h5py.File

    def count(path, mode="r", **rest):
        if mode == "r":
            opened.append(path)
        return whole(path, mode, **rest)

    monkeypatch.setattr(h5py, "File", count)
    assert main([word.format(file) for word in words]) == 0
    assert opened == [file]
