"""What MERIT is asked."""

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
"""Most seeds of a round, where nobody names a batch."""

Eta = Annotated[int, Option("Vertices to activate.", metavar="N", vertices=True)]
Batch = Annotated[
    int | None,
    Option(
        "Seeds of a round at most; an eighth of what would reach η, 1 to 16, by default.",
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
        Seeds of a round at most, in [1, n]; None: 1 to 16, by
        what these are expected to reach (:mod:`gpukit.merit.batch`).
    model : str
        ``ic`` (independent cascade) or ``lt`` (linear threshold).
    epsilon : float
        Accuracy of each round's choice, in [1e-6, 1).
    update : str
        What happens to the sets when the graph shrinks: ``coupled`` keeps their coins (unbiased, the default),
        ``paper`` as printed (biased), ``regenerate`` draws all of them again.
    ids : str
        ``kept``: the sets keep their ids from round to round; ``fresh``: new ids every round (with ``regenerate``).
    certificate : str
        ``fresh`` certifies a batch on a second collection, of which no choice has learnt anything; ``paper`` on the
        sets it was chosen from.
    lt_residual : str or None
        Under LT, ``renormalised`` (what follows from observing who is not active, and the default) or ``raw`` (as
        printed).
    costs : gpukit.merit.Costs or None
        What seeds cost; None: 0.01 + 0.01 · d_out.
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
        Option("Certify a batch on sets no choice depends on, or on those it was chosen from.", panel=ABLATIONS),
    ] = "fresh"
    lt_residual: Annotated[
        Residual | None,
        Option(
            "Under linear threshold, weights of who is left: renormalised (the default), or as they are.",
            panel=ABLATIONS,
        ),
    ] = None
    costs: Any = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        """Check what needs no graph; raises UsageError."""
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
        """Seeds of a round at most; where nobody named a batch, the most that can become one."""
        return USUAL_BATCH if self.batch is None else self.batch

    def record(self) -> dict[str, Any]:
        """Return what artifacts record of it."""
        return super().record() | {"lt_residual": self.lt_residual or "renormalised"}
