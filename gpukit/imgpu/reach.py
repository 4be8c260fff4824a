"""How reach is counted, for both devices: the kinds of label, how long they may be, and the switches.

The condensed world is a DAG. A component with at least two parents is a *join*. T(v) is the weight of v plus T of its
children that are no joins: a tree sum, because such a child has one parent. J(v) is every join that v reaches. Only
joins can be reached twice, so reach(v) = T(v) + Σ T(j) over j in J(v). This takes the place of the labels of the
paper's appendix C (equation 1).
"""

from typing import NamedTuple

INLINE = 32
"""Joins a list holds at most."""

SPLIT = 32
"""Weight from which the heaviest component splits the world."""

BAND = 256
"""Components of a band at most (equation 2 of the paper)."""

NONE, JOIN = -1, -2
"""No parent, and several parents."""

SEARCH, BITSET = -1, -2
"""Sizes of a label that is not kept, and of one that is a bitset over the joins."""


class Switches(NamedTuple):
    """How worlds are counted; none of these changes what comes out.

    Attributes
    ----------
    split : int
        Weight from which a component splits its world.
    combine, reorder : bool
        The paper's optimisations K and R.
    unroll : int
        The paper's optimisation U: children read at a time, 1 to 128.
    search : bool
        On a GPU, whether short searches count a world where they can (``search_cuda.py``), so that the rest of these is
        for other worlds only.
    """

    split: int = SPLIT
    combine: bool = False
    reorder: bool = False
    unroll: int = 16
    search: bool = True
