"""The bytes of a file: digested while they are read, decompressed, and divided into blocks of whole lines."""

import bz2
import gzip
import hashlib
import importlib
import io
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from gpukit.errors import InputError
from gpukit.files import missing, state_of

BLOCK_BYTES = 1 << 20
"""Bytes read at a time: a block, its edges and the next data fit in a core's cache."""

HEAD_BYTES = 1 << 16
"""Bytes of a file's start that are used to detect its format."""

LONGEST_LINE = 1 << 20

Block = tuple[int, bytes]
"""The number of the first line of a block, and its lines, each with a line feed at the end."""

_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_DAMAGED = (OSError, zlib.error, lzma.LZMAError)
"""Errors that the libraries raise for damaged compressed data. Their OSError has no number; an OSError of the system
has one."""


class _Digested(io.FileIO):
    """A file that digests the bytes that are read, because another process may replace it at any time."""

    def __init__(self, path: str | Path) -> None:
        is_input = str(path) == "-"
        super().__init__(0 if is_input else path, closefd=not is_input)
        self.sha256 = hashlib.sha256()

    def readinto(self, buffer: Any) -> int | None:
        """Read like any file, and digest; :class:`io.BufferedReader` gets all its data from here."""
        count = super().readinto(buffer)
        if count:
            self.sha256.update(memoryview(buffer)[:count])
        return count


class _Recoded:
    """A text in another encoding, read as UTF-8."""

    def __init__(self, stream: Any, encoding: str) -> None:
        self._text = io.TextIOWrapper(stream, encoding, newline="")

    def read1(self, size: int) -> bytes:
        """Return the next characters."""
        return self._text.read(size).encode()


class Source:
    """An opened and decompressed file; libraries read it like a file.

    Parameters
    ----------
    path : str or Path
        The file; it may be a pipe, and ``-`` means standard input.
    stack : ExitStack
        Closes the file at its end.
    encoding : str, optional
        The encoding of the text, if it is not UTF-8.

    Attributes
    ----------
    name : str
        Its name in messages.
    packed : str
        The kind of compression; empty if there is none.
    place : str or None
        The path of the content, if libraries may open it themselves; None if it is compressed, or not a regular file.
    head : bytes
        The start of the content, as far as it was not consumed yet.

    Raises
    ------
    InputError
        If the file cannot be read.
    """

    def __init__(self, path: str | Path, stack: ExitStack, encoding: str | None = None) -> None:
        self.name = "standard input" if str(path) == "-" else str(path)
        try:
            self._file = _Digested(path)
            self._raw: Any = stack.enter_context(io.BufferedReader(self._file, HEAD_BYTES))
            start = self._raw.peek(8)[:8]
        except OSError as error:
            raise missing(self.name, f": {error.strerror or error}; give a readable edge list") from None
        self.packed = next((kind for magic, kind in _PACKED.items() if start.startswith(magic)), "")
        content: Any = self._raw
        if self.packed:
            opened: Any = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}.get(self.packed)
            content = stack.enter_context((opened or _open_zstd(self.name))(self._raw))
        if encoding is not None:
            content = _Recoded(content, encoding)
        self.head = self._read(content, HEAD_BYTES)
        self._content = content
        self._state = state_of(self._file.fileno())
        self._is_file = str(path) != "-" and stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)
        self.place = os.fspath(path) if self._is_file and not self.packed and encoding is None else None

    def digest(self) -> str | None:
        """Return the digest of the file, reading the rest of it first; None if it is not a regular file.

        Standard input has none, because it may not have been read from the start of a file.
        """
        rest = bytearray(1 << 16)
        while self._is_file and self._file.readinto(rest):
            pass
        return self._file.sha256.hexdigest() if self._is_file else None

    def check_unchanged(self, place: str) -> None:
        """Refuse a file that was replaced, for a library that has opened it itself; raises InputError."""
        try:
            same = state_of(place) == self._state
        except OSError:
            same = False
        if not same:
            raise InputError(f"{self.name} was replaced or written to while it was read; try again")

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes of the content; all by default."""
        return self._take(size) if size >= 0 else b"".join(iter(lambda: self._take(BLOCK_BYTES), b""))

    def share(self) -> float:
        """Return the fraction of the file that was read."""
        return self._raw.tell() / os.fstat(self._raw.fileno()).st_size

    def blocks(self, progress: Callable[[int, int], object] | None = None) -> Iterator[Block]:
        """Yield the text in blocks, without its byte order mark; all line ends (LF, CR LF, CR) become line feeds.

        ``progress(bytes read, size)`` counts bytes of the stored file, and is not called for a pipe.
        """
        size = os.fstat(self._raw.fileno()).st_size
        line, rest, last = 1, b"", False
        while not last:
            data = self._take(BLOCK_BYTES)
            if data.endswith(b"\r"):
                data += self._take(1)  # the line feed after it
            last = not data
            end = data.rfind(b"\n" if b"\n" in data else b"\r") + 1
            block = b"".join((rest, memoryview(data)[:end])) if end else rest + b"\n" if last and rest else b""
            rest = data[end:] if end else rest + data
            if len(rest) > LONGEST_LINE:
                raise InputError(f"{self.name} has a line of more than {LONGEST_LINE} bytes; this is not an edge list")
            if not block:
                continue
            if b"\r" in block:
                block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            if progress is not None and self._raw.seekable():
                progress(self._raw.tell(), size)
            yield line, block.removeprefix(b"\xef\xbb\xbf") if line == 1 else block
            # bytes.count finds one line feed at a time, which takes three times as long
            line += int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n")))

    def _take(self, room: int) -> bytes:
        """Return the next bytes of the content, from the buffered start or from the stream."""
        if not self.head:
            return self._read(self._content, room)
        data, self.head = self.head[:room], self.head[room:]
        return data

    def _read(self, stream: Any, room: int) -> bytes:
        """Return the next bytes; Python handles signals between the pieces of a pipe, so Ctrl-C ends the wait."""
        pieces = []
        try:
            while room > 0 and (piece := stream.read1(room)):
                pieces.append(piece)
                room -= len(piece)
        except UnicodeDecodeError as error:
            raise InputError(f"{self.name} is no text in {error.encoding}; name another encoding") from None
        except EOFError:
            raise InputError(f"{self.name} is a truncated {self.packed} file; fetch or compress it again") from None
        except Exception as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise InputError(f"{self.name}: {error.strerror}") from None
            if isinstance(error, _DAMAGED) or type(error).__name__ == "ZstdError":
                raise InputError(
                    f"{self.name} is a damaged {self.packed} file ({error}); fetch or compress it again"
                ) from None
            raise
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _open_zstd(name: str) -> Any:
    """Return a function that opens zstd: Python's own from 3.14 on, or that of the backport package."""
    for module in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(module).open
        except ImportError:
            continue
    raise InputError(f"{name} is zstd; install the package backports.zstd, or unpack the file (`unzstd`)")
