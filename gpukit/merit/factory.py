"""Collections of mRR sets on whatever device was chosen, with the update and the storage that were asked for."""

from typing import Any

from gpukit.device.select import Device
from gpukit.errors import UsageError
from gpukit.merit.bounds import JUDGES
from gpukit.merit.problem import Params
from gpukit.merit.residual import Residual
from gpukit.merit.sets import CpuSets, MrrSets
from gpukit.worlds.reverse import Reverse


def make_sets(
    reverse: Reverse,
    residual: Residual,
    params: Params,
    device: Device | None,
    groups: int,
    *,
    beside: MrrSets | None = None,
) -> MrrSets:
    """Return an empty collection on a device (one CPU thread if None): one to choose from, or beside it one to judge.

    The CUDA part is imported only for a GPU.

    Raises
    ------
    UsageError
        On a GPU, for the update as printed, which is there for comparison and runs on the CPU only.
    DeviceError
        If the graph does not fit on the GPU.
    """
    raw = params.lt_residual == "raw"
    if device is None or device.kind == "cpu":
        threads = device.threads if device is not None else 1
        if params.update == "paper" and beside is None:
            from gpukit.merit.printed import PrintedSets

            return PrintedSets(reverse, residual, params.seed, threads=threads, raw=raw)
        return CpuSets(reverse, residual, params.seed, threads=threads, raw=raw)
    if params.update == "paper":
        raise UsageError("the update as printed runs on the CPU only; use --device cpu, or --update coupled")
    return _on_gpu(reverse, residual, params, groups, beside)


def _on_gpu(reverse: Reverse, residual: Residual, params: Params, groups: int, beside: Any) -> MrrSets:
    """Return an empty collection on the current GPU."""
    from gpukit.merit.sets_cuda import CudaSets, DeviceState, OwningSets

    judged = JUDGES / (JUDGES + 1) if params.certificate == "fresh" else 1.0
    share = judged if beside is None else 1 - judged
    options: dict[str, Any] = {"raw": params.lt_residual == "raw", "groups": groups, "share": share}
    state = DeviceState(reverse, residual) if beside is None else beside.state
    if params.storage == "global":
        from gpukit.merit.gamcss import GamcssSets

        return GamcssSets(state, reverse, residual, params.seed, **options | {"groups": 1})
    if beside is not None:
        return CudaSets(state, reverse, residual, params.seed, **options)
    return OwningSets(state, reverse, residual, params.seed, **options)
