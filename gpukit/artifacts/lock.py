"""One process at a time on a file that is read, worked on and replaced, as the state of a campaign is.

The lock is a hidden file beside it, held with flock and removed at the end. The file itself would not do: it is
replaced by another one, is not there at first, and other programs that read HDF5 take locks on it, too.

Where the file system has no flock, as some network file systems, the process that makes the lock file holds the lock
until it removes the file, and writes into it who it is.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpukit.errors import InputError
from gpukit.files import NO_LOCKS, PathLike, reason

NAME_BYTES = 240
"""Of the name of the file, so that the name of the lock is no longer than a file system takes."""

_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW


@contextmanager
def only_writer(path: PathLike) -> Iterator[None]:
    """Keep other processes that do so too from bringing a file up to date meanwhile.

    The lock ends with the process, however that ends. What a killed one leaves is an empty hidden file, which keeps
    nobody out and which the next one removes. Without flock it keeps everybody out until a person removes it.

    Raises
    ------
    InputError
        If another process holds the lock, or the folder or its file system allows none.
    """
    target = Path(os.path.realpath(path))
    lock = target.parent / os.fsdecode(b"." + os.fsencode(target.name)[:NAME_BYTES] + b".lock")
    try:
        descriptor = _take(lock)
    except BlockingIOError:
        raise InputError(
            f"another process works on {path}; wait until it is done, then see what is left to do"
        ) from None
    except FileExistsError as error:
        raise InputError(
            f"another process works on {path}, or was killed{error}; its file system has no locks, so if no process "
            f"does, remove {lock}"
        ) from None
    except OSError as error:
        raise InputError(f"cannot lock {path} by a file {lock.name} beside it: {reason(error)}") from None
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def _take(lock: Path) -> int:
    """Return the descriptor of a lock file, made if need be, that this process holds now; raises OSError."""
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
            pass  # as where it is another file: the last holder removed this one between the two calls
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _hold(descriptor: int, new: bool) -> None:
    """Hold a lock file, by flock or, if this process made it (``new``), by the file itself; raises OSError."""
    locked = True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        locked = False
    if new and not locked:
        os.write(descriptor, f" (process {os.getpid()} of {os.uname().nodename})".encode())
    elif (holder := os.read(descriptor, 200).decode(errors="replace")) or not locked:
        raise FileExistsError(holder)
