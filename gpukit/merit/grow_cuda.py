"""Adding to an mRR set on a GPU: a clean set gets the roots that it lacks and what they bring, in a new record.

Its members need no bitmap: they are copied and marked, and vertices that may be among them are looked for there
(``table_cuda.py``).
"""

from numba import cuda, int32, int64, uint64

from gpukit.device.philox import draw4
from gpukit.merit.rule import SEQUENCE
from gpukit.merit.table_cuda import (
    EMPTY,
    FREE,
    MARK_BITS,
    MARKS,
    OTHER_KIND,
    SAME_KIND,
    STAGE,
    TABLE,
    at,
    enter,
    find,
    mark,
    meet_members,
    move,
    open_table,
)
from gpukit.worlds.rule import biased, word_of

TAIL, FRESH, PROMOTED, STOP, KIDS, DOUBTS, COUNTERS = 0, 1, 2, 3, 4, 6, 7
"""Places in a block's shared counters: members so far; roots that the set did not have, and that were members before;
whether to stop; of a step and the next one in turn, live edges found; vertices in the table, which may be members."""


@cuda.jit(device=True)
def write(v, ring, base, data, length, limit, counters):
    """Append a vertex to the set, if there is room; it is counted anyway."""
    place = int64(cuda.atomic.add(counters, TAIL, int32(1)))
    if place < limit:
        ring[at(base, data + place, length)] = v


@cuda.jit(device=True)
def root_of(word, n, seed, root_tag, sample):
    """Return the vertex at a place of a set's root sequence, or -1 if there is none."""
    product = uint64(word_of(draw4(seed, root_tag, sample, SEQUENCE, word >> 2), word & 3)) * uint64(n)
    return int64(-1) if biased(product, n) else int64(product >> uint64(32))


@cuda.jit(device=True)
def copy_members(known, size, wanted, old, ring, base, data, length, marks):
    """Copy the members of a set to its new record, behind the roots that it will have, and mark them; one block."""
    i = cuda.threadIdx.x
    while i < MARKS:
        marks[i] = 0
        i += cuda.blockDim.x
    cuda.syncthreads()
    move(ring, base, old, data, size, length, known, wanted - known, marks, True)


@cuda.jit(device=True)
def add_roots(
    known, size, wanted, cursor, old, n, dead, seed, root_tag, sample,
    ring, base, data, length, stage, keys, met, marks, counters,
):  # fmt: skip
    """Write the roots that a clean set gains into its new record; one block; return the words used.

    Those that it did not have stand after the known ones, ``counters[FRESH]`` of them; then those that were members,
    ``counters[PROMOTED]``, to the end of the roots.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    parts = 4 if size > 0 else 0  # always 4: unknown to the compiler, which would write the loop's body four times
    if lane == 0:
        counters[FRESH] = 0
        counters[PROMOTED] = 0
    while True:
        cuda.syncthreads()
        promoted = int64(counters[PROMOTED])
        missing = wanted - known - int64(counters[FRESH]) - promoted
        if missing == 0:
            return cursor
        cuda.syncthreads()
        # As many draws as roots are missing: each gives one at most, so none is drawn beyond the last.
        chunk, doubt = min(missing, int64(STAGE)), int32(0)
        j = int64(lane)
        while j < chunk:
            v, place = root_of(cursor + j, n, seed, root_tag, sample), int64(-1)
            if v >= 0 and dead[v] == 0:
                if mark(marks, MARK_BITS, v):
                    where = known + cuda.atomic.add(counters, FRESH, int32(1))
                    ring[at(base, data + where, length)] = v
                else:
                    place = enter(keys, met, v)
                    doubt = int32(1)
            stage[j] = 2 * (place + 1)
            j += width
        cursor += chunk
        if not cuda.syncthreads_or(doubt):
            continue
        fresh = int64(counters[FRESH])
        # A promoted one stands among the roots and, in the old record, among the other members: roots come first.
        part = 0
        while part < parts:
            start, low, high, kind = old, int64(0), known, SAME_KIND
            if part == 1:
                start, low, high = data, known, known + fresh
            elif part == 2:
                start, low, high = data, wanted - promoted, wanted
            elif part == 3:
                cuda.syncthreads()
                j = int64(lane)
                while j < chunk:
                    if stage[j] != 0 and met[int64(stage[j] >> 1) - 1] != FREE:
                        stage[j] |= 1
                    j += width
                cuda.syncthreads()
                low, high, kind = known, size, OTHER_KIND
            meet_members(keys, met, ring, base, start, low, high, length, kind)
            part += 1
        cuda.syncthreads()
        j = int64(lane)
        while j < chunk:
            place = int64(stage[j] >> 1) - 1
            if place >= 0:
                if stage[j] & 1 == 0:
                    if met[place] == FREE:
                        where = known + cuda.atomic.add(counters, FRESH, int32(1))
                    else:
                        where = wanted - 1 - cuda.atomic.add(counters, PROMOTED, int32(1))
                    ring[at(base, data + where, length)] = keys[place]
                keys[place] = EMPTY
            j += width


@cuda.jit(device=True)
def drop_promoted(known, size, wanted, promoted, old, ring, base, data, length, limit, keys, met, counters):
    """Copy the members of a set again, but those that became roots; one block. Sets ``counters[TAIL]``."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    if lane == 0:
        counters[TAIL] = wanted if promoted > 0 else wanted + size - known
    if promoted == 0:
        return
    i = wanted - promoted + lane
    while i < wanted:
        enter(keys, met, int64(ring[at(base, data + i, length)]))
        i += width
    cuda.syncthreads()
    i = known + lane
    while i < size:
        v = int64(ring[at(base, old + i, length)])
        if find(keys, v) < 0:
            write(v, ring, base, data, length, limit, counters)
        i += width
    cuda.syncthreads()
    open_table(keys)


@cuda.jit(device=True)
def add_new(kids, stage, indices, dead, ring, base, data, length, limit, keys, met, marks, counters):
    """Append the tails of live edges that are alive and not marked, and enter the others in the table; one block."""
    j = int64(cuda.threadIdx.x)
    while j < kids:
        v = int64(indices[stage[j]])
        if dead[v] == 0:
            if mark(marks, MARK_BITS, v):
                write(v, ring, base, data, length, limit, counters)
            elif enter(keys, met, v) >= 0:
                cuda.atomic.add(counters, DOUBTS, int32(1))
        j += cuda.blockDim.x


@cuda.jit(device=True)
def settle(tail, ring, base, data, length, limit, keys, met, counters):
    """Append the vertices in the table that are not among a set's members, and empty it; one block, a barrier."""
    meet_members(keys, met, ring, base, data, int64(0), tail, length, SAME_KIND)
    cuda.syncthreads()
    place = int64(cuda.threadIdx.x)
    if place == 0:
        counters[DOUBTS] = 0
    while place < TABLE:
        v = int64(keys[place])
        if v != EMPTY:
            if met[place] == FREE:
                write(v, ring, base, data, length, limit, counters)
            keys[place] = EMPTY
        place += cuda.blockDim.x
