"""Upper bounds on the number of contexts of an ego-network, and binary search in a row: rules for CPU and GPU."""

from gpukit.device.compiled import njit

COMP, CORE, TRUSS = 0, 1, 2
CODES = {"comp": COMP, "core": CORE, "truss": TRUSS}
"""Number of each model in kernels."""


@njit
def least_degree(model, k):
    """Return the least degree of a context member in the ego-network: the support of its edge to the centre."""
    if model == COMP:
        return 1 if k > 1 else 0
    return k if model == CORE else k - 1


@njit
def least_support(model, k):
    """Return the least support in the whole graph of an edge of a context: one triangle more than in the context."""
    return k - 1 if model == TRUSS else 1


@njit
def least_size(model, k):
    """Return the fewest members of a context."""
    return k + 1 if model == CORE else k


@njit
def upper_bound(model, k, members, degree_sum):
    """Return an upper bound on the contexts that the possible members can form.

    Parameters
    ----------
    model : int
        One of COMP, CORE, TRUSS.
    k : int
    members : int
        Neighbours of the centre with at least :func:`least_degree`.
    degree_sum : int
        Sum of their degrees in the ego-network: at least twice the edges between them.
    """
    size = least_size(model, k)
    by_members = members // size
    # Twice the edges that a context needs. ``comp``: the edges of a tree. Other models: the least degree at each
    # member.
    edges = 2 * (k - 1) if model == COMP else size * least_degree(model, k)
    return min(by_members, degree_sum // edges) if edges > 0 else by_members


@njit
def lower_bound(values, low, high, wanted):
    """Return the first place in the ascending values[low … high - 1] with a value >= ``wanted``, or ``high``."""
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low
