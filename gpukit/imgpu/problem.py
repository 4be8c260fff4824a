"""What IMGPU asks of a graph, and the answer (Result)."""

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
