"""Arrays in the form in which launches pass them to kernels."""

from typing import Any

import numpy as np

_kinds: dict[tuple[np.dtype, int], str] = {}


def kind_of(dtype: np.dtype, ndim: int) -> str:
    """Return the type of an array in C order, as :mod:`gpukit.device.kernels` writes it; always the same object."""
    known = _kinds.get((dtype, ndim))
    if known is None:
        name = "boolean" if dtype == np.bool_ else dtype.name
        # Another thread may have been first.
        known = _kinds.setdefault((dtype, ndim), f"{name}[{':, ' * (ndim - 1)}::1]")
    return known


class View:
    """The array of a :class:`gpukit.device.arrays.Buffer` for :func:`gpukit.device.launch.launch`.

    It is not an array for the host, even in the simulator: its length and elements are not accessible.

    Attributes
    ----------
    array : cupy or numpy array
    kind : str or None
        Result of :func:`kind_of`; None for an array in another order.
    words : tuple of int
        The array as a kernel parameter, packed once, not for each launch: two words that are 0, elements, bytes per
        element, address, shape, strides. Empty for an array of the simulator.
    """

    __slots__ = ("array", "kind", "words")

    def __init__(self, array: Any) -> None:
        self.array = array
        self.words: tuple[int, ...] = ()
        self.kind: str | None = None
        if array.flags.c_contiguous:
            self.kind = kind_of(array.dtype, array.ndim)
            if not isinstance(array, np.ndarray):
                self.words = (0, 0, array.size, array.itemsize, array.data.ptr, *array.shape, *array.strides)
