"""The lock on a file that is read, worked on and replaced."""

import os
import threading

import pytest

from gpukit.artifacts.lock import only_writer
from gpukit.errors import InputError


def test_no_two_hold_it_while_it_comes_and_goes(tmp_path):
    """Eight threads read a number, add one and replace the file; no addition is lost, and no lock file is left."""
    path = tmp_path / "number"
    path.write_text("0")
    refused = 0

    def count() -> None:
        nonlocal refused
        done = 0
        while done < 50:
            try:
                with only_writer(path):
                    number = int(path.read_text())
                    later = path.with_name(f"later-{threading.get_ident()}")
                    later.write_text(str(number + 1))
                    os.replace(later, path)
                    done += 1
            except InputError:
                refused += 1

    threads = [threading.Thread(target=count) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert path.read_text() == "400" and refused > 0
    assert os.listdir(tmp_path) == ["number"]


def test_names_as_long_as_they_may_be(tmp_path):
    path = tmp_path / ("ä" * 127)
    with only_writer(path), pytest.raises(InputError, match="another process works on"):
        with only_writer(path):
            pass
    assert os.listdir(tmp_path) == []


def test_it_is_given_back_after_an_error(tmp_path):
    for _ in range(2):
        with pytest.raises(BlockingIOError), only_writer(tmp_path / "x"):
            raise BlockingIOError
    with pytest.raises(InputError, match="cannot lock .*: No such file or directory"), only_writer(tmp_path / "no/x"):
        pass
