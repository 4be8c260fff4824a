"""Influence maximisation with the methods of the paper, if the parameters request them."""

from typing import TYPE_CHECKING, Any

from gpukit.device.select import Device
from gpukit.gim import run
from gpukit.gim.problem import Params, Result
from gpukit.graph.csr import Graph

if TYPE_CHECKING:
    from gpukit.papers.gim.per_edge_cuda import PerEdge


def methods_of(params: Params, device: Device | None, shape: "PerEdge | None" = None) -> run.Methods:
    """Return the methods of the paper that parameters request; arguments are those of :func:`maximise`."""
    methods = run.Methods()
    if params.sampler == "scan" and device is not None and device.kind == "cuda":
        from gpukit.papers.gim.per_edge_cuda import PerEdge

        methods = methods._replace(sampler=shape or PerEdge())
    if params.selection == "scan":
        from gpukit.papers.gim.passes import greedy

        methods = methods._replace(greedy=greedy)
    if params.samples == "original":
        from gpukit.papers.gim.imm import imm

        methods = methods._replace(imm=imm)
    return methods


def maximise(
    graph: Graph, params: Params, device: Device | None = None, *, shape: "PerEdge | None" = None, **more: Any
) -> Result:
    """Do the same as :func:`gpukit.gim.maximise`, for all parameters.

    Parameters
    ----------
    graph, params, device, **more
        As there.
    shape : PerEdge, optional
        Launch shape of the paper's sampler on a GPU, for ``params.sampler == "scan"``.
    """
    return run.maximise(graph, params, device, methods=methods_of(params, device, shape), **more)
