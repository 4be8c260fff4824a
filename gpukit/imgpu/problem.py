"""Conditions of IMGPU on a graph (check), and its result (Result)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpukit.errors import InputError
from gpukit.graph.csr import Graph
from gpukit.imgpu.optimism import Optimism
from gpukit.parameters.option import check_fit

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Result:
    """Seeds and their reach.

    Attributes
    ----------
    seeds : int32 array, shape (k,)
        Internal vertex ids in order of choice.
    gains : int64 array, shape (k,)
        Vertices that each seed added, summed over the worlds it was chosen in.
    spread_estimate : float
        Mean number of vertices that the seeds reach, in worlds that were not used for a choice.
    stderr : float
        Standard error of that mean.
    worlds : int
        Worlds of each choice.
    drawn : int
        Total worlds drawn, including those of the estimate but not repeats of streamed worlds.
    evaluations : int
        Gains that were computed again after the first choice; only with kept fixed worlds.
    streamed : bool
        Whether fixed worlds did not fit into memory and were drawn again for each choice.
    optimism : Optimism or None
        The optimism that decided the number of worlds; None if the number was given.
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
        """Return the fields of a record besides the seeds."""
        names = ("spread_estimate", "stderr", "worlds", "drawn", "evaluations", "streamed")
        measured = self.optimism or (None, None)
        return {name: getattr(self, name) for name in names} | dict(
            zip(("optimism", "optimism_sd"), measured, strict=True)
        )


def check(graph: Graph, k: int) -> None:
    """Check the number of seeds against a graph.

    Raises
    ------
    UsageError
        If k is out of range.
    InputError
        If the graph has no edges.
    """
    if graph.m == 0:
        raise InputError("the graph has no edges, so there is no influence to maximise; give one with edges")
    check_fit("k", k, graph.n)
