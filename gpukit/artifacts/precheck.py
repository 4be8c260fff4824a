"""What is checked before HDF5 opens a file: HDF5 2.0 loops for ever on some broken global heaps, the place of texts."""

import os
from typing import BinaryIO

from gpukit.errors import InputError
from gpukit.files import PathLike

_SEARCHED = 1 << 20
SIGNATURE = b"\x89HDF\r\n\x1a\n"
_MARK = b"GCOL\x01\0\0\0"


def check_file(path: PathLike) -> None:
    """Check that a path is a readable HDF5 file that the library can open without harm.

    Raises
    ------
    InputError
        If it is not.
    """
    if os.path.isdir(path):
        raise InputError(f"{path} is a folder; an artifact file is needed")
    try:
        with open(path, "rb") as stream:
            start = stream.read(len(SIGNATURE))
            sound = _heaps_are_sound(stream)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; check the path") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {os.strerror(error.errno or 0)}") from None
    if not start:
        raise InputError(f"{path} is empty; an artifact written by gpukit is needed")
    if start != SIGNATURE:
        raise InputError(f"{path} is not an HDF5 file; an artifact written by gpukit is needed")
    if not sound:
        raise InputError(f"{path} is damaged or truncated (its HDF5 heap is broken); make or copy it again")


def _heaps_are_sound(stream: BinaryIO) -> bool:
    """Return whether the global heaps at the start of an HDF5 file are sound chains of objects.

    Artifacts write their attributes first, so their heaps follow one another within the first MiB, before any data. By
    the file format specification (III.E), a heap is the mark, its size, then objects: index (2 bytes), references (2),
    zero (4), size (8) and the bytes, padded to 8; an object with index 0 is the free rest.
    """
    end = stream.seek(0, 2)
    stream.seek(0)
    place = stream.read(_SEARCHED).find(_MARK)
    while place >= 0:
        stream.seek(place)
        mark, length = stream.read(8), int.from_bytes(stream.read(8), "little")
        if mark != _MARK:
            return True
        if not 16 <= length <= end - place or not _sound(stream.read(length - 16)):
            return False
        place += length
    return True


def _sound(body: bytes) -> bool:
    at = 0
    while at + 16 <= len(body):
        index, size = int.from_bytes(body[at : at + 2], "little"), int.from_bytes(body[at + 8 : at + 16], "little")
        if index == 0:
            return size == len(body) - at
        at += 16 + (size + 7) // 8 * 8
    return at == len(body)
