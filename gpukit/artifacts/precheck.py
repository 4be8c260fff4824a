"""What is checked of a file as HDF5 sees it: before it is opened, and how it is stored before anything is read.

HDF5 2.0 loops for ever on some broken global heaps, the place of texts.
"""

import os
import stat
from typing import Any, BinaryIO

import h5py

from gpukit.artifacts.structure import need
from gpukit.errors import InputError
from gpukit.files import PathLike, State, missing, state_of

_SEARCHED = 1 << 20
SIGNATURE = b"\x89HDF\r\n\x1a\n"
_MARK = b"GCOL\x01\0\0\0"
_PACKED = 1032
"""Bytes that one stored byte can stand for: the limit of deflate, and what gpukit writes (LZ4) stays below 255."""


def check_file(path: PathLike) -> State:
    """Check that a path is a readable HDF5 file that the library can open without harm, and return which it is.

    Raises
    ------
    InputError
        If it is not.
    """
    written = "an artifact written by gpukit is needed"
    need(not os.path.isdir(path), f"{path} is a folder; an artifact file is needed")
    try:
        # The opening of a pipe would never end.
        need(stat.S_ISREG(os.stat(path).st_mode), f"{path} is not a regular file; {written}")
        with open(path, "rb") as stream:
            state = state_of(stream.fileno())
            start = stream.read(len(SIGNATURE))
            sound = _heaps_are_sound(stream)
    except FileNotFoundError:
        raise missing(path, " does not exist; check the path") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {os.strerror(error.errno or 0)}") from None
    need(start, f"{path} is empty; {written}")
    need(start == SIGNATURE, f"{path} is not an HDF5 file; {written}, `gpukit graph import` makes one of an edge list")
    need(sound, f"{path} is damaged or truncated (its HDF5 heap is broken); make or copy it again")
    return state


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


def stored(file: h5py.File) -> dict[str, h5py.Dataset]:
    """Return every dataset of a file by its path, in order of path, if all lie in the file, as large as they claim.

    So a small file cannot ask for much memory, and no file leads to another.

    Raises
    ------
    InputError
        If there is a link to a place elsewhere, or data outside the file, absent or packed beyond reason; the line
        goes on from the name of the file.
    """
    links: dict[str, Any] = {}
    file.visititems_links(lambda name, link: links.__setitem__(name, link))  # an error in there would crash h5py
    for name, link in links.items():
        hard = isinstance(link, h5py.HardLink)
        need(hard, f"{name} is a link to another place, which no artifact has; make or copy it again")
    found = {name: item for name in sorted(links) if isinstance(item := file[name], h5py.Dataset)}
    size = os.fstat(file.id.get_vfd_handle()).st_size
    for name, item in found.items():
        inside = not (item.external or item.is_virtual)
        need(inside, f"the data of {name} lie outside the file, which no artifact has; make or copy it again")
        wanted = (item.size or 0) * item.dtype.itemsize
        fits = wanted <= _room(item, size)
        need(fits, f"the file holds less than the {wanted} bytes that {name} claims; make or copy it again")
    claimed = sum(item.id.get_storage_size() for item in found.values())
    need(claimed <= size, "the datasets claim more bytes than the file has; make or copy it again")
    return found


def _room(item: h5py.Dataset, size: int) -> int:
    """Return the most bytes that the stored data of a dataset can stand for."""
    there = item.id.get_storage_size()
    if not item.size:
        return 0
    if item.chunks is None:
        offset = item.id.get_offset()  # None of compact data, which lie in the header
        return there if offset is None or offset + there <= size else 0
    # A chunk that was never written would read as zeros.
    chunks = 1
    for length, step in zip(item.shape, item.chunks, strict=True):
        chunks *= -(-length // step)
    return there * _PACKED if item.id.get_num_chunks() == chunks else 0
