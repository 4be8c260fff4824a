"""Queries shared among the threads of a CPU."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

Value = TypeVar("Value")

_LONGEST_RANGE = 4
"""Queries of a range: a call of compiled code costs as much as the shortest query."""
_RANGES_PER_THREAD = 4
"""How many ranges of the next one's length are left for each thread: queries take unequally long."""


@cache
def _helpers(count: int) -> ThreadPoolExecutor:
    """Return ``count`` threads, always the same: each finds its workspace in the cache of the core it ran on before."""
    return ThreadPoolExecutor(count, thread_name_prefix="gpukit-kpar")


# The threads of a process do not follow into its fork.
os.register_at_fork(after_in_child=_helpers.cache_clear)


def workers_for(count: int, threads: int) -> int:
    """Return how many of ``threads`` have work when ``count`` queries are asked."""
    return max(1, min(threads, count))


def _ranges(count: int, workers: int) -> Iterator[tuple[int, int]]:
    """Yield ranges that make up 0 … count; the last ones hold one query, so that threads end together."""
    first = 0
    while first < count:
        size = min(max(1, (count - first) // (_RANGES_PER_THREAD * workers)), _LONGEST_RANGE)
        yield first, first + size
        first += size


def over_threads(work: Callable[[int, int], Value], count: int, threads: int) -> list[Value]:
    """Call ``work(first, last)`` on ranges that make up 0 … count, in threads, and return what it returns in order.

    The calling thread is one of them: it would only wait, and the system may put two threads that start at the same
    time onto one core. No thread is without work while there are as many queries as threads: ranges hold one query
    then, and up to four where there are many. ``work`` must give the same for any ranges.
    """
    workers = workers_for(count, threads)
    ranges = list(_ranges(count, workers))
    found: list[Any] = [None] * len(ranges)
    left = iter(range(len(ranges)))

    def take_ranges() -> None:
        try:
            # One step of this iterator is whole under the interpreter's lock: no range is taken twice.
            for place in left:
                found[place] = work(*ranges[place])
        except BaseException:
            # Nothing is left for the others.
            list(left)
            raise

    helpers = [_helpers(workers - 1).submit(take_ranges) for _ in range(workers - 1)]
    try:
        take_ranges()
    finally:
        # Whoever has not begun by now finds nothing left.
        running = [helper for helper in helpers if not helper.cancel()]
        failed = [error for helper in running if (error := helper.exception()) is not None]
    if failed:
        raise failed[0]
    return found
