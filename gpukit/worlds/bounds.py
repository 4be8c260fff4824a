"""Bounds on the expected number of hit sets, and logarithms of binomials; in decimal arithmetic, equal everywhere."""

import math
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from functools import lru_cache

CONTEXT = Context(prec=40)
"""Decimal context of sample sizes and certificates, and of computations with them."""

LN2 = CONTEXT.ln(Decimal(2))
"""ln 2."""

_HALF_LN_2PI = Decimal("0.91893853320467274178032973640561763986139747363778")
_EXACT_CHOICES = 1000
_BERNOULLI = ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510))


@lru_cache(256)
def log(number: int) -> Decimal:
    """Return ln of an integer; cached, because it takes 20 µs and plans need it often for a few numbers."""
    return CONTEXT.ln(Decimal(number))


def ceiling(value: Decimal) -> int:
    """Return ⌈value⌉."""
    return int(value.to_integral_value(ROUND_CEILING))


def doublings(factor: Decimal) -> int:
    """Return ⌈log₂ factor⌉ for factor >= 1, without the rounding of a logarithm."""
    return (ceiling(factor) - 1).bit_length()


@lru_cache(256)
def log_choose(n: int, k: int) -> Decimal:
    """Return ln C(n, k) from the leading bits of the exact integer, or by Stirling's series if k and n - k are large.

    Raises
    ------
    ValueError
        If not 0 <= k <= n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"C({n}, {k})")
    with localcontext(CONTEXT):
        if min(k, n - k) <= _EXACT_CHOICES:
            exact = math.comb(n, k)
            shift = max(0, exact.bit_length() - 160)
            return Decimal(exact >> shift).ln() + shift * LN2
        return _log_factorial(n) - _log_factorial(k) - _log_factorial(n - k)


def _log_factorial(n: int) -> Decimal:
    """Return ln n! for n > 1000, where eight terms of the series leave an error below 1e-49."""
    x = Decimal(n)
    series = Decimal(0)
    for i, (a, b) in enumerate(_BERNOULLI, 1):
        series += Decimal(a) / (b * 2 * i * (2 * i - 1) * x ** (2 * i - 1))
    return (x + Decimal("0.5")) * x.ln() - x + _HALF_LN_2PI + series


@lru_cache(16)
def _root_of_half(a: Decimal) -> Decimal:
    return CONTEXT.sqrt(CONTEXT.divide(a, Decimal(2)))


def hit_lower(hits: Decimal, a: Decimal) -> Decimal:
    """Return a lower bound on the expected number of sets hit, given ``hits``; it fails with probability exp(-a)."""
    root = (hits + 2 * a / 9).sqrt() - _root_of_half(a)
    return root * root - a / 18


def hit_upper(hits: Decimal, a: Decimal) -> Decimal:
    """Return an upper bound on the expected number of sets hit, given at most ``hits``; fails as :func:`hit_lower`."""
    root = (hits + a / 2).sqrt() + _root_of_half(a)
    return root * root
