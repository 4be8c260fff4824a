"""Compiled functions, and when their compiled code is too old to be used.

Numba keeps compiled code on disk, and takes it for current as long as the file of the function is what it was. But code
of other files is inlined in it, and their constants are. Here the code counts as current as long as all sources are
what they were that can be in it: those of the function's room and of the rooms below, since systems do not import each
other.

What costs seconds of a first run: an array assigned to a slice, for which Numba compiles 37 functions that say what is
wrong with slices that do not fit (a loop over the elements needs none); and a second kind of one argument, as a row's
start that is int64 here and uint32 there. Two processes compile twice as fast as one (:func:`compile_beside`).
"""

import hashlib
import logging
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys

from gpukit.device.nested import Whole, nest
from gpukit.device.turn import Turn

BELOW = ("device", "evaluate", "graph", "worlds")
"""The rooms that others import."""

_log = logging.getLogger("gpukit")

_told: list[str] = []
"""What a process compiled first."""

_beside: list[str] = []
"""What other processes shall call once this one compiles."""

_helpers: list[subprocess.Popen[bytes]] = []
"""Those that were started."""

_NULL = subprocess.DEVNULL

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

    Of processes that need the same code one compiles it, and the others wait; each would also overwrite what the others
    note in the index of the function's files.
    """

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        self.turn = Turn(Path(self._cache_file._index_path).with_suffix(".lock"))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for a signature, or None: then it is this process's turn to compile it."""
        found = self._found(sig, target_context)
        if found is None:
            _begin_to_compile(self._py_func)
            self.turn.take()
            found = self._found(sig, target_context)
        if found is not None:
            self.turn.pass_on()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled."""
        super().save_overload(sig, data)
        self.turn.pass_on()

    def _found(self, sig: Any, target_context: Any) -> Any:
        # As Numba's own where anything is not as expected.
        try:
            rtsys.initialize(target_context)
            with _BlasLater():
                return self._load_overload(sig, target_context)
        except Exception:
            return super().load_overload(sig, target_context)


def compile_beside(function: str) -> None:
    """Have another process call a function, ``module:name``, as soon as this one finds that it must compile.

    What the function calls is then compiled while this process compiles other code: Numba compiles one function at a
    time in a process. Nothing is started where the code is there.
    """
    _beside.append(function)


def _begin_to_compile(function: Callable) -> None:
    """Say, once in a process, that it compiles, and what first; and let another one help."""
    if not _told:
        _told.append(f"{function.__module__}.{function.__name__}")
        _log.info(
            "compiling %s and what else this command needs: some seconds, once on this machine; `gpukit warm-up` "
            "does it for all commands", _told[0].removeprefix("gpukit."),
        )  # fmt: skip
    while _beside:
        module, name = _beside.pop().split(":")
        command = [sys.executable, "-P", "-c", f"from {module} import {name}; {name}()"]
        with suppress(OSError):  # then this process does it all
            _helpers.append(subprocess.Popen(command, stdin=_NULL, stdout=_NULL, stderr=_NULL))


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
    compiled = numba.njit(cache=True, nogil=True, no_cfunc_wrapper=True, pipeline_class=Whole, **options)(function)
    compiled._cache = _Cache(function)
    nest(compiled)
    return _stamped(compiled)
