"""Arrays as launches hand them to kernels."""

from math import prod
from typing import Any

import numpy as np

_kinds: dict[tuple[np.dtype, int], str] = {}


def kind_of(dtype: np.dtype, ndim: int) -> str:
    """Return the type of an array in C's order, as :mod:`gpukit.device.kernels` writes it, always the same object."""
    known = _kinds.get((dtype, ndim))
    if known is None:
        name = "boolean" if dtype == np.bool_ else dtype.name
        # Another thread may have been first.
        known = _kinds.setdefault((dtype, ndim), f"{name}[{':, ' * (ndim - 1)}::1]")
    return known


class View:
    """The array of a :class:`gpukit.device.arrays.Buffer` for :func:`gpukit.device.launch.launch`.

    It is none of the arrays that the host works with, in the simulator neither: what asks it for a length or an element
    fails there, too.

    Attributes
    ----------
    kind : str or None
        Of :func:`kind_of`; None for an array in another order.
    words : tuple of int
        How kernels take the array, laid out once, not for each launch: two words that are 0, elements, bytes of an
        element, address, shape, strides. None for an array of the simulator.
    """

    __slots__ = ("_cut", "_whole", "kind", "words")

    def __init__(self, array: Any) -> None:
        self._whole, self.kind = array, None
        self._cut: tuple[int, tuple[int, ...], np.dtype] | None = None
        self.words: tuple[int, ...] = ()
        if array.flags.c_contiguous:
            self.kind = kind_of(array.dtype, array.ndim)
            if not isinstance(array, np.ndarray):
                self.words = (0, 0, array.size, array.itemsize, array.data.ptr, *array.shape, *array.strides)

    def part(self, first: int, shape: tuple[int, ...], dtype: np.dtype) -> "View":
        """Return a view of what lies from byte ``first`` on as an array of this shape and type, in C's order.

        CuPy takes longer to cut an array. This one has one dimension.
        """
        assert self._cut is None
        part = View.__new__(View)
        part._whole, part._cut, part.kind, part.words = self._whole, (first, shape, dtype), None, ()
        if self.kind is not None:
            part.kind = kind_of(dtype, len(shape))
        if self.words:
            strides = [dtype.itemsize]
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
