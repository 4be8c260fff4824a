"""Code that only rebuilds the paper: its competitors, and kPAR as printed.

``baselines.py``: FORA+ and Monte Carlo, on GPUs ``baselines_cuda.py`` with the kernels of ``fora_cuda.py``.
``topppr.py``: TopPPR, on the CPU.
``untiled_cuda.py``: queries on a GPU whose long rows are not split. ``query.py`` and ``query_cpu.py``: queries with the
printed stop test or walks as a last resort, and with checks of every round. No system imports this folder.
"""

from types import ModuleType

from gpukit.device.select import Device


def baselines_on(device: Device) -> tuple[ModuleType, dict[str, int]]:
    """Return the module with the baselines of a device, and the argument by which its functions get the device."""
    if device.kind == "cpu":
        from gpukit.papers.kpar import baselines

        return baselines, {"threads": device.threads}
    from gpukit.papers.kpar import baselines_cuda

    return baselines_cuda, {"gpu": device.gpus[0]}
