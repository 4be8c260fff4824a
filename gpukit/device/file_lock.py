"""Mutual exclusion between processes, by a lock on a file."""

import os
import time
from contextlib import suppress
from pathlib import Path

from gpukit import portable

PATIENCE_S = 60.0
"""Longer than any compilation takes; after that a process continues without the lock."""

_LOOK_S = 0.02


class FileLock:
    """A lock that one process at a time holds; it is released when the process ends, however it ends.

    On a file system without locks, nobody waits.

    Parameters
    ----------
    path : Path
        The lock file, created when the lock is first taken, and never removed here.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None

    def take(self) -> None:
        """Wait for the lock and take it."""
        self.pass_on()
        with suppress(OSError):
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        end = time.monotonic() + PATIENCE_S
        while self._file is not None and time.monotonic() < end:
            try:
                return portable.lock(self._file)
            except BlockingIOError:
                time.sleep(_LOOK_S)
            except OSError:
                return

    def pass_on(self) -> None:
        """Release the lock, if this process holds it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
