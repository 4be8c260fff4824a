"""What control groups leave this process: its own group is looked up, and every group above it counts."""

import os
from pathlib import Path

import pytest

from gpukit.device.cgroups import cpu_quota, free_memory
from gpukit.device.memory import host_free_bytes
from gpukit.device.select import available_threads

TWO = "30 23 0:26 {shown} {mount} rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
ONE = "35 31 0:32 {shown} {mount} rw,relatime - cgroup cgroup rw,{names}\n"
JOB = "system.slice/slurmstepd.scope/job_7/step_0"


def machine(root: Path, own: str, mounts: str) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text("MemAvailable:     800 kB\n")
    (root / "proc/self/cgroup").write_text(own)
    (root / "proc/self/mountinfo").write_text("22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + mounts)
    return root / "sys/fs/cgroup"


def put(folder: Path, **values: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in values.items():
        (folder / name.replace("__", ".")).write_text(f"{value}\n")


def test_a_job_without_a_namespace_has_the_limit_of_its_group(tmp_path: Path) -> None:
    top = machine(tmp_path, f"0::/{JOB}\n", TWO.format(shown="/", mount="/sys/fs/cgroup"))
    assert free_memory(tmp_path) is None and host_free_bytes(tmp_path) == 800 << 10
    put(top / JOB, memory__max="max", memory__current=5, cpu__max="max 100000")
    assert free_memory(tmp_path) is None and cpu_quota(tmp_path) is None
    put(top / JOB, memory__max=1000, memory__current=400, cpu__max="100000 100000")
    assert free_memory(tmp_path) == host_free_bytes(tmp_path) == 600
    assert cpu_quota(tmp_path) == available_threads(tmp_path) == 1
    put(top / JOB, memory__stat="anon 300\ninactive_file 90\nactive_file 10")
    assert free_memory(tmp_path) == 690
    put(top / JOB, memory__current=2000)
    assert free_memory(tmp_path) == 0


def test_every_group_above_counts(tmp_path: Path) -> None:
    top = machine(tmp_path, f"0::/{JOB}\n", TWO.format(shown="/", mount="/sys/fs/cgroup"))
    put(top / JOB, memory__max=1000, memory__current=400, cpu__max="99900000 100000")
    put((top / JOB).parent, memory__max=900, memory__current=450, cpu__max="50000 100000")
    put(top / "system.slice", memory__max=10**15, memory__current=10**15 - 460, cpu__max="max 100000")
    assert free_memory(tmp_path) == 450 and cpu_quota(tmp_path) == 1
    put(top / "system.slice/other", memory__max=1, memory__current=1)
    assert free_memory(tmp_path) == 450


def test_version_1_has_a_tree_for_each_controller(tmp_path: Path) -> None:
    own = f"9:memory:/{JOB}\n3:cpu,cpuacct:/user.slice\n0::/\n"
    mounts = ONE.format(shown="/", mount="/sys/fs/cgroup/memory", names="memory") + ONE.format(
        shown="/", mount="/sys/fs/cgroup/cpu,cpuacct", names="cpu,cpuacct"
    )
    top = machine(tmp_path, own, mounts)
    put(top / "memory", memory__limit_in_bytes=2**63 - 4096, memory__usage_in_bytes=10**9)
    put(top / "memory" / JOB, memory__limit_in_bytes=1000, memory__usage_in_bytes=400)
    put(top / "memory" / JOB, memory__stat="inactive_file 1\ntotal_inactive_file 50")
    put(top / "cpu,cpuacct", cpu__cfs_quota_us=-1, cpu__cfs_period_us=100000)
    assert free_memory(tmp_path) == 650 and cpu_quota(tmp_path) is None
    put(top / "cpu,cpuacct/user.slice", cpu__cfs_quota_us=1000, cpu__cfs_period_us=100000)
    assert cpu_quota(tmp_path) == 1


@pytest.mark.parametrize(("own", "shown"), [("/", "/"), ("/docker/a b", "/docker/a\\040b"), ("/job", "/docker/x")])
def test_a_container_shows_its_group_as_the_top(tmp_path: Path, own: str, shown: str) -> None:
    top = machine(tmp_path, f"0::{own}\n", TWO.format(shown=shown, mount="/sys/fs/cgroup"))
    put(top, memory__max=1000, memory__current=400, cpu__max="100000 100000")
    assert free_memory(tmp_path) == 600 and cpu_quota(tmp_path) == 1


def test_where_nothing_says_so_there_is_no_limit(tmp_path: Path) -> None:
    assert free_memory(tmp_path) is None and cpu_quota(tmp_path) is None
    assert available_threads(tmp_path) == len(os.sched_getaffinity(0))
