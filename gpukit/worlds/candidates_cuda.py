"""Candidates of greedy coverage on a GPU: how an epoch chooses and numbers them, and which sets hold them.

An epoch starts with the counts of all elements, a histogram of these counts, the candidates, and their inverted index.
``marks`` has one word for 32 elements. The lower half of a word has one bit per element, set for candidates. The upper
half is the number of the first candidate among the 32. So candidates are numbered in the order of their ids.
"""

from numba import int32, int64, uint32, uint64

from gpukit.device.kernels import cuda, device
from gpukit.device.prefix_sum_cuda import add_up
from gpukit.worlds.block_cuda import step

AT_ONCE = 4
"""Members that a thread loads before it uses the first."""

ELEMENTS_AT_ONCE = 8
"""Elements of a word whose counts a thread loads before it uses the first."""

PACKED = 40
"""Bits of a sum of occurrences; the number of candidates is stored above them."""

FREE, BLOCKED, FORCED = 0, 1, 2
"""States of an element."""

BUCKETS = 256
"""Buckets of counts: exact below 8, eight buckets per power of two above."""

MAX_CANDIDATES = 8192
"""Most candidates at a time: their counts are in a block's shared memory, which has 48 KiB."""

EPOCHS = 16
"""Most epochs; each aims at twice as many candidates as the one before."""

CONTROL_EPOCH = 1
"""First place in ``control`` for the number of candidates of an epoch; the place before it is for the outcome."""

CHOSEN = 1 << 30
"""Subtracted from the value of a chosen candidate: below zero it can neither be chosen nor count again."""


@device
def value_of(counts, bonus, unit, e):
    """Return the value of an element: the sets that hold it, plus its bonus."""
    if len(bonus) > 0:
        return int32(unit) * counts[e] + bonus[e]
    return counts[e]


@device
def bits_of(work, query, limit, word):
    """Return the bits of the candidates among 32 elements; loads ELEMENTS_AT_ONCE counts before it uses the first."""
    bits = int64(0)
    counts, states = cuda.local.array(ELEMENTS_AT_ONCE, int32), cuda.local.array(ELEMENTS_AT_ONCE, int32)
    for first in range(32 * word, min(32 * word + 32, len(work)), ELEMENTS_AT_ONCE):
        for i in range(ELEMENTS_AT_ONCE):
            e = min(first + i, len(work) - 1)
            counts[i], states[i] = value_of(work, query.bonus, query.unit, e), query.state[e]
        for i in range(ELEMENTS_AT_ONCE):
            chosen = (states[i] == FREE and counts[i] >= limit) or states[i] == FORCED
            if chosen and first + i < len(work):
                bits |= int64(1) << (first + i & 31)
    return bits


@device
def sums_of_bits(work, word, bits):
    """Return (1 << PACKED) times the number of candidates in ``bits``, plus the sum of their occurrences."""
    sums = int64(0)
    while bits > 0:
        sums += (int64(1) << PACKED) + work[32 * word + cuda.ffs(int32(bits)) - 1]
        bits &= bits - 1
    return sums


@device
def number_of(word, bit):
    """Return the number of the candidate at a bit of a word of marks."""
    return int32(word >> 32) + int32(cuda.popc(uint32(word & ((int64(1) << bit) - 1))))


@device
def find(entries, at, stride, end, marks, names, places):
    """Find the candidates among AT_ONCE entries: from ``at`` on, each ``stride``-th, below ``end``.

    ``names`` receives the entries, ``places`` the candidates' numbers, or -1 for an element that is no candidate. The
    sign bits, all 0, make each load of marks depend on all entries, and each place on all marks. Otherwise the
    compiler, to save registers, issues each load of an entry only after the marks of the entry before have arrived, and
    the loads are serialised.
    """
    words = cuda.local.array(AT_ONCE, int64)
    left = int32(min(end - at, int64(0x7FFFFFFF)))
    signs = int64(-1)
    for i in range(AT_ONCE):
        names[i] = entries[uint64(at + min(int32(i * stride), int32(left - 1)))]
        signs &= names[i]
    zero, signs = uint32(uint64(signs) >> uint64(63)), int64(-1)
    for i in range(AT_ONCE):
        words[i] = marks[uint32((uint32(names[i] & 0xFFFFFFFF) >> uint32(5)) + zero)]
        signs &= words[i]
    zero = uint32(uint64(signs) >> uint64(63))
    for i in range(AT_ONCE):
        bit = uint32(names[i] & 31)
        marked = (uint32(words[i] & 0xFFFFFFFF) >> bit) & uint32(1) & uint32(int32(i * stride) < left)
        places[i] = int32(number_of(words[i], bit) + int32(zero)) if marked else int32(-1)


@device
def count_candidates(entries, start, end, rank, stride, marks, taken):
    """Count the candidates in entries start … end - 1 in ``taken``; by ``stride`` threads, AT_ONCE entries each."""
    names, places = cuda.local.array(AT_ONCE, int64), cuda.local.array(AT_ONCE, int32)
    at = start + rank
    while at < end:
        find(entries, at, stride, end, marks, names, places)
        for i in range(AT_ONCE):
            if places[i] >= 0:
                cuda.atomic.add(taken, uint32(places[i]), 1)
        at += AT_ONCE * stride


@device
def _bucket(count):
    """Return the bucket of a count (``BUCKETS``)."""
    if count < 8:
        return int32(count)
    exponent = 31 - cuda.clz(int32(count))
    return int32(8 * (exponent - 2) + ((count >> (exponent - 3)) & 7))


@device
def bucket_floor(bucket):
    """Return the lowest count of a bucket."""
    if bucket < 8:
        return int32(bucket)
    return int32((8 + bucket % 8) << (bucket // 8 - 1))


@step
def _start_counts(me, sets, remaining, fresh):
    """Initialise the counts: from sampling in the first epoch of a whole collection, else to 0.

    Algorithm 3, line 13 (Occur).
    """
    thread, threads = me.thread, me.threads
    e = thread
    while e < len(remaining):
        remaining[e] = sets.counts[e] if fresh else 0
        e += threads


@step
def _count_uncovered(me, sets, work):
    """Count anew; afterwards ``remaining`` is the number of uncovered sets that hold each element."""
    thread, threads = me.thread, me.threads
    i = thread
    while i < sets.used:
        s = sets.entries[i] >> 32
        if s < sets.size and work.covered[s] == 0:
            cuda.atomic.add(work.remaining, sets.entries[i] & 0xFFFFFFFF, 1)
        i += threads


@step
def _fill_histogram(me, query, work, epoch, local):
    """Fill the epoch's histogram; after it and a grid barrier, it counts all elements that may be chosen."""
    tid, block_size = me.tid, me.block_size
    thread, threads = me.thread, me.threads
    for b in range(tid, BUCKETS, block_size):
        local[b] = 0
    cuda.syncthreads()
    e = thread
    while e < len(work.remaining):
        value = value_of(work.remaining, query.bonus, query.unit, e)
        if value > 0 and query.state[e] == FREE:
            cuda.atomic.add(local, _bucket(value), 1)
        e += threads
    cuda.syncthreads()
    for b in range(tid, BUCKETS, block_size):
        if local[b] > 0:
            cuda.atomic.add(work.histogram, epoch * BUCKETS + b, local[b])


@step
def _limit(me, query, work, epoch, bucket, local, few):
    """Set ``few[0]`` to the lowest bucket of the candidates: enough of them, but at most MAX_CANDIDATES.

    It is below ``bucket``, that of the epoch before, unless that is impossible.
    """
    tid, block_size = me.tid, me.block_size
    for b in range(tid, BUCKETS, block_size):
        local[b] = work.histogram[epoch * BUCKETS + b]
    cuda.syncthreads()
    if tid == 0:
        lower, reached = BUCKETS, int64(len(query.forced))
        while lower > 1 and (lower >= bucket or reached < query.target << epoch):
            more = local[lower - 1]
            if reached + more > MAX_CANDIDATES:
                break
            lower -= 1
            reached += more
        few[0] = lower
    cuda.syncthreads()


@step
def _mark_candidates(me, query, work, limit, sums_of):
    """Mark the candidates: first half of a prefix sum over the words of marks.

    After it and a grid barrier, each word has the bits of its candidates, and ``parts`` has the number of candidates
    and occurrences in each part of the words.
    """
    tid, block_size, block, blocks, _, _ = me
    words = len(work.marks)
    part = block
    while part * block_size < words:
        word = part * block_size + tid
        sums = int64(0)
        if word < words:
            bits = bits_of(work.remaining, query, limit, word)
            work.marks[word] = bits
            sums = sums_of_bits(work.remaining, word, bits)
        sums_of[tid] = sums
        add_up(sums_of)
        if tid == block_size - 1:
            work.parts[part] = sums_of[tid]
        cuda.syncthreads()
        part += blocks


@step
def _number_candidates(me, work, sums_of, control, place):
    """Assign numbers to the candidates: second half of the prefix sum.

    After it and a grid barrier, candidates are numbered in the order of their ids, their lists have their places, and
    ``control`` has their number.
    """
    tid, block_size, block, blocks, _, _ = me
    words = len(work.marks)
    part = block
    while part * block_size < words:
        word = part * block_size + tid
        before = int64(0)
        for other in range(tid, part, block_size):
            before += work.parts[other]
        sums_of[tid] = before
        add_up(sums_of)
        before = sums_of[block_size - 1]
        cuda.syncthreads()
        bits = work.marks[word] if word < words else int64(0)
        sums = sums_of_bits(work.remaining, word, bits)
        sums_of[tid] = sums
        add_up(sums_of)
        before += sums_of[tid] - sums
        c, start = before >> PACKED, before & ((1 << PACKED) - 1)
        if bits > 0:
            work.marks[word] = bits | c << 32
        while bits > 0:
            e = 32 * word + cuda.ffs(int32(bits)) - 1
            work.candidates[c] = e
            work.list_start[c] = start
            work.list_end[c] = start
            start += work.remaining[e]
            c += 1
            bits &= bits - 1
        if word == words - 1:
            control[place] = c
        cuda.syncthreads()
        part += blocks


@step
def _invert(me, sets, work, epoch):
    """Build the inverted index; after it and a grid barrier, ``inverted`` has the uncovered sets of each candidate."""
    thread, threads = me.thread, me.threads
    names, places = cuda.local.array(AT_ONCE, int64), cuda.local.array(AT_ONCE, int32)
    at = thread
    while at < sets.used:
        find(sets.entries, at, threads, sets.used, work.marks, names, places)
        for i in range(AT_ONCE):
            s = names[i] >> 32
            if places[i] >= 0 and s < sets.size and (epoch == 0 or work.covered[s] == 0):
                work.inverted[uint64(cuda.atomic.add(work.list_end, uint32(places[i]), 1))] = s
        at += AT_ONCE * threads


@step
def begin_epoch(me, grid, sets, query, work, block, epoch, bucket):
    """Count elements anew; afterwards ``few[0]`` is the lowest bucket of the epoch's candidates."""
    fresh = sets.whole and epoch == 0
    _start_counts(me, sets, work.remaining, fresh)
    grid.sync()
    if not fresh:
        _count_uncovered(me, sets, work)
        grid.sync()
    _fill_histogram(me, query, work, epoch, block.local)
    grid.sync()
    _limit(me, query, work, epoch, bucket, block.local, block.few)


@step
def index_candidates(me, grid, sets, query, work, block, seeds, pick, control, epoch, limit):
    """Index the candidates and their sets; return the number of candidates.

    Afterwards all blocks have the candidates' values, ``inverted`` has their sets, and ``taken`` is zero.
    """
    candidates_at = CONTROL_EPOCH + epoch
    _mark_candidates(me, query, work, limit, block.sums)
    for c in range(me.thread, 4 * MAX_CANDIDATES, me.threads):
        work.taken[c // MAX_CANDIDATES, c % MAX_CANDIDATES] = 0
    grid.sync()
    _number_candidates(me, work, block.sums, control, candidates_at)
    grid.sync()
    total = int(control[candidates_at])
    for c in range(me.tid, total, me.block_size):
        block.current[c] = value_of(work.remaining, query.bonus, query.unit, work.candidates[c])
    _invert(me, sets, work, epoch)
    grid.sync()
    for i in range(me.tid, pick, me.block_size):
        word, bit = work.marks[seeds[i] >> 5], seeds[i] & 31
        if word >> bit & 1 == 1:
            block.current[number_of(word, bit)] -= int32(CHOSEN)
    return total
