"""Parameters of MERIT."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from gpukit.errors import UsageError
from gpukit.parameters.option import ABLATIONS, Option, Parameters, Seed
from gpukit.parameters.spread import ModelParameter
from gpukit.wording import spelled

Update = Literal["coupled", "paper", "regenerate"]
Ids = Literal["kept", "fresh"]
Certificate = Literal["fresh", "paper"]
Residual = Literal["renormalised", "raw"]

USUAL_BATCH = 16
"""Most seeds of a round, if no batch is given."""

Eta = Annotated[int, Option("Vertices to activate.", metavar="N", vertices=True)]
Batch = Annotated[
    int | None,
    Option(
        "Most seeds of a round; by default an eighth of the seeds that would reach η, 1 to 16.",
        metavar="B",
        short="-b",
        vertices=True,
        workflow=True,
    ),
]


@dataclass(frozen=True, eq=False)
class Params(Parameters):
    """Parameters of a campaign.

    Attributes
    ----------
    eta : int
        Vertices to activate, in [1, n].
    batch : int or None
        Most seeds of a round, in [1, n]; None: 1 to 16, from their expected spread (:mod:`gpukit.merit.batch`).
    model : str
        ``ic`` (independent cascade) or ``lt`` (linear threshold).
    epsilon : float
        Accuracy of each round's choice, in [1e-6, 1).
    update : str
        How the sets follow the shrinking graph: ``coupled`` keeps their coins (unbiased, the default), ``paper``
        updates as printed (biased), ``regenerate`` draws all of them again.
    ids : str
        ``kept``: the sets keep their ids from round to round; ``fresh``: new ids every round (with ``regenerate``).
    certificate : str
        ``fresh`` certifies a batch on a second collection, on which no choice depends; ``paper`` on the sets from which
        the batch was chosen.
    lt_residual : str or None
        Under LT, ``renormalised`` (conditioned on the vertices that are not active; the default) or ``raw`` (as
        printed).
    costs : gpukit.merit.Costs or None
        Costs of seeds; None: 0.01 + 0.01 · d_out.
    seed : int
        The user's seed, in [0, 2**64).
    """

    eta: Eta
    batch: Batch = None
    model: ModelParameter = "ic"
    epsilon: Annotated[
        float,
        Option(
            "Accuracy of a choice, {range}.",
            metavar="E",
            ge=1e-6,
            lt=1,
            because=": less takes over 2^48 mRR sets",
            workflow=True,
        ),
    ] = 0.5
    update: Annotated[
        Update, Option("Sets from round to round: keep their coins, as printed (biased), none.", panel=ABLATIONS)
    ] = "coupled"
    ids: Annotated[Ids, Option(command=False)] = "kept"
    certificate: Annotated[
        Certificate,
        Option("Certify a batch on sets on which no choice depends, or on those it was chosen from.", panel=ABLATIONS),
    ] = "fresh"
    lt_residual: Annotated[
        Residual | None,
        Option(
            "Under linear threshold, weights of the remaining vertices: renormalised (the default), or unchanged.",
            panel=ABLATIONS,
        ),
    ] = None
    costs: Any = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        """Check the conditions that need no graph; raises UsageError."""
        super().__post_init__()
        if self.ids == "fresh" and self.update != "regenerate":
            raise UsageError(f"fresh ids go with update regenerate, not with {self.update}; leave one of them out")
        if self.lt_residual is not None and self.model == "ic":
            raise UsageError(
                f"{spelled('lt_residual')} belongs to {spelled('model', 'lt')}, and the model is ic; leave it out or "
                "change the model"
            )

    @property
    def size(self) -> int:
        """Most seeds of a round; if no batch is given, the largest possible default."""
        return USUAL_BATCH if self.batch is None else self.batch

    def record(self) -> dict[str, Any]:
        """Return the entries that artifacts record."""
        return super().record() | {"lt_residual": self.lt_residual or "renormalised"}
