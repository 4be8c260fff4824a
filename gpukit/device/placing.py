"""Placement of a graph's arrays: in the memory of each GPU, or, for arrays of edges, elsewhere and shared by all."""

import gc
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gpukit.device.arrays import Buffer, Far, Pinned, free_memory, on_gpu, used_memory, xp
from gpukit.device.memory import check_budget, check_host, readable
from gpukit.device.partitioned import Partitioned, granularity, split, unreadable
from gpukit.errors import DeviceError

_log = logging.getLogger("gpukit")

SHARE = 0.75
"""Share of the free memory for a graph and the working space next to it; the rest is for the work on it."""

PART = 1 << 26
"""Entries (int32) that :class:`Staged` copies to the GPU at a time."""


class Placement:
    """Placement of the arrays of a graph for one or more GPUs.

    Each GPU gets a copy of the arrays that fit. An array of edges that does not fit is stored once for all GPUs: split
    over their memories; or in host memory, if they have no room either or cannot read each other's memory. Kernels read
    host memory through the bus, 32 bytes at a time, which is slower the more edges they read.

    Parameters
    ----------
    arrays : mapping of arrays
        By name, in host or device memory. Arrays on the device stay there. Arrays in host memory must not change as
        long as the results of :meth:`here` are in use.
    edges : sequence of str
        The names of arrays with an element for each edge, or index entry; these may be placed elsewhere.
    reserved : mapping of str to int
        Bytes by name of the least further memory that the work takes on each GPU.
    advice : str
        Advice if the remaining arrays do not fit.
    share : float
        Share of the free memory for all this; 1 if ``reserved`` is all that the work takes.
    gpus : sequence of int
        CUDA device numbers; the current GPU if empty.

    Raises
    ------
    DeviceError
        If a GPU has no room for the arrays that must be on it, or the host has no room for the rest.
    """

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray],
        edges: Sequence[str],
        reserved: Mapping[str, int],
        advice: str,
        share: float = SHARE,
        gpus: Sequence[int] = (),
    ) -> None:
        gpus = tuple(dict.fromkeys(gpus))
        sizes = {name: array.nbytes for name, array in arrays.items() if isinstance(array, np.ndarray)}
        free = _free(sum(sizes.values()) + sum(reserved.values()), share, gpus)
        left = [int(share * one) - sum(reserved.values()) for one in free]
        self._arrays, self._far = arrays, dict[str, Far]()
        why, parts, there = "", dict[str, list[int]](), list[str]()
        if sum(sizes.values()) > min(left):
            by_size = sorted((name for name in edges if sizes.get(name, 0) > 0), key=lambda name: -sizes[name])
            why = unreadable(gpus)
            try:
                parts, there = _apart(sizes, by_size, left, granularity(gpus) if len(left) > 1 and not why else None)
                self._far = {name: Partitioned(arrays[name], each, gpus) for name, each in parts.items()}
            except DeviceError as refused:
                why, (parts, there) = str(refused), _apart(sizes, by_size, left, None)
        here = sum(size for name, size in sizes.items() if name not in parts and name not in there)
        check_budget({"the graph": here, **reserved}, min(free), "the GPU", advice)
        if parts:
            size, several = readable(sum(sizes[name] for name in parts)), ", ".join(map(str, gpus))
            _log.info("%s lie in parts on the GPUs %s, as one has %s free", size, several, readable(min(free)))
        if there:
            _check_there(sum(sizes[name] for name in there), min(free), advice, why)
            self._far |= {name: Pinned(arrays[name], gpus) for name in there}

    def here(self) -> dict[str, Buffer]:
        """Return the arrays for the current GPU, which must be one of ``gpus``; arrays placed elsewhere are ``Far``."""
        return {
            name: self._far[name].here() if name in self._far else Buffer(array) for name, array in self._arrays.items()
        }


def _free(needed: int, share: float, gpus: Sequence[int]) -> list[int]:
    """Return the free memory of each of these GPUs, or of the current one; garbage is collected if memory is short."""
    if gpus:
        found = []
        for gpu in gpus:
            with on_gpu(gpu):
                found += _free(needed, share, ())
        return found
    free = free_memory()
    if needed > share * free and used_memory() > free >> 4:
        gc.collect()  # Numba's compiler leaves frames behind that refer to arrays of earlier work
        free = free_memory()
    return [free]


def _apart(
    sizes: Mapping[str, int], by_size: Sequence[str], left: Sequence[int], grain: int | None
) -> tuple[dict[str, list[int]], list[str]]:
    """Choose the arrays to place elsewhere so that the rest fits: the largest, as few as possible in host memory.

    Parameters
    ----------
    sizes : mapping of str to int
        Bytes of all arrays.
    by_size : sequence of str
        Names of the arrays that may be placed elsewhere, the largest first.
    left : sequence of int
        Bytes available for these arrays on each GPU.
    grain : int, optional
        Parts of arrays on several GPUs are multiples of this; None if arrays cannot be split.

    Returns
    -------
    dict of lists of int, list of str
        The parts of each array that is split over GPUs, and the names of arrays in host memory.
    """
    for there in range(len(by_size) + 1):
        for end in range(there, len(by_size) + 1 if grain else there + 1):
            moved = sum(sizes[name] for name in by_size[:end])
            parts = _in_parts(sizes, by_size[there:end], [one - sum(sizes.values()) + moved for one in left], grain)
            if parts is not None:
                return parts, list(by_size[:there])
    return {}, list(by_size)


def _in_parts(
    sizes: Mapping[str, int], names: Sequence[str], rooms: Sequence[int], grain: int | None
) -> dict[str, list[int]] | None:
    """Return the parts of these arrays on several GPUs, given the room on each; None if there is not enough."""
    parts: dict[str, list[int]] = {}
    for name in names:
        each = split(sizes[name], rooms, grain or 1)
        if each is None:
            return None
        parts[name], rooms = each, [room - part for room, part in zip(rooms, each, strict=True)]
    return parts if min(rooms) >= 0 else None


def _check_there(size: int, free: int, advice: str, why: str = "") -> None:
    """Log how much will be in host memory, and why; refuse it if the host has no room."""
    if xp is not np:
        check_host({"what the GPU has no room for": size}, advice)
    reason = f"{readable(free)} free" + (f", and {why}" if why else "")
    _log.info("%s lie in host memory, as the GPU has %s", readable(size), reason)


class Staged:
    """Row entries that are read in sequence; entries that do not fit on the GPU are copied to it part by part.

    Parameters
    ----------
    entries : array
        In host or device memory.
    room : int
        Bytes available on the GPU, in addition to PART entries.
    advice : str
        Advice if the host has no room.
    """

    def __init__(self, entries: Any, room: int, advice: str) -> None:
        size = len(entries)
        fit = 4 * size <= room or not isinstance(entries, np.ndarray)
        here = size if fit else max(0, room) // (4 * PART) * PART
        self._here, rest = xp.asarray(entries[:here]), entries[here:]
        if here < size:
            _check_there(rest.nbytes, free_memory(), advice)
        self._there, self._staged = Pinned(rest) if here < size else None, xp.empty(min(PART, size - here), np.int32)

    def parts(self) -> Iterator[tuple[int, Any]]:
        """Yield (first entry, entries) of parts on the GPU: entries in host memory are copied there, part by part."""
        yield 0, self._here
        if self._there is not None:
            for first in range(0, len(self._there), PART):
                part = self._there.array[first : first + PART]
                self._staged[: len(part)] = part
                yield len(self._here) + first, self._staged[: len(part)]
