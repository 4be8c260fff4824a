"""Makes collections of mRR sets on the chosen device."""

from collections.abc import Callable
from typing import Any

from gpukit.device.select import Device
from gpukit.errors import UsageError
from gpukit.merit.bounds import JUDGES
from gpukit.merit.problem import Params
from gpukit.merit.residual import Residual
from gpukit.merit.sets import CpuSets, MakeUpdate, MrrSets
from gpukit.worlds.reverse import Reverse

MakeSets = Callable[..., MrrSets]
"""A function that makes the collections of a campaign, called like :func:`make_sets`."""


def make_sets(
    reverse: Reverse, residual: Residual, params: Params, device: Device | None, *, share_graph_with: Any = None
) -> MrrSets:
    """Return an empty collection on a device (one CPU thread if None).

    Without ``share_graph_with``, the collection is for choosing batches. With another collection, it is for judging the
    batches chosen from that one; on a GPU both share the graph. The CUDA part is imported only for a GPU.

    Raises
    ------
    UsageError
        If an option is set that only the paper needs (:func:`gpukit.papers.merit.factory.make_sets` supports these).
    DeviceError
        If the graph does not fit on the GPU.
    """
    if params.update == "paper":
        raise UsageError("update 'paper' is the paper's alone; `gpukit papers merit` and gpukit.papers.merit have it")
    if device is None or device.kind == "cpu":
        return make_cpu_sets(reverse, residual, params, device)
    from gpukit.merit.sets_cuda import CudaSets
    from gpukit.merit.state_cuda import DeviceState

    owner = share_graph_with is None
    state = DeviceState(reverse, residual) if owner else share_graph_with.state
    raw, share = params.lt_residual == "raw", share_of_memory(params, owner)
    return CudaSets(state, reverse, residual, params.seed, raw=raw, share=share, owner=owner)


def make_cpu_sets(
    reverse: Reverse, residual: Residual, params: Params, device: Device | None, make_update: MakeUpdate | None = None
) -> CpuSets:
    """Return an empty collection in host memory."""
    threads = device.threads if device is not None else 1
    raw = params.lt_residual == "raw"
    return CpuSets(reverse, residual, params.seed, threads=threads, raw=raw, make_update=make_update)


def share_of_memory(params: Params, to_choose_from: bool) -> float:
    """Return the share of the memory for members that a collection gets, for choosing batches or for judging them."""
    largest = JUDGES / (JUDGES + 1) if params.certificate == "fresh" else 1.0
    return largest if to_choose_from else 1 - largest
