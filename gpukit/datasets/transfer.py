"""HTTPS downloads that resume where they stopped.

This uses the standard library: the files have gigabytes, and pooch, the usual small download library, does not resume.
The part so far is a hidden file next to the target. Its name identifies the download: the data set, its address, and
the version that the server named. So a part is never continued with other data, or mistaken for it.
"""

import base64
import hashlib
import http.client
import os
import re
import stat
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import IO, Any

from gpukit import __version__, portable
from gpukit.errors import InputError
from gpukit.files import NO_LOCKS, reason

CHUNK = 1 << 20
TIMEOUT_S = 30
LOOPBACK = False
"""Whether plain HTTP from 127.0.0.1 is accepted, too. Only for tests, whose server has no certificate."""

Progress = Callable[[int, int], object]

_VERSION_BYTES = 72  # limit of a version, so that the name of a part fits any file system
_OPEN = os.O_RDWR | os.O_APPEND | portable.OPEN | portable.NONBLOCK


class NetworkError(Exception):
    """The server or the connection failed; the message has the details."""


@dataclass(frozen=True)
class Part:
    """The part of a download so far: its file, open and locked, and the version of the whole file (empty: unknown)."""

    path: Path
    stream: IO[bytes]
    version: str

    @property
    def size(self) -> int:
        """Bytes downloaded so far."""
        return os.fstat(self.stream.fileno()).st_size

    def drop(self) -> None:
        """Remove the part."""
        self.path.unlink(missing_ok=True)


@contextmanager
def downloaded(name: str, url: str, folder: Path, progress: Progress) -> Iterator[Part]:
    """Yield the complete download of a data set; its file stays in ``folder`` unless it is moved or dropped.

    Raises
    ------
    InputError
        If the address, or a redirection from it, is not HTTPS; if the existing part belongs to another user or is in
        use; or if the download cannot be written. After a write error no part remains.
    NetworkError
        If the download broke off. The part so far is kept if it can be continued.
    """
    _check_address(url)
    key = hashlib.sha256(f"{name}\n{url}".encode()).hexdigest()[:16]
    with ExitStack() as stack:
        part = _found(folder, f".{name}.{key}.", stack)
        while True:
            try:
                with _ask(url, part) as answer:
                    partial = answer.status == http.HTTPStatus.PARTIAL_CONTENT
                    if partial and part is None:
                        raise NetworkError(f"{url}: the server sent a part of the file, and was asked for all")
                    if part is not None and not (partial and _fits(answer.headers, part)):
                        part.drop()  # it is of another version
                        part = None
                        if partial:
                            continue
                    if part is None:
                        part = _made(folder, f".{name}.{key}.", _version(answer.headers), stack)
                    else:
                        part.stream.truncate(part.size - 1)
                    _receive(answer, part, progress)
                break
            except urllib.error.HTTPError as error:
                if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or part is None:
                    raise NetworkError(f"{url}: the server answered {error.code} {error.reason}") from None
                part.drop()  # the file on the server is now shorter
                part = None
            except (OSError, http.client.HTTPException) as error:
                text = f"cannot download {url} ({getattr(error, 'reason', None) or error})"
                if part is not None and part.version and part.size:
                    text += f"; run again to go on after {part.size} bytes"
                elif part is not None:
                    part.drop()
                raise NetworkError(f"{text}; check the network") from None
        yield part


def _check_address(url: str, source: str = "") -> None:
    found = urllib.parse.urlsplit(url)
    if found.scheme != "https" and not (LOOPBACK and found.scheme == "http" and found.hostname == "127.0.0.1"):
        leads = f"{source} leads to {url}, which" if source else url
        raise InputError(f"{leads} is not https, so anybody on the way could change the file; get it in another way")


class _Redirect(urllib.request.HTTPRedirectHandler):
    """Follows redirections to secure addresses only."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        _check_address(newurl, req.full_url)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _ask(url: str, part: Part | None) -> Any:
    """Request a file, or the rest of a part and its last byte; so a complete part gets an answer like any other."""
    headers = {"User-Agent": f"gpukit/{__version__}", "Accept-Encoding": "identity"}
    if part is not None:
        headers |= {"Range": f"bytes={part.size - 1}-", "If-Range": part.version}
    request = urllib.request.Request(url, headers=headers)
    return urllib.request.build_opener(_Redirect).open(request, timeout=TIMEOUT_S)


def _version(headers: Message) -> str:
    """Return the version of a file for ``If-Range``: a strong entity tag, or else the time of its last change."""
    tag = headers.get("ETag", "")
    version = tag if tag.startswith('"') else headers.get("Last-Modified", "")
    return version if version.isascii() and len(version) <= _VERSION_BYTES else ""


def _fits(headers: Message, part: Part) -> bool:
    """Return whether a partial answer starts at the last byte of a part, and does not name another version."""
    found = re.fullmatch(r"bytes ([0-9]+)-[0-9]+/([0-9]+|\*)", headers.get("Content-Range", ""))
    return found is not None and int(found[1]) == part.size - 1 and _version(headers) in ("", part.version)


def _receive(answer: Any, part: Part, progress: Progress) -> None:
    """Append an answer to a part; raises network errors unchanged, and InputError for the disk."""
    length = answer.headers.get("Content-Length")
    total = part.size + int(length) if length else None
    done = part.size
    while chunk := answer.read(CHUNK):
        try:
            rest = memoryview(chunk)
            while rest:
                rest = rest[part.stream.write(rest) :]
        except OSError as error:
            part.drop()
            raise InputError(f"cannot write {part.path}: {reason(error)}") from None
        done += len(chunk)
        if total is not None:
            progress(done, total)
    if total is not None and done != total:
        raise http.client.IncompleteRead(b"", total - done)


def _found(folder: Path, prefix: str, stack: ExitStack) -> Part | None:
    """Return the part of an earlier download, locked; remove parts that cannot be continued."""
    for path in sorted(folder.glob(f"{prefix}*part")):
        part = _taken(path, path.name[len(prefix) : -len("part")].rstrip("."), stack)
        if part is not None and part.version and part.size:
            return part
        if part is not None:
            part.drop()
    return None


def _taken(path: Path, name: str, stack: ExitStack) -> Part | None:
    """Open and lock a part; None if it is gone."""
    try:
        before = os.lstat(path)
        own = stat.S_ISREG(before.st_mode) and before.st_nlink == 1 and portable.is_own(before)
        if not own:
            raise InputError(f"{path} is not a part of a download of yours; remove it, or choose another folder")
        stream = _locked(path, _OPEN, stack)
        if not os.path.samestat(os.lstat(path), os.fstat(stream.fileno())):
            return None
    except FileNotFoundError:
        return None  # another process has just finished with it
    try:
        version = base64.urlsafe_b64decode(name.encode()).decode("ascii")
    except ValueError:
        version = ""
    return Part(path, stream, version if version.isprintable() else "")


def _made(folder: Path, prefix: str, version: str, stack: ExitStack) -> Part:
    """Make an empty part for a version."""
    code = base64.urlsafe_b64encode(version.encode()).decode()
    path = folder / f"{prefix}{code}{'.' if code else ''}part"
    try:
        return Part(path, _locked(path, _OPEN | os.O_CREAT | os.O_EXCL, stack), version)
    except OSError as error:
        raise InputError(f"cannot write {path}: {reason(error)}") from None


def _locked(path: Path, flags: int, stack: ExitStack) -> IO[bytes]:
    """Open a part and lock it for this process."""
    try:
        stream = stack.enter_context(os.fdopen(os.open(path, flags, 0o666), "r+b", buffering=0))
        portable.lock(stream.fileno())
    except (FileExistsError, BlockingIOError):
        raise InputError(f"another process is fetching to {path}; wait for it, or choose another folder") from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
    return stream
