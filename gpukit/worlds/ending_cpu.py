"""Batches on the CPU whose sets may end early (:class:`gpukit.worlds.reverse.Ending`)."""

from collections import namedtuple

import numpy as np

from gpukit.device.compiled import njit
from gpukit.worlds.reverse import ORDER_BIT

ORDERS = 256 >> ORDER_BIT
"""Number of orders; the waiting members of the highest order are expanded first (``Ending.marks``)."""


class Early(namedtuple("Early", "met sizes over top elements owners")):
    """State of a batch whose sets may end early: its sets, and the pairs that wait to be expanded.

    Attributes
    ----------
    met, sizes, over : uint8, int64 and bool arrays, shape (sets,)
        The marks that members of a set have, the number of members, and whether the set has ended.
    top : int64 array, shape (ORDERS,)
        The waiting pair of each order that was found last, or -1 for none; ``link`` has the pair found before it.
    elements, owners : int32 arrays
        The pairs that are expanded in one group.
    """


@njit
def make_early(sets, group):
    """Return the working space for batches of at most ``sets`` sets and groups of at most ``group`` pairs."""
    return Early(
        np.empty(sets, np.uint8), np.empty(sets, np.int64), np.empty(sets, np.bool_), np.empty(ORDERS, np.int64),
        np.empty(group, np.int32), np.empty(group, np.int32),
    )  # fmt: skip


@njit
def note_member(samples, vertex, owner, pair, link, early):
    """Add a vertex to a set, and end the set if it meets its condition; the pair waits to be expanded."""
    mark = samples.marks[min(vertex, len(samples.marks) - 1)]
    early.met[owner] |= mark
    early.sizes[owner] += 1
    if early.met[owner] & samples.all_marks == samples.all_marks or early.sizes[owner] > samples.limit:
        early.over[owner] = True
    order = mark >> ORDER_BIT
    link[pair] = early.top[order]
    early.top[order] = pair


@njit
def begin(samples, elements, owners, used, link, early):
    """Start a batch in which each set has only its root."""
    early.met[:], early.sizes[:], early.over[:], early.top[:] = 0, 0, False, -1
    for j in range(used):
        note_member(samples, elements[j], owners[j], j, link, early)


@njit
def next_group(elements, owners, link, group, early):
    """Take at most ``group`` pairs of the highest waiting order, from sets that have not ended; return their number."""
    size = 0
    for order in range(ORDERS - 1, -1, -1):
        pair = early.top[order]
        while pair >= 0 and size < group:
            if not early.over[owners[pair]]:
                early.elements[size], early.owners[size] = elements[pair], owners[pair]
                size += 1
            pair = link[pair]
        early.top[order] = pair
        if size > 0:
            break
    return size


@njit
def drop(samples, elements, owners, used, batch, over):
    """Replace each set that ended early by its representative, if there is one; return the number of pairs left."""
    left = 0
    for j in range(used):
        if not over[owners[j]]:
            elements[left], owners[left] = elements[j], owners[j]
            left += 1
    if samples.representative >= 0:
        # The arrays are long enough: each of these sets had at least one pair, that of its root.
        for i in range(batch):
            if over[i]:
                elements[left], owners[left] = samples.representative, i
                left += 1
    return left
