"""The input of both devices for drawing a *world*: a live-edge sample of the graph, in which each arc is live or not.

The word has no other meaning here. The id of a world and the seed determine its random numbers.
"""

from typing import NamedTuple

import numpy as np

from gpukit.device.philox import Stream
from gpukit.worlds.blocks import ArcBlocks

WORLD = int(Stream.WORLD)


class Arcs(NamedTuple):
    """The arc blocks of a graph in the form of the kernels (:class:`gpukit.worlds.blocks.ArcBlocks`).

    Attributes
    ----------
    tails, heads, blocks, accept, thresholds
        Its arrays.
    n : int
        Number of vertices.
    paired : bool
        Whether an arc stands for both directions.
    """

    tails: np.ndarray
    heads: np.ndarray
    blocks: np.ndarray
    accept: np.ndarray
    thresholds: np.ndarray
    n: int
    paired: bool

    @classmethod
    def of(cls, ready: ArcBlocks) -> "Arcs":
        """Return arc blocks in the form of the kernels."""
        return cls(ready.tails, ready.heads, ready.blocks, ready.accept, ready.thresholds, ready.n, ready.paired)
