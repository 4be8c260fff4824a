"""Collections of mRR sets on whatever device was chosen."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gpukit.device.select import Device
from gpukit.errors import UsageError
from gpukit.merit.bounds import JUDGES
from gpukit.merit.problem import Params
from gpukit.merit.residual import Residual
from gpukit.merit.sets import CpuSets, MakeUpdate, MrrSets
from gpukit.worlds.reverse import Reverse

if TYPE_CHECKING:
    from gpukit.merit.sets_cuda import CudaSets

TABLES_FROM = 1 << 20
"""Vertices from which on a GPU keeps sets in hash tables; of smaller graphs sets in rings were measured alone."""

MakeSets = Callable[..., MrrSets]
"""A way to make the collections of a campaign, called as :func:`make_sets` is."""


def make_sets(
    reverse: Reverse,
    residual: Residual,
    params: Params,
    device: Device | None,
    groups: int,
    *,
    share_graph_with: Any = None,
) -> MrrSets:
    """Return an empty collection on a device (one CPU thread if None).

    Without ``share_graph_with`` it is one to choose batches from; with such a one, that which judges its batches.
    The CUDA part is imported only for a GPU.

    Raises
    ------
    UsageError
        For what only the paper needs (:func:`gpukit.papers.merit.factory.make_sets` makes it).
    DeviceError
        If the graph does not fit on the GPU.
    """
    cpu = device is None or device.kind == "cpu"
    if params.update == "paper" or (params.storage == "global" and not cpu):
        raise UsageError(
            "update 'paper' and storage 'global' are the paper's alone; `gpukit papers merit` and gpukit.papers.merit "
            "have them"
        )
    if cpu:
        return make_cpu_sets(reverse, residual, params, device)
    return make_cuda_sets(reverse, residual, params, groups, share_graph_with)


def make_cpu_sets(
    reverse: Reverse, residual: Residual, params: Params, device: Device | None, make_update: MakeUpdate | None = None
) -> CpuSets:
    """Return an empty collection in host memory."""
    threads = device.threads if device is not None else 1
    raw = params.lt_residual == "raw"
    return CpuSets(reverse, residual, params.seed, threads=threads, raw=raw, make_update=make_update)


def make_cuda_sets(
    reverse: Reverse, residual: Residual, params: Params, groups: int, share_graph_with: "CudaSets | None"
) -> "CudaSets":
    """Return an empty collection on the current GPU: of a large graph in hash tables, unless rings are asked for."""
    from gpukit.merit.hashed_sets_cuda import OwningTableSets, TableSets
    from gpukit.merit.sets_cuda import CudaSets, OwningSets
    from gpukit.merit.state_cuda import DeviceState

    to_choose_from = JUDGES / (JUDGES + 1) if params.certificate == "fresh" else 1.0
    raw = params.lt_residual == "raw"
    tables = params.storage == "tables" and groups == 1 and reverse.n >= TABLES_FROM
    if share_graph_with is None:
        state, share = DeviceState(reverse, residual, tables=tables), to_choose_from
        owner = OwningTableSets if tables else OwningSets
        return owner(state, reverse, residual, params.seed, raw=raw, groups=groups, share=share)
    state, share = share_graph_with.state, 1 - to_choose_from
    one = TableSets if tables else CudaSets
    return one(state, reverse, residual, params.seed, raw=raw, groups=groups, share=share)
