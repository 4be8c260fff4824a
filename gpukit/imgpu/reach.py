"""Counting reach by labels: the kinds of label and their sizes.

The condensed world is a DAG. A component with at least two parents is a *join*. T(v) is the weight of v plus the sum of
T over those of its children that are not joins. It is a sum over a tree, because such a child has one parent. J(v) is
the set of all joins that v reaches. Only joins can be reached along several paths, so reach(v) = T(v) + Σ T(j) over j
in J(v). This replaces the labels of the paper's appendix C (equation 1).
"""

INLINE = 32
"""Most joins in a list."""

SPLIT = 32
"""Least weight at which the heaviest component splits the world."""

NONE, JOIN = -1, -2
"""No parent, and several parents."""

SEARCH, BITSET = -1, -2
"""Label sizes that mean: no label is kept (a search counts), and a bitset over the joins."""
