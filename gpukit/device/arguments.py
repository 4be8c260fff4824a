"""Arguments of kernels: arrays as launches lay them out, and None."""

from math import prod
from typing import Any

import numpy as np
from numba import cuda, types
from numba.np.numpy_support import from_dtype

from gpukit.device.select import simulated

_kinds: dict[tuple[np.dtype, int], Any] = {}


def kind_of(dtype: np.dtype, ndim: int) -> Any:
    """Return Numba's type of an array in C's order, always the same object."""
    known = _kinds.get((dtype, ndim))
    # Another thread may have been first.
    return known or _kinds.setdefault((dtype, ndim), types.Array(from_dtype(dtype), ndim, "C"))


class View:
    """The array of a :class:`gpukit.device.arrays.Buffer` for :func:`gpukit.device.launch.launch`.

    Numba's own array costs more to make than a launch, and is made only where Numba launches. It is none of the arrays
    that the host works with, in the simulator neither: what asks it for a length or an element fails there, too.

    Attributes
    ----------
    kind : numba.types.Array or None
        Of :func:`kind_of`; None for an array in another order, and for one of NumPy's in the simulator.
    words : tuple of int
        How kernels take the array: it is laid out once, not for each launch.
    """

    __slots__ = ("_cut", "_numba", "_whole", "kind", "words")

    def __init__(self, array: Any) -> None:
        self._whole, self.kind = array, None
        self._cut: tuple[int, tuple[int, ...], np.dtype] | None = None
        self.words: tuple[int, ...] = ()
        if not isinstance(array, np.ndarray) and array.flags.c_contiguous:
            self.kind = kind_of(array.dtype, array.ndim)
            self.words = (0, 0, array.size, array.itemsize, array.data.ptr, *array.shape, *array.strides)
        self._numba: Any = None

    def part(self, first: int, shape: tuple[int, ...], dtype: np.dtype) -> "View":
        """Return a view of what lies from byte ``first`` on as an array of this shape and type, in C's order.

        CuPy takes longer to cut an array. This one has one dimension.
        """
        assert self._cut is None
        part = View.__new__(View)
        part._whole, part._cut, part._numba, part.kind, part.words = self._whole, (first, shape, dtype), None, None, ()
        if self.kind is not None:
            part.kind, strides = kind_of(dtype, len(shape)), [dtype.itemsize]
            for length in shape[:0:-1]:
                strides.insert(0, length * strides[0])
            part.words = (0, 0, prod(shape), dtype.itemsize, self.words[4] + first, *shape, *strides)
        return part

    @property
    def array(self) -> Any:
        """The array, a cupy or numpy one."""
        if self._cut is None:
            return self._whole
        first, shape, dtype = self._cut
        part = self._whole.view(np.uint8)[first : first + prod(shape) * dtype.itemsize]
        return part.view(dtype).reshape(shape)

    @property
    def numba(self) -> Any:
        """The array as Numba launches kernels with it."""
        if self._numba is None:
            self._numba = self.array if simulated() else cuda.as_cuda_array(self.array, sync=False)
        return self._numba


class Absent:
    """None among the arguments of a launch: a constant of the kernel's code, for which nothing is handed over.

    Where a kernel and the functions that it calls ask ``argument is None``, only one of the branches is compiled. Numba
    knows such arguments as those that were left out, and does not launch with them, so that this is also an extension
    of ``cuda.jit``.
    """

    kind = _numba_type_ = types.Omitted(None)

    @staticmethod
    def prepare_args(kind: Any, value: Any, **_: Any) -> tuple[Any, Any]:
        """Return an argument and its type as they are, but no values for one that is absent."""
        return (types.Tuple(()), ()) if kind == Absent.kind else (kind, value)


ABSENT = Absent()


def for_numba(argument: Any) -> Any:
    """Return an argument of a launch as Numba takes it; a tuple of arguments stays one, of its own type."""
    if argument is None:
        return None if simulated() else ABSENT
    if isinstance(argument, tuple):
        values = [for_numba(one) for one in argument]
        return argument._make(values) if hasattr(argument, "_make") else tuple(values)
    return argument.numba if isinstance(argument, View) else argument
