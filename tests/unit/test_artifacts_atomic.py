"""Interrupted writes: whatever happens, no reader sees half a file and nothing looks finished."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpukit
from gpukit import artifacts, files
from gpukit.errors import InputError

SLOW_WRITER = """
import sys, time
import numpy as np
from gpukit import artifacts, files
from gpukit.cli import app

def stall(path):
    print("written", flush=True)
    time.sleep(60)

target = sys.argv.pop()

def slow():
    files._sync = stall
    artifacts.write_metrics(target, {"a": np.arange(1000)})

sys.modules["slow"] = sys.modules["__main__"]
app.COMMANDS += (("slow", "slow:slow", ""),)
sys.argv.append("slow")
sys.exit(app.main())
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    artifacts.write_metrics(tmp_path / "M.h5", {"a": [1, 2, 3]})
    return tmp_path / "M.h5"


def values(path: Path) -> list[int]:
    return artifacts.read_metrics(path).arrays["a"].tolist()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError(28, "No space left on device")])
def test_an_exception_leaves_the_old_file_alone(
    old: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(path: object) -> None:
        raise error

    monkeypatch.setattr(files, "_sync", fail)
    with pytest.raises((KeyboardInterrupt, MemoryError, InputError)):
        artifacts.write_metrics(old, {"a": np.arange(1000)})
    assert [path.name for path in old.parent.iterdir()] == ["M.h5"] and values(old) == [1, 2, 3]


def start_slow_writer(target: Path) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(Path(gpukit.__file__).parents[1])}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", SLOW_WRITER, str(target)], env=environment, **pipes)
    assert process.stdout is not None and process.stdout.readline() == "written\n"
    return process


def test_kill_leaves_only_a_temporary_name(old: Path) -> None:
    process = start_slow_writer(old)
    process.kill()
    process.communicate()
    left = sorted(path.name for path in old.parent.iterdir())
    assert len(left) == 2 and left[1] == "M.h5" and values(old) == [1, 2, 3]
    assert left[0].startswith(".M.h5.") and left[0].endswith(".tmp")
    assert not list(old.parent.glob("*.h5"))[1:]
    artifacts.write_metrics(old, {"a": [4]})
    assert values(old) == [4]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interruption_cleans_up_and_exits_with_5(old: Path, number: int) -> None:
    process = start_slow_writer(old)
    process.send_signal(number)
    _, text = process.communicate()
    assert process.returncode == 5 and text.count("\n") == 1 and "interrupted" in text
    assert [path.name for path in old.parent.iterdir()] == ["M.h5"] and values(old) == [1, 2, 3]


def test_a_file_too_large_for_the_limit(old: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        with pytest.raises(InputError, match="cannot write .*M.h5: File too large"):
            artifacts.write_metrics(old, {"a": np.arange(1 << 20)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in old.parent.iterdir()] == ["M.h5"] and values(old) == [1, 2, 3]


@pytest.mark.parametrize("room", ["4k", "8k", "16k", "64k"])
@pytest.mark.parametrize("compress", [False, True])
def test_a_small_disk_ends_in_one_line(tmp_path: Path, room: str, compress: bool) -> None:
    """HDF5 keeps much of a file until it is closed; the process must live through it, and its end."""
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room}", "tmpfs", str(tmp_path)], capture_output=True)
    if mount.returncode:
        pytest.skip("mounting a file system needs root")
    if compress:
        pytest.importorskip("hdf5plugin")
    program = f"""
import numpy as np
from gpukit.artifacts import write_graph
from gpukit.errors import InputError
from gpukit.graph.build import build_graph
graph = build_graph(*np.random.default_rng(1).integers(0, 5_000, (2, 20_000)))
try:
    write_graph("M.h5", graph, compress={compress})
except InputError as error:
    print(error)
"""
    try:
        ended = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert (ended.returncode, ended.stderr) == (0, ""), ended
        assert ended.stdout == "cannot write M.h5: No space left on device; free some space or choose another folder\n"
        assert list(tmp_path.iterdir()) == []
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


@pytest.mark.parametrize("entries", [10, 1 << 16, 1 << 20])
def test_a_full_disk(tmp_path: Path, entries: int) -> None:
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)], capture_output=True)
    if mount.returncode:
        pytest.skip("mounting a file system needs root")
    try:
        artifacts.write_metrics(tmp_path / "M.h5", {"a": [1, 2, 3]})
        (tmp_path / "filler").write_bytes(bytes(48 << 10))
        with pytest.raises(InputError, match="No space left on device; free some space"):
            artifacts.write_metrics(
                tmp_path / "M.h5", {"a": np.arange(entries)} | {f"b{i}": np.arange(entries) for i in range(9)}
            )
        assert sorted(path.name for path in tmp_path.iterdir()) == ["M.h5", "filler"]
        assert values(tmp_path / "M.h5") == [1, 2, 3]
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)
