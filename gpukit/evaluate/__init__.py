"""Independent checks of results: forward Monte Carlo of influence spread. Imports no system.

``spread.py`` is the public part, ``rule.py`` what a run needs to know of an edge or vertex, ``spread_cpu.py`` and
``spread_cuda.py`` the same two kernels twice.
"""

from gpukit.evaluate.spread import SpreadEstimate, forward_curve, forward_rounds, forward_spread

__all__ = ["SpreadEstimate", "forward_curve", "forward_rounds", "forward_spread"]
