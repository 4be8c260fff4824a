"""Worlds that are counted as in the paper, level by level, on either device."""

from typing import Any

from gpukit.device.select import Device
from gpukit.errors import UsageError
from gpukit.imgpu.run import Worlds
from gpukit.papers.imgpu.switches import Switches
from gpukit.wording import spelled
from gpukit.worlds.blocks import ArcBlocks


def make_worlds(ready: ArcBlocks, seed: int, device: Device | None = None, **switches: Any) -> Worlds:
    """Return worlds like :func:`gpukit.imgpu.run.make_worlds`, counted level by level.

    ``switches`` are those of Switches.
    """
    how = Switches(**switches)
    if device is None or device.kind == "cpu":
        from gpukit.imgpu.worlds_cpu import CpuWorlds
        from gpukit.papers.imgpu import levels_cpu

        return CpuWorlds(ready, seed, device.threads if device is not None else 1, counting=levels_cpu, how=how)
    if len(device.gpus) > 1:
        raise UsageError(
            f"{spelled('gpus')} is {len(device.gpus)}; worlds are counted by level on one GPU: set it to 1"
        )
    from gpukit.papers.imgpu.levels_cuda import LevelWorlds

    return LevelWorlds(ready, seed, how=how)
