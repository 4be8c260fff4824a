"""Launches of kernels that cost the host less than Numba's, which looks at the type of every argument anew."""

import struct
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, types
from numba.np.numpy_support import as_dtype

from gpukit.device.arguments import Absent, View, for_numba, kind_of
from gpukit.device.arrays import shared_memory, xp
from gpukit.device.context import loading
from gpukit.errors import DeviceError

SCALARS = {
    types.boolean: "?7x",
    types.int32: "i4x",
    types.int64: "q",
    types.uint32: "I4x",
    types.uint64: "Q",
    types.float64: "d",
}
"""How each type of scalar that kernels take lies in eight bytes, for :mod:`struct`."""

HOST: dict[type, Any] = {
    bool: types.boolean,
    int: types.int64,
    float: types.float64,
    np.bool_: types.boolean,
    np.int32: types.int32,
    np.int64: types.int64,
    np.uint32: types.uint32,
    np.uint64: types.uint64,
    np.float64: types.float64,
}
"""The type that Numba gives a scalar of the host."""


class _Form(NamedTuple):
    """How the arguments of a kernel lie in memory: eight bytes for a scalar, some more for an array.

    Attributes
    ----------
    kinds : tuple
        Numba's type of each argument, those in tuples one by one; of arrays that of
        :func:`gpukit.device.arguments.kind_of`.
    layout : struct.Struct
    fitting : set of tuples
        Python's types of arguments that were found to fit.
    spare : list
        Pairs of arrays (uint64): room for the arguments, and the address of each of its words; a launch borrows one.
    """

    kinds: tuple[Any, ...]
    layout: struct.Struct
    fitting: set[tuple[type, ...]]
    spare: list[tuple[array, array]]


class _Compiled(NamedTuple):
    """A kernel on a GPU: what launches it, its handle, what the launch takes at last, and the form of its arguments."""

    start: Callable[..., tuple[Any]]
    handle: Any
    last: tuple[int, ...]
    form: _Form


SUCCESS = 0
"""What the driver answers where it did what it was asked for."""

_compiled: dict[tuple[Any, int, tuple[bool, ...]], _Compiled] = {}
"""By kernel, device, and which of the arguments are None."""


def launch(kernel: Any, grid: int | tuple[int, int], block: int, *args: Any, shared: int = 0) -> None:
    """Launch a kernel on the current GPU and the current stream of CuPy, as ``kernel[grid, block](*args)`` does.

    Parameters
    ----------
    kernel : function decorated with ``cuda.jit``
    grid : int or pair of int
        Blocks, side by side or in as many rows: ``blockIdx.x`` is below the first, ``blockIdx.y`` below the second.
    block : int
        Threads of a block.
    *args : scalar, array on the device, or a tuple of them, named or not; or None
        Of arrays, the views of :class:`gpukit.device.arrays.Buffer` are quick. A kernel takes the values of a tuple as
        if they stood one by one, and is compiled anew for None (:class:`gpukit.device.arguments.Absent`).
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
    and those with arguments of another type than before, or with a tuple or None in a tuple, go through Numba.
    """
    if xp is np:
        kernel[grid, block, 0, shared](*map(for_numba, args))
        return
    key = (kernel, xp.cuda.runtime.getDevice(), tuple([arg is None for arg in args]))
    compiled = _compiled.get(key)
    held = None if compiled is None else _pack(compiled.form, args)
    stream = xp.cuda.get_current_stream().ptr
    if compiled is None or held is None:
        with loading:
            _launch_slowly(key, (grid, block, cuda.external_stream(stream) if stream else 0, shared), args)
        return
    width, rows = grid if isinstance(grid, tuple) else (grid, 1)
    shape = (width, rows, 1, block, 1, 1, shared, stream, held[1].buffer_info()[0])
    (status,) = compiled.start(compiled.handle, *shape, *compiled.last)
    compiled.form.spare.append(held)
    if status != SUCCESS:
        raise DeviceError(f"the GPU refused to start {kernel.__name__}: {status.name}; see `gpukit doctor`")


def _launch_slowly(
    key: tuple[Any, int, tuple[bool, ...]], shape: tuple[int | tuple[int, int], int, Any, int], args: tuple
) -> None:
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
        form = _form(signature)
        if form is not None:
            from cuda.bindings import driver

            start, last = (
                (driver.cuLaunchCooperativeKernel, ()) if overload.cooperative else (driver.cuLaunchKernel, (0,))
            )
            _compiled[key] = _Compiled(start, overload._codelibrary.get_cufunc().handle, last, form)


def _form(signature: Iterable[Any]) -> _Form | None:
    """Return how the arguments of a kernel lie in memory; None where one is no scalar and no array in C's order."""
    kinds = tuple(_flat_types(signature))
    if not all(kind in SCALARS or (isinstance(kind, types.Array) and kind.layout == "C") for kind in kinds):
        return None
    kinds = tuple(kind if kind in SCALARS else kind_of(as_dtype(kind.dtype), kind.ndim) for kind in kinds)
    layout = "".join(SCALARS[kind] if kind in SCALARS else "Q" * (5 + 2 * kind.ndim) for kind in kinds)
    return _Form(kinds, struct.Struct("=" + layout), set(), [])


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
        if status != SUCCESS:
            raise DeviceError(f"the GPU refused {limit} bytes of shared memory: {status.name}; see `gpukit doctor`")


def _flat_types(signature: Iterable[Any]) -> Iterator[Any]:
    """Give the types that a kernel takes, those in tuples one by one, without those of None."""
    for one in signature:
        if isinstance(one, types.BaseTuple):
            yield from _flat_types(one.types)
        elif one != Absent.kind:
            yield one


def _flat(args: Iterable[Any]) -> list[Any]:
    """Return the arguments of a launch but None, those in tuples one by one."""
    found: list[Any] = []
    for arg in args:
        if isinstance(arg, tuple):
            found += arg
        elif arg is not None:
            found.append(arg)
    return found


def _pack(form: _Form, args: tuple) -> tuple[array, array] | None:
    """Return arguments as they lie in memory, and where each of the words does; None if a type is another one."""
    flat = _flat(args)
    kinds = tuple(map(type, flat))
    if kinds not in form.fitting:
        if len(kinds) != len(form.kinds) or not all(
            one is View if isinstance(kind, types.Array) else HOST.get(one) is kind
            for one, kind in zip(kinds, form.kinds, strict=True)
        ):
            return None
        form.fitting.add(kinds)
    values: list[Any] = []
    for arg, one, kind in zip(flat, kinds, form.kinds, strict=True):
        if one is not View:
            values.append(arg)
        elif arg.kind is kind:
            values += arg.words
        else:
            return None
    try:
        held = form.spare.pop()
    except IndexError:  # asked for afterwards, not before: another thread may take the last one in between
        held = _room(form.layout.size // 8)
    form.layout.pack_into(held[0], 0, *values)
    return held


def _room(words: int) -> tuple[array, array]:
    """Return room for so many words, and the address of each."""
    room = array("Q", bytes(8 * words))
    first = room.buffer_info()[0]
    return room, array("Q", range(first, first + 8 * words, 8))
