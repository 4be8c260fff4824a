"""RR sets that a GPU drew, in host memory."""

import numpy as np

from gpukit.worlds import cover_cpu


class HostSets:
    """Sets in host memory, in pieces."""

    def __init__(self) -> None:
        self.offsets: list[np.ndarray] = [np.zeros(1, np.int64)]
        self.members: list[np.ndarray] = []
        self.used = 0

    def add(self, offsets: np.ndarray, members: np.ndarray) -> None:
        """Append sets."""
        self.offsets.append(offsets[1:] + self.used)
        self.members.append(members)
        self.used += len(members)

    def sets(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets and members of the first ``size`` sets."""
        self.offsets = [np.concatenate(self.offsets)]
        self.members = [np.concatenate(self.members) if self.members else np.empty(0, np.int32)]
        offsets = self.offsets[0][: size + 1]
        return offsets, self.members[0][: offsets[-1]]


def gather(starts: np.ndarray, sizes: np.ndarray, entries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sets that lie anywhere as offsets and members in the order of their numbers."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    packed = np.empty(int(offsets[-1]), np.int32)
    cover_cpu.gather_sets(starts, offsets, entries, packed)
    return offsets, packed
