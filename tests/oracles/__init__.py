"""Slow, simple answers by other methods than the product's: enumeration, brute force, exact fractions.

Tests import them as ``from oracles.worlds import …`` (pytest puts ``tests/`` on the path because of ``conftest.py``).
Nothing here imports a kernel, a sampler or a bound of gpukit; graphs come in as :class:`gpukit.graph.csr.Graph`.
"""
