"""What both devices read to make a *world*: one live-edge sample of the graph, in which each arc is live or is not.

Here the word means nothing else. A world has an id, which with the seed says what random numbers it is made of.
"""

from typing import NamedTuple

import numpy as np

from gpukit.device.philox import Stream
from gpukit.worlds.blocks import ArcBlocks

WORLD = int(Stream.WORLD)


class Arcs(NamedTuple):
    """The arc blocks of a graph, as kernels read them (:class:`gpukit.worlds.blocks.ArcBlocks`).

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
        """Return what kernels read of arc blocks."""
        return cls(ready.tails, ready.heads, ready.blocks, ready.accept, ready.thresholds, ready.n, ready.paired)
