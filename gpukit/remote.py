"""Read and write files at ``s3://``, ``gs://`` and ``https://`` addresses by fsspec (the extra ``cloud``).

A file is first copied to a cache on this machine. The name of the copy is a digest of the address, the size, and the
version that the server reports. So a second run, or the next step of a workflow, copies nothing, and a copy of an old
version is never used for a new one. An output is first written completely on this machine, then sent.
"""

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpukit.errors import InputError, UsageError

_log = logging.getLogger("gpukit")
_ADDRESS = re.compile("(s3|gs|https?):/+(?=[^/])")
_VERSIONS = ("ETag", "etag", "md5Hash", "LastModified", "mtime")
"""Entries of a file's description that change with its contents; each kind of store has at least one of them."""


def address_of(path: str | os.PathLike[str]) -> str | None:
    """Return a path as an address, with the second slash that Path removes; None if it is the path of a file."""
    text = os.fspath(path)
    if not isinstance(text, str) or _ADDRESS.match(text) is None or os.path.lexists(text):
        return None
    return _ADDRESS.sub(r"\1://", text, count=1)


def hint(address: str) -> str:
    """Return advice for an address that cannot be read here."""
    fetched = f"fetch it first, as by curl -LO {address}, or " if address.startswith("http") else ""
    return f"{fetched}install gpukit[cloud]"


def copied(address: str, cache: Path | None) -> Path | None:
    """Copy the file at an address to this machine and return the path of the copy; None without the extra.

    Parameters
    ----------
    address : str
    cache : path or None
        The folder of all copies; None if there is none.

    Raises
    ------
    InputError
        If the address cannot be read, or there is no folder for the copy.
    """
    import hashlib
    import shutil
    import tempfile

    if (system := _system(address)) is None:
        return None
    if cache is None:
        raise InputError(f"there is no place for a copy of {address}; set XDG_CACHE_HOME to a folder of yours")
    with _in_one_line(f"cannot read {address}"):
        about = system.info(address)
        version = next((str(about[key]) for key in _VERSIONS if about.get(key)), None)
        name = hashlib.sha256(f"{address}\n{version}\n{about.get('size')}".encode()).hexdigest()[:32]
        folder = cache / name
        target = folder / (address.rstrip("/").rpartition("/")[2].partition("?")[0] or "file")
        if version is None or not target.exists():
            aside = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=cache))
            try:
                system.get_file(address, str(aside / target.name))
                if about.get("size") not in (None, (aside / target.name).stat().st_size):
                    raise OSError("the connection ended early")
                folder.mkdir(exist_ok=True)
                os.replace(aside / target.name, target)
            finally:
                shutil.rmtree(aside, ignore_errors=True)
        return target


@contextmanager
def sent(path: str | os.PathLike[str], present: bool = False) -> Iterator[str | os.PathLike[str]]:
    """Yield the path to write to; for an address, a temporary file, which is sent to the address on success.

    A file that exists at the address is replaced. With ``present`` the temporary file is first a copy of that file, so
    that callers can check what would be lost.

    Raises
    ------
    InputError
        If the extra is missing, the address does not accept files, or the store refuses the file.
    """
    if (address := address_of(path)) is None:
        yield path
        return
    import tempfile

    if address.startswith("http"):
        raise InputError(f"cannot write {address}: s3:// and gs:// take files, a web address does not")
    if (system := _system(address)) is None:
        raise InputError(f"cannot write {address}; {hint(address)}, or name a file")
    with tempfile.TemporaryDirectory() as aside:
        file = Path(aside, address.rpartition("/")[2])
        if present:
            with _in_one_line(f"cannot write {address}"):
                if system.exists(address):
                    system.get_file(address, str(file))
        try:
            yield file
        except UsageError as error:
            if str(file) not in str(error):
                raise
            raise UsageError(str(error).replace(str(file), address)) from None
        with _in_one_line(f"cannot write {address}"):
            system.put_file(str(file), address)
        _log.info("sent to %s", address)


def _system(address: str) -> Any:
    """Return the store of an address; None if a package for it is missing."""
    try:
        import fsspec

        return fsspec.filesystem(address.partition(":")[0])
    except ImportError:
        return None


@contextmanager
def _in_one_line(what: str) -> Iterator[None]:
    """Turn any error into an InputError of one line, because each store raises errors of its own."""
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"{what}: there is no such file; check the address") from None
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{what}: {said}; check the address, the connection and your credentials") from None
