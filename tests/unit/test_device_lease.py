"""GPU leases: no two processes on one GPU, freed however a process ends."""

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import gpukit
from gpukit.device import lease
from gpukit.device.select import Device, Gpu
from gpukit.errors import DeviceError

JOB = """
import sys, time
from pathlib import Path
from gpukit.device.lease import lease
from gpukit.device.select import Gpu
count, seconds, names = int(sys.argv[1]), float(sys.argv[2]), sys.argv[4].split(",")
held = lease([Gpu("Fake", 1, (9, 0), name, name) for name in names], count, Path(sys.argv[3]))
print(time.monotonic(), *(gpu.uuid for gpu in held.gpus), flush=True)
time.sleep(seconds)
print(time.monotonic(), flush=True)
"""
FOUR = ["a", "b", "c", "d"]


def pool(names: list[str]) -> list[Gpu]:
    return [Gpu("Fake", 1 << (30 + i), (9, 0), name, f"GPU-{name}") for i, name in enumerate(names)]


def job(folder: Path, count: int, seconds: float, names: list[str] = FOUR) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(Path(gpukit.__file__).parents[1])}
    command = [sys.executable, "-c", JOB, str(count), str(seconds), str(folder), ",".join(names)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_ten_jobs_share_four_gpus_without_a_collision(tmp_path: Path) -> None:
    counts = [1, 3, 2, 1, 2, 3, 1, 1, 2, 3]
    spans = []
    for count, process in [(count, job(tmp_path, count, 0.15)) for count in counts]:
        out, text = process.communicate(timeout=60)
        assert process.returncode == 0, text
        first, last = out.splitlines()
        begin, *names = first.split()
        assert len(set(names)) == count
        spans.append((float(begin), float(last), set(names)))
    for i, (begin, end, names) in enumerate(spans):
        for other_begin, other_end, other in spans[:i]:
            assert not names & other or end <= other_begin or other_end <= begin


def test_a_killed_process_frees_its_gpus_at_once(tmp_path: Path) -> None:
    holder = job(tmp_path, 4, 60)
    assert holder.stdout is not None and len(holder.stdout.readline().split()) == 5
    waiting = job(tmp_path, 2, 0)
    assert waiting.stderr is not None and "waiting for 2 of 4 GPUs" in waiting.stderr.readline()
    killed = time.monotonic()
    holder.send_signal(signal.SIGKILL)
    out, _ = waiting.communicate(timeout=30)
    assert float(out.split()[0]) - killed < 1
    holder.communicate()


def test_waiting_for_some_gpus_does_not_block_others(tmp_path: Path) -> None:
    holder = job(tmp_path, 1, 60, ["a"])
    assert holder.stdout is not None and holder.stdout.readline()
    waiting = job(tmp_path, 1, 0, ["a"])
    assert waiting.stderr is not None and waiting.stderr.readline()
    out, _ = job(tmp_path, 1, 0, ["b"]).communicate(timeout=30)
    assert out.split()[1] == "b"
    for process in (holder, waiting):
        process.kill()
        process.communicate()


def test_an_interrupted_wait_leaves_nothing_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = lease.lease(pool(["a"]), 1, tmp_path)

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(lease.time, "sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        lease.lease(pool(["a", "b"]), 2, tmp_path)
    assert [gpu.uuid for gpu in lease.lease(pool(["b"]), 1, tmp_path).gpus] == ["b"]
    held.release()
    assert lease.lease(pool(["a"]), 1, tmp_path).gpus[0].uuid == "a"


def test_more_than_there_are(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match=r"5 GPUs asked for, visible: 4"):
        lease.lease(pool(FOUR), 5, tmp_path)


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DeviceError, match="set GPUKIT_LOCK_DIR"):
        lease.lease(pool(["a"]), 1, tmp_path / "file" / "locks")


@pytest.mark.parametrize("after", [0, 1])
def test_a_folder_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """A network file system, at the gate or at a GPU."""
    calls = []

    def none(descriptor: int, how: int) -> None:
        calls.append(how)
        if len(calls) > after:
            raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with pytest.raises(DeviceError) as caught:
        lease.lease(pool(["a"]), 1, tmp_path)
    assert str(caught.value) == (
        f"the GPU locks in {tmp_path} cannot be held: No locks available; set GPUKIT_LOCK_DIR to a folder on a disk of "
        "this machine"
    )


def test_lock_files_in_a_shared_folder_serve_every_user(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        lease.lease(pool(["a"]), 1, tmp_path / "locks").release()
    finally:
        os.umask(old)
    assert (tmp_path / "locks").stat().st_mode & 0o7777 == 0o1777
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "locks").iterdir()} == {0o644}


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the place of the user's own folder, moved out of /tmp."""
    monkeypatch.delenv("GPUKIT_LOCK_DIR", raising=False)
    monkeypatch.setattr(lease, "Path", lambda name: tmp_path / Path(name).name)
    return tmp_path / f"gpukit-locks-{os.getuid()}"


def test_nobody_else_can_enter_the_folder_of_the_locks(own: Path) -> None:
    old = os.umask(0)
    try:
        lease.lease(pool(["a"]), 1).release()
    finally:
        os.umask(old)
    assert own.stat().st_mode & 0o7777 == 0o700
    lease.lease(pool(["a"]), 1).release()


@pytest.mark.parametrize("planted", ["symlink", "open to all", "file", "of another"])
def test_a_planted_folder_is_refused(own: Path, monkeypatch: pytest.MonkeyPatch, planted: str) -> None:
    if planted == "symlink":
        (own.parent / "elsewhere").mkdir(0o700)
        own.symlink_to(own.parent / "elsewhere")
    elif planted == "file":
        own.write_text("")
    else:
        own.mkdir(0o700)
        if planted == "open to all":
            own.chmod(0o1777)
        else:
            real = os.getuid()
            monkeypatch.setattr(lease.os, "getuid", lambda: real + 1)
            own.rename(own.parent / f"gpukit-locks-{real + 1}")
    with pytest.raises(DeviceError, match=r"cannot use the GPU lock .*GPUKIT_LOCK_DIR") as caught:
        lease.lease(pool(["a"]), 1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("planted", ["fifo", "symlink", "folder"])
@pytest.mark.parametrize("name", ["gpu-a.lock", "gate"])
def test_a_planted_lock_is_refused_at_once(tmp_path: Path, planted: str, name: str) -> None:
    lease.lease(pool(["a"]), 1, tmp_path).release()
    lock = next(path for path in tmp_path.iterdir() if path.name.startswith(name))
    lock.unlink()
    if planted == "fifo":
        os.mkfifo(lock)
    elif planted == "symlink":
        lock.symlink_to(tmp_path / "nowhere")
    else:
        lock.mkdir()
    waiting = job(tmp_path, 1, 0, ["a"])
    _, text = waiting.communicate(timeout=20)
    assert waiting.returncode == 1 and "DeviceError: cannot use the GPU lock" in text


def test_a_wait_for_a_held_lock_says_so_and_can_be_interrupted(tmp_path: Path) -> None:
    lease.lease(pool(["a"]), 1, tmp_path).release()
    with open(tmp_path / "gpu-a.lock") as shared:
        fcntl.flock(shared, fcntl.LOCK_SH)
        waiting = job(tmp_path, 1, 0, ["a"])
        assert waiting.stderr is not None
        assert waiting.stderr.readline() == f"waiting for 1 of 1 GPU, others hold their locks in {tmp_path}\n"
        behind = job(tmp_path, 1, 0, ["a"])  # waits at the gate
        assert behind.stderr is not None and "waiting" in behind.stderr.readline()
        for process in (behind, waiting):
            process.send_signal(signal.SIGINT)
            assert "KeyboardInterrupt" in process.communicate(timeout=20)[1]


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    for name in ("SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "NVIDIA_VISIBLE_DEVICES", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "before")
    monkeypatch.setenv("GPUKIT_LOCK_DIR", str(tmp_path / "locks"))
    return monkeypatch


def device(names: list[str], count: int) -> Device:
    gpus = pool(names)
    return Device("cuda", gpus[0].name, tuple(range(count)), 1, "asked for", 1, tuple(gpus))


def test_take_shows_cuda_just_the_leased_gpus(clean: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = lease.lease(pool(["a"]), 1, tmp_path / "locks")
    taken, held = lease.take(device(FOUR, 2))
    assert held is not None and [gpu.uuid for gpu in held.gpus] == ["b", "c"]
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-b,GPU-c"
    assert taken.gpus == (0, 1) and taken.memory == 1 << 31 and [gpu.uuid for gpu in taken.pool] == ["b", "c"]
    held.release()
    other.release()


def test_take_leaves_the_cpu_and_the_simulator_alone(clean: pytest.MonkeyPatch) -> None:
    for plain in (Device("cpu", "x", (), 1, ""), Device("cuda", "CUDA simulator", (0,), 1, "")):
        assert lease.take(plain) == (plain, None)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "before"


@pytest.mark.parametrize(
    ("environment", "visible", "locks"),
    [
        ({}, 1, True),
        ({"SLURM_JOB_GPUS": "3"}, 1, False),
        ({"SLURM_STEP_GPUS": "0,1"}, 1, False),
        ({"SLURM_JOB_GPUS": "0,1,2,3"}, 4, True),
        ({"NVIDIA_VISIBLE_DEVICES": "all", "KUBERNETES_SERVICE_HOST": "10.0.0.1"}, 1, True),
        ({"NVIDIA_VISIBLE_DEVICES": "GPU-a", "KUBERNETES_SERVICE_HOST": "10.0.0.1"}, 1, False),
        ({"NVIDIA_VISIBLE_DEVICES": "GPU-a"}, 1, True),
    ],
)
def test_no_locks_where_a_scheduler_assigned_the_gpus(
    clean: pytest.MonkeyPatch, environment: dict, visible: int, locks: bool
) -> None:
    for name, value in environment.items():
        clean.setenv(name, value)
    taken, held = lease.take(device(FOUR[:visible], 1))
    assert (held is not None) is locks and os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-a"
    assert json.loads(json.dumps(taken.record()))["gpus"] == [0]
    if held is not None:
        held.release()
