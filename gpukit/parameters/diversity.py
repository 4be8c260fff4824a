"""What structural diversity search is asked."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from gpukit.errors import BadValue
from gpukit.parameters.option import Option, Parameters

Context = Literal["comp", "core", "truss"]
"""What counts as a social context: components, cores or trusses of an ego-network."""

SMALLEST_K = {"comp": 1, "core": 1, "truss": 2}
"""Smallest meaningful k; a 2-truss needs an edge, a 1-core a neighbour, a 1-component a vertex."""
MAX_K = 2**31 - 1

USUAL_T = 100
"""Length of an answer."""
Length = Annotated[
    int | None,
    Option(f"Number of vertices to find; {USUAL_T}, or n if smaller, by default.", metavar="T"),
]


@dataclass(frozen=True)
class Params(Parameters):
    """What decides the answer.

    Attributes
    ----------
    model : str
        What counts as a social context of v: in the graph that v's neighbours induce, a connected component with k or
        more vertices (``comp``), one of the maximal subgraph of degrees >= k (``core``), or one of the maximal subgraph
        whose edges lie in >= k - 2 of its triangles (``truss``; parts that share a vertex are one).
    k : int
        Threshold, at least 1 (``truss``: 2) and below 2**31.

    Raises
    ------
    UsageError
        If one is out of range.
    """

    model: Annotated[Context, Option("What counts as a circle.")] = "truss"
    k: Annotated[int, Option("Threshold of the model.", metavar="K", workflow=True)] = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if not SMALLEST_K[self.model] <= self.k <= MAX_K:
            raise BadValue("k", self.k, f"{SMALLEST_K[self.model]} to {MAX_K} are allowed for {self.model}")

    @property
    def code(self) -> int:
        """Number of the model in kernels."""
        return get_args(Context).index(self.model)
