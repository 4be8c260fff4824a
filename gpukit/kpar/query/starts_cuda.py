"""Scores from start lists: sums of the mass that walks carry to candidates, by a team of blocks on a GPU."""

from numba import int32, int64, uint32, uint64

from gpukit.device.kernels import cuda, device
from gpukit.device.select import simulated
from gpukit.device.warp_cuda import warp_fence
from gpukit.kpar.query.team_cuda import PAIRS
from gpukit.kpar.rows_cuda import last_upto
from gpukit.kpar.rule import unpacked

WARP = 4 if simulated() else 32

STRIDE = WARP // PAIRS
"""Entries that a warp reads at once if PAIRS of its threads share one entry."""

A_LIST = 4 if simulated() else 32
"""Starting another list takes as long as reading this many entries."""

ABREAST = 2 if simulated() else 8
"""Entries whose units each of these threads loads before it adds the first."""

if simulated():

    @device
    def add_for_warp(sums, place, value):
        """Add the values of a warp's threads to ``sums[place]``; all its threads."""
        cuda.atomic.add(sums, place, value)

    add_for_slots = add_for_warp

else:

    @device
    def add_for_warp(sums, place, value):
        """Add the values of a warp's threads to ``sums[place]``; all its threads."""
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, 16)
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, 8)
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, 4)
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, 2)
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, 1)
        if cuda.threadIdx.x & 31 == 0:
            cuda.atomic.add(sums, place, value)

    @device
    def add_for_slots(sums, place, value):
        """Add the values of each slot, held by every PAIRS-th thread of a warp, to the slot's own ``sums[place]``."""
        offset = WARP // 2
        while offset >= PAIRS:
            value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
            offset //= 2
        if cuda.threadIdx.x & 31 < PAIRS and value > 0:
            cuda.atomic.add(sums, place, value)


@device
def own_stretch(size, whole, limits, team, pool):
    """Return the start and end of the warp's range of entries, and the block share and list in which it begins.

    The entries of all lists are divided into ranges of equal length, one per warp.
    """
    warp = team.block * (cuda.blockDim.x // WARP) + cuda.threadIdx.x // WARP
    warps = team.blocks * (cuda.blockDim.x // WARP)
    low, high = int64(whole * warp // warps), int64(whole * (warp + 1) // warps)
    part = (size + team.blocks - 1) // team.blocks
    owner = last_upto(pool, int64(0), int64(team.blocks), low)
    j = last_upto(limits, owner * part, min((owner + 1) * part, size), low - pool[owner])
    return low, high, owner, j


@device
def add_starts(items, size, whole, begin, walks, slot, coarse, team, pool):
    """Add to the score of each of ``size`` items the mass of the walks that end there; all threads of the team.

    Call :func:`gpukit.kpar.query.sweep_cuda.lengths` and ``prefix_over_blocks`` before. The entries of all lists are
    divided into ranges of equal length. A warp owns one range. Its threads read neighbouring entries, several at a
    time: 4 bytes per entry and a 2-byte read. One atomic add per warp and list.
    """
    starts, unit = walks.starts, slot.unit
    threads, lane = WARP, cuda.threadIdx.x % WARP
    part = (size + team.blocks - 1) // team.blocks
    low, high, owner, j = own_stretch(size, whole, slot.limits, team, pool)
    while low < high:
        v = int64(items[j])
        row, often = begin[v], walks.frequent_begin[v]
        length, frequent = begin[v + 1] - row, walks.frequent_begin[v + 1] - often
        while j >= (owner + 1) * part:
            owner += 1
        offset = pool[owner] + slot.limits[j]
        place, stop = low - offset + lane, min(high - offset, length)
        low = offset + stop
        total = int64(0)
        while place < min(stop, frequent):
            total += int64(unpacked(unit[starts[row + place]])) * int64(walks.frequencies[often + place])
            place += threads
        while place + 3 * threads < stop:
            first, second = starts[row + place], starts[row + place + threads]
            third, fourth = starts[row + place + 2 * threads], starts[row + place + 3 * threads]
            total += int64(unpacked(unit[first])) + int64(unpacked(unit[second]))
            total += int64(unpacked(unit[third])) + int64(unpacked(unit[fourth]))
            place += 4 * threads
        while place < stop:
            total += int64(unpacked(unit[starts[row + place]]))
            place += threads
        add_for_warp(slot.scores, j, total << coarse)
        j += 1


@device
def read_abreast(pairs, places, found):
    """Read ABREAST pairs of units into ``found``; all loads are issued before the first value is used."""
    warp_fence()
    for i in range(ABREAST):
        found[i] = pairs[places[i]]
    warp_fence()


@device
def add_starts_for_group(union, size, whole, stretches, walks, pairs, coarse, sums, limits, team, pool):
    """Add to ``sums``, for each place of the list, the mass of the walks that end there; all threads of the team.

    Call :func:`gpukit.kpar.batch.starts_cuda.measure_lists` and ``prefix_over_blocks`` before. The entries of all lists
    are divided into ranges of equal length, where the start of each list counts as A_LIST more entries. A warp owns one
    range. PAIRS neighbouring threads read one entry, and each the units of two slots: 4 bytes per entry and one sector
    of 32 bytes for all of them, ABREAST at a time. One atomic add per warp, list and slot.

    Parameters
    ----------
    union : int64 array
        ``size`` vertices. The parts of their lists to read have ``whole`` entries, including A_LIST per list.
    stretches : tuple of two int64 arrays
        For each list, the begin and end in ``walks.starts`` of the part to read.
    walks : Walks
    pairs : uint32 array, shape (n * PAIRS,)
        The group's units of each vertex, interleaved and packed, without their lowest ``coarse`` bits.
    sums : tuple of two int64 arrays, shape (n,)
        For each of the thread's two slots, one sum per place. These slots are ``2 * (threadIdx.x % PAIRS)`` and the
        next one.
    """
    begins, ends = stretches
    lane = cuda.threadIdx.x % WARP
    entry, own_pairs = lane // PAIRS, pairs[lane % PAIRS :]
    part = (size + team.blocks - 1) // team.blocks
    low, high, owner, j = own_stretch(size, whole, limits, team, pool)
    # Indices are unsigned: Numba checks whether a signed index counts from the end, in more instructions than the read.
    places, found = cuda.local.array(ABREAST, uint64), cuda.local.array(ABREAST, uint32)
    counts = cuda.local.array(ABREAST, uint32)
    while low < high:
        while j >= (owner + 1) * part:
            owner += 1
        v, row, offset = int64(union[j]), begins[j], pool[owner] + limits[j]
        length, skipped = ends[j] - row, row - walks.src_begin[v]
        often = walks.frequent_begin[v] + skipped
        frequent = walks.frequent_begin[v + 1] - often
        place, stop = int32(low - offset), int32(min(high - offset, length))
        total, other = int64(0), int64(0)
        low = offset + length + A_LIST
        while place < stop:
            first = uint64(row + place + entry)
            if place >= frequent and place + ABREAST * STRIDE <= stop:
                for i in range(ABREAST):
                    places[i] = uint64(walks.starts[first + uint64(i * STRIDE)]) * uint64(PAIRS)
                read_abreast(own_pairs, places, found)
                # Below 2**32: ABREAST units of UNIT_BITS each.
                some, others = uint32(0), uint32(0)
                for i in range(ABREAST):
                    some = uint32(some + unpacked(found[i] & uint32(0xFFFF)))
                    others = uint32(others + unpacked(found[i] >> uint32(16)))
                total += int64(some)
                other += int64(others)
            else:
                for i in range(ABREAST):
                    at = int32(place + entry + i * STRIDE)
                    counts[i] = uint32(1) if at < stop else uint32(0)
                    places[i] = uint64(walks.starts[uint64(row + min(at, int32(stop - 1)))]) * uint64(PAIRS)
                for i in range(ABREAST):
                    at = int32(place + entry + i * STRIDE)
                    if at < min(int64(stop), frequent):
                        counts[i] = walks.frequencies[uint64(often + at)]
                read_abreast(own_pairs, places, found)
                for i in range(ABREAST):
                    total += int64(unpacked(found[i] & uint32(0xFFFF))) * int64(counts[i])
                    other += int64(unpacked(found[i] >> uint32(16))) * int64(counts[i])
            place = int32(place + ABREAST * STRIDE)
        add_for_slots(sums[0], j, total << coarse)
        add_for_slots(sums[1], j, other << coarse)
        j += 1
