"""Arrays on a GPU: CuPy allocates and caches the memory, and kernels read it; the simulator uses NumPy."""

import gc
import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np

from gpukit.device.arguments import View
from gpukit.device.memory import gpu_limit
from gpukit.device.select import simulated
from gpukit.errors import DeviceError

if simulated():
    xp: Any = np
    OutOfMemory: type[Exception] = MemoryError
else:
    try:
        import cupy

        xp, OutOfMemory = cupy, cupy.cuda.memory.OutOfMemoryError
    except ModuleNotFoundError:
        # Kernels can be compiled without CuPy; `gpukit.device.select.package_problem` prevents GPU work.
        xp, OutOfMemory = None, MemoryError


DEVICE_TO_HOST = 2
"""CUDA's constant for this kind of copy."""


class Buffer:
    """An array on the current GPU, for kernels, that can be replaced by a larger one.

    Parameters
    ----------
    source : array, or shape
        Array to copy to the device (a device array is used as it is), or the shape of a new one.
    dtype : dtype, optional
        Type of a new array.
    fill : int, optional
        Value of every element of a new array; undefined if not given.

    Attributes
    ----------
    array : cupy or numpy array
        For array operations.
    """

    __slots__ = ("_view", "array")

    def __init__(self, source: Any, dtype: Any = None, fill: int | None = None) -> None:
        if hasattr(source, "dtype"):
            # Copying an empty array costs as much as copying a page.
            self._set(xp.asarray(source) if source.size else xp.empty(source.shape, source.dtype))
        elif fill is None:
            self._set(xp.empty(source, dtype))
        elif fill == 0:
            self._set(xp.zeros(source, dtype))  # this launches no kernel
        else:
            self._set(xp.full(source, fill, dtype))

    def _set(self, array: Any) -> None:
        self.array = array
        self._view: Any = None

    @property
    def view(self) -> Any:
        """The array for kernels, the same :class:`View` until another array replaces it."""
        if self._view is None:
            self._view = View(self.array)
        return self._view

    def __len__(self) -> int:
        return len(self.array)

    def reserve(self, length: int, keep: int, capacity: int | None = None) -> None:
        """Make room for ``length`` elements, keeping the first ``keep``; a growing array gets up to ``capacity``.

        If nothing is kept, the old array is freed before the new one is allocated.
        """
        if length > len(self.array):
            size = max(length, min(2 * len(self.array), length + (1 << 26) if capacity is None else capacity))
            if keep:
                larger = xp.empty(size, self.array.dtype)
                larger[:keep] = self.array[:keep]
                self._set(larger)
            else:
                self._renew(size)

    def _renew(self, length: int) -> None:
        """Replace the array by a new one after freeing the old one; by an empty one if there is no room."""
        dtype = self.array.dtype
        self.array = self._view = None
        try:
            self._set(xp.empty(length, dtype))
        except OutOfMemory:
            self._set(xp.empty(0, dtype))
            raise

    def load(self, values: np.ndarray) -> None:
        """Copy values from host memory to the first elements; old elements are lost if the array has to grow."""
        if len(values) > len(self.array):
            self._renew(max(len(values), 2 * len(self.array)))
        self.write(0, values)

    def write(self, first: int, values: np.ndarray) -> None:
        """Copy values from host memory to the elements from ``first`` on; the array must have room."""
        target = self.array[first : first + len(values)]
        if xp is np:
            target[:] = values
        else:
            target.set(values.astype(self.array.dtype, copy=False))

    def host(self, length: int | None = None) -> np.ndarray:
        """Return the first ``length`` elements, or all, in host memory."""
        return on_host(self.array if length is None else self.array[:length])


def copy_of(array: Any) -> Any:
    """Return a copy of a contiguous array of the current GPU, made by the driver without a CuPy kernel."""
    if xp is np:
        return array.copy()
    copy = xp.empty_like(array)
    copy.data.copy_from_device_async(array.data, array.nbytes)
    return copy


def on_host(array: Any) -> np.ndarray:
    """Return a copy of a GPU array in host memory."""
    return array.copy() if xp is np else array.get()


def begin_to_read(*arrays: Any) -> Callable[[], list[np.ndarray]]:
    """Start to copy contiguous arrays of the current GPU to host memory; return a function that waits for the copies.

    That function returns the copies. It does not wait for work given to the GPU after this call.
    """
    if xp is np:
        copies = [array.copy() for array in arrays]
        return lambda: copies
    ends = list(accumulate([array.nbytes for array in arrays], initial=0))
    held, stream = xp.cuda.alloc_pinned_memory(ends[-1]), xp.cuda.get_current_stream()
    for array, start in zip(arrays, ends[:-1], strict=True):
        xp.cuda.runtime.memcpyAsync(held.ptr + start, array.data.ptr, array.nbytes, DEVICE_TO_HOST, stream.ptr)
    event = xp.cuda.Event(disable_timing=True)
    event.record()

    def read() -> list[np.ndarray]:
        event.synchronize()
        return [
            np.frombuffer(held, array.dtype, array.size, start).reshape(array.shape)
            for array, start in zip(arrays, ends[:-1], strict=True)
        ]

    return read


def for_launch(group: Any) -> Any:
    """Return a tuple as an argument of kernels: buffers, and copies of arrays, as views; other values unchanged."""
    values = [Buffer(one) if isinstance(one, np.ndarray | xp.ndarray) else one for one in group]
    views = [one.view if isinstance(one, Buffer) else one for one in values]
    return group._make(views) if hasattr(group, "_make") else tuple(views)


@contextmanager
def on_gpu(gpu: int) -> Iterator[None]:
    """Make a GPU current for kernels and arrays of this thread."""
    if xp is np:
        yield
        return
    with xp.cuda.Device(gpu):
        xp.cuda.runtime.setDevice(gpu)  # CuPy does this only when the GPU changes; a new thread has no context yet
        yield


def synchronise(gpu: int) -> None:
    """Wait until a GPU has finished all work given to it."""
    if xp is not np:
        xp.cuda.Device(gpu).synchronize()


def wait_for_gpu() -> None:
    """Wait until the current GPU has finished all work given to it, on all its streams."""
    if xp is not np:
        xp.cuda.runtime.deviceSynchronize()


def copy(target: Any, source: Any) -> None:
    """Copy a contiguous array to one of the same type and shape, on the same or another GPU."""
    if xp is np:
        target[...] = source
    elif target.nbytes:
        target.data.copy_from_device(source.data, target.nbytes)


def limit_memory(size: int | None, gpus: Sequence[int]) -> None:
    """Limit the memory that is used on each of these GPUs to ``size`` bytes from now on; None: no limit."""
    gpu_limit[:] = [] if size is None else [size]
    if xp is np:
        return
    pool = xp.get_default_memory_pool()
    xp.cuda.set_allocator(pool.malloc if size is None else _tidied)
    for gpu in gpus:
        limit_pool(gpu)


beyond_pool: dict[int, tuple[tuple[int, int], ...]] = {}
"""GPU memory outside CuPy's pool: the GPU and bytes of each part of an array, by the array's address."""


def _beyond_pool(gpu: int) -> int:
    return sum(size for parts in list(beyond_pool.values()) for one, size in parts if one == gpu)


def limit_pool(gpu: int) -> None:
    """Limit CuPy's pool on a GPU to the part of the limit that memory outside the pool leaves."""
    with xp.cuda.Device(gpu):
        size = max(1, gpu_limit[0] - _beyond_pool(gpu)) if gpu_limit else 0  # 0 means no limit
        xp.get_default_memory_pool().set_limit(size=size)


def _tidied(size: int) -> Any:
    """Allocate; if a limit forbids it, first free unused blocks of the pool, then also garbage.

    CuPy does this itself when the GPU is full, but not at a limit.
    """
    pool = xp.get_default_memory_pool()
    for attempt in range(2):
        try:
            return pool.malloc(size)
        except OutOfMemory:
            if attempt == 1:
                gc.collect()
            pool.free_all_blocks()
    return pool.malloc(size)


def free_memory(*, tidied: bool = False) -> int:
    """Return the bytes that can still be allocated on the current GPU, including CuPy's pool.

    With a limit, gaps in partly used blocks of the pool do not count. ``tidied``: unused blocks are freed first, so
    that small arrays do not split a block that a large array needs. If more memory is taken than is free, garbage is
    also collected, which costs a tenth of a second.
    """
    if xp is np:
        return min([1 << 30, *gpu_limit])
    if tidied and used_memory() > free_memory():
        gc.collect()
    pool = xp.get_default_memory_pool()
    if gpu_limit or tidied:
        pool.free_all_blocks()
    free = int(xp.cuda.runtime.memGetInfo()[0] + pool.free_bytes())
    used = pool.total_bytes() + _beyond_pool(xp.cuda.runtime.getDevice()) if gpu_limit else 0
    return min([free, *(size - used for size in gpu_limit)])


def used_memory() -> int:
    """Return the bytes of arrays on the current GPU."""
    if xp is np:
        return 0
    return int(xp.get_default_memory_pool().used_bytes()) + _beyond_pool(xp.cuda.runtime.getDevice())


class Far(Buffer):
    """An array outside the pool of the current GPU, which its kernels read through a bus; other GPUs may read it."""

    __slots__ = ()

    def _map(self, ptr: int, memory: Any, shape: tuple[int, ...], dtype: Any) -> None:
        """Refer to an array at an address, for the current GPU; ``memory`` stays alive as long as the array is used."""
        owner = xp.cuda.UnownedMemory(ptr, math.prod(shape) * dtype.itemsize, memory, xp.cuda.runtime.getDevice())
        self._set(xp.ndarray(shape, dtype, xp.cuda.MemoryPointer(owner, 0)))

    def here(self) -> "Far":
        """Return the same array for the current GPU."""
        again, array = Far.__new__(type(self)), self.array
        if xp is np:
            again._set(array)
        else:
            again._map(array.data.ptr, array, array.shape, array.dtype)
        return again


class Pinned(Far):
    """An array in host memory that the current GPU's kernels read through the bus.

    Its pages are locked in place, and nobody may change it meanwhile. If they cannot be locked, because another array
    on the same pages is locked already, the array is copied to memory that can.

    Parameters
    ----------
    array : array
        In host memory.
    gpus : sequence of int
        CUDA device numbers of the GPUs whose kernels read it; the current GPU if empty.
    """

    __slots__ = ()

    def __init__(self, array: np.ndarray, gpus: Sequence[int] = ()) -> None:
        if xp is np or array.nbytes == 0:
            super().__init__(array)
            return
        array = np.ascontiguousarray(array)
        memory: Any = _locked(array, gpus or (xp.cuda.runtime.getDevice(),))
        if memory is None:
            memory = xp.cuda.PinnedMemory(array.nbytes)
            held = np.frombuffer(xp.cuda.PinnedMemoryPointer(memory, 0), array.dtype, array.size)
            held.reshape(array.shape)[...] = array
        self._map(memory.ptr, memory, array.shape, array.dtype)


class _Locked:
    """Keeps an array alive and its pages locked for all GPUs; CUDA locks pages for only the current GPU by default."""

    def __init__(self, array: np.ndarray, gpus: Sequence[int]) -> None:
        for_all, mapped = 1, 2
        self.ptr = array.ctypes.data
        xp.cuda.runtime.hostRegister(self.ptr, array.nbytes, for_all | mapped)
        weakref.finalize(self, _unlock, array, gpus)


def _locked(array: np.ndarray, gpus: Sequence[int]) -> _Locked | None:
    """Lock the pages of an array; None if this fails even after a collection of garbage that may hold the lock."""
    for attempt in range(2):
        try:
            return _Locked(array, gpus)
        except xp.cuda.runtime.CUDARuntimeError:
            if attempt == 0:
                gc.collect()
    return None


def _unlock(array: np.ndarray, gpus: Sequence[int]) -> None:
    with suppress(Exception):  # the driver may be gone at the end of the process
        for gpu in gpus:
            synchronise(gpu)  # a kernel may still read the array
        xp.cuda.runtime.hostUnregister(array.ctypes.data)


class Moment:
    """The time at which the current stream of the current GPU finishes the work given to it before :meth:`note`."""

    def __init__(self) -> None:
        self._event = xp.cuda.Event()

    def note(self) -> None:
        """Record the current point of the stream."""
        self._event.record()

    def wait(self) -> None:
        """Wait for this time."""
        self._event.synchronize()

    def since(self, other: "Moment") -> float:
        """Wait for this time, and return the seconds since another one."""
        self.wait()
        return 1e-3 * float(xp.cuda.get_elapsed_time(other._event, self._event))


_streams: dict[int, Any] = {}
"""The second stream of each GPU."""


def side_stream() -> Any:
    """Return a context whose work on the current GPU waits for all work given so far, but not for later work.

    There is one such stream per GPU, because CuPy reuses freed memory only on the stream that it was allocated for.
    """
    if xp is np:
        return nullcontext()
    gpu = xp.cuda.runtime.getDevice()
    if gpu not in _streams:
        _streams[gpu] = xp.cuda.Stream(non_blocking=True)
    _streams[gpu].wait_event(xp.cuda.get_current_stream().record())
    return _streams[gpu]


def join_side_stream() -> None:
    """Let later work of the current GPU wait for the work given to :func:`side_stream`, if there is such a stream."""
    stream = _streams.get(xp.cuda.runtime.getDevice()) if xp is not np else None
    if stream is not None:
        xp.cuda.get_current_stream().wait_event(stream.record())


@cache
def _attribute(gpu: int, name: str) -> int:
    from cuda.bindings import driver

    driver.cuInit(0)  # CuPy may not have done this yet
    status, value = driver.cuDeviceGetAttribute(getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}"), gpu)
    if int(status) != 0:
        raise DeviceError(f"the driver says nothing of GPU {gpu}: {status.name}; see `gpukit doctor`")
    return int(value)


def device_attribute(name: str) -> int:
    """Return an attribute of the current GPU from the driver, such as ``MULTIPROCESSOR_COUNT``."""
    return _attribute(xp.cuda.runtime.getDevice(), name)


def shared_memory() -> int:
    """Return the most bytes of shared memory that a block of the current GPU may have."""
    return 48 << 10 if xp is np else device_attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")


def multiprocessors() -> int:
    """Return the number of multiprocessors of the current GPU."""
    return device_attribute("MULTIPROCESSOR_COUNT")


def resident_blocks(block: int, registers: int) -> int:
    """Return the number of blocks of a kernel that the current GPU holds at once, by threads and registers.

    Parameters
    ----------
    block, registers : int
        Threads of a block, and the registers of each thread.
    """
    per = min(
        device_attribute("MAX_THREADS_PER_MULTIPROCESSOR") // block,
        device_attribute("MAX_REGISTERS_PER_MULTIPROCESSOR") // (block * registers),
    )
    return multiprocessors() * max(1, per)
