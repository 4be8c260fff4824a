"""Steps over the elements of an array, against NumPy."""

import numpy as np
import pytest

from gpukit.device.arrays import Buffer
from gpukit.device.elements_cuda import BLOCK, filled, nonzero, rounded_up


@pytest.mark.parametrize("size", [1, BLOCK - 1, BLOCK, 2 * BLOCK, 2 * BLOCK + 1, 7 * BLOCK + 3])
def test_steps_over_elements(size):
    rng = np.random.default_rng(size)
    assert (filled(size, 2**31 - 1).host() == 2**31 - 1).all()
    values = np.r_[rng.random(size) * 9, [0, 1, 2.5, 2**20 + 0.5]]
    for scale in (1.0, 0.3, 1 / 3, 1000.0):
        assert np.array_equal(rounded_up(Buffer(values), scale).host(), np.ceil(values * scale).astype(np.int32))
    for share in (0, 0.1, 0.5, 1):
        flags = (rng.random(size) < share).astype(np.uint8)
        found = nonzero(Buffer(flags))
        assert found.array.dtype == np.int64 and np.array_equal(found.host(), np.flatnonzero(flags))
