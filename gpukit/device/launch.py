"""Launches of kernels that cost the host less than Numba's, which looks at the type of every argument anew."""

import ctypes
from array import array
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, types
from numba.np.numpy_support import from_dtype

from gpukit.device.arrays import Absent, View, for_numba, shared_memory, xp
from gpukit.device.context import loading
from gpukit.errors import DeviceError

SCALARS = {
    types.boolean: ctypes.c_bool,
    types.int32: ctypes.c_int32,
    types.int64: ctypes.c_int64,
    types.uint32: ctypes.c_uint32,
    types.uint64: ctypes.c_uint64,
    types.float64: ctypes.c_double,
}
"""The C type of each type of scalar that kernels take."""

HOST: dict[type, Any] = {
    bool: ctypes.c_bool,
    int: ctypes.c_int64,
    float: ctypes.c_double,
    np.bool_: ctypes.c_bool,
    np.int32: ctypes.c_int32,
    np.int64: ctypes.c_int64,
    np.uint32: ctypes.c_uint32,
    np.uint64: ctypes.c_uint64,
    np.float64: ctypes.c_double,
}
"""The C type that Numba gives a scalar of the host."""


class _Compiled(NamedTuple):
    """A kernel on a GPU: its handle, whether it is cooperative, and each argument's type, and C type if scalar."""

    handle: Any
    cooperative: bool
    types: tuple[tuple[Any, Any], ...]


_compiled: dict[tuple[Any, int, tuple[bool, ...]], _Compiled] = {}
"""By kernel, device, and which of the arguments are None."""


def launch(kernel: Any, grid: int, block: int, *args: Any, shared: int = 0) -> None:
    """Launch a kernel on the current GPU and the current stream of CuPy, as ``kernel[grid, block](*args)`` does.

    Parameters
    ----------
    kernel : function decorated with ``cuda.jit``
    grid, block : int
        Blocks, and threads of a block.
    *args : scalar, array on the device, or a tuple of them, named or not; or None
        Of arrays, the views of :class:`gpukit.device.arrays.Buffer` are quick. A kernel takes the values of a tuple as
        if they stood one by one, and is compiled anew for None (:class:`gpukit.device.arrays.Absent`).
    shared : int
        Bytes of shared memory of a block beside those that the kernel's code names; a kernel that is to have more than
        48 KiB asks for some in its first launch, too.

    Raises
    ------
    DeviceError
        If the GPU refuses.

    Notes
    -----
    The first launch, launches of a kernel that was compiled for several lists of types with the same arguments None,
    and those with arguments of another type than before go through Numba.
    """
    if xp is np:
        kernel[grid, block, 0, shared](*args)
        return
    key = (kernel, cuda.current_context().device.id, tuple([arg is None for arg in args]))
    compiled = _compiled.get(key)
    held = None if compiled is None else _pack(compiled.types, args)
    stream = xp.cuda.get_current_stream().ptr
    if compiled is None or held is None:
        with loading:
            _launch_slowly(key, (grid, block, cuda.external_stream(stream) if stream else 0, shared), args)
        return
    from cuda.bindings import driver

    addresses, _keep = held
    start = driver.cuLaunchCooperativeKernel if compiled.cooperative else driver.cuLaunchKernel
    shape = (grid, 1, 1, block, 1, 1, shared, stream, addresses.buffer_info()[0])
    (status,) = start(compiled.handle, *shape) if compiled.cooperative else start(compiled.handle, *shape, 0)
    if status != driver.CUresult.CUDA_SUCCESS:
        raise DeviceError(f"the GPU refused to start {kernel.__name__}: {status.name}; see `gpukit doctor`")


def _launch_slowly(key: tuple[Any, int, tuple[bool, ...]], shape: tuple[int, int, Any, int], args: tuple) -> None:
    """Launch a kernel through Numba, and note how to do without next time."""
    kernel, _, absent = key
    given = [for_numba(arg) for arg in args]
    if shape[-1]:
        _allow_shared(kernel, given)
    kernel[shape](*given)
    _compiled.pop(key, None)
    made = [
        (signature, overload)
        for signature, overload in kernel.overloads.items()
        if tuple(one == Absent.kind for one in signature) == absent
    ]
    if len(made) == 1:
        ((signature, overload),) = made
        kinds = tuple((one, SCALARS.get(one)) for one in _flat_types(signature))
        if all(scalar is not None or isinstance(one, types.Array) for one, scalar in kinds):
            handle = overload._codelibrary.get_cufunc().handle
            _compiled[key] = _Compiled(handle, overload.cooperative, kinds)


def _allow_shared(kernel: Any, args: list) -> None:
    """Let the launches of a kernel ask for all the shared memory that a block may have; without it that is 48 KiB."""
    from cuda.bindings import driver

    compiled = kernel.compile(tuple(kernel.typeof_pyval(arg) for arg in args))
    limit = shared_memory() - compiled.shared_mem_per_block
    handle, name = compiled._codelibrary.get_cufunc().handle, driver.CUfunction_attribute
    for attribute, value in (
        (name.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, limit),
        (name.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100),
    ):
        (status,) = driver.cuKernelSetAttribute(attribute, value, handle, cuda.current_context().device.id)
        if status != driver.CUresult.CUDA_SUCCESS:
            raise DeviceError(f"the GPU refused {limit} bytes of shared memory: {status.name}; see `gpukit doctor`")


def _flat_types(signature: Iterable[Any]) -> Iterator[Any]:
    """Give the types that a kernel takes, those in tuples one by one, without those of None."""
    for one in signature:
        if isinstance(one, types.BaseTuple):
            yield from _flat_types(one.types)
        elif one != Absent.kind:
            yield one


def _flat(args: Iterable[Any]) -> list[Any]:
    """Return the arguments of a launch but None, those in tuples one by one; a generator costs three times as much."""
    found = []
    for arg in args:
        if isinstance(arg, tuple):
            found += _flat(arg)
        elif arg is not None:
            found.append(arg)
    return found


def _pack(signature: tuple[tuple[Any, Any], ...], args: tuple) -> tuple[array, list] | None:
    """Return where each value that the kernel takes lies, and what keeps it there; None if a type is another one."""
    addresses, keep = array("Q"), []
    for (kind, scalar), arg in zip(signature, _flat(args), strict=True):
        if scalar is not None:
            if type(arg) not in HOST or HOST[type(arg)] is not scalar:
                return None
            value = scalar(arg)
            keep.append(value)
            addresses.append(ctypes.addressof(value))
            continue
        known = arg.words if isinstance(arg, View) else None
        if known is None or known[0] is not kind:
            known = _words(kind, arg)
            if known is None:
                return None
        addresses.extend(known[2])
    return addresses, keep


def _words(kind: Any, view: Any) -> tuple[Any, array, array] | None:
    """Lay out an array as Numba's kernels take it, and keep that with its view; None if it is of another type."""
    if not isinstance(view, View):
        return None
    given = view.array
    fits = (kind.dtype, kind.ndim, kind.layout) == (from_dtype(given.dtype), given.ndim, "C")
    if not fits or not given.flags.c_contiguous:
        return None
    words = array("Q", (0, 0, given.size, given.itemsize, given.data.ptr, *given.shape, *given.strides))
    first = words.buffer_info()[0]
    known = (kind, words, array("Q", range(first, first + 8 * len(words), 8)))
    view.words = known
    return known
