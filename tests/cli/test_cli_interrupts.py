"""Interrupts: whatever a command is doing, it ends at once, with its own exit code, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import gpukit

ROOT = Path(gpukit.__file__).parents[1]

STUCK = """
import ctypes
from gpukit.files import replacing

def stuck():
    with replacing("out"):
        print("ready", flush=True)
        mutex = ctypes.create_string_buffer(64)
        for _ in range(2):
            ctypes.CDLL(None).pthread_mutex_lock(mutex)
"""
RUN_STUCK = """
import sys
from gpukit.cli import app, interrupts
interrupts.GRACE_S = 0.2
app.COMMANDS += (("stuck", "stuck:stuck", "Never return to Python."),)
sys.argv[1:] = ["stuck"]
sys.exit(app.main())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_compiled_code_does_not_outlive_a_signal(tmp_path: Path, number: int) -> None:
    (tmp_path / "stuck.py").write_text(STUCK)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-c", RUN_STUCK]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None and run.stdout.readline() == "ready\n"
        run.send_signal(number)
        _, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (5, "gpukit: interrupted; nothing unfinished was left behind\n")
    assert sorted(path.name for path in tmp_path.iterdir()) in (["stuck.py"], ["__pycache__", "stuck.py"])


SWALLOWED = """
import ctypes, time, weakref
from pathlib import Path

def wait(*arguments):
    print("ready", flush=True)
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        pass
    return 0

class Held:
    def __del__(self):
        wait()

def ctypes_callback():
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    array = (ctypes.c_int * 2)(2, 1)
    ctypes.CDLL(None).qsort(array, 2, 4, kind(wait))

def deleted():
    Held()

def weak_reference():
    held = set()
    kept = weakref.ref(held, wait)
    del held

def caught():
    try:
        wait()
    except:
        pass

def lost():
    left = Path("unfinished")
    left.touch()
    try:
        HOW()
        time.sleep(60)
    finally:
        left.unlink()
"""
READY = """
class Ready:
    @staticmethod
    def sleep(seconds):
        print("ready", flush=True)
        time.sleep(seconds)
"""
RUN_LOST = RUN_STUCK.replace("stuck", "lost").replace("GRACE_S = 0.2", "GRACE_S = 30")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("how", ["ctypes_callback", "deleted", "weak_reference", "caught"])
def test_an_interrupt_that_python_throws_away_ends_the_run(tmp_path: Path, how: str, number: int) -> None:
    (tmp_path / "lost.py").write_text(SWALLOWED.replace("HOW", how))
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-c", RUN_LOST]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None and run.stdout.readline() == "ready\n"
        run.send_signal(number)
        _, err = run.communicate(timeout=20)
    assert (run.returncode, err) == (5, "gpukit: interrupted; nothing unfinished was left behind\n")
    assert not (tmp_path / "unfinished").exists()


def test_a_run_that_ends_with_a_lost_interrupt_does_not_end_well(tmp_path: Path) -> None:
    (tmp_path / "lost.py").write_text(SWALLOWED.replace("HOW", "caught").replace("time.sleep(60)", "pass"))
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-c", RUN_LOST]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None and run.stdout.readline() == "ready\n"
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=20)
    assert (run.returncode, err) == (5, "gpukit: interrupted; nothing unfinished was left behind\n")


def test_an_interrupt_within_eval_ends_a_module_with_5(tmp_path: Path) -> None:
    """CPython treats an interrupt that leaves `eval` as uncaught, and then ends `python -m` by SIGINT."""
    (tmp_path / "lost.py").write_text(SWALLOWED.replace("HOW()", "eval('time.sleep(60)', {'time': Ready})") + READY)
    (tmp_path / "run_lost.py").write_text(RUN_LOST)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "run_lost"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None and run.stdout.readline() == "ready\n"
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=20)
    assert (run.returncode, err) == (5, "gpukit: interrupted; nothing unfinished was left behind\n")


SLOW_TO_END = """
import atexit, time

class Late:
    def __del__(self, sleep=time.sleep):
        sleep(0.2)

late = Late()

def slow():
    atexit.register(time.sleep, 0.2)
    print("ready", flush=True)
    try:
        time.sleep(60)
    finally:
        time.sleep(0.2)
"""
RUN_SLOW = RUN_STUCK.replace("stuck", "slow").replace("GRACE_S = 0.2", "GRACE_S = 30")


@pytest.mark.parametrize("numbers", [[signal.SIGINT], [signal.SIGTERM], [signal.SIGTERM, signal.SIGINT]])
def test_further_signals_change_nothing(tmp_path: Path, numbers: list[int]) -> None:
    (tmp_path / "slow.py").write_text(SLOW_TO_END)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-c", RUN_SLOW]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None and run.stdout.readline() == "ready\n"
        while run.poll() is None:  # while it cleans up, says so, and Python ends
            for number in numbers:
                run.send_signal(number)
            time.sleep(0.005)
        _, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (5, "gpukit: interrupted; nothing unfinished was left behind\n")
