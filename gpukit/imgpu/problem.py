"""What is asked of IMGPU (Params) and the answer (Result)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpukit import settings
from gpukit.errors import InputError, UsageError
from gpukit.graph.csr import Graph
from gpukit.imgpu.optimism import MAX_WORLDS, Optimism

Progress = Callable[[int, int], None]

ESTIMATE_FIRST = 1 << 47
"""First world of the estimate; those of the choices lie below."""


@dataclass(frozen=True)
class Params:
    """Parameters of :func:`gpukit.imgpu.maximise`.

    Attributes
    ----------
    k : int
        Number of seeds, in [1, n].
    worlds : int or None
        Live-edge worlds R, in [2, 2**31): of each choice, and of the estimate, whose standard error needs two. None:
        as many as the two-fold optimism asks for (:mod:`gpukit.imgpu.optimism`).
    fresh : bool
        Whether each choice draws worlds of its own, as in the paper (Algorithm 2), or all share the same (StaticGreedy,
        Cheng et al., CIKM 2013).
    seed : int
        The user's seed, in [0, 2**64).
    """

    k: int
    worlds: int | None = None
    fresh: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        """Check what needs no graph; raises UsageError."""
        if self.worlds is not None:
            settings.check_worlds(self.worlds)
        worlds = self.worlds or MAX_WORLDS
        if self.fresh and self.k * worlds > ESTIMATE_FIRST:
            raise UsageError(f"{self.k} times {worlds} fresh worlds are more than 2^47; lower k or worlds")
        if not 0 <= self.seed < 2**64:
            raise UsageError(f"seed is {self.seed}; 0 to 2^64 - 1 are allowed")


@dataclass(frozen=True, eq=False)
class Result:
    """Seeds and what they reach.

    Attributes
    ----------
    seeds : int32 array, shape (k,)
        Internal vertex ids in order of choice.
    gains : int64 array, shape (k,)
        Vertices each seed added, summed over the worlds it was chosen in.
    spread_estimate : float
        Mean number of vertices that the seeds reach in worlds that no choice has seen.
    stderr : float
        Standard error of that mean.
    worlds : int
        Worlds of each choice.
    drawn : int
        Worlds drawn in all, those of the estimate included, repeats of streamed worlds not.
    evaluations : int
        Vertices whose gain was worked out again after the first choice; fixed worlds that are kept only.
    streamed : bool
        Whether fixed worlds did not fit into memory and were drawn again for each choice.
    optimism : Optimism or None
        By which the number of worlds was chosen; None where it was given.
    """

    seeds: np.ndarray
    gains: np.ndarray
    spread_estimate: float
    stderr: float
    worlds: int
    drawn: int
    evaluations: int
    streamed: bool
    optimism: Optimism | None = None

    def facts(self) -> dict[str, Any]:
        """Return what a record shows beside the seeds."""
        names = ("spread_estimate", "stderr", "worlds", "drawn", "evaluations", "streamed")
        told = self.optimism or (None, None)
        return {name: getattr(self, name) for name in names} | dict(zip(("optimism", "optimism_sd"), told, strict=True))


def check(graph: Graph, k: int) -> None:
    """Check k against a graph.

    Raises
    ------
    UsageError
        If k is out of range.
    InputError
        If the graph has no edges.
    """
    if graph.m == 0:
        raise InputError("the graph has no edges, so there is no influence to maximise; give one with edges")
    if not 1 <= k <= graph.n:
        raise UsageError(f"k is {k}; 1 to {graph.n}, the number of vertices, are allowed")
