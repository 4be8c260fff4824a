"""Where the arrays of a graph lie that a GPU works on: in its memory, or, those of edges, in that of the host."""

import gc
import logging
from collections.abc import Mapping, Sequence

import numpy as np

from gpukit.device.arrays import Buffer, Pinned, free_memory, xp
from gpukit.device.memory import check_budget, check_host, readable

_log = logging.getLogger("gpukit")

SHARE = 0.75
"""Part of the free memory that a graph may take; the rest is for the work on it."""


def place(
    arrays: Mapping[str, np.ndarray], edges: Sequence[str], beside: Mapping[str, int], advice: str
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
    if sum(sizes.values()) + sum(beside.values()) > SHARE * free:
        gc.collect()  # frames that Numba's compiler left behind hold arrays of what was done before
        free = free_memory()
    left = int(SHARE * free) - sum(beside.values())
    there: list[str] = []
    for name in sorted(edges, key=lambda name: -sizes.get(name, 0)):
        if sum(sizes.values()) > left and sizes.get(name, 0) > 0:
            there.append(name)
            del sizes[name]
    check_budget({"the graph": sum(sizes.values()), **beside}, free, "the GPU", advice)
    if there and xp is not np:
        total = sum(arrays[name].nbytes for name in there)
        check_host({"what the GPU has no room for": total}, advice)
        _log.info("%s lie in host memory, as the GPU has %s free", readable(total), readable(free))
    return {name: Pinned(array) if name in there else Buffer(array) for name, array in arrays.items()}
