"""How many worlds are enough: the two-fold optimism of the choice.

Greedy fits the noise of few worlds. Seeds S₁ are chosen on one half of the worlds and S₂ on the other; with E_i(S) the
mean reach of S over half i, each half likes its own seeds better than the other half does. That surplus,

    o = ½ ([E₁(S₁) - E₁(S₂)]⁺ + [E₂(S₂) - E₂(S₁)]⁺) / Ē   with   Ē = ½ (E₂(S₁) + E₁(S₂)),

bounds what is lost well in practice (docs/imgpu.md), and worlds double until it is small. The sums are integers, and
what follows from them are IEEE operations in one order: the same everywhere.
"""

import math
from typing import NamedTuple

import numpy as np

OPTIMISM = 0.01
"""Enough worlds: o and its standard deviation together are no more."""

FIRST_WORLDS = 128
"""Worlds of the first try; each further one doubles them."""

FEW = 10
"""For up to so many seeds two tries in a row must say that it is enough: the choices may agree by chance."""


class Optimism(NamedTuple):
    """The two-fold optimism and its standard deviation, as shares of the spread."""

    value: float
    sd: float

    @property
    def enough(self) -> bool:
        """Whether the choice does not fit noise any more."""
        return self.value + self.sd <= OPTIMISM


def two_fold(first: list[np.ndarray], second: list[np.ndarray]) -> Optimism:
    """Return the optimism of two choices.

    Parameters
    ----------
    first, second : lists of two int64 arrays, shape (worlds,)
        What S₁ and S₂ reach in each world of the half that S₁ was chosen on, and of the other half.
    """
    worlds = len(first[0])
    gaps = [(first[0] - first[1]).tolist(), (second[1] - second[0]).tolist()]
    reached = sum(second[0].tolist()) + sum(first[1].tolist())
    sums = [sum(gap) for gap in gaps]
    squares = sum(worlds * sum(d * d for d in gap) - total * total for gap, total in zip(gaps, sums, strict=True))
    sd = math.sqrt(squares / (worlds * worlds * (worlds - 1))) * worlds / reached
    return Optimism(sum(max(total, 0) for total in sums) / reached, sd)
