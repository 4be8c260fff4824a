"""Sample sizes and bounds of OPIM-C and IMM to 60 digits, from the printed formulas.

ln C(n, k) is the logarithm of the exact integer, not a sum of logarithms. ``rounds`` is the T of CR-NAIMM: with T > 1
the ratio 1 - 1/e becomes 1/2, ln C(n, k) becomes T ln C(n, k), and OPT >= min(n, kT). Weighted roots: ``total`` is the
sum of the weights, ``optimum`` the least possible optimum (the k largest weights).
"""

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from math import comb

DIGITS = 60


def _exact(function):
    """Run a function with 60 digits."""

    def inner(*args, **kwargs):
        with localcontext() as context:
            context.prec = DIGITS
            return +function(*args, **kwargs)

    inner.__doc__ = function.__doc__
    return inner


def _decimal(value) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(str(value))


def _ceil(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_CEILING))


def _floor(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_FLOOR))


@_exact
def ratio(rounds: int = 1) -> Decimal:
    """Return the guarantee of greedy: 1 - 1/e, or 1/2 under a partition matroid."""
    return 1 - Decimal(-1).exp() if rounds == 1 else Decimal("0.5")


@_exact
def log_subsets(n: int, k: int, rounds: int = 1) -> Decimal:
    """Return T ln C(n, k)."""
    return rounds * Decimal(comb(n, k)).ln()


@dataclass(frozen=True)
class Opim:
    """Parameters of OPIM-C: cap and first size of a collection, doublings, and a = ln(3 i_max / delta)."""

    delta: Decimal
    theta_max: Decimal
    theta_0: int
    i_max: int
    a: Decimal


def opim(n: int, k: int, epsilon, rounds: int = 1, total: int | None = None, optimum: int | None = None) -> Opim:
    """Return the parameters of OPIM-C with delta = 1/n."""
    with localcontext() as context:
        context.prec = DIGITS
        eps = _decimal(epsilon)
        whole = n if total is None else total
        least = min(n, k * rounds) if optimum is None else optimum
        delta = 1 / Decimal(n)
        rho = ratio(rounds)
        six = (6 / delta).ln()
        root = rho * six.sqrt() + (rho * (log_subsets(n, k, rounds) + six)).sqrt()
        theta_max = 2 * whole * root**2 / (eps**2 * least)
        theta_0 = _ceil(theta_max * eps**2 * least / whole)
        i_max = _ceil((whole / (eps**2 * least)).ln() / Decimal(2).ln()) + 1
        return Opim(delta, theta_max, theta_0, i_max, (3 * i_max / delta).ln())


@_exact
def opim_lower(covered: int, theta: int, total: int, a, least: int) -> Decimal:
    """Return the lower bound on the spread of a set with this coverage of the second collection."""
    a = _decimal(a)
    root = (covered + 2 * a / 9).sqrt() - (a / 2).sqrt()
    return max((root**2 - a / 18) * total / theta, Decimal(least))


@_exact
def opim_upper(bound: int, theta: int, total: int, a) -> Decimal:
    """Return the upper bound on the optimum from the coverage bound of the first collection."""
    a = _decimal(a)
    return min(((bound + a / 2).sqrt() + (a / 2).sqrt()) ** 2 * total / theta, Decimal(total))


@dataclass(frozen=True)
class Imm:
    """Constants of IMM with l = 1."""

    ell: Decimal
    epsilon_prime: Decimal
    lambda_prime: Decimal
    alpha: Decimal
    beta: Decimal


def imm(n: int, k: int, epsilon) -> Imm:
    """Return the constants of IMM; n >= 4."""
    with localcontext() as context:
        context.prec = DIGITS
        eps = _decimal(epsilon)
        log_n, log_2 = Decimal(n).ln(), Decimal(2).ln()
        ell = 1 + log_2 / log_n
        prime = Decimal(2).sqrt() * eps
        subsets = log_subsets(n, k)
        lambda_prime = (2 + 2 * prime / 3) * (subsets + ell * log_n + (log_n / log_2).ln()) * n / prime**2
        alpha = (ell * log_n + log_2).sqrt()
        beta = (ratio() * (subsets + ell * log_n + log_2)).sqrt()
        return Imm(ell, prime, lambda_prime, alpha, beta)


def imm_search_sizes(n: int, k: int, epsilon) -> list[int]:
    """Return theta_i = ceil(lambda' / x) for x = n / 2**i, i = 1 … floor(log2 n) - 1."""
    constants = imm(n, k, epsilon)
    with localcontext() as context:
        context.prec = DIGITS
        return [_ceil(constants.lambda_prime * 2**i / n) for i in range(1, n.bit_length() - 1)]


def imm_final_size(n: int, k: int, epsilon, lower_bound) -> int:
    """Return theta = ceil(2 n ((1 - 1/e) alpha + beta)**2 / (epsilon**2 LB))."""
    constants = imm(n, k, epsilon)
    with localcontext() as context:
        context.prec = DIGITS
        root = ratio() * constants.alpha + constants.beta
        return _ceil(2 * n * root**2 / (_decimal(epsilon) ** 2 * _decimal(lower_bound)))


@dataclass(frozen=True)
class Levels:
    """Sizes by level j, the lower bound 1.01**j: to prove it, and to prove it and choose."""

    proof: dict[int, int]
    enough: dict[int, int]


def imm_levels(n: int, k: int, epsilon) -> Levels:
    """Return the sizes of the guided search, from the printed formulas with ln log2 n replaced by ln M.

    M is the number of levels from the least optimum, k, to n. The failure probability of the last phase is also
    divided by M.
    """
    constants = imm(n, k, epsilon)
    levels = range(grid_floor(k)[0], grid_floor(n)[0] + 1)
    with localcontext() as context:
        context.prec = DIGITS
        eps, many, subsets = _decimal(epsilon), Decimal(len(levels)).ln(), log_subsets(n, k)
        prime, logs = constants.epsilon_prime, constants.ell * Decimal(n).ln()
        whole = (2 + 2 * prime / 3) * (subsets + logs + many) * n / prime**2
        alpha = (logs + Decimal(2).ln() + many).sqrt()
        beta = (ratio() * (subsets + logs + Decimal(2).ln() + many)).sqrt()
        final = 2 * n * (ratio() * alpha + beta) ** 2 / eps**2
        values = {j: Decimal("1.01") ** j for j in levels}
        proof = {j: _ceil(whole / value) for j, value in values.items()}
        return Levels(proof, {j: max(proof[j], _ceil(final / value)) for j, value in values.items()})


def grid_floor(value, base="1.01") -> tuple[int, Decimal]:
    """Return the largest j with base**j <= value (value >= 1), and base**j."""
    with localcontext() as context:
        context.prec = DIGITS
        value, base = _decimal(value), _decimal(base)
        j = _floor(value.ln() / base.ln())
        while base ** (j + 1) <= value:
            j += 1
        while base**j > value:
            j -= 1
        return j, base**j
