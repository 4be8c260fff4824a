"""Queries shared among the threads of a CPU."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

Value = TypeVar("Value")

_LONGEST_RANGE = 4
"""Most queries of a range: a call of compiled code costs as much as the shortest query."""
_RANGES_PER_THREAD = 4
"""Number of ranges of the next range's length that remain per thread: the times of queries differ."""


@cache
def _helpers(count: int) -> ThreadPoolExecutor:
    """Return ``count`` threads, always the same: each finds its workspace in the cache of the core it ran on before."""
    return ThreadPoolExecutor(count, thread_name_prefix="gpukit-kpar")


# A forked process does not have the threads of its parent.
os.register_at_fork(after_in_child=_helpers.cache_clear)


def workers_for(count: int, threads: int) -> int:
    """Return the number of ``threads`` that have work if ``count`` queries are asked."""
    return max(1, min(threads, count))


def _ranges(count: int, workers: int) -> Iterator[tuple[int, int]]:
    """Yield ranges that make up 0 … count; the last ones hold one query, so that threads end together."""
    first = 0
    while first < count:
        size = min(max(1, (count - first) // (_RANGES_PER_THREAD * workers)), _LONGEST_RANGE)
        yield first, first + size
        first += size


def over_threads(work: Callable[[int, int], Value], count: int, threads: int) -> list[Value]:
    """Call ``work(first, last)`` on ranges that divide 0 … count, in threads, and return the results in order.

    The calling thread is one of them, because otherwise it would only wait, and the system may put two new threads on
    the same core. Every thread has work if there are at least as many queries as threads: ranges have one query, or up
    to four if there are many. The result of ``work`` must not depend on the ranges.
    """
    workers = workers_for(count, threads)
    ranges = list(_ranges(count, workers))
    found: list[Any] = [None] * len(ranges)
    left = iter(range(len(ranges)))

    def take_ranges() -> None:
        try:
            # One step of this iterator is atomic under the interpreter's lock: no range is taken twice.
            for place in left:
                found[place] = work(*ranges[place])
        except BaseException:
            # Leave no range for the other threads.
            list(left)
            raise

    helpers = [_helpers(workers - 1).submit(take_ranges) for _ in range(workers - 1)]
    try:
        take_ranges()
    finally:
        # A thread that has not begun yet finds no range.
        running = [helper for helper in helpers if not helper.cancel()]
        failed = [error for helper in running if (error := helper.exception()) is not None]
    if failed:
        raise failed[0]
    return found
