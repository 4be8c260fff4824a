"""Checks of input files that run concurrently with the work. No answer is printed or stored before all have ended.

The command line runs every command within :func:`beside`. There, standard output, the writing of files (``files.py``)
and the end of the command wait for the checks. So a command needs no code for this and cannot forget it. Elsewhere, in
a program that imports gpukit, a check has ended when the file has been read.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

from gpukit.errors import GpukitError

_PATIENCE_S = 0.05
_lock = threading.RLock()
_open = False
_checks: "list[_Check]" = []

again = False
"""Whether large files are also checked in full (``gpukit --verify``)."""


class _Check(threading.Thread):
    """One check. Its thread is a daemon, so an interrupted command need not wait for it."""

    def __init__(self, check: Callable[[], None], after: str | None) -> None:
        super().__init__(daemon=True)
        self.check, self.after = check, after
        self.wanted = threading.Event()
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        while self.after and self.after not in sys.modules and not self.wanted.wait(_PATIENCE_S):
            pass
        try:
            self.check()
        except Exception as error:
            self.error = error


def later(check: Callable[[], None], after: str | None = None) -> None:
    """Run a check concurrently with the work, or immediately if nothing would wait for it.

    Parameters
    ----------
    check : callable
        Raises an error if the checked data is wrong.
    after : str, optional
        A module that the check imports, but that the command must import first: numba, because the command sets its
        threads.
    """
    if _open:
        _checks.append(_Check(check, after))
    else:
        check()


def finish_checks() -> None:
    """Wait for all checks and raise their first error."""
    with _lock:
        for check in _checks:
            check.wanted.set()
        while _checks:
            _checks[0].join()
            if error := _checks.pop(0).error:
                raise error


class _Held:
    """A stream that accepts nothing until all checks have succeeded."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        finish_checks()
        return self._stream.write(text)

    def writelines(self, lines: Any) -> None:
        finish_checks()
        self._stream.writelines(lines)


@contextmanager
def beside() -> Iterator[None]:
    """Run checks concurrently with the ``with`` body; hold standard output back until they end, and wait for them.

    Raises
    ------
    InputError
        If a check fails. It replaces an error of the command, which the damaged file may have caused.
    """
    global _open
    _open = True
    try:
        with redirect_stdout(_Held(sys.stdout)):
            yield
        finish_checks()
    except Exception as error:
        try:
            finish_checks()
        except GpukitError:
            raise
        except Exception:  # says nothing about the file: both may have imported a module that cannot be imported
            raise error from None
        raise
    finally:
        _open = False
        _checks.clear()
