"""The atomic write: a temporary file beside the target, synced, then renamed; no reader ever sees half a file."""

import errno
import io
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpukit.errors import InputError

PathLike = str | os.PathLike[str]


@contextmanager
def replacing(path: PathLike) -> Iterator[str]:
    """Yield a temporary name beside ``path``; rename it over ``path`` on success, remove it on any exception.

    Raises
    ------
    InputError
        If the file cannot be written: no permission, full disk, no such folder, …
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise InputError(f"cannot write {path}: it exists and is not a regular file; name another output")
    temporary = ""
    try:
        # The suffix matches no pattern for artifacts, and the leading dot keeps it out of plain listings.
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        os.close(descriptor)
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        _sync(temporary)
        os.replace(temporary, target)
        temporary = ""
        _sync(target.parent)
    except (OSError, RuntimeError) as error:
        raise InputError(f"cannot write {path}: {reason(error)}") from error
    finally:
        if temporary:
            Path(temporary).unlink(missing_ok=True)


class Patient(io.FileIO):
    """A new file that takes every write and keeps the first error for :meth:`check`.

    HDF5 writes much of a file when it is closed, and if that fails, on a full disk say, it tries again at the end of
    the process and crashes.
    """

    def __init__(self, path: PathLike) -> None:
        super().__init__(path, "w+")
        self.error: OSError | None = None

    def write(self, data: Any) -> int:
        """Write all bytes, or none after an error."""
        view = memoryview(data).cast("B")
        size = len(view)
        try:
            while self.error is None and view:
                view = view[super().write(view) :]
        except OSError as error:
            self.error = error
        return size

    def readinto(self, data: Any) -> int:
        """Read what was written; zeros where that failed."""
        view = memoryview(data).cast("B")
        read = super().readinto(view) or 0
        if self.error is not None:
            view[read:] = bytes(len(view) - read)
            read = len(view)
        return read

    def truncate(self, size: int | None = None) -> int:
        """Set the length; an error is kept."""
        try:
            return super().truncate(size)
        except OSError as error:
            self.error = self.error or error
            return size or 0

    def check(self) -> None:
        """Raise the first error there was."""
        if self.error is not None:
            raise self.error


def _sync(path: PathLike) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def reason(error: BaseException) -> str:
    """Return one short line for a system error, also when HDF5 wrapped it in a long message."""
    number = getattr(error, "errno", None)
    if number is None and (found := re.search(r"errno = (\d+)", str(error))):
        number = int(found.group(1))
    hints = {
        errno.ENOSPC: "free some space or choose another folder",
        errno.EDQUOT: "free some space or choose another folder",
        errno.EACCES: "choose a place you may use",
        errno.EROFS: "choose a place you may use",
        errno.ENOENT: "create the folder or correct the path",
    }
    if number is None:
        return " ".join(str(error).split())
    hint = hints.get(number)
    return os.strerror(number) + (f"; {hint}" if hint else "")
