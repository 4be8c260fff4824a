"""What quick launches hand to a kernel, looked at without a GPU; the simulator itself launches through Numba."""

import ctypes
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from numba import types

KINDS = (types.int64, types.uint64, types.float64, types.boolean, types.int32)
VALUES = (-7, np.uint64(2**64 - 5), 2.5, True, np.int32(-3))


def packed(simulator, kinds, values):
    """Return the address of each word of arguments and what keeps it there; None if Numba is to launch."""
    from gpukit.device.launch import _form, _pack

    held = _pack(_form(kinds), values)
    return None if held is None else held[::-1]


def on_device(array):
    """Return the view of an array that says where it lies as one on a GPU does."""
    from gpukit.device.arguments import View

    facts = {name: getattr(array, name) for name in ("dtype", "ndim", "size", "itemsize", "shape", "strides", "flags")}
    return View(SimpleNamespace(data=SimpleNamespace(ptr=array.ctypes.data), **facts))


def test_a_part_of_an_array_is_laid_out_as_one_of_its_own(simulator):
    whole = np.arange(6)
    addresses, _keep = packed(simulator, (types.int64[::1],), (on_device(whole).part(16, (3,), whole.dtype),))
    cut = packed(simulator, (types.int64[::1],), (on_device(whole[2:5]),))
    found = [[ctypes.c_int64.from_address(one).value for one in laid_out] for laid_out in (addresses, cut[0])]
    assert found[0] == found[1] == [0, 0, 3, 8, whole.ctypes.data + 16, 3, 8]


def test_a_part_of_an_array_is_that_part_for_numba_too(simulator):
    from gpukit.device.arguments import View

    whole = np.arange(6)
    part = View(whole).part(16, (3,), whole.dtype)
    part.numba[0] = 7
    assert whole.tolist() == [0, 1, 7, 3, 4, 5] and part.array.tolist() == [7, 3, 4]


def test_a_part_of_an_array_may_have_another_shape_and_type(simulator):
    from gpukit.device.arguments import View

    whole, kind = np.arange(6), np.dtype(np.int32)
    addresses, _keep = packed(simulator, (types.int32[:, ::1],), (on_device(whole).part(8, (2, 3), kind),))
    found = [ctypes.c_int64.from_address(one).value for one in addresses]
    assert found == [0, 0, 6, 4, whole.ctypes.data + 8, 2, 3, 12, 4]
    assert View(whole).part(8, (2, 3), kind).array.tolist() == [[1, 0, 2], [0, 3, 0]]


def test_a_side_stream_waits_when_it_is_used_and_once(simulator):
    from gpukit.device.arrays import _Side

    done = []
    stream = SimpleNamespace(
        wait_event=lambda event: done.append(f"waits for {event}"),
        __enter__=lambda: done.append("enters"),
        __exit__=lambda *_: done.append("leaves"),
    )
    side = _Side(stream, "copies")
    assert not done
    for _ in range(2):
        with side:
            done.append("works")
    assert done == ["waits for copies", *["enters", "works", "leaves"] * 2]


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


def test_arrays_are_laid_out_as_kernels_take_them(simulator):
    flat, square = np.arange(6, dtype=np.int32), np.arange(6).reshape(2, 3)
    views = (on_device(flat), on_device(square))
    for _ in range(2):
        addresses, _keep = packed(simulator, (types.int32[::1], types.int64[:, ::1]), views)
        found = [ctypes.c_int64.from_address(address).value for address in addresses]
        assert found == [0, 0, 6, 4, flat.ctypes.data, 6, 4, 0, 0, 6, 8, square.ctypes.data, 2, 3, 24, 8]


def test_two_launches_at_a_time_do_not_share_room(simulator):
    """What a launch gave back serves the next one, which finds none of its arguments."""
    from gpukit.device.launch import _form, _pack

    form = _form((types.int64, types.boolean))
    first, second = _pack(form, (1, True)), _pack(form, (2, False))
    assert (first[0].tolist(), second[0].tolist()) == ([1, 1], [2, 0])
    form.spare.append(first)
    again = _pack(form, (-1, False))
    assert again is first and again[0].tolist() == [2**64 - 1, 0]
    assert _form((types.int64, types.unicode_type)) is None


def test_another_thread_may_take_the_last_room(simulator):
    from gpukit.device.launch import _form, _pack

    class Contended(list):
        def __len__(self):
            return 1  # as it was before another thread took it

    form = _form((types.int64,))._replace(spare=Contended())
    assert _pack(form, (7,))[0].tolist() == [7]


def test_none_is_passed_over(simulator):
    addresses, _keep = packed(simulator, (types.int64, types.Omitted(None), types.float64), (3, None, 2.5))
    found = ctypes.c_int64.from_address(addresses[0]).value, ctypes.c_double.from_address(addresses[1]).value
    assert len(addresses) == 2 and found == (3, 2.5)


class Csr(NamedTuple):
    """Arrays that travel together."""

    indptr: object
    indices: object


def test_tuples_are_laid_out_as_if_their_values_stood_alone(simulator):
    csr = Csr(on_device(np.arange(4)), on_device(np.arange(3, dtype=np.int32)))
    kind = types.NamedTuple((types.int64[::1], types.int32[::1]), Csr)
    alone = packed(simulator, (types.int64[::1], types.int32[::1], *[types.int64] * 3), (*csr, 5, 6, 7))
    together = packed(simulator, (kind, types.UniTuple(types.int64, 3)), (csr, (5, 6, 7)))
    values = [[ctypes.c_int64.from_address(address).value for address in found[0]] for found in (alone, together)]
    assert len(values[0]) == 17
    assert values[0] == values[1]


def test_tuples_in_tuples_are_left_to_numba(simulator):
    inner = types.UniTuple(types.int64, 2)
    assert packed(simulator, (types.Tuple((inner, types.int64)),), (((5, 6), 7),)) is None


def test_numba_gets_tuples_of_their_own_type(simulator):
    from gpukit.device.arguments import View, for_numba

    first, second = View(np.arange(2)), View(np.arange(3))
    first._numba, second._numba = "first", "second"
    csr = for_numba(Csr(first, second))
    assert type(csr) is Csr
    assert csr == ("first", "second")
    assert for_numba((first, (3, second))) == ("first", (3, "second"))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6),
        np.arange(6, dtype=np.uint32),
        np.arange(6, dtype=np.int32).reshape(2, 3),
        np.zeros(12, np.int32)[::2],
    ],
    ids=["int64", "uint32", "square", "strided"],
)
def test_an_array_of_another_type_is_left_to_numba(simulator, array):
    assert packed(simulator, (types.int32[::1],), (on_device(array),)) is None


def test_shapes_follow_the_device(simulator, monkeypatch):
    from gpukit.device import shape as module

    assert module.shape(None, 50, 256) == (module.SIMULATED_BLOCKS, 256) and module.shape(None, 0, 8) == (1, 8)
    assert (module.block_size(256), module.block_size(256, 4), module.block_size(2)) == (32, 4, 2)
    device = SimpleNamespace(
        MULTIPROCESSOR_COUNT=100,
        MAX_BLOCKS_PER_MULTIPROCESSOR=32,
        MAX_THREADS_PER_MULTIPROCESSOR=2048,
        MAX_REGISTERS_PER_MULTIPROCESSOR=65536,
    )
    free, capped = (SimpleNamespace(targetoptions=options) for options in ({}, {"max_registers": 64}))
    monkeypatch.setattr(module, "simulated", lambda: False)
    monkeypatch.setattr(module.cuda, "current_context", lambda: SimpleNamespace(device=device))
    assert module.shape(free, 1 << 20, 32) == (3200, 32)
    assert module.shape(free, 1 << 20, 256) == (800, 256)
    assert module.shape(capped, 1 << 20, 256) == (400, 256)
    assert module.shape(capped, 1 << 20, 256, each=2) == (200, 256)
    assert module.shape(capped, 7, 256) == (7, 256)
    assert module.block_size(256, 4) == 256
    # 80 registers: three blocks of 256 threads, also in place of one of 512, and none of 1,024.
    wide = SimpleNamespace(targetoptions={"max_registers": 80})
    assert module.fullest(wide, 1 << 20, 256) == (300, 256)
    assert module.fullest(wide, 1 << 20, 512) == (300, 256)
    assert module.fullest(wide, 1 << 20, 96) == (800, 96)  # half of it would be a warp and a half
    assert module.fullest(wide, 120, 512) == (100, 512)
    assert module.fullest(wide, 1 << 20, 1024) == (100, 512)
    assert module.fullest(capped, 1 << 20, 512) == (200, 512)
    assert module.fullest(wide, 5, 32) == (5, 32)


def test_one_thread_at_a_time_loads_a_kernel(simulator, monkeypatch):
    """Numba loads a kernel onto a GPU at its first launch there, and a thread a GPU launches it."""
    from gpukit.device import launch as module
    from gpukit.device.context import loading

    locked = []
    runtime = SimpleNamespace(getDevice=lambda: 0)
    stream = SimpleNamespace(get_current_stream=lambda: SimpleNamespace(ptr=0), runtime=runtime)
    monkeypatch.setattr(module, "xp", SimpleNamespace(cuda=stream))
    monkeypatch.setattr(module, "_launch_slowly", lambda *_: locked.append(loading.locked()))
    module.launch("a kernel that nobody launched yet", 1, 32, 5)
    assert locked == [True] and not loading.locked()
