"""Modules and calls that only POSIX has are hidden from gpukit: a stand-in for Windows, which these tests do not have.

Libraries keep what they find, so they are imported first; then the modules and calls are taken away.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpukit import portable

HIDE = """
import os, signal, sys
import h5py, numba, pandas, platform, scipy.sparse, subprocess, tempfile, typer, rich.console, multiprocessing
import numba.core.caching, numba.np.ufunc.parallel, concurrent.futures
for name in ("fcntl", "grp", "posix", "pwd", "resource", "termios"):
    sys.modules[name] = None
for name in (
    *("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "chown", "fchmod", "geteuid", "getuid", "killpg"),
    *("posix_fallocate", "sched_getaffinity", "sysconf", "uname"),
):
    delattr(os, name)
del signal.pthread_kill, signal.SIGKILL
"""
WINDOWS = """
import errno, types
def locking(descriptor, mode, count):
    if os.lseek(descriptor, 0, os.SEEK_CUR) < 1 << 30 or count != 1:
        raise ValueError("the lock is among the contents")
    if os.readlink(f"/proc/self/fd/{descriptor}").endswith(os.environ.get("HELD", "nothing")):
        raise OSError(errno.EACCES, "held")
sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_LOCK=1, LK_NBLCK=2)
"""
RUN = """
from gpukit.cli.app import main
code = main(sys.argv[1:])
assert not [one for one in ("fcntl", "resource") if sys.modules[one]]
sys.exit(code)
"""


@pytest.fixture
def elsewhere(tmp_path: Path):
    """Return a function that runs a command as on another system, and gives its exit code and what it says."""

    def run(*words: str, before: str = HIDE + WINDOWS, **more: str) -> tuple[int, str]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **more}
        command = [sys.executable, "-c", before + RUN, *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        return done.returncode, done.stdout

    return run


@pytest.mark.parametrize("words", [["--help"], ["gim", "run", "--help"], ["diversity", "search", "--help"]])
def test_help_needs_no_module_of_posix(elsewhere, words) -> None:
    code, said = elsewhere(*words, before='import sys; sys.modules["fcntl"] = sys.modules["resource"] = None')
    assert code == 0 and "gpukit" in said, said


def test_seeds_are_the_same_as_here(elsewhere, tmp_path) -> None:
    (tmp_path / "e.txt").write_text("".join(f"{i} {(i * 7 + 3) % 50}\n{i} {i // 2}\n" for i in range(50)))
    run = ("gim", "run", "g.h5", "-k", "3", "--device", "cpu", "--threads", "1", "--out")
    for words in (("graph", "import", "e.txt", "--out", "g.h5"), (*run, "there.h5"), ("verify", "g.h5", "there.h5")):
        code, said = elsewhere(*words)
        assert code == 0, said
    here = [sys.executable, "-m", "gpukit", *run, "here.h5"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run(here, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert (tmp_path / "here.h5").read_bytes() == (tmp_path / "there.h5").read_bytes()


def test_a_campaign_is_locked_by_the_other_kind_of_lock(elsewhere, tmp_path) -> None:
    (tmp_path / "e.txt").write_text("".join(f"{i} {(i * 7 + 3) % 50}\n" for i in range(50)))
    assert elsewhere("graph", "import", "e.txt", "--out", "g.h5")[0] == 0
    begin = ("merit", "run", "g.h5", "--eta", "5", "--device", "cpu", "--threads", "1", "--out", "m.h5")
    code, said = elsewhere(*begin, HELD=".m.h5.lock")
    assert code == 3 and "another process works on m.h5; wait until it is done" in said, said
    code, said = elsewhere(*begin)
    assert code == 0 and {path.name for path in tmp_path.iterdir()} == {"e.txt", "g.h5", "m.h5"}, said


def test_a_lock_that_another_holds_is_said_as_here(monkeypatch, tmp_path) -> None:
    """By Windows' call, of which a stand-in says that the byte is locked, or that the drive has no locks."""
    from types import SimpleNamespace

    asked = []

    def locking(descriptor, mode, count):
        asked.append((os.lseek(descriptor, 0, os.SEEK_CUR) > 1 << 30, mode, count))
        if outcomes:
            raise OSError(outcomes.pop(0), "")

    monkeypatch.setattr(portable, "_fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_LOCK=1, LK_NBLCK=2))
    with open(tmp_path / "x", "w+b") as file:
        file.write(b"contents")
        file.flush()
        outcomes = [13]
        with pytest.raises(BlockingIOError):
            portable.lock(file.fileno())
        outcomes = [36, 13]  # as Windows says after ten seconds
        monkeypatch.setattr(portable.errno, "EDEADLK", 36)
        portable.lock(file.fileno(), wait=True)
        outcomes = [38]
        with pytest.raises(OSError, match=r"\[Errno 38\]"):
            portable.lock(file.fileno(), wait=True)
        assert file.tell() == 8 and asked == [(True, 2, 1), *[(True, 1, 1)] * 4]
