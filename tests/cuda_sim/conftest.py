"""Tests here run kernels in Numba's CUDA simulator: ``NUMBA_ENABLE_CUDASIM=1 pytest tests/cuda_sim``.

Numba reads the variable when it is imported, so this needs a process of its own; elsewhere the tests are skipped. The
CPU twins run in the same process, so results are compared directly. Keep graphs tiny: about 10,000 threads a second.
"""

from pathlib import Path

import pytest

from gpukit.device.select import Device, simulated


def pytest_collection_modifyitems(items) -> None:
    """Skip the tests of this folder outside the simulator."""
    if simulated():
        return
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="needs NUMBA_ENABLE_CUDASIM=1 before Numba is imported"))


@pytest.fixture(scope="session")
def simulator():
    """Return the device choice of the simulated GPU."""
    return Device("cuda", "simulator", (0,), 1, "simulator")
