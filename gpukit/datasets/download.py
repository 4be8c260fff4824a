"""Getting a data set: a copy of the shipped file, or a download that can be resumed.

The standard library does it: of the small download libraries, pooch does not resume, and the files have gigabytes. What
is unfinished lies in a hidden ``.part`` file beside the target; the target appears by a rename, complete and checked.
"""

import fnmatch
import gzip
import hashlib
import http.client
import lzma
import os
import shutil
import tarfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gpukit import __version__
from gpukit.datasets.catalogue import Dataset, shipped_file
from gpukit.errors import InputError

CHUNK = 1 << 20
TIMEOUT_S = 30
Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class Fetched:
    """What :func:`fetch` wrote: size in bytes, SHA-256, where it came from, whether the SHA-256 was known before."""

    bytes: int
    sha256: str
    source: str
    verified: bool


def fetch(dataset: Dataset, out: Path, progress: Progress | None = None) -> Fetched:
    """Write the edge list of a data set to ``out``.

    Parameters
    ----------
    dataset : Dataset
        From the catalogue.
    out : Path
        The target; replaced if it exists, and only by a complete file.
    progress : callable, optional
        ``progress(bytes so far, all)``; not called while the size is unknown.

    Raises
    ------
    InputError
        If there is no network, the server refuses, the file is not the expected one, or it cannot be written.
    """
    progress = progress or (lambda done, total: None)
    try:
        if dataset.shipped:
            return _copy(dataset, out, progress)
        if not dataset.url:
            hint = f"; see {dataset.page}" if dataset.page else ""
            raise InputError(f"{dataset.name} cannot be downloaded{hint}; {_alternative(dataset)}")
        part = out.with_name(f".{out.name}.part")
        _download(dataset, part, progress)
        return _finish(dataset, part, out)
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror or error}") from None


def _copy(dataset: Dataset, out: Path, progress: Progress) -> Fetched:
    source = shipped_file(dataset)
    with _replacing(out) as target, open(source, "rb") as stream:
        shutil.copyfileobj(stream, target, CHUNK)
        target.flush()
        size, digest = _digest(Path(target.name))
        if digest != dataset.sha256:
            raise InputError(f"{source} has SHA-256 {digest}, not {dataset.sha256}; install gpukit again")
    progress(size, size)
    return Fetched(size, digest, str(dataset.shipped), True)


@contextmanager
def _replacing(out: Path) -> Iterator[IO[bytes]]:
    """Yield a temporary file beside ``out`` that replaces it at the end, and is removed on failure."""
    name = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    try:
        with open(name, "xb") as target:
            yield target
            target.flush()
            os.fsync(target.fileno())
        os.replace(name, out)
    except BaseException:
        name.unlink(missing_ok=True)
        raise


def _download(dataset: Dataset, part: Path, progress: Progress) -> None:
    """Complete ``part``: ask for the bytes that it lacks, and start again if the server does not know how."""
    done = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": f"gpukit/{__version__}", "Accept-Encoding": "identity"}
    if done:
        headers["Range"] = f"bytes={done}-"
    request = urllib.request.Request(str(dataset.url), headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            resumed = answer.status == http.HTTPStatus.PARTIAL_CONTENT
            done = done if resumed else 0
            length = answer.headers.get("Content-Length")
            total = done + int(length) if length else None
            with open(part, "ab" if resumed else "wb") as target:
                while chunk := answer.read(CHUNK):
                    target.write(chunk)
                    done += len(chunk)
                    if total is not None:
                        progress(done, total)
            if total is not None and done != total:
                raise http.client.IncompleteRead(b"", total - done)
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and done:
            return  # nothing was missing; the checks that follow decide
        raise InputError(
            f"{dataset.url}: the server answered {error.code} {error.reason}; {_alternative(dataset)}"
        ) from None
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", None) or error
        kept = f"; run again to go on after {done} bytes" if part.exists() and done else ""
        raise InputError(
            f"cannot download {dataset.url} ({reason}){kept}; check the network, or {_alternative(dataset)}"
        ) from None


def _alternative(dataset: Dataset) -> str:
    if dataset.stand_in:
        return f"use a file of your own, or a stand-in: gpukit graph generate {dataset.stand_in['model']} …"
    return "use a file of your own"


def _finish(dataset: Dataset, part: Path, out: Path) -> Fetched:
    """Check a complete download, take the edge list out of an archive, and put it in place; a wrong file is removed."""
    try:
        if dataset.member:
            with _replacing(out) as target:
                _extract(dataset, part, target)
                target.flush()
                size, digest = _digest(Path(target.name))
                _expect(dataset, digest)
            part.unlink()
        else:
            _check_gzip(part)
            size, digest = _digest(part)
            _expect(dataset, digest)
            with open(part, "rb") as stream:
                os.fsync(stream.fileno())
            os.replace(part, out)
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, tarfile.TarError) as error:
        part.unlink(missing_ok=True)
        raise InputError(f"{dataset.url} is damaged ({error}); it was removed, fetch it again") from None
    except InputError:
        part.unlink(missing_ok=True)
        raise
    return Fetched(size, digest, str(dataset.url), dataset.sha256 is not None)


def _expect(dataset: Dataset, digest: str) -> None:
    if dataset.sha256 and digest != dataset.sha256:
        raise InputError(f"{dataset.url} has SHA-256 {digest}, not {dataset.sha256}; it was removed, fetch it again")


def _check_gzip(path: Path) -> None:
    """Read a gzip file to its end; its own checksum then proves it whole."""
    with open(path, "rb") as stream:
        if stream.read(2) != b"\x1f\x8b":
            raise gzip.BadGzipFile("not a gzip file")
    with gzip.open(path) as text:
        while text.read(CHUNK):
            pass


def _extract(dataset: Dataset, archive: Path, target: IO[bytes]) -> None:
    """Write the member of a tar archive, gzipped without name and time, so that equal content gives equal bytes."""
    with tarfile.open(archive) as tar:
        for entry in tar:
            if entry.isfile() and fnmatch.fnmatch(entry.name, str(dataset.member)):
                source = tar.extractfile(entry)
                assert source is not None
                with gzip.GzipFile("", "wb", 6, target, mtime=0) as packed:
                    shutil.copyfileobj(source, packed, CHUNK)
                return
    raise InputError(f"{dataset.url} has no file {dataset.member}; it was removed")


def _digest(path: Path) -> tuple[int, str]:
    with open(path, "rb") as stream:
        return path.stat().st_size, hashlib.file_digest(stream, "sha256").hexdigest()
