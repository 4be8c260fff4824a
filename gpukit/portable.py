"""What not every operating system has: locks on files, limits of a process, and calls that only POSIX knows.

Windows has neither fcntl nor resource; macOS does not say which processors a process may use.
"""

import _thread
import errno
import importlib
import os
import signal
import stat
import sys
import threading
from contextlib import suppress
from typing import Any


def _optional(name: str) -> Any:
    with suppress(ImportError):
        return importlib.import_module(name)


resource = _optional("resource")
"""The module, or None where processes have no limits that Python can read."""

OPEN = sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_BINARY"))
"""Flags for opening any file: not for child processes, not through a link, and without conversion of line ends."""

NONBLOCK = getattr(os, "O_NONBLOCK", 0)
"""Flag for opening a file that may be a FIFO."""

_fcntl = _optional("fcntl")
_FAR = 1 << 40
"""Windows locks ranges of bytes and lets nobody else read them, so the lock is on a byte behind all contents."""


def lock(descriptor: int, wait: bool = False) -> None:
    """Lock an open file for this process, until it is closed.

    Raises
    ------
    BlockingIOError
        If another process holds the lock, and ``wait`` is not set.
    OSError
        If the file system has no locks.
    """
    if _fcntl is not None:
        return _fcntl.flock(descriptor, _fcntl.LOCK_EX | (0 if wait else _fcntl.LOCK_NB))
    msvcrt: Any = importlib.import_module("msvcrt")
    while True:
        place = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        try:
            return msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EDEADLK):
                raise
            if not wait:  # waiting ends after ten seconds
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None
        finally:
            os.lseek(descriptor, place, os.SEEK_SET)


def is_own(found: os.stat_result) -> bool:
    """Return whether a file is this user's, or the operating system does not say whose it is."""
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()


def is_private(found: os.stat_result) -> bool:
    """Return whether this is a folder that is this user's and that nobody else may write to."""
    writable = stat.S_IMODE(found.st_mode) & 0o022 and hasattr(os, "geteuid")  # Windows calls every folder writable
    return stat.S_ISDIR(found.st_mode) and is_own(found) and not writable


def processors() -> int:
    """Return the number of processors that this process may use, as far as the operating system says."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def physical_memory() -> int:
    """Return the memory of this machine in bytes, or more than any work needs if the operating system does not say."""
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return sys.maxsize


def reserve(descriptor: int, size: int) -> None:
    """Reserve the space of a file where the operating system can; raises OSError if there is too little."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)


def interrupt(number: int) -> None:
    """Send a signal to the main thread; on POSIX this also ends a system call that waits."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        _thread.interrupt_main(signal.Signals(number))


def machine() -> tuple[str, str]:
    """Return the name of this machine and its kind of processor."""
    import platform

    return platform.node(), platform.machine()
