"""Keys sorted in their place, against NumPy."""

import numpy as np
import pytest

from gpukit.graph import sort, sort_cpu


@pytest.fixture(params=[48, sort_cpu.ROOM], ids=["little room", "as it is"])
def kernels(request, monkeypatch):
    """Few keys go to the kernels, too, which must divide them often where there is little room."""
    monkeypatch.setattr(sort, "FROM", 0)
    monkeypatch.setattr(sort_cpu, "ROOM", request.param)


@pytest.mark.parametrize("n", [1, 2, 3, 255, 256, 257, 70_000, 2**31 - 1])
@pytest.mark.parametrize("count", [0, 1, 30, 5000, 100_000])
def test_keys_of_any_ends(kernels, n, count):
    check(*np.random.default_rng(n + count).integers(0, n, (2, count)), n)


@pytest.mark.parametrize("shape", ["star", "all into one", "one edge", "sorted", "backwards"])
def test_keys_that_are_alike(kernels, shape):
    n, count = 1_000_000, 200_000
    u, v = np.random.default_rng(1).integers(0, n, (2, count))
    if shape in ("star", "one edge"):
        u[:] = n - 1
    if shape in ("all into one", "one edge"):
        v[:] = 7
    if shape in ("sorted", "backwards"):
        u.sort()
    check(*((u[::-1], v) if shape == "backwards" else (u, v)), n)


def test_few_keys_compile_nothing(monkeypatch):
    monkeypatch.setattr(sort_cpu, "digit_starts", None)
    check(np.arange(9)[::-1], np.arange(9), 9)


def check(u, v, n):
    keys = u << 32 | v
    wanted = np.sort(keys)
    sort.sort_keys(keys, n)
    assert np.array_equal(keys, wanted)
