"""The lock on a file that is read, worked on and replaced."""

import errno
import fcntl
import os
import threading
import time

import pytest

from gpukit.artifacts.lock import only_writer
from gpukit.errors import InputError


@pytest.fixture(
    params=[None, "ENOLCK", *(pytest.param(each, marks=pytest.mark.long) for each in ("ENOSYS", "EOPNOTSUPP"))]
)
def flock(request, monkeypatch):
    """Let the file system have flock, or answer it by an error."""
    if request.param:

        def none(descriptor, how):
            raise OSError(getattr(errno, request.param), "no locks")

        monkeypatch.setattr(fcntl, "flock", none)
    return request.param


def test_no_two_hold_it_while_it_comes_and_goes(tmp_path, flock):
    """Eight threads read a number, add one and replace the file; no addition is lost, and no lock file is left."""
    path = tmp_path / "number"
    path.write_text("0")
    refused, end = 0, time.monotonic() + 60

    def count() -> None:
        nonlocal refused
        done = 0
        while done < 50 and time.monotonic() < end:
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


def test_names_as_long_as_they_may_be(tmp_path, flock):
    path = tmp_path / ("ä" * 127)
    with only_writer(path), pytest.raises(InputError, match="another process works on"):
        with only_writer(path):
            pass
    assert os.listdir(tmp_path) == []


def test_it_is_given_back_after_an_error(tmp_path, flock):
    for _ in range(2):
        with pytest.raises(BlockingIOError), only_writer(tmp_path / "x"):
            raise BlockingIOError
    with pytest.raises(InputError, match="cannot lock .*: No such file or directory"), only_writer(tmp_path / "no/x"):
        pass


def test_without_flock_what_a_killed_process_left_is_named(tmp_path, flock):
    lock = tmp_path / ".x.lock"
    lock.write_text("")
    if flock is None:
        with only_writer(tmp_path / "x"):
            pass
        assert not lock.exists()
        return
    for left in ("", " (process 7 of node3)"):
        lock.write_text(left)
        with pytest.raises(InputError) as caught, only_writer(tmp_path / "x"):
            pass
        assert str(caught.value) == (
            f"another process works on {tmp_path}/x, or was killed{left}; its file system has no locks, so if no "
            f"process does, remove {lock}"
        )
        assert lock.read_text() == left


def test_a_process_with_flock_respects_one_without(tmp_path, monkeypatch):
    """As where the locks of a network file system fail at times, or on one node alone."""

    def none(descriptor, how):
        raise OSError(errno.ENOLCK, "no locks")

    with monkeypatch.context() as without:
        without.setattr(fcntl, "flock", none)
        held = only_writer(tmp_path / "x")
        held.__enter__()
    with pytest.raises(InputError, match=rf"or was killed \(process {os.getpid()} of "), only_writer(tmp_path / "x"):
        pass
    held.__exit__(None, None, None)
    with only_writer(tmp_path / "x"):
        monkeypatch.setattr(fcntl, "flock", none)
        with pytest.raises(InputError, match="another process works on"), only_writer(tmp_path / "x"):
            pass
    assert os.listdir(tmp_path) == []
