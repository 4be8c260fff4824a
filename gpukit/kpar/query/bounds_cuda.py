"""The bounds of a query on a GPU, rounded as in ``bounds.py``, and their bits as integers of the same order."""

import math

from numba import float64, int64

from gpukit.device.kernels import device
from gpukit.kpar.query.team_cuda import times
from gpukit.kpar.rule import LOST

HIDDEN = 1 << 52
"""The implicit leading bit of a floating-point number's mantissa."""


@device
def to_key(value):
    """Return the bits of a positive floating-point number as an integer; the integers have the same order."""
    mantissa, exponent = math.frexp(value)
    return (int64(exponent) + 1021) * HIDDEN + int64(mantissa * 2.0**53)


@device
def from_key(key):
    """Return the number whose :func:`to_key` is ``key``."""
    return math.ldexp(float64((key & (HIDDEN - 1)) | HIDDEN), int((key >> 52) - 1075))


@device
def upper_bound(bounds, step, score, by_walks):
    """Return the upper bound on π, rounded as in :mod:`gpukit.kpar.query.bounds`."""
    lost = times(by_walks, LOST)
    root = math.sqrt(bounds[step, 1] + times(bounds[step, 2], by_walks + lost))
    return score + lost + bounds[step, 0] + root


@device
def lower_bound(bounds, step, score, by_walks, reserve):
    """Return the lower bound on π."""
    root = math.sqrt(bounds[step, 4] + times(bounds[step, 5], by_walks))
    return max(reserve, score + bounds[step, 3] - root)
