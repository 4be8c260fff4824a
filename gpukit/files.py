"""Writing files atomically, which is the only way gpukit writes to disk; and reading text."""

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gpukit import pending, portable, remote
from gpukit.errors import InputError

PathLike = str | os.PathLike[str]

_KINDS = {
    stat.S_IFLNK: "a symbolic link; name the file that it leads to, or remove it",
    stat.S_IFDIR: "a folder; name a file",
    stat.S_IFIFO: "a FIFO; name a regular file",
    stat.S_IFSOCK: "a socket; name a regular file",
    stat.S_IFCHR: "a device; name a regular file",
    stat.S_IFBLK: "a device; name a regular file",
}
_unfinished: set[Path] = set()
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | portable.OPEN


NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)
"""Errors of flock on a file system without locks."""

State = tuple[int, int, int, int, int]


def state_of(file: PathLike | int) -> State:
    """Return the identity and state of an open or named file: device, inode, size, and two times."""
    found = os.stat(file)
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def missing(path: PathLike, otherwise: str) -> InputError:
    """Return the error for a missing file: for a web address how to fetch it, otherwise the name plus ``otherwise``."""
    if (address := remote.address_of(path)) is None:
        return InputError(f"{os.fspath(path)}{otherwise}")
    return InputError(f"{address} is an address, and files are read; {remote.hint(address)}")


def local(path: PathLike) -> PathLike:
    """Return a path; for an address, that of a copy on this machine, if the extra ``cloud`` is installed."""
    if (address := remote.address_of(path)) is None:
        return path
    return remote.copied(address, cache_folder("remote", make=True)) or path


def check_target(path: PathLike) -> os.stat_result | None:
    """Check that a file can be written to a path; return the status of the file that it would replace.

    Only a regular file is replaced. A link is neither replaced nor followed, because it often leads to an unexpected
    place.

    Raises
    ------
    InputError
        If the path holds something else, its folder is missing, permission is missing, or the name is too long.
    """
    folder = Path(path).parent
    try:
        is_folder = stat.S_ISDIR(os.stat(folder).st_mode)
        old = None
        with suppress(FileNotFoundError, NotADirectoryError):
            old = os.lstat(Path(path))  # an empty text means the current folder
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"cannot write {path}: there is no folder {folder}; create it") from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot write {path}: {reason(error)}") from None
    if not is_folder:
        raise InputError(f"cannot write {path}: {folder} is no folder; name one")
    if old is not None and not stat.S_ISREG(old.st_mode):
        raise InputError(f"cannot write {path}: it is {_KINDS.get(stat.S_IFMT(old.st_mode), 'not a regular file')}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"cannot write {path}: no permission in folder {folder}; choose a place you may use")
    return old


@contextmanager
def replacing(path: PathLike) -> Iterator[str]:
    """Yield a temporary name next to ``path``; rename it to ``path`` on success, remove it on any exception.

    The new file gets the mode of the file that it replaces, and its owner and group if allowed; a new file gets the
    mode of the umask. Readers never see a partial file, because it is synced before the renaming. The renaming waits
    for the checks of the inputs (:mod:`gpukit.pending`), so a damaged input never produces an output.

    Raises
    ------
    InputError
        If the file cannot be written: see :func:`check_target`; or for example the disk is full.
    """
    target = Path(path)
    temporary: Path | None = None
    try:
        old = check_target(target)
        # The suffix matches no pattern for artifacts, and the leading dot hides it from plain listings. A name has at
        # most 255 bytes, on some file systems 143.
        name = os.fsencode(target.name)[:100].decode(errors="ignore")
        temporary = target.with_name(f".{name}.{os.urandom(8).hex()}.tmp")
        _unfinished.add(temporary)  # registered first: an interrupt may come right after the creation
        os.close(os.open(temporary, _NEW, 0o666 if old is None else 0o600))
        yield str(temporary)
        # Another process may have written to the path in the meantime.
        old = check_target(target) or old
        if old is not None:
            _take_after(temporary, old)
        _sync(temporary)
        pending.finish_checks()
        os.replace(temporary, target)
        _sync_folder(target.parent)
    except (OSError, RuntimeError) as error:
        raise InputError(f"cannot write {path}: {reason(error)}") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
            _unfinished.discard(temporary)


def remove_unfinished() -> None:
    """Remove the temporary files of this process before it ends abruptly."""
    for temporary in tuple(_unfinished):
        temporary.unlink(missing_ok=True)


def _take_after(path: Path, old: os.stat_result) -> None:
    """Give a file the mode of the file that it replaces, and its owner and group as far as allowed."""
    mode, now = old.st_mode & 0o777, path.stat()
    if (now.st_uid, now.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.chown(path, old.st_uid, old.st_gid)
        except OSError:
            try:
                os.chown(path, -1, old.st_gid)
            except OSError:
                mode &= 0o707 | (mode & 0o007) << 3  # another group gets at most the permissions of everybody
    path.chmod(mode)


def _sync(path: PathLike) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(path: Path) -> None:
    """Make a new name durable if the file system can; the file is in place in any case."""
    try:
        _sync(path)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EACCES):
            raise


def write_text(path: PathLike, text: str) -> None:
    """Write UTF-8 text with LF line ends; raises InputError like :func:`replacing`."""
    with replacing(path) as temporary:
        Path(temporary).write_text(text, encoding="utf-8", newline="\n")


def read_text(path: PathLike) -> str:
    """Return the UTF-8 text of a file.

    Raises
    ------
    InputError
        If the file is missing, a folder, unreadable or not UTF-8.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file") from None


def read_lines(path: PathLike) -> list[str]:
    """Return the lines of a text file, split at line feeds only; raises like :func:`read_text`."""
    return read_text(path).removesuffix("\n").split("\n")


def reason(error: BaseException) -> str:
    """Return a short line for a system error, even if HDF5 wrapped it in a long message."""
    number = getattr(error, "errno", None)
    if number is None and (found := re.search(r"errno = (\d+)", str(error))):
        number = int(found.group(1))
    hints = {
        errno.ENOSPC: "free some space or choose another folder",
        errno.EDQUOT: "free some space or choose another folder",
        errno.EACCES: "choose a place you may use",
        errno.EROFS: "choose a place you may use",
        errno.ENOENT: "create the folder or correct the path",
        errno.ENAMETOOLONG: "give a shorter one",
    }
    if number is None:
        return " ".join(str(error).split())
    hint = hints.get(number)
    return os.strerror(number) + (f"; {hint}" if hint else "")


def cache_folder(name: str, make: bool = False) -> Path | None:
    """Return a folder of the user's cache (``$XDG_CACHE_HOME/gpukit``, by default ``~/.cache/gpukit``).

    None if it is missing, or writable by others. ``make``: create it if it is missing.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        folder = (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "gpukit" / name
        if make:
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
        found = os.stat(folder, follow_symlinks=False)
    except (OSError, RuntimeError):
        return None
    return folder if portable.is_private(found) else None
