"""Adding to an mRR set on a GPU: a clean set gets the roots that it lacks and what reaches these, in a new record.

Its members need no bitmap: they are copied and marked, and vertices that may be among them are looked for there
(``table_cuda.py``).
"""

from collections import namedtuple

from numba import int32, int64

from gpukit.device.kernels import cuda, device
from gpukit.merit.search_cuda import root_of
from gpukit.papers.merit import table_cuda as table
from gpukit.papers.merit.table_cuda import EMPTY, FREE, OTHER_KIND, SAME_KIND, at

TAIL, FRESH, PROMOTED, STOP, KIDS, DOUBTS, COUNTERS = 0, 1, 2, 3, 4, 6, 7
"""Places in a block's shared counters: members so far; roots that the set did not have, and that were members before;
whether to stop; of a step and the next one in turn, live edges found; vertices in the table, which may be members."""


class Task(namedtuple("Task", "sample wanted roots size start")):
    """A set to write, and what it keeps.

    Attributes
    ----------
    sample, wanted : int
        Its id, and how many roots it shall have.
    roots, size, start : int
        Roots and members that it has, and the place of the first in its ring; 0 for a new or polluted set.
    """


@device
def write(v, record, block):
    """Append a vertex to the set, if there is room; it is counted anyway."""
    place = int64(cuda.atomic.add(block.counters, TAIL, int32(1)))
    if place < record.limit:
        record.ring.entries[at(record.ring, record.start + place)] = v


@device
def copy_members(task, record, block):
    """Copy the members of a set to its new record, behind the roots that it will have, and mark them; one block."""
    i = cuda.threadIdx.x
    while i < table.MARKS:
        block.marks[i] = 0
        i += cuda.blockDim.x
    cuda.syncthreads()
    gap = task.wanted - task.roots
    table.move(record.ring, task.start, record.start, task.size, task.roots, gap, block.marks, True)


@device
def add_roots(task, cursor, dead, key, record, block):
    """Write the roots that a clean set gains into its new record; one block; return the words used.

    Those that it did not have stand after the known ones, ``counters[FRESH]`` of them; then those that were members,
    ``counters[PROMOTED]``, to the end of the roots.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    ring, data, counters, stage = record.ring, record.start, block.counters, block.stage
    parts = 4 if task.size > 0 else 0  # always 4: unknown to the compiler, which would write the loop's body four times
    if tid == 0:
        counters[FRESH] = 0
        counters[PROMOTED] = 0
    while True:
        cuda.syncthreads()
        promoted = int64(counters[PROMOTED])
        missing = task.wanted - task.roots - int64(counters[FRESH]) - promoted
        if missing == 0:
            return cursor
        cuda.syncthreads()
        # As many draws as roots are missing: each gives one at most, so none is drawn beyond the last.
        chunk, doubt = min(missing, int64(table.STAGE)), int32(0)
        j = int64(tid)
        while j < chunk:
            v, place = root_of(cursor + j, int64(len(dead)), key, task.sample), int64(-1)
            if v >= 0 and dead[v] == 0:
                if table.mark(block.marks, table.MARK_BITS, v):
                    where = task.roots + cuda.atomic.add(counters, FRESH, int32(1))
                    ring.entries[at(ring, data + where)] = v
                else:
                    place = table.enter(block, v)
                    doubt = int32(1)
            stage[j] = 2 * (place + 1)
            j += block_size
        cursor += chunk
        if not cuda.syncthreads_or(doubt):
            continue
        fresh = int64(counters[FRESH])
        # A promoted one stands among the roots and, in the old record, among the other members: roots come first.
        part = 0
        while part < parts:
            start, low, high, kind = task.start, int64(0), task.roots, SAME_KIND
            if part == 1:
                start, low, high = data, task.roots, task.roots + fresh
            elif part == 2:
                start, low, high = data, task.wanted - promoted, task.wanted
            elif part == 3:
                cuda.syncthreads()
                j = int64(tid)
                while j < chunk:
                    if stage[j] != 0 and block.met[int64(stage[j] >> 1) - 1] != FREE:
                        stage[j] |= 1
                    j += block_size
                cuda.syncthreads()
                low, high, kind = task.roots, task.size, OTHER_KIND
            table.match_members(block, ring, start, low, high, kind)
            part += 1
        cuda.syncthreads()
        j = int64(tid)
        while j < chunk:
            place = int64(stage[j] >> 1) - 1
            if place >= 0:
                if stage[j] & 1 == 0:
                    if block.met[place] == FREE:
                        where = task.roots + cuda.atomic.add(counters, FRESH, int32(1))
                    else:
                        where = task.wanted - 1 - cuda.atomic.add(counters, PROMOTED, int32(1))
                    ring.entries[at(ring, data + where)] = block.keys[place]
                block.keys[place] = EMPTY
            j += block_size


@device
def drop_promoted(task, promoted, record, block):
    """Copy the members of a set again, but those that became roots; one block. Sets ``counters[TAIL]``."""
    tid, block_size, ring = cuda.threadIdx.x, cuda.blockDim.x, record.ring
    if tid == 0:
        block.counters[TAIL] = task.wanted if promoted > 0 else task.wanted + task.size - task.roots
    if promoted == 0:
        return
    i = task.wanted - promoted + tid
    while i < task.wanted:
        table.enter(block, int64(ring.entries[at(ring, record.start + i)]))
        i += block_size
    cuda.syncthreads()
    i = task.roots + tid
    while i < task.size:
        v = int64(ring.entries[at(ring, task.start + i)])
        if table.find(block, v) < 0:
            write(v, record, block)
        i += block_size
    cuda.syncthreads()
    table.clear_table(block)


@device
def append_unmarked(kids, indices, dead, record, block):
    """Append the tails of live edges that are alive and not marked, and enter the others in the table; one block."""
    j = int64(cuda.threadIdx.x)
    while j < kids:
        v = int64(indices[block.stage[j]])
        if dead[v] == 0:
            if table.mark(block.marks, table.MARK_BITS, v):
                write(v, record, block)
            elif table.enter(block, v) >= 0:
                cuda.atomic.add(block.counters, DOUBTS, int32(1))
        j += cuda.blockDim.x


@device
def append_unmatched(tail, record, block):
    """Append the vertices in the table that are not among a set's members, and empty it; one block, a barrier."""
    table.match_members(block, record.ring, record.start, int64(0), tail, SAME_KIND)
    cuda.syncthreads()
    place = int64(cuda.threadIdx.x)
    if place == 0:
        block.counters[DOUBTS] = 0
    while place < table.TABLE:
        v = int64(block.keys[place])
        if v != EMPTY:
            if block.met[place] == FREE:
                write(v, record, block)
            block.keys[place] = EMPTY
        place += cuda.blockDim.x
