"""Fetches a data set: a copy of the shipped file, or a download whose SHA-256 must equal that of the first download."""

import fnmatch
import gzip
import hashlib
import lzma
import os
import shutil
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gpukit.datasets.catalogue import Dataset, shipped_file
from gpukit.datasets.known import ChangedFile, is_known, remember
from gpukit.datasets.transfer import CHUNK, NetworkError, Part, Progress, downloaded
from gpukit.errors import InputError, UsageError
from gpukit.files import reason, replacing
from gpukit.wording import spelled


@dataclass(frozen=True)
class Fetched:
    """The file that :func:`fetch` wrote: size in bytes, SHA-256, source, and whether the SHA-256 was known."""

    bytes: int
    sha256: str
    source: str
    verified: bool


def local_copy(dataset: Dataset) -> Path | None:
    """Return a data set's gzipped edge list in the folder ``GPUKIT_DATA``, ``NAME.txt.gz`` or ``NAME-ANY.txt.gz``."""
    folder = os.environ.get("GPUKIT_DATA", "")
    return min(Path(folder).glob(f"{dataset.name}[.-]*gz"), default=None) if folder else None


def fetch(dataset: Dataset, out: Path, progress: Progress | None = None) -> Fetched:
    """Write the edge list of a data set to ``out``: the shipped file, a local copy, or a download.

    Parameters
    ----------
    dataset : Dataset
        From the catalogue.
    out : Path
        The target; replaced if it exists, and only by a complete file.
    progress : callable, optional
        ``progress(bytes so far, total)``; not called while the size is unknown.

    Raises
    ------
    InputError
        If there is no network, the server refuses, the file differs from the expected one, or it cannot be written.
    UsageError
        If the target is the shipped file itself.
    """
    progress = progress or (lambda done, total: None)
    try:
        if dataset.shipped:
            return _copy(dataset, out, progress)
        if local := local_copy(dataset):
            with replacing(out) as temporary:
                shutil.copyfile(local, temporary)
                size, digest = _digest(Path(temporary))
            return Fetched(size, digest, str(local), digest == dataset.sha256)
        if not dataset.url:
            hint = f"; see {dataset.page}" if dataset.page else ""
            raise InputError(f"{dataset.name} cannot be downloaded{hint}; {_alternative(dataset)}")
        with downloaded(dataset.name, dataset.url, out.parent, progress) as part:
            return _finish(dataset, part, out)
    except NetworkError as error:
        raise InputError(f"{error}; {_alternative(dataset)}") from None
    except OSError as error:
        raise InputError(f"cannot write {out}: {reason(error)}") from None


def _copy(dataset: Dataset, out: Path, progress: Progress) -> Fetched:
    source = shipped_file(dataset)
    if out.exists() and out.samefile(source):
        raise UsageError(f"{spelled('out')} {out} is the shipped file itself; name another file")
    with replacing(out) as temporary:
        shutil.copyfile(source, temporary)
        size, digest = _digest(Path(temporary))
        if digest != dataset.sha256:
            raise InputError(f"{source} has SHA-256 {digest}, not {dataset.sha256}; install gpukit again")
    progress(size, size)
    return Fetched(size, digest, str(dataset.shipped), True)


def _alternative(dataset: Dataset) -> str:
    if dataset.stand_in:
        return f"use a file of your own, or a stand-in: gpukit graph generate {dataset.stand_in['model']} …"
    return "use a file of your own"


def _finish(dataset: Dataset, part: Part, out: Path) -> Fetched:
    """Check a complete download, extract an archived edge list, and move it into place; remove a wrong file."""
    url = str(dataset.url)
    try:
        if not dataset.member:
            _check_gzip(part.path)
        size, digest = came = _digest(part.path)
        known = dataset.sha256 is None and is_known(dataset.name, url, came[1])
        with replacing(out) as temporary:
            if dataset.member:
                with open(temporary, "wb") as target:
                    _extract(dataset, part.path, target)
                size, digest = _digest(Path(temporary))
            if dataset.sha256 not in (None, digest):
                raise InputError(f"{url} has SHA-256 {digest}, not {dataset.sha256}; it was removed, fetch it again")
            if not dataset.member:
                os.replace(part.path, temporary)
        part.drop()
    except ChangedFile:
        raise  # the next call continues from here, once the change is accepted
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, tarfile.TarError) as error:
        part.drop()
        raise InputError(f"{url} is damaged ({error}); it was removed, fetch it again") from None
    except InputError:
        part.drop()
        raise
    if dataset.sha256 is None and not known:
        remember(dataset.name, url, came[1])
    return Fetched(size, digest, url, known or dataset.sha256 is not None)


def _check_gzip(path: Path) -> None:
    """Read a gzip file to its end; its checksum proves it complete."""
    with open(path, "rb") as stream:
        if stream.read(2) != b"\x1f\x8b":
            raise gzip.BadGzipFile("not a gzip file")
    with gzip.open(path) as text:
        while text.read(CHUNK):
            pass


def _extract(dataset: Dataset, archive: Path, target: IO[bytes]) -> None:
    """Write the member of a tar archive as gzip, without name and time, so that equal content gives equal bytes."""
    try:
        with tarfile.open(archive) as tar:
            for entry in tar:
                if entry.isfile() and fnmatch.fnmatch(entry.name, str(dataset.member)):
                    source = tar.extractfile(entry)
                    assert source is not None
                    with gzip.GzipFile("", "wb", 6, target, mtime=0) as packed:
                        shutil.copyfileobj(source, packed, CHUNK)
                    return
    except OSError as error:
        if error.errno is not None:
            raise
        raise tarfile.ReadError(str(error)) from None  # bzip2 and gzip report damage this way
    raise InputError(f"{dataset.url} has no file {dataset.member}; it was removed")


def _digest(path: Path) -> tuple[int, str]:
    with open(path, "rb") as stream:
        return path.stat().st_size, hashlib.file_digest(stream, "sha256").hexdigest()
