"""Memory budget: what the work needs against what is free, checked before it starts."""

import os
import resource
from collections.abc import Mapping
from pathlib import Path

from gpukit.device import cgroups
from gpukit.device.select import Device
from gpukit.errors import DeviceError

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def readable(size: float) -> str:
    """Return a size in bytes as text, such as ``1.5 GiB``."""
    unit = 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.0f} bytes" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"


def check_budget(needs: Mapping[str, int], free: int, where: str, advice: str) -> None:
    """Refuse work that does not fit.

    Parameters
    ----------
    needs : mapping of str to int
        Bytes by name of what takes them.
    free : int
        Bytes that are free.
    where : str
        The memory in words, such as ``NVIDIA H200``.
    advice : str
        What to do about it, such as ``raise --gpus``.

    Raises
    ------
    DeviceError
        If the needs add up to more than what is free; the line names both, the largest need first.
    """
    total = sum(needs.values())
    if total > free:
        parts = ", ".join(f"{name} {readable(size)}" for name, size in sorted(needs.items(), key=lambda item: -item[1]))
        raise DeviceError(
            f"the work needs {readable(total)} ({parts}), but {readable(free)} are free on {where}; {advice}"
        )


def free_bytes(device: Device) -> int:
    """Return the free memory of a device in bytes: of the fullest of its GPUs, or of this machine.

    On a GPU this makes the CUDA context, which takes up to 0.4 s.
    """
    if device.kind == "cpu":
        return host_free_bytes()
    from numba import cuda

    from gpukit.device.context import numba_on

    free = []
    for gpu in device.gpus:
        with numba_on(gpu):
            free.append(cuda.current_context().get_memory_info()[0])
    lowest = min(free)
    return int(lowest) if lowest < float("inf") else host_free_bytes()


def host_free_bytes(root: Path = Path("/")) -> int:
    """Return the memory this process can still take, in bytes.

    The least of what the kernel calls available, what the control groups leave, and what the limits of the process
    leave (``ulimit -v`` and ``ulimit -d``).

    Parameters
    ----------
    root : path
        Where ``proc`` and ``sys`` lie; another folder in tests.
    """
    free = [_kilobytes(root / "proc/meminfo", "MemAvailable") or _physical()]
    grouped = cgroups.free_memory(root)
    if grouped is not None:
        free.append(grouped)
    for limit, used in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY:
            free.append(max(0, most - (_kilobytes(root / "proc/self/status", used) or 0)))
    return min(free)


def _physical() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _kilobytes(path: Path, name: str) -> int | None:
    """Return, in bytes, what a line such as ``MemAvailable:  800 kB`` says, or None."""
    try:
        lines = path.read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
    except (OSError, StopIteration):
        return None
