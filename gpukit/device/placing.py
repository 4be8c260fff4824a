"""Where the arrays of a graph lie that a GPU works on: in its memory, or, those of edges, in that of the host."""

import gc
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gpukit.device.arrays import Buffer, Pinned, free_memory, used_memory, xp
from gpukit.device.memory import check_budget, check_host, readable

_log = logging.getLogger("gpukit")

SHARE = 0.75
"""Part of the free memory that a graph and what lies beside it may take; the rest is for the work on it."""

PART = 1 << 26
"""Entries (int32) that :class:`Staged` copies to the GPU at a time."""


def place(
    arrays: Mapping[str, np.ndarray],
    edges: Sequence[str],
    beside: Mapping[str, int],
    advice: str,
    share: float = SHARE,
) -> dict[str, Buffer]:
    """Copy arrays of a graph to the current GPU; of edges, those to the host that its memory has no room for.

    Kernels read host memory through the bus, 32 bytes at a time, which is slower the more edges they look at.

    Parameters
    ----------
    arrays : mapping of arrays
        By name, in host or device memory; those on the device stay there, and those in host memory may not change as
        long as what is returned is in use.
    edges : sequence of str
        The names of arrays with an element for each edge, or entry of an index, which may lie in host memory.
    beside : mapping of str to int
        Bytes by name of what else the work takes at least.
    advice : str
        What to do where the rest does not fit.
    share : float
        Part of the free memory that all this may take; 1 where ``beside`` is all that the work takes.

    Returns
    -------
    dict of Buffer
        Those in host memory are :class:`gpukit.device.arrays.Pinned`.

    Raises
    ------
    DeviceError
        If the GPU has no room for the arrays that must lie there, or the host none for the others.
    """
    sizes = {name: array.nbytes for name, array in arrays.items() if isinstance(array, np.ndarray)}
    free = free_memory()
    if sum(sizes.values()) + sum(beside.values()) > share * free and used_memory() > free >> 4:
        gc.collect()  # frames that Numba's compiler left behind hold arrays of what was done before
        free = free_memory()
    left = int(share * free) - sum(beside.values())
    there: list[str] = []
    for name in sorted(edges, key=lambda name: -sizes.get(name, 0)):
        if sum(sizes.values()) > left and sizes.get(name, 0) > 0:
            there.append(name)
            del sizes[name]
    check_budget({"the graph": sum(sizes.values()), **beside}, free, "the GPU", advice)
    if there:
        _check_there(sum(arrays[name].nbytes for name in there), free, advice)
    return {name: Pinned(array) if name in there else Buffer(array) for name, array in arrays.items()}


def _check_there(size: int, free: int, advice: str) -> None:
    """Say how much is to lie in host memory, and refuse it if the host has no room for it."""
    if xp is not np:
        check_host({"what the GPU has no room for": size}, advice)
    _log.info("%s lie in host memory, as the GPU has %s free", readable(size), readable(free))


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
