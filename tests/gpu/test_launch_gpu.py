"""Kernels receive the arguments that their launches are given."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import int64

from gpukit.device import store
from gpukit.device.kernels import cuda, kernel
from gpukit.errors import DeviceError

SCALARS = (np.uint64(2**64 - 5), 2.5, True, -7)
KINDS = ("uint64", "float64", "boolean", "int64")


@kernel(*((f"{kind}[::1]", "int64[:, ::1]", *KINDS, "int64[:, ::1]") for kind in ("int32", "float64", "int8")))
def _collect(flat, square, seed, real, flag, whole, out):
    i = cuda.grid(1)
    if i < out.shape[1]:
        out[0, i] = flat[i]
        out[1, i] = square[1, i] + square.shape[1]
        out[2, i] = np.int64(seed >> np.uint64(1))
        out[3, i] = np.int64(real * 2)
        out[4, i] = 1 if flag else 0
        out[5, i] = whole + len(flat)


def _expected(flat, square, seed, real, flag, whole):
    n = square.shape[1]
    fixed = (int(seed) >> 1, int(real * 2), int(flag), whole + len(flat))
    return np.stack([flat.astype(np.int64), square[1] + n, *(np.full(n, value) for value in fixed)])


class Inputs(NamedTuple):
    """Arrays that are passed as one argument."""

    flat: Any
    square: Any


@kernel((Inputs("int32[::1]", "int64[:, ::1]"), KINDS, "int64[:, ::1]"))
def _collect_grouped(inputs, scalars, out):
    i = cuda.grid(1)
    seed, real, flag, whole = scalars
    if i < out.shape[1]:
        out[0, i] = inputs.flat[i]
        out[1, i] = inputs.square[1, i] + inputs.square.shape[1]
        out[2, i] = np.int64(seed >> np.uint64(1))
        out[3, i] = np.int64(real * 2)
        out[4, i] = 1 if flag else 0
        out[5, i] = whole + len(inputs.flat)


@kernel(*(("int64[::1]", more, "int64[::1]") for more in (None, "int64[::1]")))
def _sum_if_any(numbers, more, out):
    i = cuda.grid(1)
    if i < len(out):
        out[i] = numbers[i]
        if more is not None:
            out[i] += more[i]


@pytest.fixture(autouse=True)
def _code(gpu):
    """Skip the tests if there is no compiler: no package contains compiled code of these kernels."""
    for one in (_collect, _collect_grouped, _sum_if_any, _turn_round):
        for signature in one.signatures:
            try:
                store.find(signature, gpu.pool[0].capability)
            except DeviceError as error:
                pytest.skip(str(error))


def test_arguments_that_are_none_are_left_out(gpu):
    """Launches alternate between the two forms of the kernel, with and without the argument."""
    from gpukit.device.arrays import Buffer
    from gpukit.device.launch import launch

    for turn in range(6):
        numbers, out = np.arange(50) + turn, Buffer(50, np.int64, 0)
        more = Buffer(3 * numbers).view if turn % 2 else None
        launch(_sum_if_any, 1, 64, Buffer(numbers).view, more, out.view)
        assert np.array_equal(out.host(), (4 if turn % 2 else 1) * numbers)


@pytest.mark.quick
@pytest.mark.parametrize("grouped", [False, True], ids=["flat", "grouped"])
@pytest.mark.parametrize("n", [1, 100, 1000])
def test_arguments_arrive(gpu, n, grouped):
    """Every launch gets other arrays."""
    from gpukit.device.arrays import Buffer
    from gpukit.device.launch import launch

    for turn in range(4):
        flat, square = np.arange(n, dtype=np.int32) + turn, np.arange(2 * n).reshape(2, n) * (turn + 1)
        scalars = (*SCALARS[:3], SCALARS[3] * turn)
        views, out = Inputs(Buffer(flat).view, Buffer(square).view), Buffer((6, n), np.int64, 0)
        kernel, given = (_collect_grouped, (views, scalars)) if grouped else (_collect, (*views, *scalars))
        launch(kernel, -(-n // 64), 64, *given, out.view)
        assert np.array_equal(out.host(), _expected(flat, square, *scalars))


def test_arrays_of_another_type_take_another_signature(gpu):
    """No array is read as another type; a type without a signature is refused."""
    from gpukit.device.arrays import Buffer
    from gpukit.device.launch import launch

    square, out = np.arange(20).reshape(2, 10), Buffer((6, 10), np.int64, 0)
    for kind in (np.int32, np.float64, np.int32, np.int8):
        flat = np.arange(10).astype(kind)
        launch(_collect, 1, 32, Buffer(flat).view, Buffer(square).view, *SCALARS, out.view)
        assert np.array_equal(out.host(), _expected(flat, square, *SCALARS))
    with pytest.raises(TypeError, match="has no signature"):
        launch(_collect, 1, 32, out.view, Buffer(square).view, *SCALARS, out.view)


@kernel(("int64[::1]", "int64[::1]"))
def _turn_round(numbers, out):
    held = cuda.shared.array(0, int64)
    for i in range(cuda.threadIdx.x, len(numbers), cuda.blockDim.x):
        held[i] = numbers[i]
    cuda.syncthreads()
    for i in range(cuda.threadIdx.x, len(numbers), cuda.blockDim.x):
        out[i] = held[len(numbers) - 1 - i]


@pytest.mark.quick
def test_shared_memory_beyond_48_kilobytes(gpu):
    """The first launch requests little shared memory, the others more."""
    from gpukit.device.arrays import Buffer, shared_memory
    from gpukit.device.launch import launch

    for n in (100, shared_memory() // 8, 200):
        numbers, out = np.arange(n), Buffer(n, np.int64, 0)
        launch(_turn_round, 1, 128, Buffer(numbers).view, out.view, shared=8 * n)
        assert np.array_equal(out.host(), numbers[::-1])
