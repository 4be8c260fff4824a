"""Text files that are whole or absent."""

import os
import tempfile
from pathlib import Path

from gpukit.errors import InputError


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text with LF line ends under a temporary name beside ``path``, then rename it.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    target = Path(path)
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; name a file in a folder you may write to") from None


def read_text(path: str | os.PathLike[str]) -> str:
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
