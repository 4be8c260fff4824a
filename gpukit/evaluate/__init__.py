"""Independent checks of results. Imports no system.

``spread.py`` estimates influence spread by forward Monte Carlo. ``rule.py`` is the rule for an edge or vertex, and
``spread_cpu.py`` has a kernel for each model. On GPUs ``spread_together_cuda.py`` runs many independent cascades at
once, and ``spread_block_cuda.py`` one threshold cascade per block. ``ppr.py`` judges personalised PageRank by the power
method, ``diversity.py`` structural diversity by listing cliques.
"""

from gpukit.evaluate.spread import SpreadEstimate, Until, forward_curve, forward_rounds, forward_spread

__all__ = ["SpreadEstimate", "Until", "forward_curve", "forward_rounds", "forward_spread"]
