"""What a file is that is about to be replaced: one of another kind is kept, unless the user says so."""

from pathlib import Path

from gpukit.artifacts.store import read_header
from gpukit.errors import InputError, UsageError
from gpukit.files import PathLike
from gpukit.wording import spelled

_FIRST_BYTES = 1024
_HDF5 = b"\x89HDF"


def would_lose(path: PathLike, what: str) -> UsageError:
    """Return the error of a target that is there and would be lost; ``what`` says what it is, or is not."""
    return UsageError(f"{path} is there, and {what}; name another file, or replace it with {spelled('force', True)}")


def first_bytes(path: PathLike) -> bytes:
    """Return the first bytes of a file that would be replaced; none of one that is not there, or empty.

    Raises
    ------
    UsageError
        If it cannot be read.
    """
    try:
        with open(path, "rb") as stream:
            return stream.read(_FIRST_BYTES)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise would_lose(path, f"cannot be read ({error.strerror})") from None


def check_replaced(path: PathLike, writes: str, who: str) -> None:
    """Check that an artifact replaces none of another kind, and nothing else.

    Parameters
    ----------
    path : path
        The target.
    writes : str
        The kind of the artifact.
    who : str
        Who writes it, for the message.

    Raises
    ------
    UsageError
        If it would replace something else, or what cannot be read.
    """
    first = first_bytes(path)
    if not first:
        return
    kind = None
    if first.startswith(_HDF5):
        try:
            kind = read_header(Path(path)).kind
        except InputError as error:
            raise would_lose(path, f"cannot be told to be an artifact of kind {writes} ({error})") from None
    if kind != writes:
        found = "is no artifact" if kind is None else f"an artifact of kind {kind}"
        raise would_lose(path, f"{found}, where {who} writes one of kind {writes}")
