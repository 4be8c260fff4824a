"""Sets of a batch on the CPU that may end early (:class:`gpukit.worlds.reverse.Ending`)."""

from collections import namedtuple

from gpukit.device.compiled import njit


class Early(namedtuple("Early", "met sizes over")):
    """Of each set of a batch whose sets may end early: marks of its members, their number, and whether it ended."""


@njit
def meet(samples, vertex, owner, early):
    """Note that a set has a vertex, and whether that ends it."""
    early.met[owner] |= samples.marks[vertex]
    early.sizes[owner] += 1
    if early.met[owner] == samples.all_marks or early.sizes[owner] > samples.limit:
        early.over[owner] = True


@njit
def begin(samples, elements, owners, used, early):
    """Start a batch of which no set has more than its root."""
    early.met[:], early.sizes[:], early.over[:] = 0, 0, False
    for j in range(used):
        meet(samples, elements[j], owners[j], early)


@njit
def next_group(elements, owners, head, read, used, over, group):
    """Move the next pairs of sets that go on behind the ``head`` pairs expanded; return their number and what was read.

    A group is moved at most; pairs of sets that ended are passed over.
    """
    size = 0
    while size < group and read < used:
        if not over[owners[read]]:
            elements[head + size], owners[head + size] = elements[read], owners[read]
            size += 1
        read += 1
    return size, read


@njit
def drop(samples, elements, owners, used, batch, over):
    """Leave of sets that ended early only the member that stands for them; return the pairs that there are then."""
    left = 0
    for j in range(used):
        if not over[owners[j]]:
            elements[left], owners[left] = elements[j], owners[j]
            left += 1
    if samples.stand >= 0:
        # There is room: these sets had a pair at least, their root's.
        for i in range(batch):
            if over[i]:
                elements[left], owners[left] = samples.stand, i
                left += 1
    return left
