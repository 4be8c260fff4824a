"""Taking turns with other processes, by a lock on a file."""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

PATIENCE_S = 60.0
"""Longer than anything takes to compile; then a process goes on without its turn."""

_LOOK_S = 0.02


class FileLock:
    """A turn that one process at a time has; it passes on when a process ends, however that is.

    Where a file system knows no locks, nobody waits.

    Parameters
    ----------
    path : Path
        The file, which is made when a turn is first taken, and stays.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None

    def take(self) -> None:
        """Wait for the turn."""
        self.pass_on()
        with suppress(OSError):
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        end = time.monotonic() + PATIENCE_S
        while self._file is not None and time.monotonic() < end:
            try:
                return fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_LOOK_S)
            except OSError:
                return

    def pass_on(self) -> None:
        """Give the turn back, if this process has it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
