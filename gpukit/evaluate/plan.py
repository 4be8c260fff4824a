"""What a forward Monte Carlo evaluation runs, checked, for either device."""

from dataclasses import dataclass

import numpy as np

from gpukit.device.philox import Stream
from gpukit.graph.csr import Graph


@dataclass(frozen=True)
class Plan:
    """One checked evaluation, as both devices run it.

    Attributes
    ----------
    graph : Graph
    model : str
        ``ic`` or ``lt``.
    targets : int64 array, shape (n,) or (0,)
        What a vertex counts for; empty: one each.
    seeds : int32 array
        Seeds of all stages, end to end.
    stage_starts : int64 array, shape (stages + 1,)
        Start of each stage in ``seeds``.
    stage_rounds : int64 array, shape (stages,)
        Round of each stage, ascending from 0.
    seed : int
        The user's seed, in [0, 2**64).
    """

    graph: Graph
    model: str
    targets: np.ndarray
    seeds: np.ndarray
    stage_starts: np.ndarray
    stage_rounds: np.ndarray
    seed: int

    @property
    def tag(self) -> int:
        """The stream of the draws."""
        return int(Stream.FORWARD_IC if self.model == "ic" else Stream.FORWARD_LT)

    @property
    def stages(self) -> tuple[np.ndarray, ...]:
        """The arrays that say who is seeded when, and what counts."""
        return self.targets, self.seeds, self.stage_starts, self.stage_rounds
