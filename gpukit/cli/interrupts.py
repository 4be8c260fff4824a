"""SIGINT and SIGTERM: the first signal stops a run at any point, with one line and without unfinished files.

Python raises KeyboardInterrupt in whatever frame runs. If that is a callback from compiled code (of ctypes, HDF5 or a
weak reference, or a ``__del__``), the exception is discarded. Code that catches every exception discards it, too. So
this module watches the exception object. If the object is gone before the run has reported why it stops, the exception
is raised again. Compiled code tells Python of a signal only when it returns; after ``GRACE_S`` the process stops
waiting for it.
"""

import os
import signal
import sys
import threading
import time
import weakref

from gpukit.files import remove_unfinished
from gpukit.portable import interrupt

INTERRUPTED = 5
GRACE_S = 3.0
"""Seconds that a run has to end by itself after a signal."""

LINE = "interrupted; nothing unfinished was left behind"
_ENDING = (signal.SIGINT, signal.SIGTERM)
_POLL_S = 0.05


class _Interrupt(KeyboardInterrupt):
    """An interrupt that a weak reference can watch; a built-in exception cannot be watched.

    Moreover, CPython does not treat it as an uncaught KeyboardInterrupt of `eval`, which would kill `python -m` by
    SIGINT.
    """


class Interrupts:
    """The signals that end a run.

    Attributes
    ----------
    came : bool
        Whether a signal came.
    said : threading.Event
        Set by the run after it has reported why it ends; from then on nothing is raised.
    """

    def __init__(self) -> None:
        self.came = False
        self.said = threading.Event()
        self._on_its_way: weakref.ref[_Interrupt] | None = None

    def watch(self) -> None:
        """Handle the signals.

        A scheduler that ends a job sends SIGTERM, often several times; this must clean up like Ctrl-C.
        """
        reader, writer = os.pipe()
        try:
            os.set_blocking(writer, False)
            signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
            for number in _ENDING:
                if signal.getsignal(number) is not signal.SIG_IGN:  # a shell ignores it for programs in the background
                    signal.signal(number, self._handle)
        except (AttributeError, ValueError):
            return  # not in the main thread, or Python 3.11 on Windows
        sys.unraisablehook = self._say_unless_interrupted
        threading.Thread(target=self._see_to_the_end, args=(reader,), daemon=True).start()

    def ignore(self) -> None:
        """Ignore signals during Python's exit, which restores the default handlers: a signal would kill it."""
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)

    def _handle(self, number: int, frame: object) -> None:
        self.came = True
        if not self.said.is_set() and self._lost():
            raise self._new()

    def _new(self) -> _Interrupt:
        """Return an interrupt to which only its handlers refer: no local variable of a frame in its traceback does."""
        interrupt = _Interrupt()
        self._on_its_way = weakref.ref(interrupt)
        return interrupt

    def _lost(self) -> bool:
        return self._on_its_way is None or self._on_its_way() is None

    def _see_to_the_end(self, reader: int) -> None:
        """Raise lost interrupts again, and end the process when its time is over; this runs in a thread."""
        while (number := os.read(reader, 1)[0]) not in _ENDING:
            pass
        end = time.monotonic() + GRACE_S
        while time.monotonic() < end:
            time.sleep(_POLL_S)
            if self._on_its_way is not None and self._lost() and not self.said.is_set():
                interrupt(number)
        remove_unfinished()
        if not self.said.is_set():
            os.write(2, f"gpukit: {LINE}\n".encode())
        os._exit(INTERRUPTED)

    def _say_unless_interrupted(self, unraisable: "sys.UnraisableHookArgs") -> None:
        """Report exceptions that Python discarded, but not after a signal: interrupts are repeated and cause others."""
        if not self.came:
            sys.__unraisablehook__(unraisable)
