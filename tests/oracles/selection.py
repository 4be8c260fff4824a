"""Comparison of greedy batches that two collections of mRR sets chose."""

import numpy as np


def check_same_selection(one, other) -> None:
    """Fail unless seeds, gains and hits are equal, and the leaders' ratios; leaders with equal ratios may differ."""
    assert np.array_equal(one.seeds, other.seeds) and np.array_equal(one.gains, other.gains)
    assert one.hits == other.hits
    assert [count / cost for count, cost in one.leaders] == [count / cost for count, cost in other.leaders]
