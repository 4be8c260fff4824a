"""MERIT: adaptive minimum-cost seed selection. It reaches η vertices at least cost, and observes each batch's effect.

Source: "Efficient GPU-accelerated reverse sampling for adaptive minimum cost seed selection" (MERIT).

==============================  ==============================================================================
part of the paper               file
==============================  ==============================================================================
3, algorithm 1                  ``campaign.py`` (rounds), ``policy.py`` (one round), ``bounds.py`` (sizes)
3.1, 3.3, algorithms 2 and 5    ``rule.py`` (what a set is), ``update_cpu.py``; on a GPU ``search_cuda.py``, for sets
                                in hash tables (``hashed_cuda.py``)
3.2, algorithms 3 and 4         ``cover_cpu.py``; on a GPU ``cover_cuda.py`` and ``best_cuda.py``;
                                activated vertices: ``hashed_cuda.py``
3.3 as printed, 5               ``papers/merit`` (the biased update, sets in segments, and the competitors)
==============================  ==============================================================================

``world.py`` holds the world in which seeds activate vertices; the policy must not see it. docs/merit.md says where the
paper is repaired.
"""

from gpukit.merit.campaign import Campaign, simulate
from gpukit.merit.problem import Costs, Result, Round
from gpukit.merit.world import ReplayedWorld, SimulatedWorld
from gpukit.parameters.merit import Params

__all__ = ["Campaign", "Costs", "Params", "ReplayedWorld", "Result", "Round", "SimulatedWorld", "simulate"]
