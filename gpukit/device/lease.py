"""GPU leases: the processes of a user on one machine share its GPUs without using the same one.

There is a lock file for each GPU, named by its UUID. A process holds it with flock until it ends, however it ends. A
gate lock for each set of visible GPUs admits waiting processes one at a time, so that a large request is not overtaken
for ever.

The files are in /tmp/gpukit-locks-UID, a folder that only its user can enter, whatever TMPDIR and the session are. So
different users do not exclude each other. Whoever may open a lock may hold it, and in a folder for all users anyone
could block everybody's work. The same holds for a lock on the device node, which any user of a GPU can open; moreover,
the parts of a divided GPU share one node. If users trust each other, GPUKIT_LOCK_DIR names a folder for all of them
(mode 1777). If they do not, a scheduler assigns the GPUs (:func:`assigned_by_scheduler`).
"""

import hashlib
import logging
import os
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpukit import portable
from gpukit.device.select import Device, Gpu
from gpukit.errors import DeviceError
from gpukit.wording import counted, spelled

_log = logging.getLogger(__name__)
_POLL_S = 0.1


@dataclass(frozen=True)
class Lease:
    """GPUs that this process holds, and the file descriptors of their locks."""

    gpus: tuple[Gpu, ...]
    descriptors: tuple[int, ...]

    def release(self) -> None:
        """Release the GPUs; the end of the process does the same."""
        for descriptor in self.descriptors:
            os.close(descriptor)


def assigned_by_scheduler(visible: int, wanted: int) -> bool:
    """Return whether a scheduler gave this process exactly the GPUs that it requests, so that no lock is needed.

    SLURM sets SLURM_JOB_GPUS or SLURM_STEP_GPUS. Kubernetes' device plugin lists UUIDs in NVIDIA_VISIBLE_DEVICES (in
    plain containers it is ``all``). Inside an allocation of more GPUs than requested, processes share them by locks.
    """
    slurm = any(os.environ.get(name) for name in ("SLURM_JOB_GPUS", "SLURM_STEP_GPUS"))
    listed = os.environ.get("NVIDIA_VISIBLE_DEVICES", "") not in ("", "all", "none", "void")
    kubernetes = bool(os.environ.get("KUBERNETES_SERVICE_HOST")) and listed
    return (slurm or kubernetes) and visible == wanted


def lease(pool: Sequence[Gpu], count: int, folder: Path | None = None) -> Lease:
    """Lock ``count`` GPUs of ``pool``, waiting until that many are free.

    Parameters
    ----------
    pool : sequence of Gpu
        The GPUs this process may use.
    count : int
        Number of GPUs to take, in [1, len(pool)].
    folder : path, optional
        Folder of the lock files; GPUKIT_LOCK_DIR by default, or the user's own.

    Raises
    ------
    DeviceError
        If the pool is smaller than ``count``, or the locks cannot be created or are not regular files of the right
        owner.
    """
    if not 1 <= count <= len(pool):
        raise DeviceError(f"{counted(count, 'GPU')} asked for, visible: {len(pool)}; lower {spelled('gpus')}")
    folder = folder or _folder()
    names = sorted(gpu.uuid for gpu in pool)
    gate = _open(folder, "gate-" + hashlib.sha256("\n".join(names).encode()).hexdigest()[:16])
    said = False
    try:
        while True:
            if _lock(gate, wait=said):
                taken = _take(folder, pool, count)
                if taken is not None:
                    return taken
            if not said:
                _log.warning(
                    "waiting for %d of %s, others hold their locks in %s", count, counted(len(pool), "GPU"), folder
                )
                said = True
            else:
                time.sleep(_POLL_S)
    except OSError as error:  # for example on a network file system without locks
        raise DeviceError(
            f"the GPU locks in {folder} cannot be held: {error.strerror}; set GPUKIT_LOCK_DIR to a folder on a disk of "
            "this machine"
        ) from None
    finally:
        os.close(gate)


def _take(folder: Path, pool: Sequence[Gpu], count: int) -> Lease | None:
    """Lock the first ``count`` free GPUs, or none if fewer are free."""
    held: list[tuple[Gpu, int]] = []
    try:
        for gpu in pool:
            descriptor = _open(folder, f"gpu-{gpu.uuid}")
            if _lock(descriptor, wait=False):
                held.append((gpu, descriptor))
                if len(held) == count:
                    taken, held = held, []
                    return Lease(tuple(gpu for gpu, _ in taken), tuple(descriptor for _, descriptor in taken))
            else:
                os.close(descriptor)
    finally:
        for _, descriptor in held:
            os.close(descriptor)
    return None


def _folder() -> Path:
    """Return the folder that users share, if one is named, or this user's own folder, which is created if missing."""
    shared = os.environ.get("GPUKIT_LOCK_DIR")
    if shared:
        return Path(shared)
    own = Path(f"/tmp/gpukit-locks-{os.getuid()}")
    try:
        own.mkdir(0o700, exist_ok=True)
        found = own.lstat()
    except OSError as error:
        raise _refused(own, error.strerror) from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise _refused(own, "it is not a folder of yours that only you can enter (mode 0700)")
    return own


def _open(folder: Path, name: str) -> int:
    """Open a lock file, created if missing; every user may read it, and flock needs no more."""
    path = folder / f"{name}.lock"
    flags = os.O_RDONLY | portable.OPEN | portable.NONBLOCK  # a FIFO at this path must not block
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o1777)
        try:
            descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644)
            os.fchmod(descriptor, 0o644)  # independent of the umask
        except FileExistsError:
            descriptor = os.open(path, flags)
    except OSError as error:
        raise _refused(path, error.strerror) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _refused(path, "it is not a plain file")
    return descriptor


def _refused(path: Path, problem: str | None) -> DeviceError:
    return DeviceError(f"cannot use the GPU lock {path}: {problem}; remove it, or set GPUKIT_LOCK_DIR to a folder")


def _lock(descriptor: int, wait: bool) -> bool:
    try:
        portable.lock(descriptor, wait)
    except BlockingIOError:
        return False
    return True


def take(device: Device) -> tuple[Device, Lease | None]:
    """Lease the GPUs of a device and make only these visible to CUDA, numbered from 0.

    Call it before CUDA starts in this process. CPU devices and the simulator are returned unchanged.

    Returns
    -------
    Device, Lease or None
        The device with the names of the leased GPUs, and the lease if locks were needed.
    """
    if not device.pool:
        return device, None
    count = len(device.gpus)
    held = None if assigned_by_scheduler(len(device.pool), count) else lease(device.pool, count)
    gpus = device.pool[:count] if held is None else held.gpus
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(gpu.token for gpu in gpus)
    return replace(device, name=gpus[0].name, memory=min(gpu.memory for gpu in gpus), pool=gpus), held
