"""Measurements of the machine in a benchmark: memory bandwidth, memory in use, and times of calls."""

import ast
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from gpukit.device.select import Device, simulated
from gpukit.device.timing import PhaseTimer, marker, synchroniser

COPY_BYTES = 1 << 30


ROOMS = {
    "gim": ("worlds",),
    "imgpu": ("imgpu", "worlds"),
    "kpar": ("kpar",),
    "merit": ("merit", "worlds"),
    "diversity": ("diversity",),
}
"""Rooms of the package whose kernels each system runs."""


@contextmanager
def profiled(device: Device) -> Iterator[None]:
    """Profile the ``with`` body in a profiler that starts on request, such as ``ncu --profile-from-start off``.

    Without a profiler, and on the CPU, this does nothing.
    """
    if device.kind == "cpu" or simulated():
        yield
        return
    from gpukit.device.arrays import xp

    xp.cuda.runtime.profilerStart()
    try:
        yield
    finally:
        xp.cuda.runtime.profilerStop()


def kernels_of(room: str) -> str:
    """Return a digest of everything that the code of a room's kernels can contain, without compiling them.

    Comments and docstrings do not count.
    """
    from gpukit.device.build import modules, signatures_of
    from gpukit.device.store import key_of

    names = [name for name in modules() if name.startswith(f"gpukit.{room}.")]
    keys = sorted(key_of(signature, _code_of) for name in names for signature in signatures_of(name))
    return hashlib.sha256("\n".join(keys).encode()).hexdigest()[:16]


@cache
def _code_of(path: str) -> str:
    """Return a file's syntax tree as text, without docstrings and other statements that are only a text."""
    tree = ast.parse(Path(path).read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [
                one for one in node.body if not isinstance(one, ast.Expr) or not isinstance(one.value, ast.Constant)
            ]
    return _text_of(tree)


def _text_of(node: object) -> str:
    """Return a syntax tree as text that is the same in all versions of Python: `ast.dump` is not."""
    if isinstance(node, list):
        return f"[{', '.join(map(_text_of, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [f"{name}={_text_of(value)}" for name, value in ast.iter_fields(node) if value not in (None, [])]
    return f"{type(node).__name__}({', '.join(fields)})"


def copy_bandwidth(device: Device) -> float:
    """Return the bytes per second that a large copy reads and writes on the device."""
    if device.kind == "cpu":
        source = np.ones(COPY_BYTES // 8, np.int64)
        target = np.empty_like(source)
        best = min(timed(lambda: np.copyto(target, source))[0] for _ in range(3))
    else:
        from gpukit.device.arrays import Buffer, copy

        sync = synchroniser(device)
        first, second = Buffer(COPY_BYTES, np.uint8, 1), Buffer(COPY_BYTES, np.uint8, 0)

        def run() -> None:
            copy(second.array, first.array)
            sync()

        best = min(timed(run)[0] for _ in range(5))
    return 2 * COPY_BYTES / best


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of a call, and its result; to time a GPU, the call must wait for it."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def timed_phases(
    run: Callable[[PhaseTimer], Any], device: Device, repeat: int, phases: Sequence[str], *, with_memory: bool = False
) -> tuple[dict[str, Any], Any]:
    """Call once to warm up, and ``repeat`` times to measure.

    Parameters
    ----------
    run : callable
        Does the work, with a timer for its phases.
    device : Device
    repeat : int
        At least 1.
    phases : sequence of str
        The phases of the algorithm itself; a call may lack one.
    with_memory : bool
        Whether the host may continue before the GPU has finished the work of a phase in its current stream; the phase
        lasts until the GPU has finished.

    Returns
    -------
    record : dict
        ``algorithm_ms``: these phases together, see :func:`extent`; ``phases_ms``: the median of each phase;
        ``cold_ms``: the first call, including the loading of kernels, and their compilation if they were not cached;
        ``repeat``.
    result
        The result of the last call.
    """
    cold, _ = timed(lambda: run(PhaseTimer(synchroniser(device))))
    # Each call has its own timer: phases are compared call by call.
    spent = []
    for _ in range(repeat):
        timer = PhaseTimer(synchroniser(device), marker(device) if with_memory else None)
        result = run(timer)
        spent.append({name: 1e3 * seconds for name, seconds in timer.seconds().items()})
    record = {
        "algorithm_ms": extent([sum(one.get(phase, 0.0) for phase in phases) for one in spent]),
        "phases_ms": {name: median(one[name] for one in spent) for name in spent[0]},
        "cold_ms": 1e3 * cold,
        "repeat": repeat,
    }
    return record, result


def extent(values: Sequence[float]) -> dict[str, float]:
    """Return the entries of a record for repeated times: ``median``, ``min`` and ``max``."""
    return {"median": median(values), "min": min(values), "max": max(values)}


def peak_memory(device: Device) -> int:
    """Return the most bytes held so far: on the GPU by the array pool, on the CPU by the process."""
    if device.kind == "cpu":
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    from gpukit.device.arrays import xp

    return int(xp.get_default_memory_pool().total_bytes())
