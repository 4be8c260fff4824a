"""Random graphs, each a function of its parameters and a seed alone.

Every draw is a Philox word keyed by the seed and by what it decides (the edge, the vertex, the community), so neither
the number of threads nor the order of work matters. Decisions compare integers; the few power laws are tables made with
:mod:`decimal`, whose results do not depend on the platform.

Each generator returns ``(u, v, n)``: int32 tails and heads, and the number of vertices. In the undirected models each
edge is listed once.
"""

from gpukit.graph.generators.attachment import ba, holme_kim
from gpukit.graph.generators.communities import affiliation
from gpukit.graph.generators.quadrants import rmat
from gpukit.graph.generators.uniform import er

__all__ = ["affiliation", "ba", "er", "holme_kim", "rmat"]
