"""Kernels for GPUs: their declaration, and the types for which they are compiled.

The source of a kernel is Numba CUDA. It is compiled when the package is built (:mod:`gpukit.device.build`), stored in
an archive (:mod:`gpukit.device.store`), and launched from there (:mod:`gpukit.device.launch`). A process that launches
kernels needs no compiler. A module with kernels imports ``cuda`` from here. It is Numba's module where kernels are
compiled or simulated. Elsewhere it is None, because nobody runs their Python source.

Types are written as Numba writes them: ``"int64"`` and ``"boolean"`` for numbers, ``"int64[::1]"`` and ``"int32[:,
::1]"`` for arrays in C order, a tuple of types for a tuple (:func:`group` for a named one), and None for an argument
that is None.
"""

import importlib
import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from gpukit.device.select import simulated

SCALARS = {"boolean": "?7x", "int32": "i4x", "int64": "q", "uint32": "I4x", "uint64": "Q", "float64": "d"}
"""Layout in eight bytes of each scalar type that kernels take, for :mod:`struct`."""

cuda: Any = None
libdevice: Any = None
"""Numba's modules where kernels are compiled or simulated; the simulator has no ``libdevice``."""

declared: list["Kernel"] = []
"""The kernels of all imported modules."""

called: set[Any] = set()
"""The functions that kernels call, of all imported modules, except those that are also compiled for the CPU."""


def begin_to_compile(compiler: str = "numba.cuda") -> None:
    """Give this compiler's modules to the modules with kernels that are imported from now on."""
    global cuda, libdevice
    assert not declared, "a module with kernels is imported already, without the compiler"
    cuda = importlib.import_module(compiler)
    libdevice = None if simulated() else importlib.import_module(f"{compiler}.libdevice")


if simulated():
    begin_to_compile()


class Signature:
    """A list of types for which a kernel is compiled.

    Attributes
    ----------
    kernel : Kernel
    number : int
        Index of this signature among the kernel's signatures.
    types : tuple
        The type of each argument, as declared.
    absent : tuple of bool
        Which of the arguments are None.
    kinds : tuple of str
        The types of the parameters of the compiled kernel: a tuple's values are separate parameters, and None is left
        out.
    layout : struct.Struct
        Memory layout of the parameters: eight bytes for a scalar, and more for an array.
    """

    def __init__(self, kernel: "Kernel", number: int, types: tuple) -> None:
        self.kernel, self.number, self.types = kernel, number, types
        self.absent = tuple(one is None for one in types)
        self.kinds = tuple(flat(types))
        self.layout = struct.Struct("=" + "".join(map(_words, self.kinds)))

    def __str__(self) -> str:
        return f"{self.kernel.name}({', '.join(map(str, self.types))})"


class Kernel:
    """A kernel, as declared in its module.

    Attributes
    ----------
    py_func : function
        Its Python source.
    name : str
        Module and name.
    max_registers : int or None
        Most registers per thread.
    signatures : tuple of Signature
    """

    def __init__(self, function: Callable, signatures: Iterable[tuple], max_registers: int | None) -> None:
        self.py_func, self.max_registers = function, max_registers
        self.name = f"{module_of(function)}.{function.__qualname__}"
        self.signatures = tuple(Signature(self, number, types) for number, types in enumerate(signatures))
        self.simulated: Any = cuda.jit(function) if simulated() else None
        declared.append(self)


def kernel(*signatures: tuple, max_registers: int | None = None) -> Callable[[Callable], Kernel]:
    """Declare a kernel.

    Parameters
    ----------
    *signatures : tuples of types
        The types of the arguments of its launches. If an argument may be None, give a signature with it and one
        without.
    max_registers : int, optional
        Most registers per thread; with fewer registers, more threads run at once.
    """
    return lambda function: Kernel(function, signatures, max_registers)


def device(function: Callable | None = None, /, **options: Any) -> Any:
    """Declare a function that kernels call; options are those of ``cuda.jit``."""
    if function is None:
        return lambda one: device(one, **options)
    called.add(function)
    return function if cuda is None else cuda.jit(device=True, **options)(function)


def group(kind: Any, *types: Any) -> Any:
    """Return the type of a named tuple of class ``kind`` whose values have these types."""
    return kind(*types)


def module_of(function: Callable) -> str:
    """Return the name under which another process imports the module of a function, even if it is the main program."""
    name = function.__module__
    return Path(function.__globals__["__file__"]).stem if name == "__main__" else name


def flat(types: Iterable[Any]) -> Iterator[Any]:
    """Yield values, with tuples flattened, and without None."""
    for one in types:
        if isinstance(one, tuple):
            yield from flat(one)
        elif one is not None:
            yield one


def _words(kind: str) -> str:
    """Return the layout of a parameter; for an array as in :class:`gpukit.device.arguments.View`."""
    return SCALARS[kind] if kind in SCALARS else "Q" * (5 + 2 * (1 + kind.count(",")))
