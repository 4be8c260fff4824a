"""How many contexts an ego-network can have at most, and where a number stands in a row: rules for CPU and GPU."""

from gpukit.device.compiled import njit

COMP, CORE, TRUSS = 0, 1, 2
CODES = {"comp": COMP, "core": CORE, "truss": TRUSS}
"""Number of each model in kernels."""


@njit
def least_degree(model, k):
    """Return the degree in the ego-network (the support of the edge to the centre) that every context member has."""
    if model == COMP:
        return 1 if k > 1 else 0
    return k if model == CORE else k - 1


@njit
def least_support(model, k):
    """Return the support in the whole graph that every edge of a context has: one triangle more than inside it."""
    return k - 1 if model == TRUSS else 1


@njit
def least_size(model, k):
    """Return the fewest members of a context."""
    return k + 1 if model == CORE else k


@njit
def upper_bound(model, k, members, degree_sum):
    """Return the most contexts that possible members with this sum of degrees can form.

    Parameters
    ----------
    model : int
        One of COMP, CORE, TRUSS.
    k : int
    members : int
        Neighbours of the centre that have :func:`least_degree`.
    degree_sum : int
        Sum of their degrees in the ego-network: at least twice the edges between them.
    """
    size = least_size(model, k)
    by_members = members // size
    # Twice the edges that a context needs: those of a tree, or a degree of k or k - 1 at each member.
    edges = 2 * (k - 1) if model == COMP else size * least_degree(model, k)
    return min(by_members, degree_sum // edges) if edges > 0 else by_members


@njit
def lower_bound(values, low, high, wanted):
    """Return the first place of the ascending values[low … high - 1] that is not below a number, or ``high``."""
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low
