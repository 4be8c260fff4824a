"""The SHA-256 of an edge list, kept in a stamp."""

import hashlib
import os

import pytest

from gpukit.cli.graph.edge_lists import digest_of


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.txt"
    path.write_text("1 2\n")
    os.utime(path, ns=(10**18, 10**18))
    return path


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_stamp_spares_reading_until_the_file_changes(edges, monkeypatch):
    stamp = edges.with_name(".stamp")
    monkeypatch.setattr("gpukit.cli.graph.edge_lists.AGE_NS", -1)
    assert digest_of(edges, stamp) == sha256("1 2\n")
    stamp.write_text(stamp.read_text().replace(sha256("1 2\n"), "kept"))
    assert digest_of(edges, stamp) == "kept"
    edges.write_text("1 3\n")
    os.utime(edges, ns=(10**18, 10**18))  # of the same size and time
    assert digest_of(edges, stamp) == sha256("1 3\n")


@pytest.mark.parametrize("kept", ["", "1 2", "\xff\xfe", '{"a": 1}'])
def test_a_damaged_stamp_is_none(edges, kept):
    edges.with_name(".stamp").write_bytes(kept.encode("latin-1"))
    assert digest_of(edges, edges.with_name(".stamp")) == sha256("1 2\n")


def test_a_file_that_was_just_written_gets_no_stamp(edges, monkeypatch):
    monkeypatch.setattr("gpukit.cli.graph.edge_lists.AGE_NS", 3600 * 10**9)
    assert digest_of(edges, edges.with_name(".stamp")) == sha256("1 2\n")
    assert not edges.with_name(".stamp").exists()


def test_without_a_folder_for_the_stamp_or_a_file_nothing_fails(edges):
    assert digest_of(edges, edges.parent / "none" / ".stamp") == sha256("1 2\n")
    assert digest_of(edges.parent / "gone.txt", edges.with_name(".stamp")) == ""
