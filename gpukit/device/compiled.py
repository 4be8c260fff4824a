"""Compiled functions, and when their compiled code is too old to be used.

Numba keeps compiled code on disk, and takes it for current as long as the file of the function is what it was. But code
of other files is inlined in it, and their constants are. Here the code counts as current as long as all sources are
what they were that can be in it: those of the function's room and of the rooms below, since systems do not import each
other.

What costs seconds of a first run: an array assigned to a slice, for which Numba compiles 37 functions that say what is
wrong with slices that do not fit (a loop over the elements needs none); and a second kind of one argument, as a row's
start that is int64 here and uint32 there. Two processes compile twice as fast as one (:func:`compile_concurrently`).
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
"""The rooms that others import."""

_log = logging.getLogger("gpukit")

NO_PLACE = (
    "there is no place to keep compiled code (neither the installation nor ~/.cache/numba can be written); set "
    "NUMBA_CACHE_DIR to a folder that can"
)

_kept: dict[Callable, bool] = {}
"""The functions that :func:`njit` compiles, and whether their code is kept on disk."""

_reported: list[str] = []
"""What a process compiled first."""

_concurrent: list[str] = []
"""What other processes shall call once this one compiles."""

_helpers: list[subprocess.Popen[bytes]] = []
"""Those that were started."""

_NULL = subprocess.DEVNULL

_PACKAGE = Path(__file__).parents[1]


@cache
def stamp(room: str) -> str:
    """Return a digest of the sources of a room of the package and of those below it.

    ``papers`` may import every room.
    """
    rooms = sorted({room, *BELOW}) if room != "papers" else ["."]
    return hashlib.sha256("".join(map(_stamp_alone, rooms)).encode()).hexdigest()


@cache
def _stamp_alone(room: str) -> str:
    """Return a digest of the sources of a room alone, which are read once a process."""
    digest = hashlib.sha256()
    for path in sorted((_PACKAGE / room).rglob("*.py")):
        digest.update(f"{path.relative_to(_PACKAGE)}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def compile_concurrently(function: str, first: Any) -> None:
    """Have another process call a function, ``module:name``, as soon as it is seen that something must be compiled.

    What the function calls is then compiled while this process does other work: Numba compiles one function at a time
    in a process. Nothing is started where the code is there.

    Parameters
    ----------
    function : str
        What to call.
    first : compiled function
        One that is compiled then. If no file has code of it the process starts at once, else when this one compiles.
    """
    _concurrent.append(function)
    place = Path(first.stats.cache_path or os.devnull)
    if not any(place.glob(f"*.{first.py_func.__name__}-*.nbi")):
        _start_helpers(_kept.get(first.py_func, False))


def _begin_to_compile(function: Callable) -> None:
    """Say, once in a process, that it compiles, and what first; and let another one help."""
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
    """Start the processes that were asked for, if there are processors, and code is kept where this one finds it."""
    while _concurrent and kept and numba.config.NUMBA_NUM_THREADS > 1:
        module, name = _concurrent.pop().split(":")
        command = [sys.executable, "-P", "-c", f"from {module} import {name}; {name}()"]
        with suppress(OSError):  # then this process does it all
            _helpers.append(subprocess.Popen(command, stdin=_NULL, stdout=_NULL, stderr=_NULL))


def _listen() -> None:
    """Have Numba call :func:`_begin_to_compile` before it compiles a function ("Event API" in its manual)."""
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            function = getattr(event.data.get("dispatcher"), "py_func", None)
            if function in _kept:
                _begin_to_compile(function)

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Listener())


with suppress(ImportError, AttributeError):  # Numba compiles all the same
    _listen()


def _room(function: Callable) -> str:
    """Return the room of the package that a function is in; an empty text for a function elsewhere."""
    path = Path(function.__code__.co_filename)
    return path.relative_to(_PACKAGE).parts[0] if path.is_relative_to(_PACKAGE) else ""


_private: Any = None
"""The module that uses private parts of Numba; None where its public interface must do."""


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
except Exception as error:  # of whatever a later version of Numba does
    _say_plain(error)


def _plain(function: Callable, options: dict[str, Any]) -> tuple[Any, bool]:
    """Return a function that Numba compiled by its public interface, and whether its code is kept."""
    folder = _folder(_room(function))
    if folder is not None:
        before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
        try:
            compiled = numba.njit(cache=True, **options)(function)
            if Path(compiled.stats.cache_path).is_relative_to(folder):
                return compiled, True
        except (AttributeError, RuntimeError):
            pass  # Numba finds no place, or says nothing of it
        finally:
            numba.config.CACHE_DIR = before
    return numba.njit(**options)(function), False


@cache
def _folder(room: str) -> Path | None:
    """Return where Numba keeps code of a room by its public interface; None if there is no place.

    To Numba code is current while the file of its function is what it was. So each state of the sources has a folder.
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
    """Check what the environment asks of Numba; raises UsageError."""
    if numba.config.DISABLE_JIT:
        raise UsageError(NO_JIT)
    asked = [name for name in ("NUMBA_THREADING_LAYER", "NUMBA_THREADING_LAYER_PRIORITY") if os.environ.get(name)]
    if asked:
        try:
            numba.get_num_threads()  # starts them
        except ValueError as error:
            said = " ".join(str(error).split()).rstrip(".")
            raise UsageError(f"{said}; change or unset {' and '.join(asked)}") from error


_check_environment()


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
    """Check that compiled code can be kept; raises InputError."""
    njit(check_place)
    if not _kept[check_place]:
        raise InputError(NO_PLACE)
