"""IMGPU: greedy influence maximisation over Monte-Carlo worlds."""

from gpukit.imgpu.problem import Params, Result
from gpukit.imgpu.run import maximise

__all__ = ["Params", "Result", "maximise"]
