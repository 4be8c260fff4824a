"""Protection of files from replacement: a file of another kind is kept, unless the user says otherwise."""

from pathlib import Path

from gpukit.artifacts.store import read_header
from gpukit.errors import InputError, UsageError
from gpukit.files import PathLike
from gpukit.wording import spelled

_FIRST_BYTES = 1024
_HDF5 = b"\x89HDF"


def would_lose(path: PathLike, what: str) -> UsageError:
    """Return the error for an existing target that would be lost; ``what`` describes the target."""
    return UsageError(f"{path} exists, and {what}; name another file, or replace it with {spelled('force', True)}")


def first_bytes(path: PathLike) -> bytes:
    """Return the first bytes of a file that would be replaced; none if it is missing or empty.

    Raises
    ------
    UsageError
        If the file cannot be read.
    """
    try:
        with open(path, "rb") as stream:
            return stream.read(_FIRST_BYTES)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise would_lose(path, f"cannot be read ({error.strerror})") from None


def check_replaced(path: PathLike, writes: str, who: str) -> None:
    """Check that an artifact replaces only an artifact of its own kind.

    Parameters
    ----------
    path : path
        The target.
    writes : str
        The kind of the artifact.
    who : str
        Name of the writer, for the message.

    Raises
    ------
    UsageError
        If it would replace a file of another kind, or one that cannot be read.
    """
    first = first_bytes(path)
    if not first:
        return
    kind = None
    if first.startswith(_HDF5):
        try:
            kind = read_header(Path(path)).kind
        except InputError as error:
            raise would_lose(path, f"may be no artifact of kind {writes} ({error})") from None
    if kind != writes:
        found = "no artifact" if kind is None else f"an artifact of kind {kind}"
        raise would_lose(path, f"is {found}, but {who} writes one of kind {writes}")
