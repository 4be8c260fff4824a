"""The limits of the control groups of this process.

A batch system puts a job into its own group, often without a namespace. Then /sys/fs/cgroup shows the groups of the
whole machine, and only /proc/self/cgroup says which group is ours. Limits of all groups above it count as well.
"""

import re
from collections.abc import Iterator
from pathlib import Path


def free_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes that the memory limits leave, or None if there are no limits.

    Pages of files that the kernel can drop (``inactive_file``) do not count as used.

    Parameters
    ----------
    root : path
        Folder with ``proc`` and ``sys``; another one in tests.
    """
    left = []
    for group in _groups("memory", root):
        for allowed, usage, droppable in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            limit, used = _number(group / allowed), _number(group / usage) or 0
            if limit is not None:
                left.append(max(0, limit - max(0, used - _statistic(group / "memory.stat", droppable))))
    return min(left, default=None)


def cpu_quota(root: Path = Path("/")) -> int | None:
    """Return the number of CPUs that the quotas allow, rounded up, or None if there are no quotas."""
    quotas = []
    for group in _groups("cpu", root):
        try:
            quota, period = (group / "cpu.max").read_text().split()[:2]
        except (OSError, ValueError):
            quota, period = (str(_number(group / name)) for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us"))
        if quota.isdigit() and period.isdigit():  # not "max", -1 or None
            quotas.append(max(1, -(-int(quota) // int(period))))
    return min(quotas, default=None)


def _groups(controller: str, root: Path) -> Iterator[Path]:
    """Yield the folders of this process's group and of each group above it.

    This covers version 2 and one controller of version 1.
    """
    try:
        own = (root / "proc/self/cgroup").read_text().splitlines()
        mounts = (root / "proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return
    places = {}
    for line in own:
        _, names, path = line.split(":", 2)
        places.update(dict.fromkeys(names.split(","), path))  # version 2 has no name
    for line in mounts:
        fields, _, kind = line.partition(" - ")
        shown, mount = (_unescaped(field) for field in fields.split()[3:5])
        system, _, options = kind.partition(" ")
        if system == "cgroup2":
            place = places.get("")
        elif system == "cgroup" and controller in options.split()[-1].split(","):
            place = places.get(controller)
        else:
            continue
        if place is None:
            continue
        top = folder = root / mount.lstrip("/")
        try:
            folder = top / Path(place).relative_to(shown)
        except ValueError:  # a container that shows its own group as the root
            pass
        yield folder
        while folder != top:
            folder = folder.parent
            yield folder


def _unescaped(path: str) -> str:
    """Return a path of mountinfo, which escapes spaces and similar characters in octal."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), path)


def _number(path: Path) -> int | None:
    """Return the integer in a file, or None for ``max`` or a missing file."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _statistic(path: Path, name: str) -> int:
    try:
        return next(int(line.split()[1]) for line in path.read_text().splitlines() if line.split()[0] == name)
    except (OSError, StopIteration):
        return 0
