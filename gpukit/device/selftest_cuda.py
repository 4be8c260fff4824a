"""The known answers of Philox4x32-10 on a CUDA device."""

import numpy as np

from gpukit.device.arrays import Buffer
from gpukit.device.kernels import cuda, kernel
from gpukit.device.launch import launch
from gpukit.device.philox import philox4x32
from gpukit.device.selftest import KNOWN_ANSWERS


@kernel(("uint32[:, ::1]", "uint32[:, ::1]"))
def answer(rows, out):
    """Write four words for each row of ``rows`` (counter and key, 6 words) to that row of ``out``; a thread per row."""
    i = cuda.grid(1)
    if i < rows.shape[0]:
        a, b, c, d = philox4x32(rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3], rows[i, 4], rows[i, 5])
        out[i, 0] = a
        out[i, 1] = b
        out[i, 2] = c
        out[i, 3] = d


def philox_cuda() -> bool:
    """Return whether a kernel on the current CUDA device gives the known answers."""
    rows, out = Buffer(np.ascontiguousarray(KNOWN_ANSWERS[:, :6])), Buffer((len(KNOWN_ANSWERS), 4), np.uint32)
    launch(answer, 1, 32, rows.view, out.view)
    return bool(np.array_equal(out.host(), KNOWN_ANSWERS[:, 6:]))
