"""Rows and edges of artifacts: errors are found at every position."""

import numpy as np
import pytest

from gpukit.artifacts.checks import is_transpose
from gpukit.artifacts.structure import rows_ascend
from gpukit.errors import InputError


def rows(seed):
    """Return row starts and heads of a random graph without loops, some of its rows empty."""
    random = np.random.default_rng(seed)
    dense = random.random((9, 9)) < random.choice([0.05, 0.3, 0.9], (9, 1))
    np.fill_diagonal(dense, False)
    tails, heads = np.nonzero(dense)
    return np.searchsorted(tails, np.arange(10)).astype(np.int64), heads.astype(np.int32)


@pytest.mark.parametrize("seed", range(8))
def test_rows_that_do_not_ascend_are_named(seed):
    starts, heads = rows(seed)
    rows_ascend(starts, heads, "heads")
    for row in range(9):
        for at in range(starts[row], starts[row + 1] - 1):
            wrong = heads.copy()
            wrong[at + 1] = wrong[at]
            with pytest.raises(InputError, match=rf"heads of row {row} do not ascend \(… {heads[at]}, {heads[at]} …\)"):
                rows_ascend(starts, wrong, "heads")


@pytest.mark.parametrize("seed", range(8))
def test_a_transpose_is_told_from_what_is_none(seed):
    starts, heads = rows(seed)
    tails = np.repeat(np.arange(9), np.diff(starts)).astype(np.int32)
    order = np.lexsort((tails, heads))
    words = np.arange(len(heads), dtype=np.uint32)
    back = np.searchsorted(heads[order], np.arange(10)).astype(np.int64), tails[order], words[order]
    assert is_transpose((starts, heads, words), back)
    for at in range(len(heads)):
        for place in (1, 2):
            wrong = [part.copy() for part in back]
            wrong[place][at] += 1
            assert not is_transpose((starts, heads, words), tuple(wrong))
