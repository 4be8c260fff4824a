"""Memory budget: the needs of the work are compared with the free memory before it starts."""

from collections.abc import Mapping
from pathlib import Path

from gpukit.device import cgroups
from gpukit.device.select import Device, simulated
from gpukit.errors import DeviceError
from gpukit.portable import physical_memory, resource
from gpukit.wording import counted, spelled

UNASKED = 1 << 28
"""Bytes that are taken on this machine without a check of the free memory, which takes a millisecond."""

START_BYTES, THREAD_BYTES = 256 << 20, 1 << 20
"""Memory of a command with compiled code in addition to its data, and per thread (measured: 180 to 315 MB)."""

SLACK = 1 << 30
"""Margin of :func:`limit_data` above the free memory, for memory that is reserved but not used."""

gpu_limit: list[int] = []
"""Last value given to :func:`gpukit.device.arrays.limit_memory`, if any; stored here, where no GPU library is
loaded."""

_before: list[int] = []
"""Limits of the data, in bytes, before :func:`limit_data` changed them."""

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
_LIMITS = (
    ("RLIMIT_AS", "VmSize", "ulimit -v", 192 << 20, 768 << 20, 144 << 20),
    ("RLIMIT_DATA", "VmData", "ulimit -d", 96 << 20, 320 << 20, 16 << 20),
)
"""Limits of a process: the line of ``/proc/self/status`` that counts, the shell command, and the use by a command in
addition to its data: without compiled code, with it, and per thread. A thread reserves stacks and heaps for OpenMP and
Python (measured with two threads: 205 and 600 to 940 MB, 82 and 160 to 330 MB)."""


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
        Bytes by name of the consumer.
    free : int
        Bytes that are free.
    where : str
        Name of the memory, such as ``NVIDIA H200``.
    advice : str
        Advice to the user, such as ``raise --gpus``.

    Raises
    ------
    DeviceError
        If the needs add up to more than the free memory; the message names both, the largest need first.
    """
    total = sum(needs.values())
    if total > free:
        parts = ", ".join(f"{name} {readable(size)}" for name, size in sorted(needs.items(), key=lambda item: -item[1]))
        raise DeviceError(
            f"the work needs {readable(total)} ({parts}), but {readable(free)} are free on {where}; {advice}"
        )


def check_host(needs: Mapping[str, int], advice: str) -> None:
    """Refuse work that does not fit into the memory of this machine (:func:`check_budget`)."""
    if sum(needs.values()) > UNASKED:
        check_budget(needs, host_free_bytes(), "this machine", advice)


def check_start(threads: int = 0) -> None:
    """Refuse to start if there is too little memory: libraries would end the process without a proper error.

    LLVM aborts, and libgomp and OpenBLAS exit or wait for ever, if they get no memory. Nothing can catch this.

    Parameters
    ----------
    threads : int
        Threads of compiled code; 0 for a command without compiled code.

    Raises
    ------
    DeviceError
        If the memory, or the rest of the limits ``ulimit -v`` and ``ulimit -d``, is too small.
    """
    what = f"compiled code on {counted(threads, 'thread')}" if threads else "a command"
    for limit, used, command, bare, compiled, thread in _LIMITS:
        left = _left(limit, used)
        if left is not None:
            need = compiled + threads * thread if threads else bare
            advice = f"raise `{command}`" + (f" or lower {spelled('threads')}" if threads > 1 else "")
            check_budget({what: need}, left, f"this machine within `{command}`", advice)
    if threads:
        advice = "use a machine or a job with more memory"
        check_budget({what: START_BYTES + threads * THREAD_BYTES}, host_free_bytes(), "this machine", advice)


def limit_data(threads: int) -> None:
    """Make allocations fail beyond the memory of this machine; otherwise the system kills this or another process.

    Work of predicted size is refused before it starts, with a specific message (:func:`check_host`); this is for the
    rest. It is not for GPU programs, which reserve far more than they use.
    """
    held = _bytes_of(Path("/proc/self/status"), "VmData")
    if held is not None and resource is not None:
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = held + host_free_bytes() + SLACK + threads * _LIMITS[1][-1]
        if soft == resource.RLIM_INFINITY or limit < soft:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
            _before.append(soft)


def unlimit_data() -> None:
    """Undo :func:`limit_data`, for a process that continues with a GPU."""
    if _before:
        resource.setrlimit(resource.RLIMIT_DATA, (_before[0], resource.getrlimit(resource.RLIMIT_DATA)[1]))
        _before.clear()


def free_bytes(device: Device) -> int:
    """Return the free memory of a device in bytes: of the GPU with the least, or of this machine.

    On a GPU this creates the CUDA context, which takes up to 0.4 s.
    """
    if device.kind == "cpu":
        return host_free_bytes()
    if simulated():
        return host_free_bytes()
    import cupy

    free = []
    for gpu in device.gpus:
        with cupy.cuda.Device(gpu):
            free.append(int(cupy.cuda.runtime.memGetInfo()[0]))
    return min(free)


def host_free_bytes(root: Path = Path("/")) -> int:
    """Return the memory that this process can still take, in bytes.

    It is the least of three values: the memory that the kernel calls available, the rest of the control groups' limits,
    and the rest of the process's limits (``ulimit -v`` and ``ulimit -d``).

    Parameters
    ----------
    root : path
        Folder with ``proc`` and ``sys``; another one in tests.
    """
    free = [_bytes_of(root / "proc/meminfo", "MemAvailable") or physical_memory(), cgroups.free_memory(root)]
    free += [_left(limit, used, root) for limit, used, *_ in _LIMITS]
    return min(one for one in free if one is not None)


def _left(limit: str, used: str, root: Path = Path("/")) -> int | None:
    """Return the bytes left of a limit of the process, or None if there is none."""
    soft = None if resource is None else resource.getrlimit(getattr(resource, limit))[0]
    if soft is None or soft == resource.RLIM_INFINITY:
        return None
    return max(0, soft - (_bytes_of(root / "proc/self/status", used) or 0))


def _bytes_of(path: Path, name: str) -> int | None:
    """Return the number of bytes in a line such as ``MemAvailable:  800 kB``, or None."""
    try:
        lines = path.read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
    except (OSError, StopIteration):
        return None
