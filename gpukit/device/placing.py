"""Where the arrays of a graph lie that GPUs work on: in the memory of each, or, those of edges, elsewhere, once."""

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
"""Part of the free memory that a graph and what lies beside it may take; the rest is for the work on it."""

PART = 1 << 26
"""Entries (int32) that :class:`Staged` copies to the GPU at a time."""


class Placement:
    """Where the arrays of a graph lie that a GPU works on, or several.

    Each GPU has a copy of those that have room there. Of arrays of edges others lie once for all: in parts over the
    memory of these GPUs, or in that of the host where they have no room either, or cannot read one another's. Kernels
    read host memory through the bus, 32 bytes at a time, which is slower the more edges they look at.

    Parameters
    ----------
    arrays : mapping of arrays
        By name, in host or device memory; those on the device stay there, and those in host memory may not change as
        long as what :meth:`here` returns is in use.
    edges : sequence of str
        The names of arrays with an element for each edge, or entry of an index, which may lie elsewhere.
    reserved : mapping of str to int
        Bytes by name of what else the work takes at least, on each GPU.
    advice : str
        What to do where the rest does not fit.
    share : float
        Part of the free memory that all this may take; 1 where ``reserved`` is all that the work takes.
    gpus : sequence of int
        CUDA device numbers; the current GPU if there are none.

    Raises
    ------
    DeviceError
        If a GPU has no room for the arrays that must lie there, or the host none for the others.
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
        """Return the arrays for the current GPU, one of those that were named; those elsewhere are ``Far``."""
        return {
            name: self._far[name].here() if name in self._far else Buffer(array) for name, array in self._arrays.items()
        }


def _free(needed: int, share: float, gpus: Sequence[int]) -> list[int]:
    """Return the free memory of each of these GPUs, or of the current one; garbage is collected where it is short."""
    if gpus:
        found = []
        for gpu in gpus:
            with on_gpu(gpu):
                found += _free(needed, share, ())
        return found
    free = free_memory()
    if needed > share * free and used_memory() > free >> 4:
        gc.collect()  # frames that Numba's compiler left behind hold arrays of what was done before
        free = free_memory()
    return [free]


def _apart(
    sizes: Mapping[str, int], by_size: Sequence[str], left: Sequence[int], grain: int | None
) -> tuple[dict[str, list[int]], list[str]]:
    """Choose which arrays lie elsewhere so that the rest has room: the largest, as few as possible in host memory.

    Parameters
    ----------
    sizes : mapping of str to int
        Bytes of all arrays.
    by_size : sequence of str
        Those that may lie elsewhere, the largest first.
    left : sequence of int
        Bytes that they may take of each GPU.
    grain : int, optional
        Of which the parts of an array on several GPUs are multiples; none where there can be no such arrays.

    Returns
    -------
    dict of lists of int, list of str
        The parts of each array that several GPUs hold, and the names of those in host memory.
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
    """Return the parts of these arrays on several GPUs, given the room of each; None where there is not enough."""
    parts: dict[str, list[int]] = {}
    for name in names:
        each = split(sizes[name], rooms, grain or 1)
        if each is None:
            return None
        parts[name], rooms = each, [room - part for room, part in zip(rooms, each, strict=True)]
    return parts if min(rooms) >= 0 else None


def _check_there(size: int, free: int, advice: str, why: str = "") -> None:
    """Say how much is to lie in host memory, and why, and refuse it if the host has no room for it."""
    if xp is not np:
        check_host({"what the GPU has no room for": size}, advice)
    reason = f"{readable(free)} free" + (f", and {why}" if why else "")
    _log.info("%s lie in host memory, as the GPU has %s", readable(size), reason)


class Staged:
    """The entries of rows, which are read from the first to the last; those that the GPU has no room for, in parts.

    Parameters
    ----------
    entries : array
        In host or device memory.
    room : int
        Bytes that they may take of the GPU, PART of them aside.
    advice : str
        What to do where the host has no room.
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
        """Yield (first entry, entries) of parts on the GPU: what lies in host memory is copied there, part by part."""
        yield 0, self._here
        if self._there is not None:
            for first in range(0, len(self._there), PART):
                part = self._there.array[first : first + PART]
                self._staged[: len(part)] = part
                yield len(self._here) + first, self._staged[: len(part)]
