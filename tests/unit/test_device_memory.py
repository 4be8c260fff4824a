"""The memory budget."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gpukit
from gpukit.device.memory import check_budget, free_bytes, host_free_bytes, readable
from gpukit.device.select import Device
from gpukit.errors import DeviceError


def test_sizes_for_people() -> None:
    assert [readable(size) for size in (0, 1023, 1024, 1536, 5 << 30, 3 << 50)] == [
        "0 bytes", "1023 bytes", "1.0 KiB", "1.5 KiB", "5.0 GiB", "3072.0 TiB",
    ]  # fmt: skip


def test_what_fits_passes_and_what_does_not_is_named() -> None:
    needs = {"graph": 1 << 30, "RR sets": 3 << 30}
    check_budget(needs, 4 << 30, "NVIDIA H200", "raise --gpus")
    with pytest.raises(DeviceError) as caught:
        check_budget(needs, (4 << 30) - 1, "NVIDIA H200", "raise --gpus")
    assert str(caught.value) == (
        "the work needs 4.0 GiB (RR sets 3.0 GiB, graph 1.0 GiB), but 4.0 GiB are free on NVIDIA H200; raise --gpus"
    )


def test_free_memory_of_the_host(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9 kB\nMemAvailable:     800 kB\n")
    assert host_free_bytes(tmp_path) == 800 * 1024
    assert free_bytes(Device("cpu", "x", (), 1, "")) > 1 << 20


def test_a_limit_is_taken_back() -> None:
    """In a process of its own and without the limit that it inherits: what ran before in this one may have set that."""
    text = """
import resource
from gpukit.device.memory import limit_data, unlimit_data
limits = lambda: resource.getrlimit(resource.RLIMIT_DATA)
hard = limits()[1]
resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
before = limits()
limit_data(1)
limited = limits()
limit_data(1)
unlimit_data()
assert limited[0] != before[0] and limits() == before
unlimit_data()
assert limits() == before
"""
    assert (
        subprocess.run(
            [sys.executable, "-c", text], env=os.environ | {"PYTHONPATH": str(Path(gpukit.__file__).parents[1])}
        ).returncode
        == 0
    )


@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_limits_of_the_process_count(limit: str) -> None:
    code = (
        f"import resource; resource.setrlimit(resource.{limit}, (1 << 30, 1 << 30))\n"
        "from gpukit.device.memory import host_free_bytes\nprint(host_free_bytes())"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(gpukit.__file__).parents[1])}
    out = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert 1 << 28 < int(out.stdout) < 1 << 30
