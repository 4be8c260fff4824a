"""Compiled functions, and when their cached code is out of date.

Numba caches compiled code on disk and treats it as current as long as the file of the function is unchanged. But that
code contains inlined code, and constants, of other files. Here, cached code is current only as long as all sources that
it can contain are unchanged: those of the function's room and of the rooms below, since systems do not import each
other.

Two things cost seconds in a first run. One is the assignment of an array to a slice: Numba compiles 37 functions for
the error messages on unequal lengths (a loop over the elements needs none). The other is a second type for the same
argument, such as a row's start that is int64 in one call and uint32 in another. Two processes compile twice as fast as
one (:func:`compile_concurrently`).
"""

import hashlib
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numba

from gpukit.device.select import NO_JIT
from gpukit.errors import InputError, UsageError

BELOW = ("device", "evaluate", "graph", "worlds")
"""The rooms that other rooms import."""

_log = logging.getLogger("gpukit")

NO_PLACE = (
    "there is no place to keep compiled code (neither the installation nor ~/.cache/numba can be written); set "
    "NUMBA_CACHE_DIR to a folder that can"
)

_kept: dict[Callable, bool] = {}
"""The functions that :func:`njit` compiles, and whether their code is cached on disk."""

_reported: list[str] = []
"""The first function that this process compiled."""

_concurrent: list[str] = []
"""Functions that other processes will call once this process compiles."""

_helpers: list[subprocess.Popen[bytes]] = []
"""The processes that were started for this."""

_NULL = subprocess.DEVNULL

_PACKAGE = Path(__file__).parents[1]


@cache
def stamp(room: str) -> str:
    """Return a digest of the sources of a room of the package and of the rooms below it.

    ``papers`` may import every room.
    """
    rooms = sorted({room, *BELOW}) if room != "papers" else ["."]
    return hashlib.sha256("".join(map(_stamp_alone, rooms)).encode()).hexdigest()


@cache
def _stamp_alone(room: str) -> str:
    """Return a digest of the sources of one room, read once per process."""
    digest = hashlib.sha256()
    for path in sorted((_PACKAGE / room).rglob("*.py")):
        digest.update(f"{path.relative_to(_PACKAGE)}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def compile_concurrently(function: str, first: Any) -> None:
    """Make another process call a function, ``module:name``, as soon as something has to be compiled.

    The functions that it calls are then compiled while this process does other work: Numba compiles one function at a
    time in a process. Nothing is started if the code is cached.

    Parameters
    ----------
    function : str
        The function to call.
    first : compiled function
        One of the functions that are compiled then. If it has no cached code, the process starts at once, otherwise
        when this process compiles.
    """
    _concurrent.append(function)
    place = Path(first.stats.cache_path or os.devnull)
    if not any(place.glob(f"*.{first.py_func.__name__}-*.nbi")):
        _start_helpers(_kept.get(first.py_func, False))


def _begin_to_compile(function: Callable) -> None:
    """Log the first function that this process compiles, once; start the processes that compile concurrently."""
    kept = _kept.get(function, True)
    if not _reported:
        _reported.append(f"{function.__module__}.{function.__name__}")
        _log.info(
            "compiling %s and what else this command needs: some seconds, %s", _reported[0].removeprefix("gpukit."),
            "once on this machine; `gpukit warm-up` does it for all commands" if kept else
            f"in every process, since {NO_PLACE}",
        )  # fmt: skip
    _start_helpers(kept)


def _start_helpers(kept: bool) -> None:
    """Start the requested processes, if there are processors, and if code is cached where this process finds it."""
    while _concurrent and kept and numba.config.NUMBA_NUM_THREADS > 1:
        module, name = _concurrent.pop().split(":")
        command = [sys.executable, "-P", "-c", f"from {module} import {name}; {name}()"]
        with suppress(OSError):  # on failure, this process does all the work
            _helpers.append(subprocess.Popen(command, stdin=_NULL, stdout=_NULL, stderr=_NULL))


def _listen() -> None:
    """Make Numba call :func:`_begin_to_compile` before it compiles a function ("Event API" in its manual)."""
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            function = getattr(event.data.get("dispatcher"), "py_func", None)
            if function in _kept:
                _begin_to_compile(function)

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Listener())


with suppress(ImportError, AttributeError):  # without the listener, Numba compiles as well
    _listen()


def _room(function: Callable) -> str:
    """Return the room of the package that contains a function; an empty string for a function elsewhere."""
    path = Path(function.__code__.co_filename)
    return path.relative_to(_PACKAGE).parts[0] if path.is_relative_to(_PACKAGE) else ""


_private: Any = None
"""The module that uses private parts of Numba; None if the public interface is used."""


def _say_plain(reason: object) -> None:
    _log.debug("Numba %s compiles in its own way, which takes more time: %s", numba.__version__, reason)


def _go_without(error: Exception) -> None:
    """Use Numba's public interface from now on."""
    global _private
    if _private is not None:
        _private = None
        _say_plain(error)


try:
    if os.environ.get("GPUKIT_PLAIN_NUMBA", "0") not in ("", "0"):
        raise ImportError("GPUKIT_PLAIN_NUMBA is set")
    _private = import_module("gpukit.device.numba_private")
except Exception as error:  # any error that a later version of Numba may raise
    _say_plain(error)


def _plain(function: Callable, options: dict[str, Any]) -> tuple[Any, bool]:
    """Return a function compiled through Numba's public interface, and whether its code is cached."""
    folder = _folder(_room(function))
    if folder is not None:
        before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
        try:
            compiled = numba.njit(cache=True, **options)(function)
            if Path(compiled.stats.cache_path).is_relative_to(folder):
                return compiled, True
        except (AttributeError, RuntimeError):
            pass  # Numba finds no folder, or does not report it
        finally:
            numba.config.CACHE_DIR = before
    return numba.njit(**options)(function), False


@cache
def _folder(room: str) -> Path | None:
    """Return the folder where Numba caches code of a room through its public interface; None if there is none.

    Numba treats code as current while the file of its function is unchanged. So each state of the sources has its own
    folder.
    """
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    for place in filter(None, (numba.config.CACHE_DIR, _PACKAGE / "__pycache__", f"{caches}/numba")):
        with suppress(OSError, RuntimeError):
            folder = Path(place).expanduser() / f"gpukit-{room}-{stamp(room)[:16]}"
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            return folder
    return None


def _check_environment() -> None:
    """Check the settings for Numba in the environment; raises UsageError."""
    if numba.config.DISABLE_JIT:
        raise UsageError(NO_JIT)
    asked = [name for name in ("NUMBA_THREADING_LAYER", "NUMBA_THREADING_LAYER_PRIORITY") if os.environ.get(name)]
    if asked:
        try:
            numba.get_num_threads()  # starts the threads
        except ValueError as error:
            said = " ".join(str(error).split()).rstrip(".")
            raise UsageError(f"{said}; change or unset {' and '.join(asked)}") from error


_check_environment()


def njit(function: Callable | None = None, /, **options: Any) -> Any:
    """Compile a function for the CPU: ``numba.njit``, cached, and without the global interpreter lock.

    Parameters
    ----------
    function : callable
        The decorated function, if there are no options.
    **options
        Options of ``numba.njit``.
    """
    if function is None:
        return lambda one: njit(one, **options)
    options["nogil"] = True
    if _private is not None:
        room = _room(function)
        try:
            compiled, _kept[function] = _private.njit(function, room and stamp(room), _go_without, options)
            return compiled
        except Exception as error:
            _go_without(error)
    compiled, _kept[function] = _plain(function, options)
    return compiled


def check_place() -> None:
    """Check that compiled code can be cached; raises InputError."""
    njit(check_place)
    if not _kept[check_place]:
        raise InputError(NO_PLACE)
