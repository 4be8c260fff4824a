"""The atomic write: a temporary file beside the target, synced, then renamed; no reader ever sees half a file."""

import errno
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
