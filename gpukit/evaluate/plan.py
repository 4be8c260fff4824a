"""The checked input of a forward Monte Carlo evaluation, for either device."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gpukit.device.philox import Stream
from gpukit.evaluate.rule import lt_weights
from gpukit.graph.csr import Graph
from gpukit.graph.probabilities import out_probabilities


class IcEdges(NamedTuple):
    """The out-edges, as kernels of the independent cascade read them.

    Attributes
    ----------
    indptr : int64 array, shape (n + 1,)
    indices : int32 array, shape (m,)
    thresholds : uint32 array, shape (m,)
        Probability of each edge, minus one (:func:`gpukit.graph.probabilities.out_probabilities`).
    """

    indptr: np.ndarray
    indices: np.ndarray
    thresholds: np.ndarray


class LtEdges(NamedTuple):
    """The out-edges, as kernels of the linear threshold model read them.

    Attributes
    ----------
    indptr, indices
        As in :class:`IcEdges`.
    weights : uint32 array, shape (m,) or (0,)
    scales : int64 array, shape (n,)
        Weight of each edge, minus one; and the scale of each vertex, by which the weights of its in-edges are divided
        (:func:`gpukit.evaluate.rule.lt_weights`).
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    scales: np.ndarray


class Stages(NamedTuple):
    """Seeds by stage, and weights of vertices; the attributes of :class:`Plan`."""

    targets: np.ndarray
    seeds: np.ndarray
    starts: np.ndarray
    rounds: np.ndarray


@dataclass(frozen=True)
class Plan:
    """A checked evaluation, for either device.

    Attributes
    ----------
    graph : Graph
    model : str
        ``ic`` or ``lt``.
    targets : int64 array, shape (n,) or (0,)
        Weight of each vertex; empty: 1 each.
    seeds : int32 array
        Seeds of all stages, concatenated.
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
    def stages(self) -> Stages:
        """The arrays of seeds by stage, and of weights of vertices."""
        return Stages(self.targets, self.seeds, self.stage_starts, self.stage_rounds)

    def edges(self) -> IcEdges | LtEdges:
        """Return the arrays of the graph that the kernels of the model read."""
        indptr, indices = self.graph.indptr, self.graph.indices
        if self.model == "ic":
            return IcEdges(indptr, indices, out_probabilities(self.graph))
        return LtEdges(indptr, indices, *lt_weights(self.graph))
