"""What is used is what was written: checks beside the work, remembered files, sampling tables, and odd storage."""

import hashlib
import importlib
import io
import json
import os
import threading
import time
from contextlib import redirect_stdout
from pathlib import Path

import h5py
import numpy as np
import pytest
from mutants import EDGES, change, flip, refused, seal_header

from gpukit import artifacts, pending
from gpukit.artifacts import remembered, store, sums
from gpukit.artifacts.verify import verify
from gpukit.cli.app import main
from gpukit.errors import InputError, UsageError
from gpukit.graph.csr import Graph


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let every file be worth remembering at once, and return the folder of the entries."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(store, "FROM", 1)
    monkeypatch.setattr(remembered, "AGE_NS", -1)
    return tmp_path / "cache" / "gpukit" / "checked"


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every file be a large one."""
    monkeypatch.setattr(store, "AT_ONCE", 0)
    monkeypatch.setattr(sums, "TREE_FROM", 16)
    monkeypatch.setattr(sums, "PIECE", 4)


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
    pending.settle()  # nothing is left behind


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


# --- tree sums --------------------------------------------------------------------------------------------------------


def test_tree_sums_leave_the_digest(tmp_path: Path, ids_graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    small = artifacts.write_graph(tmp_path / "small.h5", ids_graph)
    monkeypatch.setattr(sums, "TREE_FROM", 45)
    monkeypatch.setattr(sums, "PIECE", 10)
    large = artifacts.write_graph(tmp_path / "large.h5", ids_graph)
    assert small == large
    with h5py.File(tmp_path / "small.h5") as file:
        assert "gpukit_trees" not in file.attrs
    with h5py.File(tmp_path / "large.h5") as file:
        trees, ids = json.loads(file.attrs["gpukit_trees"]), file["ids"][()].tobytes()
    leaves = [hashlib.sha256(ids[start : start + 10]).digest() for start in range(0, len(ids), 10)]
    assert trees.keys() == {"ids", "pointers_to_1", "transpose/pointers_to_1"}
    assert trees["ids"] == hashlib.sha256(b"".join(leaves)).hexdigest()
    for name in ("small", "large"):
        verify(tmp_path / f"{name}.h5")


def test_the_tree_alone_is_compared_where_there_is_one(file: Path, large: None, monkeypatch) -> None:
    artifacts.write_graph(file, artifacts.read_graph(file))
    seen: list[str] = []
    plain = store.plain_sums
    monkeypatch.setattr(store, "plain_sums", lambda arrays: seen.extend(arrays) or plain(arrays))
    artifacts.read_graph(file)
    assert seen == ["transpose/values", "values"]
    flip(file, "ids")
    refused(file, "checksum of dataset ids", artifacts.read_graph)


def test_verify_compares_both_sums(file: Path, large: None) -> None:
    artifacts.write_graph(file, artifacts.read_graph(file))
    with h5py.File(file, "r+") as opened:
        opened["ids"][0] = 4
        trees = json.loads(opened.attrs["gpukit_trees"]) | sums.tree_sums({"ids": opened["ids"][()]})
        opened.attrs["gpukit_trees"] = json.dumps(trees)
        seal_header(opened)
    refused(file, "checksum of dataset ids")


def test_a_tree_of_a_small_array_does_not_hide_its_sum(file: Path) -> None:
    flip(file, "ids")
    with h5py.File(file, "r+") as opened:
        opened.attrs["gpukit_trees"] = json.dumps({"ids": "00" * 32})
        seal_header(opened)
    refused(file, "checksum of dataset ids", artifacts.read_graph)


# --- what is remembered -----------------------------------------------------------------------------------------------


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets the names of all arrays whose checksums are tested."""
    seen: list[str] = []
    plain = store.plain_sums
    monkeypatch.setattr(store, "plain_sums", lambda arrays: seen.extend(arrays) or plain(arrays))
    return seen


def test_a_file_is_checked_once(file: Path, checked: list[str], cache: Path) -> None:
    artifacts.read_graph(file)
    assert "ids" in checked and len(os.listdir(cache)) == 1
    checked.clear()
    artifacts.read_graph(file)
    assert not checked
    artifacts.read_graph_file(file, tables=True)  # more of it than was checked
    assert "tables/rows" in checked
    checked.clear()
    artifacts.read_graph(file, transpose=False)  # less, but the whole file was checked since
    assert not checked
    verify(file)
    assert "ids" in checked


def test_a_changed_file_is_another(file: Path, checked: list[str]) -> None:
    artifacts.read_graph(file)
    times = file.stat()
    flip(file, "ids")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    refused(file, "checksum of dataset ids", artifacts.read_graph)


def test_the_option_verify_checks_again(file: Path, checked: list[str], capsys: pytest.CaptureFixture) -> None:
    words = ["evaluate", "spread", str(file), "--ids", "5", "--runs", "9", "--device", "cpu"]
    for options, again in (([], True), ([], False), (["--verify"], True), ([], False)):
        checked.clear()
        assert main([*options, *words]) == 0
        assert any(not name.startswith("columns/") for name in checked) is again, "what is made has checksums, too"


def test_a_file_that_was_just_written_is_not_remembered(file: Path, cache: Path, monkeypatch) -> None:
    monkeypatch.setattr(remembered, "AGE_NS", 3600 * 10**9)
    artifacts.read_graph(file)
    assert not cache.exists()


def test_a_failed_check_is_not_remembered(file: Path, cache: Path) -> None:
    change(file, {"transpose/indices_1": np.arange(len(EDGES), dtype=np.int32) % 6})
    refused(file, "transpose", artifacts.read_graph)
    assert not cache.exists()


def no_home() -> Path:
    raise RuntimeError("could not determine home directory")


@pytest.mark.parametrize("what", ["open", "link", "file", "none"])
def test_a_cache_that_others_could_write_to_is_not_used(
    file: Path, cache: Path, checked: list[str], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    artifacts.read_graph(file)
    if what == "open":
        cache.chmod(0o777)
    elif what == "link":
        cache.rename(cache.parent / "elsewhere")
        cache.symlink_to(cache.parent / "elsewhere")
    elif what == "file":
        monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    else:
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setattr(Path, "home", no_home)
    checked.clear()
    artifacts.read_graph(file)
    assert checked


def test_the_cache_is_bounded(file: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "LIMIT", 3)
    for number in range(5):
        remembered.remember((0, number, 0, 0, 0), ["a"])
    assert len(os.listdir(cache)) == 3 and remembered.recall((0, 4, 0, 0, 0), ["a"], ["a"])
    assert {entry.stat().st_size for entry in os.scandir(cache)} == {0}
    assert cache.stat().st_mode & 0o777 == 0o700


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


def test_a_file_that_is_replaced_while_it_is_opened(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = store.check_file

    def swap(path):
        found = check(path)
        copy = file.with_name("copy")
        copy.write_bytes(file.read_bytes())
        os.replace(copy, file)
        return found

    monkeypatch.setattr(store, "check_file", swap)
    refused(file, "replaced or written to", artifacts.read_graph)
