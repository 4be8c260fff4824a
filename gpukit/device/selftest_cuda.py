"""The known answers of Philox4x32-10 on a CUDA device."""

import numpy as np
from numba import cuda, uint32

from gpukit.device.compiled import kernel
from gpukit.device.philox import philox4x32
from gpukit.device.selftest import KNOWN_ANSWERS


@kernel
def _answer(rows, out):
    """Write the four words of each row of ``rows`` (counter and key, 6 words) to that of ``out``, a thread per row."""
    i = cuda.grid(1)
    if i < rows.shape[0]:
        a, b, c, d = philox4x32(rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3], rows[i, 4], rows[i, 5])
        out[i, 0] = a
        out[i, 1] = b
        out[i, 2] = c
        out[i, 3] = d


def philox_cuda() -> bool:
    """Return whether a kernel on the current CUDA device gives the known answers."""
    out = cuda.device_array((len(KNOWN_ANSWERS), 4), np.uint32)
    _answer[1, 32](cuda.to_device(np.ascontiguousarray(KNOWN_ANSWERS[:, :6])), out)
    return bool(np.array_equal(out.copy_to_host(), KNOWN_ANSWERS[:, 6:]))


KERNELS = {"_answer": (_answer, (uint32[:, ::1], uint32[:, ::1]))}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
