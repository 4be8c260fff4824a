"""Sets of a batch on the CPU that may end early (:class:`gpukit.worlds.reverse.Ending`)."""

from collections import namedtuple

import numpy as np

from gpukit.device.compiled import njit
from gpukit.worlds.reverse import ORDER_BIT

ORDERS = 256 >> ORDER_BIT
"""Of members that wait to be expanded those of the highest order go first (``Ending.marks``)."""


class Early(namedtuple("Early", "met sizes over top elements owners")):
    """Of each set of a batch whose sets may end early, and of the members that wait in it.

    Attributes
    ----------
    met, sizes, over : uint8, int64 and bool arrays, shape (sets,)
        Marks of a set's members, their number, and whether it ended.
    top : int64 array, shape (ORDERS,)
        The pair of each order that was found last among those that wait, -1 for none; ``link`` has the one before it.
    elements, owners : int32 arrays
        The pairs that are expanded together.
    """


@njit
def make_early(sets, group):
    """Return the working space of a batch of so many sets at most, and groups of so many pairs."""
    return Early(
        np.empty(sets, np.uint8), np.empty(sets, np.int64), np.empty(sets, np.bool_), np.empty(ORDERS, np.int64),
        np.empty(group, np.int32), np.empty(group, np.int32),
    )  # fmt: skip


@njit
def note_member(samples, vertex, owner, pair, link, early):
    """Note that a set has a vertex, and whether that ends it; the pair waits to be expanded."""
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
    """Start a batch of which no set has more than its root."""
    early.met[:], early.sizes[:], early.over[:], early.top[:] = 0, 0, False, -1
    for j in range(used):
        note_member(samples, elements[j], owners[j], j, link, early)


@njit
def next_group(elements, owners, link, group, early):
    """Take at most ``group`` pairs, of sets that go on and of one order, the highest there is; return their number."""
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
    """Leave of sets that ended early only the member that stands for them; return the pairs that there are then."""
    left = 0
    for j in range(used):
        if not over[owners[j]]:
            elements[left], owners[left] = elements[j], owners[j]
            left += 1
    if samples.representative >= 0:
        # There is room: these sets had a pair at least, their root's.
        for i in range(batch):
            if over[i]:
                elements[left], owners[left] = samples.representative, i
                left += 1
    return left
