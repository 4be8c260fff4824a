"""Parameters of structural diversity search."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from gpukit.errors import BadValue
from gpukit.parameters.option import Option, Parameters

Context = Literal["comp", "core", "truss"]
"""The kind of social contexts: components, cores or trusses of an ego-network."""

SMALLEST_K = {"comp": 1, "core": 1, "truss": 2}
"""Smallest meaningful k; a 2-truss needs an edge, a 1-core a neighbour, a 1-component a vertex."""
MAX_K = 2**31 - 1

USUAL_T = 100
"""Default length of an answer."""
Length = Annotated[
    int | None,
    Option(f"Number of vertices to find; {USUAL_T}, or n if smaller, by default.", metavar="T"),
]


@dataclass(frozen=True)
class Params(Parameters):
    """Parameters that determine the answer.

    Attributes
    ----------
    model : str
        A social context of v is a connected component in the graph that v's neighbours induce. It is a component with k
        or more vertices (``comp``), a component of the maximal subgraph of degrees >= k (``core``), or a component of
        the maximal subgraph whose edges are each in >= k - 2 of its triangles (``truss``).
    k : int
        Threshold, at least 1 (``truss``: 2) and below 2**31.

    Raises
    ------
    UsageError
        If a parameter is out of range.
    """

    model: Annotated[Context, Option("The kind of circles.")] = "truss"
    k: Annotated[int, Option("Threshold of the model.", metavar="K", workflow=True)] = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if not SMALLEST_K[self.model] <= self.k <= MAX_K:
            raise BadValue("k", self.k, f"{SMALLEST_K[self.model]} to {MAX_K} are allowed for {self.model}")

    @property
    def code(self) -> int:
        """Number of the model in kernels."""
        return get_args(Context).index(self.model)
