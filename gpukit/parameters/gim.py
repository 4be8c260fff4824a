"""Parameters of gIM."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from gpukit.errors import UsageError
from gpukit.parameters.option import ABLATIONS, EXPERT, Option, Parameters, Seed
from gpukit.parameters.spread import ModelParameter, Rounds
from gpukit.wording import spelled

if TYPE_CHECKING:
    import numpy as np

Bound = Literal["opim", "imm"]
Sampler = Literal["skip", "scan"]
Samples = Literal["grid", "fresh", "original"]
Selection = Literal["index", "scan"]
Sets = Literal["kept", "plain"]
Sentinels = Literal["auto", "off"]

IMM_MIN_SETS = 200_000
SENTINEL_MIN_SETS = 4096
"""If sets end at a sentinel, they are cheap, and a certificate needs so few sets that chance would choose most
seeds."""

SamplerParameter = Annotated[Sampler, Option("Skip dead edges, or test every edge.", panel=ABLATIONS, workflow=True)]
SetsParameter = Annotated[
    Sets,
    Option("Count RR sets that hold only their root without drawing them; or draw all of them.", panel=ABLATIONS),
]


@dataclass(frozen=True, eq=False)
class Params(Parameters):
    """Parameters of :func:`gpukit.gim.maximise`; vertices are internal ids.

    Attributes
    ----------
    k : int or None
        Number of seeds of each round, in [1, n], including those of ``include``; None with a budget.
    epsilon : float
        Accuracy, in [1e-6, 1). The target of the guarantee is ρ - ε (ρ = 1 - 1/e, see
        :class:`gpukit.gim.problem.Problem`). With ε >= ρ there is no target, and the run stops at the first size with
        the certificate that results.
    model : str
        ``ic`` (independent cascade) or ``lt`` (linear threshold).
    bound : str
        ``opim`` or ``imm``: the rule for the number of sets.
    sampler : str
        ``skip`` or ``scan`` (:func:`gpukit.worlds.reverse.prepare`).
    samples : str
        With ``imm``: how the last phase uses the search phase's sets; ``grid``, ``fresh`` or ``original`` (unsound).
    selection : str
        ``index``, or ``scan`` for one pass over all sets per seed (the paper's algorithm 7); the seeds are the same.
    sets : str
        ``kept``: sets that hold only their root are counted without being drawn; or ``plain``: all sets are drawn. Sets
        are always plain with ``imm``, the sampler ``scan``, and several rounds.
    sentinels : str
        ``auto``: if sets hold a large part of the graph, they end at a seed that was chosen beforehand
        (:mod:`gpukit.gim.sentinel`); or ``off``.
    rounds : int
        Rounds T of multi-round influence maximisation, in [1, 255].
    optimism : float or None
        With ``opim``: draw until the two-fold optimism of the choice plus its standard deviation is at most this share
        of the spread (:mod:`gpukit.gim.twofold`), in (0, 1), and also judge simple rules. None: only the certificate
        decides, as published.
    max_members : int
        With ``optimism``: stop before the sets of the choice have more members in total; >= 1.
    min_sets : int or None
        Fewest RR sets to draw, all collections together; >= 0. None: 0 with ``opim``; 200,000 with ``imm``, for which
        more sets than the guarantee needs give better seeds.
    seed : int
        The user's seed, in [0, 2**64).
    include, exclude : sequence of int
        Vertices that must be seeds (chosen first, in this order; one round only), and vertices that cannot be seeds.
    root_weights : int64 array, shape (n,), or None
        Weight of each vertex (targeted influence maximisation), >= 0; None: 1 each.
    costs : int64 array, shape (n,), or None
        Cost of each vertex as a seed, in [1, 2**31 - 1]; None: 1. Only with a budget.
    budget : int or None
        Most that the seeds may cost together, in the unit of the costs.
    """

    k: Annotated[
        int | None,
        Option("Number of seeds (in each round); or give a budget.", metavar="K", vertices=True, workflow=True),
    ] = None
    epsilon: Annotated[
        float,
        Option(
            "Accuracy of the guarantee, {range}; optimism mostly decides the seeds.",
            metavar="E",
            ge=1e-6,
            lt=1,
            because=": less would take over 10^12 RR sets",
            workflow=True,
        ),
    ] = 0.1
    model: ModelParameter = "ic"
    bound: Annotated[
        Bound, Option("The rule for the number of RR sets: OPIM-C or IMM.", panel=EXPERT, workflow=True)
    ] = "opim"
    sampler: SamplerParameter = "skip"
    samples: Annotated[
        Samples, Option("IMM: re-use the search phase's sets soundly, not, or as printed.", panel=ABLATIONS)
    ] = "grid"
    selection: Annotated[
        Selection,
        Option("Choose seeds by an index, or by a scan of all sets per seed.", panel=ABLATIONS, decides=False),
    ] = "index"
    sets: SetsParameter = "kept"
    sentinels: Annotated[
        Sentinels,
        Option(
            "If RR sets are large, end them at a seed that is chosen first and may be exchanged at the end.",
            panel=ABLATIONS,
        ),
    ] = "auto"
    rounds: Rounds = 1
    optimism: Annotated[
        float | None,
        Option(
            "Share by which noise may overrate the choice; less draws more sets; off: no limit.",
            metavar="E|off",
            none="off",
            gt=0,
            lt=1,
        ),
    ] = 0.01
    max_members: Annotated[
        int,
        Option("Most members of all RR sets.", metavar="N", ge=1, lt=2**63, panel=EXPERT),
    ] = 2**30
    min_sets: Annotated[
        int | None,
        Option(
            f"Fewest RR sets; few, or {IMM_MIN_SETS} with IMM, by default.",
            metavar="N",
            ge=0,
            lt=2**40,
            panel=EXPERT,
            workflow=True,
        ),
    ] = None
    seed: Seed = 0
    include: Sequence[int] = ()
    exclude: Sequence[int] = ()
    root_weights: "np.ndarray | None" = None
    costs: "np.ndarray | None" = None
    budget: int | None = None

    def __post_init__(self) -> None:
        """Check the conditions that need no graph; raises UsageError."""
        super().__post_init__()
        if self.rounds > 1 and (len(self.include) or self.budget is not None):
            raise UsageError("vertices to include and a budget are for one round of seeds; this has several")

    @property
    def fewest(self) -> int:
        """Least number of RR sets to draw."""
        if self.min_sets is not None:
            return self.min_sets
        return IMM_MIN_SETS if self.bound == "imm" else 0

    @property
    def kept(self) -> bool:
        """Whether trivial sets are left out."""
        return self.sets == "kept" and self.bound == "opim" and self.sampler == "skip" and self.rounds == 1


def check_limits(k: int | None, budget: object, costs: object) -> None:
    """Check that seeds are limited by their number or by a budget; this is possible before a graph is read.

    Raises
    ------
    UsageError
        If neither or both are given, or costs without a budget.
    """
    if k is None and budget is None:
        raise UsageError(f"give the number of seeds by {spelled('k')}, or what they may cost by {spelled('budget')}")
    if budget is None and costs is not None:
        raise UsageError(
            f"{spelled('costs')} are for seeds within a budget; give {spelled('budget')} instead of {spelled('k')}"
        )
    if k is not None and budget is not None:
        raise UsageError(f"give either {spelled('k')}, the number of seeds, or {spelled('budget')}, what they may cost")
