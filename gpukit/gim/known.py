"""The part of a spread that is known without RR sets: what seeds reach by themselves where their sets are trivial.

With kept sets I(S) = Σ own(v) over v in S + Γ · Pr[S hits a kept set] (:mod:`gpukit.worlds.trivial`); with plain sets
nothing is known, and Γ is the mass. Sizes, certificates and estimates are the same functions of both.
"""

from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property

import numpy as np

from gpukit.worlds.bounds import CONTEXT
from gpukit.worlds.collection import Bonus
from gpukit.worlds.reverse import Reverse
from gpukit.worlds.trivial import ONE

FINEST = 256
"""Units of a set at most: parts of a set that a vertex may be worth by itself."""

LEVELS = 1 << 16
"""Levels among which the lowest values are looked for."""

ROUNDING = 2.0**-48
"""More than the arithmetic here errs by, as a share."""


@dataclass(frozen=True, eq=False)
class Known:
    """What every vertex is worth by itself.

    Attributes
    ----------
    gamma : Decimal
        Γ: what the share of sets hit is multiplied with.
    singleton : uint64 array, shape (n,), or None
        The chance that no in-edge of a vertex is live, times 2**63; None: nothing is known.
    weights : int64 array, shape (n,), or None
        What each vertex counts for; one each if not given.
    """

    gamma: Decimal
    singleton: np.ndarray | None
    weights: np.ndarray | None

    @classmethod
    def of(cls, reverse: Reverse, weights: np.ndarray | None) -> "Known":
        """Return what is known of a graph that is ready for sampling."""
        return cls.of_mass(reverse.gamma, reverse.singleton, weights)

    @classmethod
    def of_mass(cls, gamma: int, singleton: np.ndarray | None, weights: np.ndarray | None) -> "Known":
        """Return the same with Γ in units of 2**-63."""
        with localcontext(CONTEXT):
            return cls(Decimal(gamma) / ONE, singleton, weights)

    def bonus(self, seeds: np.ndarray) -> Decimal:
        """Return what distinct vertices are worth by themselves."""
        if self.singleton is None:
            return Decimal(0)
        counts = [1] * len(seeds) if self.weights is None else self.weights[seeds].tolist()
        total = sum(count * part for count, part in zip(counts, self.singleton[seeds].tolist(), strict=True))
        with localcontext(CONTEXT):
            return Decimal(total) / ONE

    def spread(self, seeds: np.ndarray, hit: int, sets: int) -> float:
        """Return what seeds reach that hit so many of so many sets; without any set, what they are known to."""
        if self.singleton is None:
            return int(self.gamma) * hit / sets
        with localcontext(CONTEXT):
            return float(self.bonus(seeds) + (self.gamma * hit / sets if sets else 0))

    def gains(self, seeds: np.ndarray, newly: np.ndarray, sets: int) -> np.ndarray:
        """Return, as float64, what each seed adds to the spread, of ``sets`` sets hitting so many ``newly``."""
        added = newly * (float(self.gamma) / max(sets, 1))
        return added if self.singleton is None else added + self.values[seeds]

    def least(self, forced: np.ndarray, free: np.ndarray, further: int) -> Decimal:
        """Return the least that the forced vertices and ``further`` of the free ones are worth by themselves."""
        lowest = free[_lowest(self.values[free], further)]
        with localcontext(CONTEXT):
            return (self.bonus(forced) + self.bonus(lowest)) * (1 - Decimal(ROUNDING))

    def heaviest(self, free: np.ndarray, count: int) -> np.ndarray:
        """Return the free vertices that are worth most by themselves, the lower ones among equals, in that order."""
        if count == 0:
            return free[:0]
        values = self.values[free]
        least = np.partition(values, len(free) - count)[len(free) - count]
        enough = free[values >= least]
        return enough[np.argsort(-self.values[enough], kind="stable")[:count]]

    def in_units(self, sets: int) -> Bonus | None:
        """Return what vertices are worth by themselves in units of so many sets, rounded up; None: nothing.

        A set has as many units, a power of two, as leave all values below 2**30, or one where even that is too many.
        """
        if self.singleton is None:
            return None
        scale, unit = sets / float(self.gamma) * (1 + ROUNDING), FINEST
        while unit > 1 and unit * (sets + self.highest * scale) >= 2**30:
            unit //= 2
        return Bonus(self.values, scale * unit, unit, self.highest)

    def scaled(self) -> Bonus:
        """Return the same, of 30 bits, where there is no set to compare with; ``unit`` is not used."""
        return Bonus(self.values, 2**29 / max(self.highest, 1 / ONE) * (1 + ROUNDING), 1, self.highest)

    @cached_property
    def values(self) -> np.ndarray:
        """What each vertex is worth by itself, float64."""
        assert self.singleton is not None
        values = self.singleton.astype(np.float64) * (1 / ONE)
        return values if self.weights is None else values * self.weights

    @cached_property
    def highest(self) -> float:
        """The most that a vertex is worth by itself."""
        return float(self.values.max())


def _lowest(values: np.ndarray, count: int) -> np.ndarray:
    """Return the places of the lowest values (>= 0), at most ``count``, by levels: equal ones are slow to partition."""
    scale = (LEVELS - 1) / max(float(values.max(initial=0)), 1 / ONE)
    levels = (values * scale).astype(np.int32)
    level = int(np.searchsorted(np.bincount(levels, minlength=1).cumsum(), count))
    below, at = np.flatnonzero(levels < level), np.flatnonzero(levels == level)
    return np.concatenate([below, at[np.argsort(values[at], kind="stable")[: count - len(below)]]])
