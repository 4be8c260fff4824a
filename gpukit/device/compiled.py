"""Compiled functions, and when their compiled code is too old to be used.

Numba keeps compiled code on disk, and takes it for current as long as the file of the function is what it was. But code
of other files is inlined in it, and their constants are. Here the code counts as current as long as all sources are
what they were that can be in it: those of the function's room and of the rooms below, since systems do not import each
other.
"""

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys

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


class _BlasLater:
    """While this is entered, Numba's question whether SciPy has a BLAS is answered, but not by importing it.

    Numba asks when a module of its own is imported, and imports ``scipy.linalg`` for it. No compiled code of gpukit
    uses a BLAS; for code that does Numba asks again when it compiles it.
    """

    name = "scipy.linalg.cython_blas"

    def __enter__(self) -> None:
        self.placeholder = ModuleType(self.name)
        sys.modules.setdefault(self.name, self.placeholder)

    def __exit__(self, *failure: object) -> None:
        if sys.modules.get(self.name) is self.placeholder:
            del sys.modules[self.name]


class _Cache(FunctionCache):
    """Numba's cache of a function, which loads compiled code without what only a compiler needs.

    Numba tells its compiler of all of NumPy and Python before it looks whether there is anything to compile: half of
    the time of a short command, in which SciPy's linear algebra is imported, too. Compiled code needs the allocator
    alone (and more where it hashes strings, which none does here). What is compiled later asks for the rest itself.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for a signature, or None; as Numba does where anything is not as expected."""
        try:
            rtsys.initialize(target_context)
            with _BlasLater():
                return self._load_overload(sig, target_context)
        except Exception:
            return super().load_overload(sig, target_context)


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
    compiled = numba.njit(cache=True, nogil=True, **options)(function)
    compiled._cache = _Cache(function)
    return _stamped(compiled)


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
