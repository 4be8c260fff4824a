"""The choice between CPU and GPU, with a reason; no CUDA library is loaded into this process."""

import ctypes
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any

from gpukit import portable
from gpukit.device.cgroups import cpu_quota
from gpukit.errors import DeviceError, UsageError
from gpukit.wording import spelled

# Below this many vertex or edge visits the CPU finishes before a GPU program has started (about 1.2 s).
SMALL_WORK = 30_000_000
MAX_THREADS = 4096

NO_JIT = "NUMBA_DISABLE_JIT is set, and gpukit runs compiled code only; unset it"


@dataclass(frozen=True)
class Gpu:
    """One GPU that CUDA shows: its name, memory in bytes, compute capability, lock identity and visibility token.

    ``token`` is the value of CUDA_VISIBLE_DEVICES that shows only this GPU.
    """

    name: str
    memory: int
    capability: tuple[int, int]
    uuid: str
    token: str


@dataclass(frozen=True)
class Device:
    """The device on which the work runs.

    Attributes
    ----------
    kind : str
        ``cpu`` or ``cuda``.
    name : str
        Name of the processor or GPU.
    gpus : tuple of int
        CUDA device numbers to use, valid once the lease is taken; empty for the CPU.
    threads : int
        CPU threads, at least 1.
    reason : str
        Why this device was chosen.
    memory : int
        Memory of one GPU in bytes; 0 for the CPU.
    pool : tuple of Gpu
        The GPUs to lease from; empty for the CPU and in the simulator.
    """

    kind: str
    name: str
    gpus: tuple[int, ...]
    threads: int
    reason: str
    memory: int = 0
    pool: tuple[Gpu, ...] = field(default=(), repr=False)

    def record(self) -> dict:
        """Return the JSON form: kind, name, gpus, threads, reason."""
        names = ("kind", "name", "gpus", "threads", "reason")
        return {name: list(value) if isinstance(value := getattr(self, name), tuple) else value for name in names}


_SILENT = "the NVIDIA driver does not answer"


def simulated() -> bool:
    """Return whether numba's CUDA simulator is switched on."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


def for_kernels(function: Any) -> Any:
    """Return a compiled function in the form that kernels can call: unchanged, or its Python form in the simulator.

    This is needed for functions that take arrays; functions of numbers work in both. The functions of the same module
    that it calls are converted as well.
    """
    if not simulated():
        return function
    plain = function.py_func
    called = {name: plain.__globals__.get(name) for name in plain.__code__.co_names}
    inside = {
        name: for_kernels(one)
        for name, one in called.items()
        if hasattr(one, "py_func") and one.__module__ == plain.__module__
    }
    return FunctionType(plain.__code__, plain.__globals__ | inside)


@lru_cache(maxsize=1)
def look_for_gpus() -> "subprocess.Popen[bytes] | str":
    """Start a query of the driver for its GPUs, which takes tenths of a second; the caller can work meanwhile.

    Returns
    -------
    Popen or str
        The process that queries, or the reason why there is nothing to query. :func:`detect` waits for the answer.
    """
    if simulated():
        return "the CUDA simulator is on (NUMBA_ENABLE_CUDASIM)"
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no NVIDIA driver on this machine (libcuda.so.1 is not there)"
    command = [sys.executable, "-I", "-S", str(Path(__file__).with_name("probe.py"))]
    try:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        return _SILENT


@lru_cache(maxsize=1)
def detect() -> tuple[tuple[Gpu, ...], str]:
    """Return the GPUs that CUDA shows this process, in CUDA's order, and the reason if there are none.

    Honours CUDA_VISIBLE_DEVICES. Starts a process if there is a driver. In the simulator there are none.
    """
    asking = look_for_gpus()
    if isinstance(asking, str):
        return (), asking
    try:
        answer = json.loads(asking.communicate(timeout=60)[0])
    except (subprocess.TimeoutExpired, ValueError):
        asking.kill()
        asking.wait()
        return (), _SILENT
    shown = os.environ.get("CUDA_VISIBLE_DEVICES")
    hint = "" if shown is None else f"; CUDA_VISIBLE_DEVICES is {shown!r}"
    if "error" in answer:
        return (), answer["error"] + hint
    # CUDA shows the devices in the order of this list, up to the first unknown entry.
    tokens = [entry.strip() for entry in shown.split(",")] if shown is not None else []
    gpus = tuple(
        Gpu(
            one["name"],
            one["memory"],
            (one["capability"][0], one["capability"][1]),
            one["uuid"],
            tokens[index] if tokens else f"GPU-{one['uuid']}",
        )
        for index, one in enumerate(answer["devices"])
    )
    return gpus, "" if gpus else f"no NVIDIA GPU is visible{hint}"


def package_problem() -> str:
    """Return the reason why the installed packages cannot run CUDA kernels, or an empty string."""
    try:
        importlib.metadata.version("cuda-bindings")
    except importlib.metadata.PackageNotFoundError:
        return "cuda-bindings is not installed (install gpukit[cuda13] or gpukit[cuda12])"
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed (install gpukit[cuda13] or gpukit[cuda12])"
    return ""


def available_threads(root: Path = Path("/")) -> int:
    """Return the number of CPUs that this process may use: its affinity, within the quotas of its control groups.

    Parameters
    ----------
    root : path
        Folder with ``proc`` and ``sys``; another one in tests.
    """
    count = portable.processors()
    return min(count, cpu_quota(root) or count)


def check_requested(requested: str) -> None:
    """Check the name of a device; raises UsageError."""
    if requested not in ("auto", "cpu", "cuda"):
        raise UsageError(f"device {requested!r} is unknown; auto, cpu and cuda are allowed")


def choose(requested: str = "auto", gpus: int = 1, threads: int | None = None, *, work: float | None = None) -> Device:
    """Choose the device to run on.

    Parameters
    ----------
    requested : str
        ``auto``, ``cpu`` or ``cuda``.
    gpus : int
        Number of GPUs, at least 0; with 0, ``auto`` takes the CPU.
    threads : int, optional
        CPU threads in [1, 4096]; by default all that this process may use.
    work : float, optional
        Estimated number of vertex and edge visits. ``auto`` leaves small work to the CPU, which finishes before a GPU
        program has started.

    Returns
    -------
    Device
        A GPU device is not yet leased; see :mod:`gpukit.device.lease`.

    Raises
    ------
    UsageError
        If a number is out of range.
    DeviceError
        If ``cuda`` is requested and there are no GPUs, or too few.
    """
    check_requested(requested)
    if threads is not None and not 1 <= threads <= MAX_THREADS:
        raise UsageError(f"{spelled('threads')} is {threads}; 1 to {MAX_THREADS} are allowed")
    if gpus < 0 or (gpus == 0 and requested == "cuda"):
        raise UsageError(f"{spelled('gpus')} is {gpus}; at least 1 is needed for cuda (0 with auto means the CPU)")
    threads = threads or available_threads()
    if requested == "cpu":
        return Device("cpu", cpu_name(), (), threads, "asked for")
    if requested == "cuda" and simulated():
        return Device("cuda", "CUDA simulator", (0,), threads, "asked for; the simulator is on")
    if requested == "auto":
        if gpus == 0:
            return Device("cpu", cpu_name(), (), threads, f"auto: {spelled('gpus')} is 0")
        if work is not None and work < SMALL_WORK:
            asking = look_for_gpus()
            reason = asking if isinstance(asking, str) else "the work is too small for a GPU to pay off"
            return Device("cpu", cpu_name(), (), threads, f"auto: {reason}")
    found, problem = detect()
    problem = problem or package_problem()
    if not problem and len(found) < gpus:
        problem = f"{gpus:,} GPUs are asked for, visible: {len(found)}"
    if problem:
        if requested == "cuda":
            raise DeviceError(
                f"cannot use a GPU: {problem}; use {spelled('device', 'cpu')} or auto, or see `gpukit doctor`"
            )
        return Device("cpu", cpu_name(), (), threads, f"auto: {problem}")
    reason = "asked for" if requested == "cuda" else f"auto: {_count(found)}"
    memory = min(gpu.memory for gpu in found)
    return Device("cuda", found[0].name, tuple(range(gpus)), threads, reason, memory, found)


def _count(found: Sequence[Gpu]) -> str:
    return "a GPU is here" if len(found) == 1 else f"{len(found)} GPUs are here"


def cpu_name() -> str:
    """Return the model name of the processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return portable.machine()[1]
