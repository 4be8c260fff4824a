"""The fuzzer of HDF5 artifacts of every kind; child processes read damaged ones, because the C library may crash."""

import itertools
import os
import resource
import shutil
import signal
import time
import traceback
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

from fault import damage
from fault.commands import commands, provide, write_sources
from fault.judge import run_undisturbed

KINDS = (
    "G.h5",
    "W.h5",
    "T.h5",
    "gim.h5",
    "rr-0.h5",
    "rank.h5",
    "irw.h5",
    "updatable.h5",
    "near.h5",
    "start.h5",
    "merit.h5",
    "circles.h5",
    "index.h5",
    "egos.h5",
    "spread.h5",
)
"""Files that the harness's commands write: one or two of each kind of artifact."""
MEMORY = 1 << 30
LIMIT_S = 30
SOUND, REFUSED = 0, 3


def make(folder: Path) -> None:
    """Write the undamaged artifacts into a folder."""
    write_sources(folder)
    wanted = set(KINDS)
    order = []
    for command in reversed(commands()):
        if wanted & {command.out, command.kept} and command.out not in command.inputs:
            order.append(command)
            wanted.update(command.inputs)
    for command in reversed(order):
        trial = folder / "trial"
        trial.mkdir()
        provide(command, folder, trial)
        done = run_undisturbed(list(command.words), trial)
        assert done.code == 0, f"{command.words}: {done.err.decode()}"
        shutil.copyfile(trial / str(command.out), folder / str(command.out))
        if command.kept:
            (folder / command.kept).write_bytes(done.out)
        shutil.rmtree(trial)


def artifacts(folder: Path) -> tuple[Any, Any]:
    """Return the fuzzer; an example has the name of an artifact, kinds of damage, and a seed of their draws."""
    pool, trial = folder / "pool", folder / "trial"
    pool.mkdir()
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    make(pool)
    for name, way in itertools.product(KINDS, ("verify", "read")):  # where nothing is compiled yet, that takes long
        assert _read_in_child(pool / name, way, 20 * LIMIT_S)[0] == SOUND
    kinds = (*damage.ANY, damage.lie, damage.lie, damage.lie, damage.disguise)
    strategy = st.tuples(
        st.sampled_from(KINDS), st.lists(st.sampled_from(kinds), min_size=1, max_size=2), st.integers(0, 2**32)
    )

    def check(example: tuple[str, list[Any], int]) -> None:
        name, changes, key = example
        shutil.rmtree(trial, ignore_errors=True)
        trial.mkdir()
        path = trial / name
        shutil.copyfile(pool / name, path)
        draw, said = Random(key), []
        for change in changes:
            try:
                # It reads the file, and on some broken heaps the HDF5 library never ends.
                if change not in damage.ANY and _read_in_child(path, "hdf5")[0] < 0:
                    break
                said.append(change(path, draw))
            except Exception:  # the damage before left nothing to rewrite
                break
            if change is damage.disguise:  # another change would read, here, what this one unpacks to
                break
        judge(path, f"{name}: {'; '.join(said)}")

    return strategy, check


def judge(path: Path, story: str) -> None:
    """Read a file as ``gpukit verify`` and as commands do; both must refuse it with one line, or both accept it.

    Only ``verify`` may refuse a Binsparse descriptor, which commands do not read.
    """
    if _read_in_child(path, "hdf5")[0] < 0:  # the HDF5 library itself never ends or crashes
        return
    full, text, memory = _read_in_child(path, "verify")
    quick, other, _ = _read_in_child(path, "read")
    assert memory < MEMORY, f"{story}: verify took {memory >> 20} MiB"
    assert full in (SOUND, REFUSED), f"{story}: verify: {_ended(full)}: {text}"
    assert quick in (SOUND, REFUSED), f"{story}: reading: {_ended(quick)}: {other}"
    assert "\n" not in text + other, f"{story}: more than a line: {text} {other}"
    # Descriptors are for other programs: gpukit looks at them only where it is asked whether all is right.
    alike = quick == full or (quick == SOUND and "the Binsparse descriptor of group" in text)
    assert alike, f"{story}: verify: {text or 'sound'}; reading: {other or 'sound'}"


def _ended(code: int) -> str:
    return f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"


def _read_in_child(path: Path, way: str, limit_s: float = LIMIT_S) -> tuple[int, str, int]:
    """Read a file in a fork; return its exit code (negative: a signal), its line, and its memory in bytes."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            signal.alarm(0)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            code = _read(path, way, into)
        except BaseException:
            os.write(into, "".join(traceback.format_exc().splitlines()[-1:]).encode()[:4000] + b"\n")
        finally:
            os._exit(code)
    os.close(into)
    end = time.monotonic() + limit_s
    while True:
        pid, status, used = os.wait4(child, os.WNOHANG)
        if pid:
            break
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.001)
    with open(out, errors="replace") as stream:
        return os.waitstatus_to_exitcode(status), stream.read(), used.ru_maxrss << 10


def _read(path: Path, way: str, into: int) -> int:
    """Read a file as ``gpukit verify`` does, as commands do, or its attributes by the HDF5 library alone."""
    import h5py

    if way == "hdf5":
        with suppress(Exception), h5py.File(path) as file:
            dict(file.attrs)
        return SOUND
    from gpukit.artifacts import read_graph_file, store
    from gpukit.artifacts.verify import verify
    from gpukit.errors import InputError

    try:
        if way == "verify":
            verify(path)
        elif store.read_header(path).kind == "graph":
            read_graph_file(path, tables=True)
        else:
            store.read(path)
    except InputError as error:
        os.write(into, str(error).encode(errors="replace")[:4000])
        return REFUSED
    return SOUND
