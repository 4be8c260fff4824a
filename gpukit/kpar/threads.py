"""Queries shared among the threads of a CPU."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Found = TypeVar("Found")

_MOST = 4
"""Queries of a range: a call of compiled code costs as much as the shortest query."""
_RANGES_PER_THREAD = 4
"""At least, where there are so many queries: they take unequally long."""


def workers_for(count: int, threads: int) -> int:
    """Return how many of ``threads`` have work when ``count`` queries are asked."""
    return max(1, min(threads, count))


def over_threads(work: Callable[[int, int], Found], count: int, threads: int) -> list[Found]:
    """Call ``work(first, last)`` on ranges that make up 0 … count, in threads, and return what it returns in order.

    No thread is without work while there are as many queries as threads: ranges hold one query then, and up to four
    where there are many. ``work`` must give the same for any ranges.
    """
    workers = workers_for(count, threads)
    size = min(max(1, count // (_RANGES_PER_THREAD * workers)), _MOST)
    ranges = [(first, min(first + size, count)) for first in range(0, count, size)]
    if workers == 1:
        # A thread takes longer to start than many a query to answer.
        return [work(*one) for one in ranges]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda one: work(*one), ranges))
