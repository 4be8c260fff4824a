"""Tests here need a real GPU. Without one they are skipped, and the reason is printed.

``pytest tests/gpu -m quick`` runs one or two tests of each system, which use few kernels. Run these first after a
change of kernels.
"""

from pathlib import Path

import pytest

from gpukit.device.select import choose, detect, package_problem


def pytest_collection_modifyitems(items) -> None:
    """Skip the tests of this folder if no GPU can run them."""
    gpus, reason = detect()
    reason = reason or package_problem()
    if gpus and not reason:
        return
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=f"needs a GPU: {reason}"))


@pytest.fixture(scope="session")
def gpu():
    """Return the device choice of one GPU."""
    return choose("cuda", 1)
