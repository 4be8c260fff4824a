"""Compiled code of kPAR, loaded by a run on two vertices before the phases that people compare."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from gpukit.cli.common import Run
    from gpukit.device.select import Device
    from gpukit.graph.csr import Graph
    from gpukit.kpar.problem import Params


def load_rank(run: "Run", device: "Device", params: "Params") -> None:
    """Load what computes PageRank and the PRO-rank list."""
    with run.phase("load"):
        from gpukit.kpar.run import rank_on

        rank_on(device, _pair(), params)


def load_index(run: "Run", device: "Device", params: "Params", options: dict[str, Any]) -> None:
    """Load what draws the walks."""
    with run.phase("load"):
        from gpukit.kpar.run import index_on

        index_on(device, _pair(), np.arange(2, dtype=np.int32), params, **options)


def load_fora(run: "Run", baselines: Any, params: "Params", placed: dict[str, int]) -> None:
    """Load the index and the queries of FORA+."""
    with run.phase("load"):
        from gpukit.kpar.problem import Sources

        found = baselines.fora_index(_pair(), params, seed=0, **placed)
        baselines.fora(_pair(), found, Sources.single([0]), 1, **placed)


def load_monte_carlo(run: "Run", baselines: Any, params: "Params", placed: dict[str, int]) -> None:
    """Load the walks of the Monte Carlo method."""
    with run.phase("load"):
        from gpukit.kpar.problem import Sources

        baselines.monte_carlo(_pair(), Sources.single([0]), 1, params, seed=0, **placed)


def _pair() -> "Graph":
    """Return two vertices, each with an edge to the other."""
    from gpukit.graph.csr import Graph

    indptr, indices = np.arange(3), np.array([1, 0], np.int32)
    return Graph(indptr=indptr, indices=indices, in_indptr=indptr, in_indices=indices)
