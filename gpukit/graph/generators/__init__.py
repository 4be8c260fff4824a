"""Random graphs; each depends only on its parameters and a seed.

Every draw is a Philox word keyed by the seed and by the object it decides about (edge, vertex or community). So neither
the number of threads nor the order of work matters. Decisions compare integers. The few power laws are tables made with
:mod:`decimal`, so they do not depend on the platform.

Each generator returns ``(u, v, n)``: int32 tails and heads, and the number of vertices. Undirected models list each
edge once.
"""

from gpukit.graph.generators.attachment import ba, holme_kim
from gpukit.graph.generators.communities import affiliation
from gpukit.graph.generators.quadrants import rmat
from gpukit.graph.generators.uniform import er

__all__ = ["affiliation", "ba", "er", "holme_kim", "rmat"]
