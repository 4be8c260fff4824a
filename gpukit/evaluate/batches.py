"""Distribution of batches of runs to workers: CPU threads or GPUs."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import TypeVar

Progress = Callable[[int, int], None]

MAX_BATCHES = 4096

State = TypeVar("State")


def share_runs(
    states: Sequence[State],
    run_batch: Callable[[State, int, int], None],
    runs: int,
    batch: int,
    progress: Progress | None,
) -> None:
    """Call ``run_batch(state, first, count)`` for batches that cover [0, runs), a thread per state.

    Parameters
    ----------
    states : sequence
        State of each worker, such as scratch memory; no two concurrent calls get the same state.
    run_batch : callable
        Runs the ids first … first + count - 1.
    runs : int
        Number of runs.
    batch : int
        Runs per batch; more if there are very many runs. After Ctrl-C, running batches finish and no more begin.
    progress : callable or None
        Called with (runs done, runs) in the calling thread.
    """
    size = max(batch, runs // MAX_BATCHES)
    spare: SimpleQueue[State] = SimpleQueue()
    for state in states:
        spare.put(state)

    def work(first: int) -> int:
        state = spare.get()
        count = min(size, runs - first)
        try:
            run_batch(state, first, count)
        finally:
            spare.put(state)
        return count

    done = 0
    with ThreadPoolExecutor(len(states)) as pool:
        try:
            for count in pool.map(work, range(0, runs, size)):
                done += count
                if progress is not None:
                    progress(done, runs)
        except BaseException:
            # `map` cancels waiting calls when it is left, but not if it is interrupted while it submits the batches.
            pool.shutdown(wait=False, cancel_futures=True)
            raise
