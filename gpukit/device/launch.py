"""Kernel launches: arguments are checked and packed, and the driver starts the kernel, without a compiler."""

import threading
from array import array
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from gpukit.device import store
from gpukit.device.arguments import View
from gpukit.device.arrays import device_attribute, multiprocessors, shared_memory, xp
from gpukit.device.kernels import Kernel, Signature
from gpukit.errors import DeviceError

HOST: dict[type, str] = {
    bool: "boolean",
    int: "int64",
    float: "float64",
    np.bool_: "boolean",
    np.int32: "int32",
    np.int64: "int64",
    np.uint32: "uint32",
    np.uint64: "uint64",
    np.float64: "float64",
}
"""The kernel's type for a scalar of the host."""

SUCCESS = 0
"""The driver's status for success."""


class _Loaded(NamedTuple):
    """A kernel on a GPU: the driver function that launches it, its handle, and the last arguments of the launch."""

    start: Callable[..., tuple[Any]]
    handle: Any
    last: tuple[int, ...]


class _Form:
    """State shared by all launches of a kernel with one signature.

    Attributes
    ----------
    signature : Signature
    fitting : set of tuples
        Tuples of Python types of arguments that are known to fit.
    spare : list
        Pairs of arrays (uint64): space for the arguments, and the address of each of its words; a launch borrows one.
    loaded : dict of int to _Loaded
        By CUDA device number.
    grids : dict of int
        Number of blocks that run at once, by CUDA device number and threads of a block.
    """

    __slots__ = ("fitting", "grids", "loaded", "signature", "spare")

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.fitting: set[tuple[type, ...]] = set()
        self.spare: list[tuple[array, array]] = []
        self.loaded: dict[int, _Loaded] = {}
        self.grids: dict[tuple[int, int], int] = {}


_forms: dict[tuple[Kernel, tuple[bool, ...]], list[_Form]] = {}
"""By kernel, and by which of the arguments are None."""

_loading = threading.Lock()


def launch(kernel: Kernel, grid: int | tuple[int, int], block: int, *args: Any, shared: int = 0) -> None:
    """Launch a kernel on the current GPU and the current stream of CuPy; in the simulator, run its Python source.

    Parameters
    ----------
    kernel : Kernel
    grid : int or pair of int
        Number of blocks, or of blocks in each dimension: ``blockIdx.x`` is below the first, ``blockIdx.y`` below the
        second.
    block : int
        Threads of a block.
    *args : scalar, view of an array, or a tuple of them, named or not; or None
        Arrays as :attr:`gpukit.device.arrays.Buffer.view`. Their types must match one of the kernel's signatures.
    shared : int
        Dynamic shared memory of a block in bytes, in addition to the static one. A kernel that will need more than 48
        KiB in all must request some in its first launch as well.

    Raises
    ------
    TypeError
        If the kernel has no signature with these types, which is a bug of the caller.
    DeviceError
        If the GPU refuses the launch.
    """
    form, flat = _fitting(kernel, args)
    if xp is np:
        kernel.simulated[grid, block, 0, shared](*map(_simulated, args))
        return
    loaded = form.loaded.get(xp.cuda.runtime.getDevice()) or _load(form, shared)
    held = _pack(form, flat)
    width, rows = grid if isinstance(grid, tuple) else (grid, 1)
    stream = xp.cuda.get_current_stream().ptr
    shape = (width, rows, 1, block, 1, 1, shared, stream, held[1].buffer_info()[0])
    (status,) = loaded.start(loaded.handle, *shape, *loaded.last)
    form.spare.append(held)
    if status != SUCCESS:
        raise DeviceError(f"the GPU refused to start {kernel.name}: {status.name}; see `gpukit doctor`")


def cooperative_grid(kernel: Kernel, block: int, args: tuple) -> int:
    """Return the number of blocks of a kernel, launched with these arguments, that the current GPU runs at once.

    1 under the simulator.
    """
    form, _ = _fitting(kernel, args)
    if xp is np:
        return 1
    from cuda.bindings import driver

    gpu = xp.cuda.runtime.getDevice()
    if (gpu, block) not in form.grids:
        loaded = form.loaded.get(gpu) or _load(form, 0)
        status, each = driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(loaded.handle, block, 0)
        if status != SUCCESS:
            raise DeviceError(f"the GPU says nothing of {kernel.name}: {status.name}; see `gpukit doctor`")
        form.grids[gpu, block] = int(each) * multiprocessors()
    return form.grids[gpu, block]


def _fitting(kernel: Kernel, args: tuple) -> tuple[_Form, list[Any]]:
    """Return the form that fits the arguments, and the arguments as a flat list; raises TypeError if there is none."""
    absent = tuple([arg is None for arg in args])
    forms = _forms.get((kernel, absent))
    if forms is None:
        forms = [_Form(one) for one in kernel.signatures if one.absent == absent]
        forms = _forms.setdefault((kernel, absent), forms)
    flat = _flat(args)
    types = tuple(map(type, flat))
    for form in forms:
        if _fits(form, flat, types):
            return form, flat
    given = ", ".join(map(_kind_of, args))
    raise TypeError(f"{kernel.name} has no signature for ({given}); its declaration lists those that it has")


def _fits(form: _Form, flat: list[Any], types: tuple[type, ...]) -> bool:
    kinds = form.signature.kinds
    if types not in form.fitting:
        if len(types) != len(kinds):
            return False
        for one, kind in zip(types, kinds, strict=True):
            if HOST.get(one) != kind and (one is not View or "[" not in kind):
                return False
        form.fitting.add(types)
    return all([arg.kind == kind for arg, one, kind in zip(flat, types, kinds, strict=True) if one is View])


def _kind_of(arg: Any) -> str:
    """Return the type of an argument, for a message."""
    if isinstance(arg, tuple):
        return f"{type(arg).__name__}({', '.join(map(_kind_of, arg))})"
    return str(arg.kind if isinstance(arg, View) else HOST.get(type(arg), type(arg).__name__))


def _flat(args: Iterable[Any]) -> list[Any]:
    """Return the arguments of a launch as a flat list, without None."""
    found: list[Any] = []
    for arg in args:
        if isinstance(arg, tuple):
            found += arg
        elif arg is not None:
            found.append(arg)
    return found


def _simulated(arg: Any) -> Any:
    """Return an argument for the simulator; a tuple keeps its own type."""
    if isinstance(arg, tuple):
        values = map(_simulated, arg)
        return arg._make(values) if hasattr(arg, "_make") else tuple(values)
    return arg.array if isinstance(arg, View) else arg


def _load(form: _Form, shared: int) -> _Loaded:
    """Load a kernel onto the current GPU; if it requests dynamic shared memory, allow all that a block may have."""
    from cuda.bindings import driver

    gpu, kernel = xp.cuda.runtime.getDevice(), form.signature.kernel
    with _loading:
        if gpu in form.loaded:
            return form.loaded[gpu]
        xp.cuda.runtime.setDevice(gpu)  # makes the GPU's context current; no array may have done this yet
        capability = device_attribute("COMPUTE_CAPABILITY_MAJOR"), device_attribute("COMPUTE_CAPABILITY_MINOR")
        loaded, cooperative = store.load(form.signature, capability)
        if shared:
            attribute = driver.CUfunction_attribute
            status, static = driver.cuKernelGetAttribute(attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, loaded, gpu)
            limit = shared_memory() - static
            for name, value in (
                (attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, limit),
                (attribute.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100),
            ):
                (status,) = driver.cuKernelSetAttribute(name, value, loaded, gpu)
                if status != SUCCESS:
                    raise DeviceError(
                        f"the GPU refused {kernel.name} {limit} bytes of shared memory: {status.name}; "
                        "see `gpukit doctor`"
                    )
        # The driver accepts the handle of a kernel as that of a function.
        handle = driver.CUfunction(int(loaded))
        call = (driver.cuLaunchCooperativeKernel, ()) if cooperative else (driver.cuLaunchKernel, (0,))
        form.loaded[gpu] = _Loaded(call[0], handle, call[1])
        return form.loaded[gpu]


def _pack(form: _Form, flat: list[Any]) -> tuple[array, array]:
    """Return arguments packed in memory, and the address of each word."""
    values: list[Any] = []
    for arg in flat:
        if type(arg) is View:
            values += arg.words
        else:
            values.append(arg)
    layout = form.signature.layout
    try:
        held = form.spare.pop()
    except IndexError:  # checked here, not before: another thread may take the last one in between
        held = _room(layout.size // 8)
    layout.pack_into(held[0], 0, *values)
    return held


def _room(words: int) -> tuple[array, array]:
    """Return space for ``words`` words, and the address of each."""
    room = array("Q", bytes(8 * words))
    first = room.buffer_info()[0]
    return room, array("Q", range(first, first + 8 * words, 8))
