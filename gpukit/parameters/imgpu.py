"""Parameters of IMGPU."""

from dataclasses import dataclass
from typing import Annotated

from gpukit.errors import UsageError
from gpukit.parameters.option import Option, Parameters, Seed
from gpukit.wording import spelled

USUAL_WORLDS = 20_000
"""Worlds by which the work of a run is estimated, and simulations per estimate of its competitors."""
MAX_WORLDS = 1 << 17
"""Most worlds, if no number is given."""
ESTIMATE_FIRST = 1 << 47
"""First world of the estimate; the worlds of the choices have lower ids."""


@dataclass(frozen=True)
class Params(Parameters):
    """Parameters of :func:`gpukit.imgpu.maximise`.

    Attributes
    ----------
    k : int
        Number of seeds, in [1, n].
    worlds : int or None
        Number R of live-edge worlds, in [2, 2**31): of each choice, and of the estimate, whose standard error needs
        two. None: as many as the two-fold optimism requires (:mod:`gpukit.imgpu.optimism`).
    fresh : bool
        Whether each choice draws new worlds, as in the paper (Algorithm 2), or all choices share the same
        (StaticGreedy, Cheng et al., CIKM 2013).
    seed : int
        The user's seed, in [0, 2**64).
    """

    k: Annotated[int, Option("Number of seeds.", metavar="K", vertices=True)]
    worlds: Annotated[
        int | None,
        Option(
            "Number of live-edge worlds; by default as many as the choice needs.",
            metavar="R",
            ge=2,
            lt=2**31,
            workflow=True,
        ),
    ] = None
    fresh: Annotated[
        bool, Option("New worlds for every seed, or the same worlds for all.", names="--fresh/--fixed")
    ] = False
    seed: Seed = 0

    def __post_init__(self) -> None:
        """Check the conditions that need no graph; raises UsageError."""
        super().__post_init__()
        worlds = self.worlds or MAX_WORLDS
        if self.fresh and self.k * worlds > ESTIMATE_FIRST:
            raise UsageError(
                f"{self.k} times {worlds} fresh worlds are more than 2^47; lower {spelled('k')} or {spelled('worlds')}"
            )
