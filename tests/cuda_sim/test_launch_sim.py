"""What quick launches hand to a kernel, looked at without a GPU; the simulator itself launches through Numba."""

import ctypes

import numpy as np
import pytest
from numba import types

KINDS = (types.int64, types.uint64, types.float64, types.boolean, types.int32)
VALUES = (-7, np.uint64(2**64 - 5), 2.5, True, np.int32(-3))


def packed(simulator, kinds, values):
    from gpukit.device.launch import SCALARS, _pack

    return _pack(None, tuple((kind, SCALARS[kind]) for kind in kinds), values)


def test_scalars_lie_where_the_kernel_looks(simulator):
    addresses, _keep = packed(simulator, KINDS, VALUES)
    c_types = (ctypes.c_int64, ctypes.c_uint64, ctypes.c_double, ctypes.c_bool, ctypes.c_int32)
    found = [c_type.from_address(address).value for c_type, address in zip(c_types, addresses, strict=True)]
    assert found == [-7, 2**64 - 5, 2.5, True, -3]


@pytest.mark.parametrize(
    ("kind", "value"),
    [(types.int64, 2.5), (types.int64, True), (types.float64, 2), (types.int64, np.uint64(1)), (types.uint32, 1)],
    ids=str,
)
def test_a_scalar_of_another_type_is_left_to_numba(simulator, kind, value):
    assert packed(simulator, (kind,), (value,)) is None
