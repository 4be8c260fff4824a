"""How reach is counted by labels: the kinds of label, and how long they may be.

The condensed world is a DAG. A component with at least two parents is a *join*. T(v) is the weight of v plus T of its
children that are no joins: a tree sum, because such a child has one parent. J(v) is every join that v reaches. Only
joins can be reached twice, so reach(v) = T(v) + Σ T(j) over j in J(v). This takes the place of the labels of the
paper's appendix C (equation 1).
"""

INLINE = 32
"""Joins a list holds at most."""

SPLIT = 32
"""Weight from which the heaviest component splits the world."""

NONE, JOIN = -1, -2
"""No parent, and several parents."""

SEARCH, BITSET = -1, -2
"""Sizes of a label that is not kept, and of one that is a bitset over the joins."""
