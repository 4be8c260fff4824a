"""Run gpukit's command line under a fault: in a fork of this process, which has imported it, or in a new process.

A fork runs the same ``main`` as a command, with the same handlers, threads and end of the process. Forks share only the
start of the interpreter and the imports, which are two thirds of a short command's time.
"""

import gc
import importlib
import os
import resource
import selectors
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

TICK_S = 0.0005
PRINTED = 64 << 20
"""Most bytes that a command may print; a command that prints without end is also a failure."""


class Forked(BaseException):
    """Raised in a new child, to leave every frame of the harness before the command begins.

    No ``with`` and no ``finally`` on its way may have an effect, because the effect would also happen in the child.
    """


def serve(work: Callable[[], int]) -> int:
    """Call ``work``; a child that :class:`Process` forks inside it returns here and becomes the command."""
    try:
        return work()
    except Forked:
        pass
    from gpukit.cli.app import main

    return main()


def import_commands() -> None:
    """Import the modules of the commands, so that forks need not; this starts no thread."""
    from gpukit.cli.app import COMMANDS

    libraries = ("h5py", "hdf5plugin", "numba", "scipy.sparse", "pandas", "matplotlib.figure", "jinja2", "rich.console")
    for name in (*libraries, "typer.rich_utils"):
        importlib.import_module(name)
    for _, target, _ in COMMANDS:
        importlib.import_module(target.partition(":")[0])
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()  # Numba's data on NumPy, a third of a short command's time
    cpu_target.target_context.refresh()
    gc.collect()
    gc.freeze()  # otherwise every child would copy all these pages when it ends


@dataclass
class Process:
    """A running command, and later what it printed and how it ended.

    Attributes
    ----------
    code : int
        Exit code, or the negative number of the signal that ended it.
    memory : int
        Largest resident set, bytes.
    """

    words: Sequence[str]
    folder: Path
    prepare: Callable[[], None] = lambda: None
    own: bool = False
    pid: int = 0
    code: int | None = None
    out: bytes = b""
    err: bytes = b""
    seconds: float = 0.0
    memory: int = 0
    hung: bool = False
    _pipes: dict[int, str] = field(default_factory=dict)

    def start(self) -> "Process":
        """Start the command; in a fork this does not return."""
        out, err = os.pipe(), os.pipe()
        self._began = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            self._become(out[1], err[1])
        os.close(out[1])
        os.close(err[1])
        self._pipes = {out[0]: "out", err[0]: "err"}
        return self

    def _become(self, out: int, err: int) -> None:
        """Set streams, folder, signals and limits, and turn this fork into the command."""
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.closerange(3, 1024)
        os.chdir(self.folder)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self.prepare()
        if self.own:
            os.execv(sys.executable, [sys.executable, "-m", "gpukit", *self.words])
        sys.argv[:] = ["gpukit", *self.words]
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            try:
                stream = open(number, "w" if number else "r", buffering=1 if number == 2 else -1, closefd=False)
            except OSError:
                stream = None  # as the interpreter does with one that was closed before it began
            setattr(sys, name, stream)
        raise Forked

    def listens(self) -> bool:
        """Return whether the command handles SIGTERM already; before that, Python itself handles signals."""
        try:
            text = Path(f"/proc/{self.pid}/status").read_text()
            return bool(int(text.split("SigCgt:")[1].split()[0], 16) >> (signal.SIGTERM - 1) & 1)
        except (OSError, IndexError):
            return False

    def send(self, number: int) -> None:
        """Send a signal, if the command still runs."""
        if self.code is None:
            os.kill(self.pid, number)

    def poll(self) -> bool:
        """Read what was printed; return whether the command has ended."""
        with selectors.DefaultSelector() as ready:
            for pipe in self._pipes:
                ready.register(pipe, selectors.EVENT_READ)
            for key, _ in ready.select(TICK_S) if self._pipes else ():
                part = os.read(key.fd, 1 << 16)
                if not part:
                    os.close(key.fd)
                    del self._pipes[key.fd]
                elif len(self.out) + len(self.err) < PRINTED:
                    setattr(self, self._pipes[key.fd], getattr(self, self._pipes[key.fd]) + part)
        if self.code is None:
            pid, status, used = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
                self.seconds = time.monotonic() - self._began
                self.memory = used.ru_maxrss << 10
        return self.code is not None and not self._pipes

    def deafen(self) -> None:
        """Close the reading end of standard output, as ``| head`` does."""
        for pipe in [pipe for pipe, name in self._pipes.items() if name == "out"]:
            os.close(pipe)
            del self._pipes[pipe]


def finish(processes: Sequence[Process], limit_s: float, step: Callable[[], None] = lambda: None) -> None:
    """Wait for commands and call ``step`` repeatedly; kill commands that take longer than ``limit_s``."""
    end = time.monotonic() + limit_s
    while not all([process.poll() for process in processes]):
        step()
        if time.monotonic() > end:
            for process in processes:
                if process.code is None:
                    process.hung = True
                    process.send(signal.SIGKILL)
            end = float("inf")


def limit(kind: int, size: int) -> Callable[[], None]:
    """Return a function that limits a resource in a new process."""
    return lambda: resource.setrlimit(kind, (size, resource.getrlimit(kind)[1]))


def starve(extra: int) -> Callable[[], None]:
    """Return a function that limits a new process to ``extra`` bytes of address space beyond those it uses."""

    def set_limit() -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        size = pages * resource.getpagesize() + extra
        resource.setrlimit(resource.RLIMIT_AS, (size, size))

    return set_limit
