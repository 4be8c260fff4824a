"""Campaigns and collections that also support the printed update, and other storage of sets on a GPU."""

from functools import partial
from typing import Any, Literal

from gpukit.device.select import Device
from gpukit.errors import UsageError
from gpukit.merit import campaign, factory
from gpukit.merit.factory import MakeSets
from gpukit.merit.problem import Params
from gpukit.merit.residual import Residual
from gpukit.merit.sets import MrrSets
from gpukit.worlds.reverse import Reverse

Storage = Literal["tables", "segments", "global"]
"""How a GPU keeps sets: in hash tables as MERIT does, in segments, or in one array as GAMCSS does (with update
``regenerate`` and the sampler ``scan``)."""


def make_sets(
    reverse: Reverse,
    residual: Residual,
    params: Params,
    device: Device | None,
    *,
    share_graph_with: Any = None,
    storage: Storage = "tables",
    groups: int = 1,
) -> MrrSets:
    """Return an empty collection on a device, like :func:`gpukit.merit.factory.make_sets`.

    Judging sets are never updated as printed. The modules of this folder are imported only on request.

    Parameters
    ----------
    reverse, residual, params, device, share_graph_with
        As there.
    storage : str
        See :data:`Storage`; on a CPU it has no effect.
    groups : int
        β: number of groups of segments with similar load in the update on a GPU.

    Raises
    ------
    UsageError
        On a GPU, for the printed update, which is for comparison and runs only on the CPU.
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
    if cpu or storage == "tables":
        return factory.make_sets(reverse, residual, params, device, share_graph_with=share_graph_with)
    from gpukit.papers.merit.gamcss import GamcssSets
    from gpukit.papers.merit.rings import RingSets, RingState

    owner = share_graph_with is None
    state = RingState(reverse, residual) if owner else share_graph_with.state
    raw, share = params.lt_residual == "raw", factory.share_of_memory(params, owner)
    rings = RingSets(state, reverse, residual, params.seed, raw=raw, groups=groups, share=share, owner=owner)
    return GamcssSets(rings) if storage == "global" else rings


def sets_in(storage: Storage, groups: int = 1) -> MakeSets:
    """Return :func:`make_sets` for one storage and number of groups."""
    return partial(make_sets, storage=storage, groups=groups)


Campaign = partial(campaign.Campaign, make_sets=make_sets)
simulate = partial(campaign.simulate, make_sets=make_sets)
"""As in :mod:`gpukit.merit.campaign`, also for parameters that only the paper needs."""
