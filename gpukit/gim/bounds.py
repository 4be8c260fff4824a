"""Numbers of RR sets that are enough, and bounds from RR sets: OPIM-C and IMM, in decimal arithmetic.

``decimal`` rounds alike everywhere, so sizes and certificates do not depend on the C library of the host. Symbols: W is
the mass (n, or the sum of the root weights), L a lower bound on the optimum, ρ the approximation ratio of greedy
selection, C the number of seed sets that selection may return. docs/gim.md has the proofs.
"""

from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import lru_cache

from gpukit.worlds.bounds import CONTEXT, LN2, ceiling, doublings, hit_lower, hit_upper, log

GRID = Decimal("1.01")
"""Base of the grid of levels. Levels are the lower bounds on the optimum that IMM tries to prove."""

_SQRT2 = CONTEXT.sqrt(Decimal(2))

GREEDY_RATIO = CONTEXT.subtract(Decimal(1), CONTEXT.exp(Decimal(-1)))
"""ρ of greedy selection: 1 - 1/e."""

ROUNDS_RATIO = Decimal("0.5")
"""ρ under a partition matroid (several rounds)."""

JUDGED = 6
"""Most candidates for an answer: the choices of two collections, these choices with their sentinel exchanged, and the
choices of degree and degree discount."""

BUDGET_RATIO = CONTEXT.divide(GREEDY_RATIO, Decimal(2))
"""ρ of the better of ratio greedy and best single element under a budget: (1 - 1/e)/2."""


@dataclass(frozen=True)
class Family:
    """The quantities of a problem that the formulas need.

    Attributes
    ----------
    n : int
        Vertices; the guarantee may fail with probability 1/n.
    mass : int
        W: n, or the sum of the root weights.
    gamma : Decimal
        Γ: the spread if all sets are hit. It is W if all sets are drawn, less if trivial ones are known.
    least : int
        L: a lower bound on the optimum, in [1, W].
    ratio : Decimal
        ρ: the share of the best coverage that selection finds.
    log_sets : Decimal
        ln C: C bounds the number of seed sets that selection may return.
    """

    n: int
    mass: int
    gamma: Decimal
    least: int
    ratio: Decimal
    log_sets: Decimal


@dataclass(frozen=True)
class OpimPlan:
    """Sizes of OPIM-C (Tang, Tang, Xiao, Yuan, "Online processing algorithms for influence maximization", SIGMOD 2018).

    Attributes
    ----------
    first : int
        Sets in each of the two collections at the start; they double.
    cap : int
        θ_max: this many sets prove ρ - ε without a certificate.
    largest : int
        The largest size that may be tried.
    steps : int
        i_max, the largest number of sizes tried.
    a : Decimal
        Each bound fails with probability exp(-a). a is ln(3 i_max / δ), δ = 1/n, if a size has two bounds.
    target : Decimal
        ρ - ε, the certificate at which a run stops.
    """

    first: int
    cap: int
    largest: int
    steps: int
    a: Decimal
    target: Decimal


@lru_cache(16)
def opim_plan(family: Family, epsilon: float, min_sets: int = 0) -> OpimPlan:
    """Return the sizes of OPIM-C.

    Parameters
    ----------
    family : Family
    epsilon : float
        In (0, 1).
    min_sets : int
        Start with at least this many sets in both collections together. The sizes stay a fixed sequence of at most
        i_max terms, so the union bound over them still holds.
    """
    with localcontext(CONTEXT):
        first, cap = _ends(family, epsilon, 6)
        eps = Decimal(repr(epsilon))
        steps = doublings(max(Decimal(1), family.gamma / family.least / (eps * eps))) + 1
        return OpimPlan(
            first=max(first, -(-min_sets // 2)),
            cap=cap,
            largest=2 * cap,
            steps=steps,
            a=log(family.n) + log(3 * steps),
            target=family.ratio - eps,
        )


def twofold_plan(family: Family, epsilon: float, first: int, largest: int) -> OpimPlan:
    """Return the sizes of OPIM-C if both collections choose and the certificate alone does not end a run.

    Parameters
    ----------
    family : Family
    epsilon : float
        In (0, 1).
    first : int
        Initial number of sets of each collection.
    largest : int
        The largest size.

    Notes
    -----
    At each of i_max sizes three bounds may fail: those on the seeds of either collection, and that on the optimum. For
    each of at most ``JUDGED`` candidates, one bound may fail at each of two numbers of sets that judge. Together this
    is 2δ/3. The cap may fail with δ/3 in total, at any of the sizes from the cap on and for either collection. Each of
    its two tails gets δ/13 instead of δ/6, since 4·(δ/13 + (δ/13)² + …) is at most δ/3.
    """
    with localcontext(CONTEXT):
        cap = _ends(family, epsilon, 13)[1]
        largest = max(largest, first)
        steps = doublings(Decimal(largest) / first) + 1
        events = 3 * steps + 2 * JUDGED
        a = log(family.n) + (Decimal(3 * events) / 2).ln()
        return OpimPlan(first, cap, largest, steps, a, family.ratio - Decimal(repr(epsilon)))


def _ends(family: Family, epsilon: float, tails: int) -> tuple[int, int]:
    """Return θ₀ and θ_max of OPIM-C, if each of the two tails of θ_max has probability δ over ``tails``."""
    eps, ratio, share = Decimal(repr(epsilon)), family.ratio, family.gamma / family.least
    log_tail = log(family.n) + log(tails)
    root = ratio * log_tail.sqrt() + (ratio * (family.log_sets + log_tail)).sqrt()
    start = 2 * root * root
    return ceiling(start), ceiling(start * share / (eps * eps))


def opim_lower(covered: int, sets: int, gamma: Decimal, a: Decimal, bonus: Decimal, least: int) -> Decimal:
    """Return a lower bound on the spread of seeds that hit ``covered`` of ``sets`` sets and were chosen without these.

    Parameters
    ----------
    covered, sets : int
        Number of sets hit, and of all sets.
    gamma : Decimal
        Γ.
    a : Decimal
        The bound fails with probability exp(-a).
    bonus : Decimal
        The part of the seeds' worth that is known without drawing sets.
    least : int
        Spread of the seeds themselves, without their neighbours.
    """
    with localcontext(CONTEXT):
        return max(bonus + hit_lower(Decimal(covered), a) * gamma / sets, Decimal(least))


def opim_upper(worth: Decimal, sets: int, gamma: Decimal, a: Decimal, bonus: Decimal, mass: int) -> Decimal:
    """Return an upper bound on the optimum; it fails with the same probability as :func:`opim_lower`.

    Any choice is worth at most ``worth`` sets: the sets that it hits, plus the part of its worth that is known without
    sets. That part is at least ``bonus``. The bound is larger for a smaller ``bonus`` (docs/gim.md).
    """
    with localcontext(CONTEXT):
        hits = max(Decimal(0), worth - bonus * sets / gamma)
        return min(bonus + hit_upper(hits, a) * gamma / sets, Decimal(mass))


@dataclass(frozen=True)
class ImmPlan:
    """Sizes of IMM (Tang, Shi, Xiao, "Influence maximization in near-linear time", SIGMOD 2015), ℓ = 1.

    Attributes
    ----------
    family : Family
    epsilon : Decimal
    search : tuple of int
        As printed: θ_i = ⌈λ'/x_i⌉ for x_i = W/2^i, i = 1, 2, …
    bottom, top : int
        Levels: the largest j with GRID**j <= L, and with GRID**j <= W.
    """

    family: Family
    epsilon: Decimal
    search: tuple[int, ...]
    bottom: int
    top: int

    def found(self, i: int, covered: int, sets: int) -> bool:
        """Return whether seeds that hit this many sets prove OPT >= x_i as printed: W·F(S) >= (1 + ε')·x_i."""
        with localcontext(CONTEXT):
            return Decimal(covered) * 2**i >= (1 + _SQRT2 * self.epsilon) * sets

    def lower(self, covered: int, sets: int) -> Decimal:
        """Return LB = W·F(S)/(1 + ε'), at least L."""
        with localcontext(CONTEXT):
            bound = Decimal(covered) * self.family.mass / sets / (1 + _SQRT2 * self.epsilon)
            return max(bound, Decimal(self.family.least))

    @property
    def levels(self) -> int:
        """M, the number of levels."""
        return self.top - self.bottom + 1

    @property
    def pilot(self) -> int:
        """Number of sets used to guess a level: an eighth of the sets that the top level needs."""
        return -(-self.proof(self.top) // 8)

    def guess(self, covered: int, sets: int) -> int:
        """Return the level of W·F(S)/(1 + ε')²: a proof needs one factor 1 + ε', the other is a margin for chance."""
        with localcontext(CONTEXT):
            aim = self.lower(covered, sets) / (1 + _SQRT2 * self.epsilon)
            return max(grid_floor(max(aim, Decimal(1))), self.bottom)

    def proof(self, level: int) -> int:
        """Return σ_j, the number of sets that can prove OPT >= GRID**j.

        All levels together fail with probability 1/(2n).
        """
        with localcontext(CONTEXT):
            prime = _SQRT2 * self.epsilon
            share = self.family.mass / GRID**level
            logs = self.family.log_sets + Decimal(2 * self.family.n * self.levels).ln()
            return ceiling((2 + 2 * prime / 3) * logs * share / (prime * prime))

    def proves(self, level: int, covered: int, sets: int) -> bool:
        """Return whether seeds that hit ``covered`` of at least σ_j sets prove OPT >= GRID**j."""
        with localcontext(CONTEXT):
            return Decimal(covered) * self.family.mass >= (1 + _SQRT2 * self.epsilon) * GRID**level * sets

    def last(self, lower: Decimal, sizes: int = 1) -> int:
        """Return θ = ⌈2W(ρα + β)²/(ε²·LB)⌉, for a failure probability of 1/(2n) divided by ``sizes``."""
        with localcontext(CONTEXT):
            failure = Decimal(4 * self.family.n * sizes).ln()
            ratio = self.family.ratio
            root = ratio * failure.sqrt() + (ratio * (self.family.log_sets + failure)).sqrt()
            return ceiling(2 * self.family.mass * root * root / (self.epsilon**2 * lower))

    def enough(self, level: int) -> int:
        """Return N_j, a number of sets that proves OPT >= GRID**j and, if that holds, suffices for selection."""
        return max(self.proof(level), self.last(GRID**level, self.levels))


def imm_plan(family: Family, epsilon: float) -> ImmPlan:
    """Return the sizes of IMM.

    ℓ' ln n = ln 2n with ℓ = 1, so n = 1 is no special case. The printed search tries i = 1 … ⌊log₂ n⌋ - 1. With root
    weights it goes up to ⌊log₂(W/L)⌋, and ln log₂ n becomes the logarithm of that number if it is larger.
    """
    with localcontext(CONTEXT):
        eps = Decimal(repr(epsilon))
        prime = _SQRT2 * eps
        n, mass = family.n, family.mass
        steps = n.bit_length() - 2 if mass == n else (mass // family.least).bit_length() - 1
        trials = max(Decimal(n).ln() / LN2, Decimal(steps)) if steps > 0 else Decimal(1)
        whole = (2 + 2 * prime / 3) * (family.log_sets + Decimal(2 * n).ln() + trials.ln()) / (prime * prime)
        search = tuple(ceiling(whole * 2**i) for i in range(1, steps + 1))
        return ImmPlan(family, eps, search, grid_floor(Decimal(family.least)), grid_floor(Decimal(mass)))


def grid_floor(value: Decimal) -> int:
    """Return the largest j with GRID**j <= value; value >= 1."""
    with localcontext(CONTEXT):
        j = int(value.ln() / GRID.ln())
        while GRID ** (j + 1) <= value:
            j += 1
        while GRID**j > value:
            j -= 1
        return j
