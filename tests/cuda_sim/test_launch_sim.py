"""The arguments that launches pass to a kernel, tested without a GPU; the simulator itself runs the Python source."""

import ctypes
import threading
import time
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

KINDS = ("int64", "uint64", "float64", "boolean", "int32")
VALUES = (-7, np.uint64(2**64 - 5), 2.5, True, np.int32(-3))


def declared(*signatures):
    """Return a kernel with these signatures."""
    from gpukit.device.kernels import Kernel

    return Kernel(lambda *args: None, signatures, None)


def packed(simulator, types, values):
    """Return the address of each word of the arguments, and the object that keeps the words alive."""
    from gpukit.device.launch import _fitting, _pack

    return _pack(*_fitting(declared(types), values))[::-1]


def on_device(array):
    """Return a view of a NumPy array that gives its address like an array on a GPU."""
    from gpukit.device.arguments import View

    facts = {name: getattr(array, name) for name in ("dtype", "ndim", "size", "itemsize", "shape", "strides", "flags")}
    return View(SimpleNamespace(data=SimpleNamespace(ptr=array.ctypes.data), **facts))


def test_scalars_lie_where_the_kernel_looks(simulator):
    addresses, _keep = packed(simulator, KINDS, VALUES)
    c_types = (ctypes.c_int64, ctypes.c_uint64, ctypes.c_double, ctypes.c_bool, ctypes.c_int32)
    found = [c_type.from_address(address).value for c_type, address in zip(c_types, addresses, strict=True)]
    assert found == [-7, 2**64 - 5, 2.5, True, -3]


@pytest.mark.parametrize(
    ("kind", "value"),
    [("int64", 2.5), ("int64", True), ("float64", 2), ("int64", np.uint64(1)), ("uint32", 1), ("int64", None)],
    ids=str,
)
def test_a_scalar_of_another_type_is_refused(simulator, kind, value):
    with pytest.raises(TypeError, match="has no signature for"):
        packed(simulator, (kind,), (value,))


def test_arrays_are_laid_out_as_kernels_take_them(simulator):
    flat, square = np.arange(6, dtype=np.int32), np.arange(6).reshape(2, 3)
    views = (on_device(flat), on_device(square))
    for _ in range(2):
        addresses, _keep = packed(simulator, ("int32[::1]", "int64[:, ::1]"), views)
        found = [ctypes.c_int64.from_address(address).value for address in addresses]
        assert found == [0, 0, 6, 4, flat.ctypes.data, 6, 4, 0, 0, 6, 8, square.ctypes.data, 2, 3, 24, 8]


def test_two_launches_at_a_time_do_not_share_room(simulator):
    """The next launch reuses returned memory, and finds none of the earlier arguments in it."""
    from gpukit.device.launch import _fitting, _pack

    form, flat = _fitting(declared(("int64", "boolean")), (1, True))
    first, second = _pack(form, flat), _pack(form, [2, False])
    assert (first[0].tolist(), second[0].tolist()) == ([1, 1], [2, 0])
    form.spare.append(first)
    again = _pack(form, [-1, False])
    assert again is first and again[0].tolist() == [2**64 - 1, 0]


def test_another_thread_may_take_the_last_room(simulator):
    from gpukit.device.launch import _fitting, _pack

    class Contended(list):
        def __len__(self):
            return 1  # as it was before another thread took it

    form, flat = _fitting(declared(("int64",)), (7,))
    form.spare = Contended()
    assert _pack(form, flat)[0].tolist() == [7]


def test_none_is_passed_over(simulator):
    addresses, _keep = packed(simulator, ("int64", None, "float64"), (3, None, 2.5))
    found = ctypes.c_int64.from_address(addresses[0]).value, ctypes.c_double.from_address(addresses[1]).value
    assert len(addresses) == 2 and found == (3, 2.5)


class Csr(NamedTuple):
    """Arrays that are passed as one argument."""

    indptr: object
    indices: object


def test_tuples_are_laid_out_as_if_their_values_stood_alone(simulator):
    csr = Csr(on_device(np.arange(4)), on_device(np.arange(3, dtype=np.int32)))
    kind = Csr("int64[::1]", "int32[::1]")
    alone = packed(simulator, (*kind, "int64", "int64", "int64"), (*csr, 5, 6, 7))
    together = packed(simulator, (kind, ("int64", "int64", "int64")), (csr, (5, 6, 7)))
    values = [[ctypes.c_int64.from_address(address).value for address in found[0]] for found in (alone, together)]
    assert len(values[0]) == 17
    assert values[0] == values[1]


def test_tuples_in_tuples_are_refused(simulator):
    with pytest.raises(TypeError, match="has no signature for"):
        packed(simulator, ((("int64", "int64"), "int64"),), (((5, 6), 7),))


def test_the_simulator_gets_tuples_of_their_own_type(simulator):
    from gpukit.device.arguments import View
    from gpukit.device.launch import _simulated

    first, second = np.arange(2), np.arange(3)
    csr = _simulated(Csr(View(first), View(second)))
    assert type(csr) is Csr and csr.indptr is first and csr.indices is second
    found = _simulated((View(first), (3, View(second))))
    assert found[0] is first and found[1][0] == 3 and found[1][1] is second


def test_the_signature_that_arguments_fit_is_taken(simulator):
    from gpukit.device.launch import _fitting

    kernel = declared(("int64", None), ("int64", "int64[::1]"), ("float64", None), ("int64", "int32[::1]"))
    array = on_device(np.arange(3, dtype=np.int32))
    for _ in range(2):
        found = [_fitting(kernel, args)[0].signature.number for args in ((1, None), (1.5, None), (1, array))]
        assert found == [0, 2, 3]
    with pytest.raises(TypeError, match=r"has no signature for \(float64, int32\[::1\]\)"):
        _fitting(kernel, (1.5, array))


def test_a_launch_in_the_simulator_is_checked_too(simulator):
    from gpukit.device.arrays import Buffer
    from gpukit.device.kernels import kernel
    from gpukit.device.launch import launch

    @kernel(("int64[::1]", "int64"))
    def fill(out, value):
        out[0] = value

    out = Buffer(1, np.int64, 0)
    launch(fill, 1, 1, out.view, 3)
    assert out.host().tolist() == [3]
    for args in ((out.view, 3.0), (out.array, 3), (Buffer(1, np.int32, 0).view, 3)):
        with pytest.raises(TypeError, match="has no signature for"):
            launch(fill, 1, 1, *args)


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
def test_an_array_of_another_type_is_refused(simulator, array):
    with pytest.raises(TypeError, match="has no signature for"):
        packed(simulator, ("int32[::1]",), (on_device(array),))


def test_shapes_follow_the_device(simulator, monkeypatch):
    from gpukit.device import shape as module

    assert module.shape(None, 50, 256) == (module.SIMULATED_BLOCKS, 256) and module.shape(None, 0, 8) == (1, 8)
    assert (module.block_size(256), module.block_size(256, 4), module.block_size(2)) == (32, 4, 2)
    facts = {
        "MAX_BLOCKS_PER_MULTIPROCESSOR": 32,
        "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
        "MAX_REGISTERS_PER_MULTIPROCESSOR": 65536,
    }
    free, capped = SimpleNamespace(max_registers=None), SimpleNamespace(max_registers=64)
    monkeypatch.setattr(module, "simulated", lambda: False)
    monkeypatch.setattr(module, "device_attribute", facts.__getitem__)
    monkeypatch.setattr(module, "multiprocessors", lambda: 100)
    assert module.shape(free, 1 << 20, 32) == (3200, 32)
    assert module.shape(free, 1 << 20, 256) == (800, 256)
    assert module.shape(capped, 1 << 20, 256) == (400, 256)
    assert module.shape(capped, 1 << 20, 256, each=2) == (200, 256)
    assert module.shape(capped, 7, 256) == (7, 256)
    assert module.block_size(256, 4) == 256
    # 80 registers: three blocks of 256 threads, also in place of one of 512, and none of 1,024.
    wide = SimpleNamespace(max_registers=80)
    assert module.fullest(wide, 1 << 20, 256) == (300, 256)
    assert module.fullest(wide, 1 << 20, 512) == (300, 256)
    assert module.fullest(wide, 1 << 20, 96) == (800, 96)  # half of it would be a warp and a half
    assert module.fullest(wide, 120, 512) == (100, 512)
    assert module.fullest(wide, 1 << 20, 1024) == (100, 512)
    assert module.fullest(capped, 1 << 20, 512) == (200, 512)
    assert module.fullest(wide, 5, 32) == (5, 32)


def test_a_kernel_is_loaded_once_onto_each_gpu(simulator, monkeypatch):
    """Several threads may launch a kernel for the first time at once."""
    from gpukit.device import launch as module

    driver = pytest.importorskip("cuda.bindings.driver")
    loaded, gpu = [], threading.local()
    runtime = SimpleNamespace(getDevice=lambda: gpu.number, setDevice=lambda number: None)
    monkeypatch.setattr(module, "xp", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    monkeypatch.setattr(module, "device_attribute", lambda name: 9)

    def load(signature, capability):
        time.sleep(0.01)
        loaded.append((gpu.number, capability))
        return driver.CUkernel(7), signature.number == 1

    monkeypatch.setattr(module.store, "load", load)
    form = module._fitting(declared(("float64",), ("int64",)), (5,))[0]
    found = []

    def work(number):
        gpu.number = number
        found.append(module._load(form, 0))

    threads = [threading.Thread(target=work, args=(number,)) for number in (0, 1, 0, 1)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(loaded) == [(0, (9, 9)), (1, (9, 9))] and len(found) == 4
    assert all(one.start is driver.cuLaunchCooperativeKernel and one.last == () for one in found)
