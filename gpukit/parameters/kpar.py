"""Parameters of kPAR."""

from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from typing import Annotated, Literal

from gpukit.parameters.option import Option, Parameters, declared, parameter

Depth = Literal["refined", "auto", "end", "exact"]
"""How far a query goes."""
Stop = Literal["refined", "auto"]
"""The depths that a server, and the answers of all vertices, support."""

DepthParameter = Annotated[
    Depth | None,
    Option(
        "auto: stop when the guarantee holds; refined, the default with an index: then examine the vertices near the "
        "end of the answer again, and report which places are certain; end: halve the error; exact: the true k best, "
        "and ties, by the power method.",
    ),
]
StopParameter = Annotated[
    Stop,
    Option("Examine the vertices near the end of an answer again, or stop when the guarantee holds (auto)."),
]

CONTEXT = Context(prec=40)

USUAL_K = 100
"""Default length of an answer."""
Length = Annotated[int | None, Option(f"Length of an answer; {USUAL_K}, or n if smaller, by default.", metavar="K")]
Memory = Annotated[int | None, Option("Memory for the walks; above it queries draw them again.", metavar="MIB", ge=0)]
MEMORY = parameter("memory", Memory, None)
DEPTH = parameter("depth", Annotated[Depth, Option()], "refined")
STOP = parameter("depth", StopParameter, "refined")

TOPPPR_PRECISION = 0.99
"""ρ of TopPPR in the experiments of kPAR's paper (5.1)."""


@dataclass(frozen=True)
class Params(Parameters):
    """Parameters that determine index and answers.

    Attributes
    ----------
    alpha : float
        Probability in (0, 1) that a walk stops at a vertex with out-edges.
    epsilon : float
        Relative error in (0, 0.5] of Definition 1.
    weighted : bool
        Whether a walk chooses edges in proportion to their weights, which the graph stores as probabilities.

    Raises
    ------
    UsageError
        If a number is out of range.
    """

    alpha: Annotated[
        float,
        Option(
            "Probability that a walk stops, {range}.", metavar="A", gt=0, lt=1, because=", 0.2 is usual", workflow=True
        ),
    ] = 0.2
    epsilon: Annotated[
        float,
        Option("Relative error, {range}.", metavar="E", gt=0, le=0.5, because=": the bounds need it", workflow=True),
    ] = 0.5
    weighted: Annotated[
        bool,
        Option("Walks choose edges in proportion to their weights (`graph import --weights file`).", workflow=True),
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.one_minus_alpha < 1 << 32:  # too close to an end of the range
            raise declared(Params)["alpha"].refused(self.alpha)

    @property
    def one_minus_alpha(self) -> int:
        """Probability to continue, in units of 2**-32."""
        with localcontext(CONTEXT):
            return int(((1 - Decimal(repr(self.alpha))) * 2**32).to_integral_value())
