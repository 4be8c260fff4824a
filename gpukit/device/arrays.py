"""Arrays on a GPU: CuPy allocates and keeps the memory, kernels read it; NumPy stands in under the simulator."""

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
        # Kernels can be compiled without it; `gpukit.device.select.package_problem` keeps work away.
        xp, OutOfMemory = None, MemoryError


DEVICE_TO_HOST = 2
"""The kind of such a copy, for CUDA."""


class Buffer:
    """An array on the current GPU that kernels take, and that can be replaced by a larger one.

    Parameters
    ----------
    source : array, or shape
        What to copy to the device (an array there is taken as it is), or the shape to make.
    dtype : dtype, optional
        Type of a made array.
    fill : int, optional
        Value of every element of a made array; undefined if not given.

    Attributes
    ----------
    array : cupy or numpy array
        For array operations.
    """

    __slots__ = ("_view", "array")

    def __init__(self, source: Any, dtype: Any = None, fill: int | None = None) -> None:
        if hasattr(source, "dtype"):
            # There is nothing to copy, and a copy of nothing costs as much as one of a page.
            self._set(xp.asarray(source) if source.size else xp.empty(source.shape, source.dtype))
        elif fill is None:
            self._set(xp.empty(source, dtype))
        elif fill == 0:
            self._set(xp.zeros(source, dtype))  # without a kernel
        else:
            self._set(xp.full(source, fill, dtype))

    def _set(self, array: Any) -> None:
        self.array = array
        self._view: Any = None

    @property
    def view(self) -> Any:
        """The array for kernels, the same :class:`View` until another array takes its place."""
        if self._view is None:
            self._view = View(self.array)
        return self._view

    def __len__(self) -> int:
        return len(self.array)

    def reserve(self, length: int, keep: int, capacity: int | None = None) -> None:
        """Make room for ``length`` elements, keeping the first ``keep``; if it grows, for more, up to ``capacity``.

        Without anything to keep, the old array is gone before the new one is made.
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
        """Take another array, once the old one is gone; an empty one if there is no room."""
        dtype = self.array.dtype
        self.array = self._view = None
        try:
            self._set(xp.empty(length, dtype))
        except OutOfMemory:
            self._set(xp.empty(0, dtype))
            raise

    def load(self, values: np.ndarray) -> None:
        """Copy values from host memory to the first elements; what was there need not be kept if there is no room."""
        if len(values) > len(self.array):
            self._renew(max(len(values), 2 * len(self.array)))
        self.write(0, values)

    def write(self, first: int, values: np.ndarray) -> None:
        """Copy values from host memory to the elements from number ``first`` on, for which there is room."""
        target = self.array[first : first + len(values)]
        if xp is np:
            target[:] = values
        else:
            target.set(values.astype(self.array.dtype, copy=False))

    def host(self, length: int | None = None) -> np.ndarray:
        """Return the first ``length`` elements, or all, in host memory."""
        return on_host(self.array if length is None else self.array[:length])


def copy_of(array: Any) -> Any:
    """Return a copy of a contiguous array of the current GPU, made by the driver without a kernel of CuPy's."""
    if xp is np:
        return array.copy()
    copy = xp.empty_like(array)
    copy.data.copy_from_device_async(array.data, array.nbytes)
    return copy


def on_host(array: Any) -> np.ndarray:
    """Return a copy of an array of the GPU in host memory."""
    return array.copy() if xp is np else array.get()


def begin_to_read(*arrays: Any) -> Callable[[], list[np.ndarray]]:
    """Begin to copy contiguous arrays of the current GPU to host memory; return what waits for that, and for no more.

    It returns the copies. What the GPU is given meanwhile is not waited for.
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
    """Return a tuple, named or not, as kernels take it: buffers, and copies of arrays, as views; the rest as it is."""
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
        xp.cuda.runtime.setDevice(gpu)  # CuPy does so only for another GPU; a thread that is new has no context yet
        yield


def synchronise(gpu: int) -> None:
    """Wait until a GPU has done what it was given."""
    if xp is not np:
        xp.cuda.Device(gpu).synchronize()


def wait_for_gpu() -> None:
    """Wait until the current GPU has done what it was given, on all its streams."""
    if xp is not np:
        xp.cuda.runtime.deviceSynchronize()


def copy(target: Any, source: Any) -> None:
    """Copy a contiguous array to one of the same type and shape, on the same or another GPU."""
    if xp is np:
        target[...] = source
    elif target.nbytes:
        target.data.copy_from_device(source.data, target.nbytes)


def limit_memory(size: int | None, gpus: Sequence[int]) -> None:
    """Take no more than so many bytes of the memory of each of these GPUs from now on; None: as many as are free."""
    gpu_limit[:] = [] if size is None else [size]
    if xp is np:
        return
    pool = xp.get_default_memory_pool()
    xp.cuda.set_allocator(pool.malloc if size is None else _tidied)
    for gpu in gpus:
        limit_pool(gpu)


beyond_pool: dict[int, tuple[tuple[int, int], ...]] = {}
"""Memory of GPUs that is not of CuPy's pool: GPU and bytes of each part of an array, by its address."""


def _beyond_pool(gpu: int) -> int:
    return sum(size for parts in list(beyond_pool.values()) for one, size in parts if one == gpu)


def limit_pool(gpu: int) -> None:
    """Have CuPy's pool take no more of a GPU than the limit leaves beside what is not the pool's."""
    with xp.cuda.Device(gpu):
        size = max(1, gpu_limit[0] - _beyond_pool(gpu)) if gpu_limit else 0  # 0 is no limit
        xp.get_default_memory_pool().set_limit(size=size)


def _tidied(size: int) -> Any:
    """Allocate; where a limit forbids it, after what the pool only keeps, and then garbage, were given back.

    CuPy does so itself where the GPU is full, but not at a limit.
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
    """Return the bytes that can still be allocated on the current GPU, CuPy's own pool included.

    Within a limit, the gaps that the pool keeps in blocks of which a part is used are none of them. ``tidied``: blocks
    that it only keeps are given back, so that small arrays take no part of one that a large array needs; and garbage is
    collected first where more is taken than is free, which costs a tenth of a second.
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
    """An array beyond the pool of the current GPU, whose kernels read it through a bus; others may read it, too."""

    __slots__ = ()

    def _map(self, ptr: int, memory: Any, shape: tuple[int, ...], dtype: Any) -> None:
        """Take an array at an address, for the current GPU; ``memory`` is kept as long as it is used."""
        owner = xp.cuda.UnownedMemory(ptr, math.prod(shape) * dtype.itemsize, memory, xp.cuda.runtime.getDevice())
        self._set(xp.ndarray(shape, dtype, xp.cuda.MemoryPointer(owner, 0)))

    def here(self) -> "Far":
        """Return the same array for the GPU that is current now."""
        again, array = Far.__new__(type(self)), self.array
        if xp is np:
            again._set(array)
        else:
            again._map(array.data.ptr, array, array.shape, array.dtype)
        return again


class Pinned(Far):
    """An array in host memory that the current GPU's kernels read through the bus.

    Its pages are locked where they are, and nobody may change it meanwhile. Where they cannot be, as another array on
    them is already, it is copied to memory that can.

    Parameters
    ----------
    array : array
        In host memory.
    gpus : sequence of int
        CUDA device numbers, whose kernels read it; the current GPU if there are none.
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
    """Keeps an array, and its pages locked for all GPUs; without a flag they are so for the current one alone."""

    def __init__(self, array: np.ndarray, gpus: Sequence[int]) -> None:
        for_all, mapped = 1, 2
        self.ptr = array.ctypes.data
        xp.cuda.runtime.hostRegister(self.ptr, array.nbytes, for_all | mapped)
        weakref.finalize(self, _unlock, array, gpus)


def _locked(array: np.ndarray, gpus: Sequence[int]) -> _Locked | None:
    """Lock the pages of an array; None where it cannot be, also after garbage that may hold them was collected."""
    for attempt in range(2):
        try:
            return _Locked(array, gpus)
        except xp.cuda.runtime.CUDARuntimeError:
            if attempt == 0:
                gc.collect()
    return None


def _unlock(array: np.ndarray, gpus: Sequence[int]) -> None:
    with suppress(Exception):  # at the end of the process the driver may be gone
        for gpu in gpus:
            synchronise(gpu)  # a kernel may still read
        xp.cuda.runtime.hostUnregister(array.ctypes.data)


class Moment:
    """When the current stream of the current GPU has done what it was given before :meth:`note`."""

    def __init__(self) -> None:
        self._event = xp.cuda.Event()

    def note(self) -> None:
        """Let it be now."""
        self._event.record()

    def wait(self) -> None:
        """Wait for it."""
        self._event.synchronize()

    def since(self, other: "Moment") -> float:
        """Wait for it, and return the seconds since another one."""
        self.wait()
        return 1e-3 * float(xp.cuda.get_elapsed_time(other._event, self._event))


_streams: dict[int, Any] = {}
"""The second stream of each GPU."""


def side_stream() -> Any:
    """Return a context in which work of the current GPU waits for what it was given so far, not for what follows.

    There is one such stream a GPU, since CuPy keeps memory that was freed for the stream that it was made for.
    """
    if xp is np:
        return nullcontext()
    gpu = xp.cuda.runtime.getDevice()
    if gpu not in _streams:
        _streams[gpu] = xp.cuda.Stream(non_blocking=True)
    _streams[gpu].wait_event(xp.cuda.get_current_stream().record())
    return _streams[gpu]


def join_side_stream() -> None:
    """Let what the current GPU is given from now on wait for what :func:`side_stream`, if there is one, was given."""
    stream = _streams.get(xp.cuda.runtime.getDevice()) if xp is not np else None
    if stream is not None:
        xp.cuda.get_current_stream().wait_event(stream.record())


@cache
def _attribute(gpu: int, name: str) -> int:
    from cuda.bindings import driver

    driver.cuInit(0)  # CuPy may not have needed it yet
    status, value = driver.cuDeviceGetAttribute(getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}"), gpu)
    if int(status) != 0:
        raise DeviceError(f"the driver says nothing of GPU {gpu}: {status.name}; see `gpukit doctor`")
    return int(value)


def device_attribute(name: str) -> int:
    """Return a number that the driver says of the current GPU, as ``MULTIPROCESSOR_COUNT``."""
    return _attribute(xp.cuda.runtime.getDevice(), name)


def shared_memory() -> int:
    """Return the most bytes of shared memory that a block of the current GPU may have."""
    return 48 << 10 if xp is np else device_attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")


def multiprocessors() -> int:
    """Return how many multiprocessors the current GPU has."""
    return device_attribute("MULTIPROCESSOR_COUNT")


def resident_blocks(block: int, registers: int) -> int:
    """Return how many blocks of a kernel the current GPU holds at once, by threads and registers.

    Parameters
    ----------
    block, registers : int
        Threads of a block, and the registers each may take.
    """
    per = min(
        device_attribute("MAX_THREADS_PER_MULTIPROCESSOR") // block,
        device_attribute("MAX_REGISTERS_PER_MULTIPROCESSOR") // (block * registers),
    )
    return multiprocessors() * max(1, per)
