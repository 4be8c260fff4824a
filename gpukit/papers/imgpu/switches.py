"""The paper's optimisations of a count by labels (section 4), and how long labels may be, for both devices."""

from typing import NamedTuple

from gpukit.imgpu.reach import SPLIT

BAND = 256
"""Most components of a band (equation 2 of the paper)."""


class Switches(NamedTuple):
    """Options for counting worlds; none of them changes the result.

    Attributes
    ----------
    split : int
        Weight from which a component splits its world; only on a GPU.
    combine, reorder : bool
        The paper's optimisations K and R.
    unroll : int
        The paper's optimisation U: children read at a time, 1 to 128.
    """

    split: int = SPLIT
    combine: bool = False
    reorder: bool = False
    unroll: int = 16
