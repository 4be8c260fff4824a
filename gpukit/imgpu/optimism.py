"""Choice of the number of worlds by the two-fold optimism of the seeds.

With few worlds greedy fits their noise. Choose seeds S₁ on one half of the worlds and S₂ on the other half. Let E_i(S)
be the mean reach of S over half i. Each half overrates its own seeds. The surplus

    o = ½ ([E₁(S₁) - E₁(S₂)]⁺ + [E₂(S₂) - E₂(S₁)]⁺) / Ē   with   Ē = ½ (E₂(S₁) + E₁(S₂)),

is a good bound on the loss in practice (docs/imgpu.md), so the worlds are doubled until it is small. The sums are
integers, and everything derived from them uses IEEE operations in a fixed order, so it is equal everywhere.
"""

import math
from typing import NamedTuple

import numpy as np

OPTIMISM = 0.01
"""The worlds are enough if o plus its standard deviation is at most this."""

FIRST_WORLDS = 128
"""Worlds of the first try; each further try doubles them."""

FEW = 10
"""With at most this many seeds two tries in a row must find the worlds enough: the choices may agree by chance."""


class Optimism(NamedTuple):
    """The two-fold optimism and its standard deviation, as fractions of the spread."""

    value: float
    sd: float

    @property
    def enough(self) -> bool:
        """Whether the number of worlds is enough."""
        return self.value + self.sd <= OPTIMISM


def two_fold(first: list[np.ndarray], second: list[np.ndarray]) -> Optimism:
    """Return the optimism of two choices.

    Parameters
    ----------
    first, second : lists of two int64 arrays, shape (worlds,)
        Reach of S₁ and of S₂ in each world, on the half that S₁ was chosen on and on the other half.
    """
    worlds = len(first[0])
    gaps = [(first[0] - first[1]).tolist(), (second[1] - second[0]).tolist()]
    reached = sum(second[0].tolist()) + sum(first[1].tolist())
    sums = [sum(gap) for gap in gaps]
    squares = sum(worlds * sum(d * d for d in gap) - total * total for gap, total in zip(gaps, sums, strict=True))
    sd = math.sqrt(squares / (worlds * worlds * (worlds - 1))) * worlds / reached
    return Optimism(sum(max(total, 0) for total in sums) / reached, sd)
