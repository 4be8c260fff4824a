"""Compiled functions, and when their compiled code is too old to be used.

Numba keeps compiled code on disk, and takes it for current as long as the file of the function is what it was. But code
of other files is inlined in it, and their constants are. Here the code counts as current as long as all sources are
what they were that can be in it: those of the function's room and of the rooms below, since systems do not import each
other.
"""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

from gpukit.device.select import simulated

BELOW = ("device", "evaluate", "graph", "worlds")
"""The rooms that others import."""

_PACKAGE = Path(__file__).parents[1]


@cache
def stamp(room: str) -> str:
    """Return a digest of the sources of a room of the package and of those below it.

    Costs the reading of about 80 files, once a process.
    """
    digest = hashlib.sha256()
    for name in sorted({room, *BELOW}):
        for path in sorted((_PACKAGE / name).rglob("*.py")):
            digest.update(f"{path.relative_to(_PACKAGE)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _stamped(compiled: Any) -> Any:
    """Give the cache of a compiled function the stamp of its room, in place of that of its file."""
    path = Path(compiled.py_func.__code__.co_filename)
    if path.is_relative_to(_PACKAGE):
        # Numba has no public way: its locators of files are chosen by the environment, for all packages at once.
        compiled._cache._cache_file._source_stamp = stamp(path.relative_to(_PACKAGE).parts[0])
    return compiled


def njit(function: Callable | None = None, /, **options: Any) -> Any:
    """Compile a function for the CPU: ``numba.njit``, cached, and without the interpreter's lock.

    Parameters
    ----------
    function : callable
        What is decorated, where there are no options.
    **options
        Those of ``numba.njit``.
    """
    if function is None:
        return lambda one: njit(one, **options)
    return _stamped(numba.njit(cache=True, nogil=True, **options)(function))


def kernel(function: Callable | None = None, /, **options: Any) -> Any:
    """Compile a kernel for GPUs: ``cuda.jit``, cached.

    Parameters
    ----------
    function : callable
        What is decorated, where there are no options.
    **options
        Those of ``cuda.jit``; ``max_registers`` caps the registers of a thread.
    """
    from numba import cuda

    if function is None:
        return lambda one: kernel(one, **options)
    if simulated():
        return cuda.jit(function)
    return _stamped(cuda.jit(cache=True, **options)(function))
