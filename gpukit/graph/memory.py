"""Peak memory of building a graph, so that a graph that cannot fit is refused before the work starts."""

from gpukit.device.memory import check_host

VERTEX_BYTES = 80
"""Bytes per vertex: rows of both directions, and the sampling tables while they are built."""

LINE_BYTES = 9
"""Bytes per line of an edge list with ids below 2**31, which becomes a directed edge in the same memory."""

EDGE_BYTES, UNEQUAL_BYTES = 10, 60
"""Bytes per listed directed edge, repeats included: the sort key, which becomes the edge. With individual probabilities
also the probability, its place in the order, and rows of the sampling tables."""

DRAW_BYTES = 56
"""Bytes per random edge while a generator removes repeats and splits it into tail and head."""

_ADVICE = "choose a smaller graph or a machine with more memory"


def check_building(n: int, edges: int, unequal: bool) -> None:
    """Refuse a graph that cannot be built in addition to its edge list, sampling tables included.

    Parameters
    ----------
    n : int
        Number of vertices.
    edges : int
        Directed edges as listed, repeats and loops included.
    unequal : bool
        Whether edges have individual probabilities.

    Raises
    ------
    DeviceError
        If this machine has too little memory.
    """
    each = UNEQUAL_BYTES if unequal else EDGE_BYTES
    check_host({f"{n:,} vertices": n * VERTEX_BYTES, f"{edges:,} directed edges": edges * each}, _ADVICE)


def check_drawing(what: str, needed: int) -> None:
    """Refuse random edges that cannot be drawn; raises DeviceError."""
    check_host({what: needed}, _ADVICE)
