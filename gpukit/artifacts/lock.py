"""Exclusive access to a file that is read, updated and replaced, such as the state of a campaign.

The lock is a hidden file next to it, held with flock and removed at the end. The file itself cannot be the lock: it is
replaced, may not exist at first, and other programs that read HDF5 lock it, too.

Some network file systems have no flock. There, the process that creates the lock file holds the lock until it removes
the file, and writes its identity into it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpukit import portable
from gpukit.errors import InputError
from gpukit.files import NO_LOCKS, PathLike, reason

NAME_BYTES = 240
"""Most bytes of the file's name in the lock's name, so that the latter fits any file system."""

_FLAGS = os.O_RDWR | portable.OPEN


@contextmanager
def only_writer(path: PathLike) -> Iterator[None]:
    """Hold the lock on a file: meanwhile no other process that uses the lock can update the file.

    The lock ends with the process, however it ends. A killed process leaves the hidden file. With flock this file locks
    nobody out, and the next process removes it. Without flock it locks everybody out until a person removes it.

    Raises
    ------
    InputError
        If another process holds the lock, or the folder or its file system does not allow a lock.
    """
    target = Path(os.path.realpath(path))
    lock = target.parent / os.fsdecode(b"." + os.fsencode(target.name)[:NAME_BYTES] + b".lock")
    try:
        descriptor = _take(lock)
    except BlockingIOError:
        raise InputError(
            f"another process works on {path}; wait until it is done, then check what remains to be done"
        ) from None
    except FileExistsError as error:
        raise InputError(
            f"another process works on {path}, or was killed{error}; its file system has no locks, so if no process "
            f"does, remove {lock}"
        ) from None
    except OSError as error:
        raise InputError(f"cannot lock {path} by a file {lock.name} next to it: {reason(error)}") from None
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def _take(lock: Path) -> int:
    """Lock the lock file, created if missing, and return its descriptor; raises OSError, also if it is locked."""
    while True:
        try:
            descriptor, new = os.open(lock, _FLAGS | os.O_CREAT | os.O_EXCL, 0o666), True
        except FileExistsError:
            try:
                descriptor, new = os.open(lock, _FLAGS), False
            except FileNotFoundError:
                continue  # the last holder has just removed it
        try:
            _hold(descriptor, new)
            if os.path.samestat(os.lstat(lock), os.fstat(descriptor)):
                return descriptor
        except FileNotFoundError:
            pass  # as if it were another file: the last holder removed this one between the two calls
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _hold(descriptor: int, new: bool) -> None:
    """Hold a lock file: by flock, or else by the file itself if this process created it (``new``); raises OSError."""
    locked = True
    try:
        portable.lock(descriptor)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        locked = False
    if new and not locked:
        os.write(descriptor, f" (process {os.getpid()} of {portable.machine()[0]})".encode())
    elif (holder := os.read(descriptor, 200).decode(errors="replace")) or not locked:
        raise FileExistsError(holder)
