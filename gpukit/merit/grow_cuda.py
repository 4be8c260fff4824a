"""Adding to an mRR set on a GPU: a clean set gets the roots that it lacks and what they bring, in a new record.

Its members need no bitmap: they are copied, and vertices that are found are looked for among them (``table_cuda.py``).
"""

from numba import cuda, int32, int64, uint32, uint64

from gpukit.device.philox import draw4
from gpukit.merit.rule import SEQUENCE
from gpukit.merit.table_cuda import (
    FREE,
    OTHER_KIND,
    SAME_KIND,
    STAGE,
    enter,
    find,
    leave,
    meet_members,
    open_table,
    wrapped,
)
from gpukit.worlds.rule import biased, word_of

TAIL, FRESH, PROMOTED, STOP, KIDS, ENTERED, COUNTERS = 0, 1, 2, 3, 4, 6, 8
"""Places in a block's shared counters: members so far; roots that the set did not have, and that were members before;
whether to stop; of a step and the next one in turn, live edges found, and whether a vertex entered the table."""


@cuda.jit(device=True)
def write(v, ring, base, data, length, limit, counters):
    """Append a vertex to the set, if there is room; it is counted anyway."""
    place = int64(cuda.atomic.add(counters, TAIL, int32(1)))
    if place < limit:
        ring[base + wrapped(data + place, length)] = v


@cuda.jit(device=True)
def root_of(word, n, seed, root_tag, sample):
    """Return the vertex at a place of a set's root sequence, or -1 if there is none."""
    product = uint64(word_of(draw4(seed, root_tag, sample, SEQUENCE, word >> 2), word & 3)) * uint64(n)
    return int64(-1) if biased(product, n) else int64(product >> uint64(32))


@cuda.jit(device=True)
def add_roots(
    known, size, wanted, cursor, old, n, dead, seed, root_tag, sample,
    ring, base, data, length, stage, keys, met, counters,
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
        fresh, promoted = int64(counters[FRESH]), int64(counters[PROMOTED])
        missing = wanted - known - fresh - promoted
        if missing == 0:
            return cursor
        # As many draws as roots are missing: each gives one at most, so none is drawn beyond the last.
        chunk = min(missing, int64(STAGE))
        j = int64(lane)
        while j < chunk:
            v, place = root_of(cursor + j, n, seed, root_tag, sample), int64(-1)
            if v >= 0 and dead[v] == 0:
                place = enter(keys, v)
            stage[j] = 2 * (place + 1)
            j += width
        cursor += chunk
        cuda.syncthreads()
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
                    ring[base + wrapped(data + where, length)] = keys[place]
                leave(keys, met, place)
            j += width


@cuda.jit(device=True)
def copy_members(
    known, size, wanted, promoted, old, ring, base, data, length, limit, keys, met, counters
):  # fmt: skip
    """Copy the members of a set to its new record, but those that became roots; one block. Sets ``counters[TAIL]``."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    if lane == 0:
        counters[TAIL] = wanted if promoted > 0 else wanted + size - known
    i, end = int64(lane), known if promoted > 0 else size
    while i < end:
        place = i if i < known else wanted - known + i
        ring[base + wrapped(data + place, length)] = ring[base + wrapped(old + i, length)]
        i += width
    if promoted == 0:
        return
    i = wanted - promoted + lane
    while i < wanted:
        enter(keys, int64(ring[base + wrapped(data + i, length)]))
        i += width
    cuda.syncthreads()
    i = known + lane
    while i < size:
        v = int64(ring[base + wrapped(old + i, length)])
        if find(keys, v) < 0:
            write(v, ring, base, data, length, limit, counters)
        i += width
    cuda.syncthreads()
    open_table(keys, met)


@cuda.jit(device=True)
def add_new(kids, stage, tail, step, indices, dead, ring, base, data, length, limit, keys, met, counters):
    """Append the tails of live edges that are alive and not among a set's members; one block, two barriers."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    j = int64(lane)
    while j < kids:
        v, place = int64(indices[stage[j]]), int64(-1)
        if dead[v] == 0:
            place = enter(keys, v)
            if place >= 0:
                counters[ENTERED + step] = 1
        stage[j] = uint32(place + 1)
        j += width
    cuda.syncthreads()
    if counters[ENTERED + step] == 0:
        return
    meet_members(keys, met, ring, base, data, int64(0), tail, length, SAME_KIND)
    cuda.syncthreads()
    j = int64(lane)
    while j < kids:
        place = int64(stage[j]) - 1
        if place >= 0:
            if met[place] == FREE:
                write(int64(keys[place]), ring, base, data, length, limit, counters)
            leave(keys, met, place)
        j += width
