"""What making a graph takes at its peak, so that what cannot fit is refused before it starts."""

from gpukit.device.memory import check_host

VERTEX_BYTES = 80
"""A vertex: rows of both directions, and the sampling tables while they are made."""

LINE_BYTES = 9
"""A line of an edge list with ids below 2**31, which becomes a directed edge in its place."""

EDGE_BYTES, UNEQUAL_BYTES = 10, 60
"""A directed edge, as often as it is listed: the key that is sorted and becomes it; where each has a probability of its
own also that, its place in the order, and rows of the sampling tables."""

DRAW_BYTES = 56
"""A random edge while a generator compares it with the others and turns it into a tail and a head."""

_ADVICE = "choose a smaller graph or a machine with more memory"


def check_building(n: int, edges: int, unequal: bool) -> None:
    """Refuse a graph that cannot be built beside its edge list, sampling tables included.

    Parameters
    ----------
    n : int
        Number of vertices.
    edges : int
        Directed edges as they are listed, repeats and loops included.
    unequal : bool
        Whether edges have probabilities of their own.

    Raises
    ------
    DeviceError
        If this machine has not the memory.
    """
    each = UNEQUAL_BYTES if unequal else EDGE_BYTES
    check_host({f"{n:,} vertices": n * VERTEX_BYTES, f"{edges:,} directed edges": edges * each}, _ADVICE)


def check_drawing(what: str, needed: int) -> None:
    """Refuse random edges that cannot be drawn; raises DeviceError."""
    check_host({what: needed}, _ADVICE)
