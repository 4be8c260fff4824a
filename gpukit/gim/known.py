"""The part of a spread known without RR sets: the worth of the seeds themselves where their sets are trivial.

With kept sets I(S) = Σ own(v) over v in S + Γ · Pr[S hits a kept set] (:mod:`gpukit.worlds.trivial`). With plain sets
nothing is known, and Γ is the mass. The functions for sizes, certificates and estimates are the same for both.
"""

from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property

import numpy as np

from gpukit.worlds.bounds import CONTEXT
from gpukit.worlds.collection import Bonus
from gpukit.worlds.highest import highest
from gpukit.worlds.reverse import Reverse
from gpukit.worlds.trivial import ONE

FINEST = 256
"""Most units per set: the resolution of the worth of a single vertex."""

ROUNDING = 2.0**-48
"""Upper bound on the relative error of the arithmetic here."""


@dataclass(frozen=True, eq=False)
class Known:
    """The known worth of every vertex by itself.

    Attributes
    ----------
    gamma : Decimal
        Γ: the spread if all sets are hit.
    singleton : uint64 array, shape (n,), or None
        Probability that no in-edge of a vertex is live, times 2**63; None: nothing is known.
    weights : int64 array, shape (n,), or None
        Weight of each vertex; 1 each if not given.
    """

    gamma: Decimal
    singleton: np.ndarray | None
    weights: np.ndarray | None

    @classmethod
    def of(cls, reverse: Reverse, weights: np.ndarray | None) -> "Known":
        """Return the known worths for a graph that is ready for sampling."""
        return cls.of_mass(reverse.gamma, reverse.singleton, weights)

    @classmethod
    def of_mass(cls, gamma: int, singleton: np.ndarray | None, weights: np.ndarray | None) -> "Known":
        """Return the same from Γ in units of 2**-63."""
        with localcontext(CONTEXT):
            return cls(Decimal(gamma) / ONE, singleton, weights)

    def bonus(self, seeds: np.ndarray) -> Decimal:
        """Return the known worth of distinct vertices."""
        if self.singleton is None:
            return Decimal(0)
        counts = [1] * len(seeds) if self.weights is None else self.weights[seeds].tolist()
        total = sum(count * part for count, part in zip(counts, self.singleton[seeds].tolist(), strict=True))
        with localcontext(CONTEXT):
            return Decimal(total) / ONE

    def spread(self, seeds: np.ndarray, hit: int, sets: int) -> float:
        """Return the spread of seeds that hit ``hit`` of ``sets`` sets; without any set, their known spread."""
        if self.singleton is None:
            return int(self.gamma) * hit / sets
        with localcontext(CONTEXT):
            return float(self.bonus(seeds) + (self.gamma * hit / sets if sets else 0))

    def gains(self, seeds: np.ndarray, newly: np.ndarray, sets: int) -> np.ndarray:
        """Return, as float64, the spread that each seed adds if it newly hits ``newly`` of ``sets`` sets."""
        added = newly * (float(self.gamma) / max(sets, 1))
        return added if self.singleton is None else added + self.values[seeds]

    def least(self, forced: np.ndarray, free: np.ndarray, further: int) -> Decimal:
        """Return the least known worth of the forced vertices and any ``further`` of the free ones."""
        lowest = free[highest(-self.values[free], further)]
        with localcontext(CONTEXT):
            return (self.bonus(forced) + self.bonus(lowest)) * (1 - Decimal(ROUNDING))

    def heaviest(self, free: np.ndarray, count: int) -> np.ndarray:
        """Return the free vertices of the highest known worth, in that order; ties go to the lower id."""
        return free[highest(self.values[free], count)]

    def in_units(self, sets: int) -> Bonus | None:
        """Return the known worths in units of ``sets`` sets, rounded up; None if nothing is known.

        The number of units per set is a power of two up to FINEST, the largest that keeps all values below 2**30; or 1
        if even that is too large.
        """
        if self.singleton is None:
            return None
        scale, unit = sets / float(self.gamma) * (1 + ROUNDING), FINEST
        while unit > 1 and unit * (sets + self.highest * scale) >= 2**30:
            unit //= 2
        return Bonus(self.values, scale * unit, unit, self.highest)

    def scaled(self) -> Bonus:
        """Return the same, scaled to 30 bits, if there is no set to compare with; ``unit`` is not used."""
        return Bonus(self.values, 2**29 / max(self.highest, 1 / ONE) * (1 + ROUNDING), 1, self.highest)

    @cached_property
    def values(self) -> np.ndarray:
        """Known worth of each vertex by itself, float64."""
        assert self.singleton is not None
        values = self.singleton.astype(np.float64) * (1 / ONE)
        return values if self.weights is None else values * self.weights

    @cached_property
    def highest(self) -> float:
        """The highest known worth of a vertex."""
        return float(self.values.max())
