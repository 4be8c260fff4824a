"""A session, such as one run of a command: its device, inputs, parameters, times and progress."""

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

from gpukit.device import lease
from gpukit.device.memory import check_start, gpu_limit
from gpukit.device.probe import start_contexts
from gpukit.device.select import NO_JIT, Device, check_requested, choose
from gpukit.device.timing import PhaseTimer, synchroniser
from gpukit.errors import DeviceError, UsageError, is_interrupt, lacks_gpu_memory
from gpukit.parameters.option import SEED
from gpukit.parameters.values import optional, unfit, whole
from gpukit.wording import counted, reported_devices, spelled

if TYPE_CHECKING:
    import numpy as np

    from gpukit.artifacts import Artifact
    from gpukit.artifacts.labels import Texts

Progress = bool | Callable[[int, int], object]
"""No progress, a bar, or a function ``progress(done, total)``."""

DeviceName = Literal["auto", "cpu", "cuda"]

_log = logging.getLogger("gpukit")


_held: "tuple[Device, lease.Lease | None] | None" = None
"""The GPUs of this process: after CUDA has started, it sees no others."""


class Where(TypedDict, total=False):
    """The device and the progress of a call; arguments of :class:`Session`."""

    device: DeviceName
    gpus: int
    threads: int | None
    progress: Progress


WHERE: Where = {"device": "auto", "gpus": 1, "threads": None, "progress": False}
"""The defaults."""


def split(more: Mapping[str, Any]) -> tuple[Where, dict[str, Any]]:
    """Divide the keywords of a function into those of a session and the rest."""
    where = {name: value for name, value in more.items() if name in Where.__annotations__}
    return cast(Where, where), {name: value for name, value in more.items() if name not in where}


class Session:
    """One computation, from the checks of its input to its artifact.

    Parameters
    ----------
    device : str, optional
        ``auto``, ``cpu`` or ``cuda``; None for a computation that only the CPU can do.
    gpus : int
        Requested number of GPUs.
    threads : int, optional
        Requested number of CPU threads.
    gpu_memory : int, optional
        Most bytes to use on each GPU.
    seed : int, optional
        The user's seed.
    progress : bool or callable
        Whether to show a bar; or a function that receives the progress.

    Attributes
    ----------
    params : dict
        Everything that determines the result, for the artifact; not paths, device or threads.
    inputs : dict of str to str
        The digest of each input, by its role.
    graph : gpukit.graph.csr.Graph or None
        The graph of the computation.
    tables : mapping of arrays, or None
        The sampling tables of the graph, if available.
    labels : what has a method ``texts``, or None
        Knows the names of the vertices in the results, if the graph has names.
    skipped : tuple of str
        Skipped lines of an edge list that are no edges: number and fault.
    device : Device or None
        The device in use, after it was chosen.
    requested, gpus, threads, gpu_memory, seed
        The arguments; ``requested`` is the device. They may be changed before they are used.
    timer : PhaseTimer
        Measures the phases; ``session.phase(name)`` is one of them.

    Raises
    ------
    UsageError
        If an argument is no number, the seed is out of range, or the device does not exist.
    """

    def __init__(
        self,
        *,
        device: str | None = None,
        gpus: int = 1,
        threads: int | None = None,
        gpu_memory: int | None = None,
        seed: int | None = None,
        progress: Progress = False,
    ) -> None:
        if not isinstance(progress, bool) and not callable(progress):
            raise unfit("progress", progress, "True, False or a function")
        if device is not None:
            check_requested(device)
        self.requested, self.gpus = device, whole("gpus", gpus)
        self.threads, self.gpu_memory = optional(whole, "threads", threads), optional(whole, "gpu_memory", gpu_memory)
        self.seed: Any = None if seed is None else SEED.checked(seed)
        self.params: dict[str, Any] = {}
        self.inputs: dict[str, str] = {}
        self.graph: Any = None
        self.tables: Mapping[str, np.ndarray] | None = None
        self.labels: Texts | None = None
        self.skipped: tuple[str, ...] = ()
        self.timer = PhaseTimer()
        self.device: Device | None = None
        self.phase = self.timer.phase
        self._progress = progress
        self._threads_before: int | None = None

    def __enter__(self) -> "Session":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Restore the number of Numba's threads.

        Convert an error that compiled code made of an interrupt back into one.

        CuPy's error for too little memory becomes a DeviceError.
        """
        if self._threads_before is not None:
            import numba

            numba.set_num_threads(self._threads_before)
        if is_interrupt(error) and not isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        if lacks_gpu_memory(error):
            raise DeviceError(
                f"too little GPU memory is free ({error}); stop other programs that use it, or use "
                f"{spelled('device', 'cpu')}"
            ) from error

    def use_device(
        self, requested: str | None = None, *, threads: int | None = None, work: float | None = None, reason: str = ""
    ) -> Device:
        """Choose the device, lease its GPUs, set the threads, and log the choice and its reason.

        ``requested`` and ``threads`` replace the arguments of the session, and ``reason`` replaces the reason that is
        logged. ``work`` and the errors are those of :func:`gpukit.device.select.choose`; without a requested device the
        CPU is used. The process keeps the GPUs of the first call.
        """
        requested = requested or self.requested
        threads = self.threads if threads is None else threads
        device = _leased(choose(requested or "cpu", self.gpus, threads, work=work))
        reason = reason or ("this command runs on the CPU" if requested is None else device.reason)
        device = replace(device, reason=reason)
        check_compiler(device.threads)
        threads = self._set_threads(device)
        if device.pool:
            # The driver reads the environment when it starts; a change at that moment can crash the process. The lines
            # above, and the import of NumPy, are the last that change it.
            import numpy  # noqa: F401

            start_contexts(len(device.gpus))
        if threads != device.threads:
            device = replace(device, threads=threads)
        self.timer.sync = synchroniser(device)
        said, self.device = self.device, device
        if device.kind == "cuda" and gpu_limit != [self.gpu_memory] * (self.gpu_memory is not None):
            from gpukit.device.arrays import limit_memory

            limit_memory(self.gpu_memory, device.gpus)
        gpus = f"{len(device.gpus)} × {device.name}"
        where = gpus if device.kind == "cuda" else f"{counted(threads, 'thread')} of {device.name}"
        line = f"device {device.kind}: {where} ({device.reason})"
        if device != said and line not in reported_devices:
            reported_devices.add(line)
            _log.log(logging.DEBUG if self.requested in (None, "auto") else logging.INFO, line)
        return device

    def has_faster(self) -> bool:
        """Return whether ``auto`` chose the CPU because the work is small, although there are GPUs that could do it."""
        asked = self.requested == "auto" and self.device is not None and self.device.kind == "cpu"
        return asked and choose("auto", self.gpus, self.threads).kind == "cuda"

    def _set_threads(self, device: Device) -> int:
        """Set the number of Numba's threads to that of a device, at most as many as Numba started with.

        Return the number.
        """
        import numba

        import gpukit.device.compiled  # noqa: F401  which checks that Numba has threads

        threads = min(device.threads, numba.config.NUMBA_NUM_THREADS)
        if self._threads_before is None:
            self._threads_before = numba.get_num_threads()
        numba.set_num_threads(threads)
        return threads

    def load(self, warm_up: Callable[[], object]) -> None:
        """Load compiled code by the small task ``warm_up``.

        This method does nothing. Commands that report times override it.
        """

    @contextmanager
    def progress(self, title: str) -> Iterator[Callable[[int, int], None]]:
        """Yield the function ``update(done, total)``, which reports the progress."""
        if callable(self._progress):
            report = self._progress
            yield lambda done, total: (report(done, total), None)[1]
        elif self._progress:
            with bar(title) as update:
                yield update
        else:
            yield lambda done, total: None

    def artifact(self, kind: str, arrays: "Mapping[str, np.ndarray]", attributes: Mapping[str, Any]) -> "Artifact":
        """Return an artifact of a kind, with arguments of :func:`gpukit.artifacts.make`; the session adds the rest."""
        from gpukit.artifacts import make
        from gpukit.artifacts.labels import packed_of

        arrays = {**arrays, **packed_of(kind, arrays, self.labels)}
        return make(kind, arrays, attributes, params=self.params, seed=self.seed, inputs=self.inputs)

    def seeds_artifact(self, seeds: "np.ndarray", method: str, **known: Any) -> "Artifact":
        """Return an artifact of the seeds (internal ids) that a method chose.

        ``known`` has further fields of :class:`gpukit.artifacts.SeedSet`.
        """
        import numpy as np

        from gpukit.artifacts import SeedSet, seeds_artifact

        indptr = self.graph.indptr
        found = SeedSet(
            self.graph.numbers(seeds), seeds, self.graph.n, method, self.inputs["graph"],
            degrees=indptr[np.add(seeds, 1)] - indptr[seeds],
            seed=self.seed, params=self.params, inputs=self.inputs, **known,
        )  # fmt: skip
        return seeds_artifact(found, self.labels)


@contextmanager
def bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on standard error, or in a notebook, and yield ``update(done, total)``."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if console.is_jupyter:  # rich would need another package here, ipywidgets
        percents = {-1}

        def update(done: int, total: int) -> None:
            percent = 100 * done // max(total, 1)
            if percent not in percents:
                percents.add(percent)
                print(f"\r{title}: {percent} %", end="\n" * (done >= total), file=sys.stderr, flush=True)

        yield update
        return
    with Progress(console=console, transient=True) as shown:
        task = shown.add_task(title, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


def _leased(device: Device) -> Device:
    """Return a device with GPUs that this process holds: all GPUs of its first lease, or the first of them."""
    global _held
    if not device.pool:
        return device
    if _held is None:
        _held = lease.take(device)
        return _held[0]
    first, count = _held[0], len(device.gpus)
    if count > len(first.gpus):
        raise DeviceError(
            f"{count} GPUs are asked for, but this process began with {len(first.gpus)}, and CUDA sees no others now; "
            "ask for as many in its first call"
        )
    return replace(
        first, gpus=first.gpus[:count], pool=first.pool[:count], reason=device.reason, threads=device.threads
    )


def check_compiler(threads: int) -> None:
    """Check, before Numba is imported, that code can be compiled and that there is memory for it.

    Raises
    ------
    UsageError
        If the environment switches compilation off. Most of the code would then fail, and some would give other
        answers, because NumPy's integers do not wrap as compiled ones do.
    DeviceError
        If there is too little memory (:func:`gpukit.device.memory.check_start`).
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        raise UsageError(NO_JIT)
    check_start(threads)
