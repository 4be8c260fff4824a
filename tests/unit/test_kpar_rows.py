"""Rows of a walk index, by start and by end: both ways, against sorted lists, for any number of workers."""

import numba
import numpy as np
import pytest

from gpukit.graph import kernels
from gpukit.kpar.index.build_cpu import forward_rows, invert_rows
from gpukit.kpar.problem import begins


@pytest.fixture(params=[1, 2])
def workers(request):
    before = numba.get_num_threads()
    numba.set_num_threads(min(request.param, before))
    yield
    numba.set_num_threads(before)


@pytest.mark.parametrize("n", [0, 1, 2, 9, 60])
def test_rows_are_inverted_and_come_back(workers, n):
    generator = np.random.default_rng(n)
    walks = {}
    for start in range(n):
        for end in generator.choice(n, generator.integers(n + 1), replace=False):
            walks[start, int(end)] = int(generator.choice([1, 1, 1, 2, 7]))
    by_start = sorted(walks)
    forward = (
        begins(np.bincount([start for start, _ in by_start], minlength=n)),
        np.array([end for _, end in by_start], np.int32),
        np.array([walks[pair] for pair in by_start], np.uint32),
    )
    src_begin, starts, frequent_begin, frequencies, arrivals = invert_rows(n, *forward)
    lists = [sorted((start for start, end in walks if end == t), key=lambda s: (walks[s, t] == 1, s)) for t in range(n)]
    often = [[walks[start, t] for start in lists[t] if walks[start, t] > 1] for t in range(n)]
    assert src_begin.tolist() == begins([len(one) for one in lists]).tolist()
    assert starts.tolist() == [start for one in lists for start in one] and starts.dtype == np.int32
    assert frequent_begin.tolist() == begins([len(one) for one in often]).tolist()
    assert frequencies.tolist() == [many for one in often for many in one] and frequencies.dtype == np.uint32
    assert arrivals.tolist() == [sum(walks[start, t] for start in lists[t]) for t in range(n)]
    again = forward_rows(n, src_begin, starts, frequent_begin, frequencies)
    assert all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(again, forward, strict=True))


def test_counters_that_are_wide_enough_for_more_entries():
    """Those of 2**32 entries and more, which no test has room for, do the same as the others."""
    generator = np.random.default_rng(3)
    begin, columns = begins([5, 0, 9, 2]), generator.integers(0, 4, 16).astype(np.int32)
    words = generator.integers(0, 99, 16).astype(np.uint32)
    rows, expected = np.array([0, 2, 4]), kernels.transpose_rows(begin, columns, words)
    found = np.empty(16, np.int32)
    starts, carried = kernels._scatter(begin, columns, words, rows, np.zeros((2, 4), np.int64), found)
    assert all(np.array_equal(a, b) for a, b in zip((starts, found, carried), expected, strict=True))
