"""Campaigns and collections that also know the update as printed, and GAMCSS."""

from functools import partial
from typing import Any

from gpukit.device.select import Device
from gpukit.errors import UsageError
from gpukit.merit import campaign, factory
from gpukit.merit.problem import Params
from gpukit.merit.residual import Residual
from gpukit.merit.sets import MrrSets
from gpukit.worlds.reverse import Reverse


def make_sets(
    reverse: Reverse,
    residual: Residual,
    params: Params,
    device: Device | None,
    groups: int,
    *,
    share_graph_with: Any = None,
) -> MrrSets:
    """Return an empty collection on a device, as :func:`gpukit.merit.factory.make_sets` does.

    Sets that judge are never updated as printed. The parts of this folder are imported only where they are asked for.

    Raises
    ------
    UsageError
        On a GPU, for the update as printed, which is there for comparison and runs on the CPU only.
    DeviceError
        If the graph does not fit on the GPU.
    """
    cpu = device is None or device.kind == "cpu"
    if params.update == "paper":
        if not cpu:
            raise UsageError("the update as printed runs on the CPU only; use --device cpu, or --update coupled")
        if share_graph_with is None:
            from gpukit.papers.merit.printed import PrintedUpdate

            return factory.make_cpu_sets(reverse, residual, params, device, make_update=PrintedUpdate)
        return factory.make_cpu_sets(reverse, residual, params, device)
    if params.storage == "global" and not cpu:
        from gpukit.papers.merit.gamcss import GamcssSets

        shared = None if share_graph_with is None else share_graph_with.rings
        return GamcssSets(factory.make_cuda_sets(reverse, residual, params, 1, shared))
    return factory.make_sets(reverse, residual, params, device, groups, share_graph_with=share_graph_with)


Campaign = partial(campaign.Campaign, make_sets=make_sets)
simulate = partial(campaign.simulate, make_sets=make_sets)
"""As in :mod:`gpukit.merit.campaign`, for parameters that may ask for what only the paper needs."""
