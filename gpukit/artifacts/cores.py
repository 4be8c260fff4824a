"""Work on parts of arrays that all cores share; NumPy and hashlib let other threads run meanwhile."""

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from gpukit.device.select import available_threads

Part = TypeVar("Part")
Result = TypeVar("Result")


def on_all_cores(work: Callable[[Part], Result], parts: Sequence[Part], threads: int | None = None) -> list[Result]:
    """Return what a function makes of each part, in their order; the last parts are begun first.

    Parameters
    ----------
    work : callable
        Takes a part; its time should be spent where other threads can run.
    parts : sequence
    threads : int, optional
        Most threads, this one among them; no more than there are cores.

    Raises
    ------
    Exception
        The first that the function raised.
    """
    found: dict[int, Result] = {}
    failed: list[Exception] = []
    left = list(range(len(parts)))

    def take() -> None:
        while left and not failed:
            try:
                i = left.pop()
            except IndexError:  # another thread took the last one
                return
            try:
                found[i] = work(parts[i])
            except Exception as error:
                failed.append(error)

    workers = min(len(parts), available_threads(), len(parts) if threads is None else threads)
    # Daemons, so that an interrupted command need not wait for them.
    helpers = [threading.Thread(target=take, daemon=True) for _ in range(workers - 1)]
    for helper in helpers:
        helper.start()
    take()
    for helper in helpers:
        helper.join()
    if failed:
        raise failed[0]
    return [found[i] for i in range(len(parts))]
