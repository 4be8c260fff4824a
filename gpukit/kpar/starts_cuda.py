"""What the walks in the start lists of candidates carry, added up by a team of blocks on a GPU."""

from numba import cuda, int64

from gpukit.device.select import simulated
from gpukit.kpar.cuda import last_upto

WARP = 32

if simulated():

    @cuda.jit(device=True)
    def add_for_warp(sums, place, value):
        """Add the values of a warp's threads to ``sums[place]``; all its threads."""
        cuda.atomic.add(sums, place, value)

else:

    @cuda.jit(device=True)
    def add_for_warp(sums, place, value):
        """Add the values of a warp's threads to ``sums[place]``; all its threads."""
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, 16)
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, 8)
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, 4)
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, 2)
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, 1)
        if cuda.threadIdx.x & 31 == 0:
            cuda.atomic.add(sums, place, value)


@cuda.jit(device=True)
def add_starts(
    candidates, count, whole, begin, starts, frequent_begin, frequencies, unit, scores, limits, tiled,
    member, blocks, pool,
):  # fmt: skip
    """Add to the score of each candidate what the walks that end there carry; all threads of the team.

    Follows :func:`gpukit.kpar.sweep_cuda.lengths` and ``share_out``. A warp owns a stretch of the entries of all lists,
    as long as that of any other warp, and its threads read neighbouring entries, several at a time: 4 bytes an entry
    and an 8-byte read. One atomic add a warp and list. Without ``tiled`` a thread owns a whole list.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    threads = min(width, WARP)
    own, warps = member * (width // threads) + lane // threads, blocks * (width // threads)
    rank = lane % threads
    low, high = int64(whole * own // warps), int64(whole * (own + 1) // warps)
    part = (count + blocks - 1) // blocks
    block = last_upto(pool, int64(0), int64(blocks), low)
    j = last_upto(limits, block * part, min((block + 1) * part, count), low - pool[block])
    if not tiled:
        threads, rank = 1, 0
        j, low, high = int64(member * width + lane), int64(0), int64(whole)
    while (low < high) if tiled else (j < count):
        v = int64(candidates[j])
        row, often = begin[v], frequent_begin[v]
        length, frequent = begin[v + 1] - row, frequent_begin[v + 1] - often
        place, stop = int64(rank), length
        if tiled:
            while j >= (block + 1) * part:
                block += 1
            offset = pool[block] + limits[j]
            place, stop = low - offset + rank, min(high - offset, length)
            low = offset + stop
        total = int64(0)
        while place < min(stop, frequent):
            total += unit[starts[row + place]] * int64(frequencies[often + place])
            place += threads
        while place + 3 * threads < stop:
            first, second = starts[row + place], starts[row + place + threads]
            third, fourth = starts[row + place + 2 * threads], starts[row + place + 3 * threads]
            total += unit[first] + unit[second] + unit[third] + unit[fourth]
            place += 4 * threads
        while place < stop:
            total += unit[starts[row + place]]
            place += threads
        if tiled:
            add_for_warp(scores, j, total)
            j += 1
        else:
            scores[j] += total
            j += blocks * width
