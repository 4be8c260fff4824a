"""Arrays split over the memory of several GPUs of one machine; each GPU reads such an array as one.

A range of addresses is mapped part by part to memory of the GPUs, and all of them may use it: CUDA's virtual memory
management. Kernels are the same as for an array on their own GPU. Parts on another GPU are read through NVLink, or
through the bus if there is none.
"""

import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np

from gpukit.device.arrays import Far, beyond_pool, limit_pool, synchronise, xp
from gpukit.errors import DeviceError

FROM_HOST = 1
"""``cudaMemcpyHostToDevice``."""


class Partitioned(Far):
    """A copy of an array in consecutive parts on several GPUs, for the current GPU.

    Parameters
    ----------
    array : array
        In host memory, not empty.
    parts : sequence of int
        Bytes of the part on each GPU (:func:`split`), multiples of :func:`granularity`.
    gpus : sequence of int
        CUDA device numbers of the GPUs whose kernels can read the array.

    Raises
    ------
    DeviceError
        If the driver refuses; the message names the call.
    """

    __slots__ = ()

    def __init__(self, array: np.ndarray, parts: Sequence[int], gpus: Sequence[int]) -> None:
        if xp is np:
            super().__init__(array.copy())
            return
        region = Region([(gpu, part) for gpu, part in zip(gpus, parts, strict=True) if part > 0], gpus)
        region.load(np.ascontiguousarray(array))
        self._map(region.ptr, region, array.shape, array.dtype)


def unreadable(gpus: Sequence[int]) -> str:
    """Return a sentence about a GPU that cannot read another's memory, or an empty string if there is none."""
    if xp is not np:
        for one in gpus:
            for other in gpus:
                if one != other and not xp.cuda.runtime.deviceCanAccessPeer(one, other):
                    return f"GPU {one} cannot read the memory of GPU {other}"
    return ""


def granularity(gpus: Sequence[int]) -> int:
    """Return the unit of the sizes of parts, in bytes; raises DeviceError if the driver lacks such memory."""
    if xp is np:
        return 64
    from cuda.bindings import driver

    flag = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_RECOMMENDED
    return max(int(_done(driver.cuMemGetAllocationGranularity(_memory_of(gpu), flag))) for gpu in gpus)


def split(size: int, rooms: Sequence[int], grain: int) -> list[int] | None:
    """Return the bytes of each GPU's part of an array: equal parts, except where a GPU has less room.

    Parameters
    ----------
    size : int
        Bytes of the array.
    rooms : sequence of int
        Bytes available on each GPU.
    grain : int
        Sizes of parts are multiples of this.

    Returns
    -------
    list of int, or None
        None if the GPUs together lack room.
    """
    parts, left = [0] * len(rooms), -(-size // grain)
    by_room = sorted(range(len(rooms)), key=lambda gpu: rooms[gpu])
    for given, gpu in enumerate(by_room):
        part = min(max(0, rooms[gpu]) // grain, -(-left // (len(rooms) - given)))
        parts[gpu] = grain * part
        left -= part
    return None if left else parts


class Region:
    """An address range for memory of several GPUs, freed when nobody uses it.

    Parameters
    ----------
    parts : sequence of (int, int)
        GPU and bytes of each part.
    readers : sequence of int
        GPUs that may access it.
    """

    def __init__(self, parts: Sequence[tuple[int, int]], readers: Sequence[int]) -> None:
        from cuda.bindings import driver

        self._parts, size, mapped = tuple(parts), sum(part for _, part in parts), 0
        self.ptr = int(_done(driver.cuMemAddressReserve(size, 0, 0, 0)))
        try:
            for gpu, part in parts:
                with xp.cuda.Device(gpu):
                    xp.get_default_memory_pool().free_all_blocks()  # cached blocks count as free
                memory = _done(driver.cuMemCreate(part, _memory_of(gpu), 0))
                try:
                    _done(driver.cuMemMap(self.ptr + mapped, part, 0, memory, 0))
                finally:
                    driver.cuMemRelease(memory)  # the mapping keeps it alive
                mapped += part
            access = [_access_of(gpu) for gpu in readers]
            _done(driver.cuMemSetAccess(self.ptr, size, access, len(access)))
        except DeviceError:
            _give_back(self.ptr, mapped, size, ())
            raise
        beyond_pool[self.ptr] = self._parts
        for gpu, _ in parts:
            limit_pool(gpu)
        weakref.finalize(self, _give_back, self.ptr, size, size, tuple(readers))

    def load(self, array: np.ndarray) -> None:
        """Copy an array from host memory, each part to its GPU."""

        def load_part(gpu: int, start: int, size: int) -> None:
            with xp.cuda.Device(gpu):
                xp.cuda.runtime.memcpy(self.ptr + start, array.ctypes.data + start, size, FROM_HOST)
                xp.cuda.runtime.deviceSynchronize()  # other GPUs do not wait for this GPU's stream

        starts = np.cumsum([0] + [part for _, part in self._parts]).tolist()
        sizes = [min(part, array.nbytes - start) for (_, part), start in zip(self._parts, starts[:-1], strict=True)]
        with ThreadPoolExecutor(len(self._parts)) as pool:
            list(pool.map(load_part, (gpu for gpu, _ in self._parts), starts[:-1], sizes))


def _give_back(ptr: int, mapped: int, size: int, readers: Sequence[int]) -> None:
    with suppress(Exception):  # the driver may be gone at the end of the process
        from cuda.bindings import driver

        for gpu in readers:
            synchronise(gpu)  # a kernel may still read the memory
        if mapped:
            driver.cuMemUnmap(ptr, mapped)
        driver.cuMemAddressFree(ptr, size)
        for gpu, _ in beyond_pool.pop(ptr, ()):
            limit_pool(gpu)


def _memory_of(gpu: int) -> Any:
    """Return the driver's description of memory on a GPU."""
    from cuda.bindings import driver

    kind = driver.CUmemAllocationProp()
    kind.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    kind.location = _place_of(gpu)
    return kind


def _access_of(gpu: int) -> Any:
    """Return the driver's description of read and write access for a GPU."""
    from cuda.bindings import driver

    access = driver.CUmemAccessDesc()
    access.location = _place_of(gpu)
    access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    return access


def _place_of(gpu: int) -> Any:
    from cuda.bindings import driver

    place = driver.CUmemLocation()
    place.type, place.id = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE, gpu
    return place


def _done(answer: tuple) -> Any:
    """Return the result of a driver call without its status; raises DeviceError if the driver refused."""
    if int(answer[0]) != 0:
        raise DeviceError(f"the driver refused memory of several GPUs: {answer[0].name}")
    return answer[1] if len(answer) > 1 else None
