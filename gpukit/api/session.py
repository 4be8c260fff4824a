"""A piece of work: where it runs, what it is given, its times and its progress; a command's run is one."""

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
"""No progress, a bar, or ``progress(done, total)``."""

DeviceName = Literal["auto", "cpu", "cuda"]

_log = logging.getLogger("gpukit")


_held: "tuple[Device, lease.Lease | None] | None" = None
"""The GPUs of this process: once CUDA has started, it sees no others."""


class Where(TypedDict, total=False):
    """Where a question is answered, and who is told of the progress; arguments of :class:`Session`."""

    device: DeviceName
    gpus: int
    threads: int | None
    progress: Progress


WHERE: Where = {"device": "auto", "gpus": 1, "threads": None, "progress": False}
"""What is asked where nothing is said."""


def split(more: Mapping[str, Any]) -> tuple[Where, dict[str, Any]]:
    """Return the keywords of a function that a session takes, and the others."""
    where = {name: value for name, value in more.items() if name in Where.__annotations__}
    return cast(Where, where), {name: value for name, value in more.items() if name not in where}


class Session:
    """A piece of work from its checks to its artifact.

    Parameters
    ----------
    device : str, optional
        ``auto``, ``cpu`` or ``cuda``; None for what knows the CPU alone.
    gpus : int
        Number of GPUs that were asked for.
    threads : int, optional
        Number of CPU threads that were asked for.
    gpu_memory : int, optional
        The most bytes to take of each GPU.
    seed : int, optional
        The user's seed.
    progress : bool or callable
        Whether to show a bar, or what to tell of the progress.

    Attributes
    ----------
    params : dict
        What decides the result, for the artifact: no paths, no device, no threads.
    inputs : dict of str to str
        The digest of each input, by what it is.
    graph : gpukit.graph.csr.Graph or None
        The graph it is about.
    tables : mapping of arrays, or None
        Its sampling tables, where they are at hand.
    labels : what has a method ``texts``, or None
        What knows the names of the vertices in its results, where the graph has names.
    skipped : tuple of str
        Lines of an edge list that are no edges and were left out: number, and what is wrong.
    device : Device or None
        What it uses, once that was chosen.
    requested, gpus, threads, gpu_memory, seed
        What was asked for; ``requested`` is the device. They may be changed before they are used.
    timer : PhaseTimer
        The times; ``session.phase(name)`` is a phase of it.

    Raises
    ------
    UsageError
        If a number is none, the seed is out of range, or there is no such device.
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
        """Give numba's threads back; an interrupt that compiled code made another error of is one again.

        CuPy's error of too little memory is one of ours.
        """
        if self._threads_before is not None:
            import numba

            numba.set_num_threads(self._threads_before)
        if is_interrupt(error) and not isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        if lacks_gpu_memory(error):
            raise DeviceError(
                f"too little GPU memory is free ({error}); end what else uses it, or use {spelled('device', 'cpu')}"
            ) from error

    def use_device(
        self, requested: str | None = None, *, threads: int | None = None, work: float | None = None, reason: str = ""
    ) -> Device:
        """Choose the device, lease its GPUs, set the threads, and say what and why.

        ``requested`` and ``threads`` take the place of what was asked for, and ``reason`` that of the reason, where the
        caller knows better; ``work`` and the errors are those of :func:`gpukit.device.select.choose`, but who requests
        nothing knows the CPU alone. The GPUs of the first call are those of the process.
        """
        requested = requested or self.requested
        threads = self.threads if threads is None else threads
        device = _leased(choose(requested or "cpu", self.gpus, threads, work=work))
        reason = reason or ("this command runs on the CPU" if requested is None else device.reason)
        device = replace(device, reason=reason)
        check_compiler(device.threads)
        threads = self._set_threads(device)
        if device.pool:
            # The driver reads the environment as it starts, and a change in that moment can end the process. The last
            # that change it are the lines above, and NumPy when it is imported.
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
        """Say whether ``auto`` left the work to the CPU, as small, and there are GPUs that could do it."""
        asked = self.requested == "auto" and self.device is not None and self.device.kind == "cpu"
        return asked and choose("auto", self.gpus, self.threads).kind == "cuda"

    def _set_threads(self, device: Device) -> int:
        """Let numba use the threads of a device, no more than it started with; return how many these are."""
        import numba

        import gpukit.device.compiled  # noqa: F401  which checks that Numba has threads

        threads = min(device.threads, numba.config.NUMBA_NUM_THREADS)
        if self._threads_before is None:
            self._threads_before = numba.get_num_threads()
        numba.set_num_threads(threads)
        return threads

    def load(self, warm_up: Callable[[], object]) -> None:
        """Do something small that loads the compiled code, where the phases that follow are to be compared."""

    @contextmanager
    def progress(self, title: str) -> Iterator[Callable[[int, int], None]]:
        """Yield ``update(done, total)``, by which the progress is told."""
        if callable(self._progress):
            report = self._progress
            yield lambda done, total: (report(done, total), None)[1]
        elif self._progress:
            with bar(title) as update:
                yield update
        else:
            yield lambda done, total: None

    def artifact(self, kind: str, arrays: "Mapping[str, np.ndarray]", attributes: Mapping[str, Any]) -> "Artifact":
        """Return an artifact of a kind, with the arguments of :func:`gpukit.artifacts.make`; the rest is known."""
        from gpukit.artifacts import make
        from gpukit.artifacts.labels import packed_of

        arrays = {**arrays, **packed_of(kind, arrays, self.labels)}
        return make(kind, arrays, attributes, params=self.params, seed=self.seed, inputs=self.inputs)

    def seeds_artifact(self, seeds: "np.ndarray", method: str, **known: Any) -> "Artifact":
        """Return the seeds (internal ids) that a method chose as an artifact.

        ``known`` is what is known of them: further fields of :class:`gpukit.artifacts.SeedSet`.
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
    if console.is_jupyter:  # where rich needs a further package, ipywidgets
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
    """Return a device with GPUs that this process holds: those of its first lease, or the first of them."""
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
    """Check, before numba is imported, that code can be compiled and that there is room for it.

    Raises
    ------
    UsageError
        If the environment switches compilation off: most of the code then gives up, and some gives other answers, since
        NumPy's numbers do not wrap as compiled ones do.
    DeviceError
        If there is no room (:func:`gpukit.device.memory.check_start`).
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        raise UsageError(NO_JIT)
    check_start(threads)
