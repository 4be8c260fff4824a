"""Trussness of every edge of ego-networks that fit in the shared memory of a block (algorithms 5 to 7 of the paper).

The bit matrix of an ego-network is in shared memory. So are bounds on its edges: not one per edge, but one per word of
a row above the diagonal, which holds up to 32 edges (i, j), i < j. Since its last count an edge has lost at most as
many triangles as i and j have lost edges. So a word can be skipped until these losses could bring its lowest support to
the level. The losses are those of i, plus, summed over rounds, the largest loss of a member among its j.
"""

from typing import Any, NamedTuple

from numba import int32, int64, uint32, uint64

from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.device.select import simulated
from gpukit.diversity.contexts_cuda import MemberLists, Queue
from gpukit.diversity.network_cuda import ROW_THREADS
from gpukit.diversity.teams_cuda import NONE, join, next_bit, root_of, running_sum

BLOCK, REGISTERS = 512, 64
"""Most threads of a block, and the most registers of a thread."""

WARP = 1 if simulated() else 32
"""Threads that count a word of a row together."""

LISTED, LOWEST, FOUND, CONTROL = 0, 3, 6, 8
"""Places in the control words: words listed and lowest bound above the level (three slots each, used in rotation);
contexts found; the number of control words."""

OWN_BYTES = 4 * BLOCK + 16
"""Shared memory of a block besides a :class:`Room`."""


class Room(NamedTuple):
    """An ego-network in shared memory: its sizes, and the starts of its arrays in three views of the same memory.

    "Triangle" arrays have one place per word of a row on or above the diagonal (:func:`_place_of`).
    """

    size: int  # members
    words: int  # in a row of the bit matrix
    pairs: int  # 64-bit words per row, odd to avoid bank conflicts of threads with one row each
    stride: int  # 32-bit words per row
    doubles: Any  # uint64: the matrix from place 0 on, two words at a time
    bits: Any  # uint32: the same memory
    nodes: Any  # int32
    bound: int  # triangle: edges before the word in its row << 16 | lowest support + losses of its ends at the count
    before: int  # triangle, of bits: the word before any removal
    listed: int  # words of rows to count in this round: w << 16 | i
    row: int  # per member, like all below: first edge of the row
    loss: int  # edges lost
    noted: int  # edges lost at the start of the round
    root: int  # parent in the union-find
    part: int  # size of the component, at its root
    member: int  # its rank
    drop: int  # per word of members: sum over rounds of the largest loss of a member
    control: int


def room_bytes(members: int) -> int:
    """Return the bytes of shared memory of an ego-network with this many members."""
    words = (members + 31) // 32
    rows = 32 * words
    return 4 * (2 * rows * ((words + 1) // 2 | 1) + 3 * 16 * words * (words + 1) + 6 * rows + 1 + words + CONTROL)


@device
def _room_of(size, doubles, bits, nodes):
    """Return the views and array starts of an ego-network with ``size`` members."""
    words = int32((size + 31) >> 5)
    rows, pairs, triangle = int32(32 * words), int32(((words + 1) >> 1) | 1), int32(16 * words * (words + 1))
    stride = int32(2 * pairs)
    bound = int32(rows * stride)
    row = int32(bound + 3 * triangle)
    loss = int32(row + rows + 1)
    drop = int32(loss + 5 * rows)
    return Room(
        size, words, pairs, stride, doubles, bits, nodes,
        bound, int32(bound + triangle), int32(bound + 2 * triangle), row,
        loss, int32(loss + rows), int32(loss + 2 * rows), int32(loss + 3 * rows), int32(loss + 4 * rows),
        drop, int32(drop + words),
    )  # fmt: skip


if simulated():

    @device
    def warp_flags(word):
        """Return the OR of the words of a warp's threads; the simulator's warp has one thread."""
        return word

    @device
    def warp_least(value):
        """Return the least value of a warp's threads; the simulator's warp has one thread."""
        return value

    @device
    def next_place(b):
        """Return the next place in a word for this thread."""
        return b + uint64(1)

else:

    @device
    def warp_flags(word):
        """Return the OR of the words of a warp's threads; each word has at most the bit of the thread's own place."""
        return uint32(cuda.ballot_sync(0xFFFFFFFF, word != uint32(0)))

    @device
    def warp_least(value):
        """Return the least value of a warp's threads."""
        value = min(value, cuda.shfl_xor_sync(0xFFFFFFFF, value, 16))
        value = min(value, cuda.shfl_xor_sync(0xFFFFFFFF, value, 8))
        value = min(value, cuda.shfl_xor_sync(0xFFFFFFFF, value, 4))
        value = min(value, cuda.shfl_xor_sync(0xFFFFFFFF, value, 2))
        return min(value, cuda.shfl_xor_sync(0xFFFFFFFF, value, 1))

    @device
    def next_place(b):
        """Return 32: each thread of a warp handles one place of a word."""
        return uint64(32)


# Below, places in shared memory are unsigned where speed matters: Numba tests signed indices for being negative.
@device
def _place_of(i, w):
    """Return the place of word w of row i in a triangle array; threads with adjacent rows read adjacent places."""
    return uint64(16) * w * (w + uint64(1)) + i


@device
def _higher_bits(room, i, w):
    """Return word w of row i without the bits of members up to i."""
    word = uint32(room.bits[uint64(i) * uint64(room.stride) + uint64(w)])
    return uint32(word & uint32(uint32(0xFFFFFFFE) << uint32(i & 31))) if w == i >> 5 else word


@device
def _clear(lists, start, room):
    """Clear the matrix and make every member a component of its own."""
    tid, block_size = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
    for x in range(tid, room.size * room.stride, block_size):
        room.bits[x] = uint32(0)
    for i in range(tid, room.size, block_size):
        room.nodes[room.loss + i] = 0
        room.nodes[room.noted + i] = 0
        room.nodes[room.root + i] = i
        room.nodes[room.part + i] = 0
        room.nodes[room.member + i] = lists.kept[start + i]
    for w in range(tid, room.words, block_size):
        room.nodes[room.drop + w] = 0
    for r in range(tid, 3, block_size):
        room.nodes[room.control + LISTED + r] = 0
        room.nodes[room.control + LOWEST + r] = NONE
    if tid == 0:
        room.nodes[room.control + FOUND] = 0
    cuda.syncthreads()


@device
def _extract_edges(lists, room):
    """Set the bits of the edges between members (algorithm 2). ``ROW_THREADS`` threads per row."""
    tid, block_size = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
    highest = room.nodes[room.member + room.size - 1]
    end = uint64(room.member + room.size)
    for i in range(tid // ROW_THREADS, room.size, block_size // ROW_THREADS):
        u = room.nodes[room.member + i]
        low = uint64(room.member + i + 1)
        for p in range(lists.up_begin[u] + tid % ROW_THREADS, lists.up_begin[u + 1], ROW_THREADS):
            w = lists.up[p]
            if w > highest:
                break
            high = end
            while low < high:
                middle = uint64((low + high) >> uint64(1))
                if room.nodes[middle] < w:
                    low = middle + uint64(1)
                else:
                    high = middle
            if room.nodes[low] == w:
                j = int32(low) - room.member
                cuda.atomic.or_(room.bits, i * room.stride + (j >> 5), uint32(1) << uint32(j & 31))
                cuda.atomic.or_(room.bits, j * room.stride + (i >> 5), uint32(1) << uint32(i & 31))
    cuda.syncthreads()


@device
def _number_edges(room, partial):
    """Save the matrix above its diagonal; count the edges before each row, and before each word of a row."""
    tid, block_size = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
    for i in range(tid, room.size, block_size):
        count = int32(0)
        for w in range(i >> 5, room.words):
            word = _higher_bits(room, i, w)
            place = _place_of(uint64(i), uint64(w))
            room.bits[uint64(room.before) + place] = word
            room.nodes[uint64(room.bound) + place] = count << 16
            count += int32(cuda.popc(word))
        room.nodes[room.row + i] = count
    cuda.syncthreads()
    running_sum(room.nodes, int64(room.row), int64(room.size), partial)


@device
def _join_living(room):
    """Join the ends of the remaining edges (algorithm 5, line 19); one thread per row."""
    tid, block_size = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
    for i in range(tid, room.size, block_size):
        for w in range(i >> 5, room.words):
            word = _higher_bits(room, i, w)
            while word != uint32(0):
                j, word = next_bit(w, word)
                if room.nodes[room.root + i] != room.nodes[room.root + j]:
                    join(room, int64(i), int64(j))
    cuda.syncthreads()


@device
def _search_words(level, slot, room):
    """List the words that may hold an edge at or below the level (algorithm 6), and find the next level.

    One thread per row. The lowest bound of the words that are not listed is the next level: no edge is below it.
    """
    tid, block_size = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
    lowest = int32(NONE)
    listed, counter, end = uint64(room.listed), uint64(room.control + LISTED + slot), uint64(room.words)
    for i in range(tid, room.size, block_size):
        lost = int32(room.nodes[uint64(room.noted + i)])
        w = uint64(i >> 5)
        at, drops = uint64(i * room.stride) + w, uint64(room.drop) + w
        place = uint64(room.bound) + _place_of(uint64(i), w)
        mask = uint32(uint32(0xFFFFFFFE) << uint32(i & 31))
        while w < end:
            if uint32(room.bits[at] & mask) != uint32(0):
                bound = int32(int32(int32(room.nodes[place] & 0xFFFF) - lost) - room.nodes[drops])
                if bound <= level:
                    x = uint64(cuda.atomic.add(room.nodes, counter, int32(1)))
                    room.nodes[listed + x] = int32(int32(w) << 16 | i)
                else:
                    lowest = min(lowest, bound)
            mask = uint32(0xFFFFFFFF)
            at += uint64(1)
            drops += uint64(1)
            w += uint64(1)
            place += uint64(32) * w
    if lowest < room.nodes[room.control + LOWEST + slot]:
        cuda.atomic.min(room.nodes, room.control + LOWEST + slot, lowest)
    cuda.syncthreads()


@device
def _peel_words(level, count, values, out, room):
    """Count the triangles of the edges in the listed words and remove edges with at most ``level`` triangles.

    One warp per word, one thread per edge. An edge of a truss above this level keeps more than ``level`` triangles,
    whichever edges are removed at the same time (algorithm 7). Returns the triangles that the thread saw.
    """
    tid, block_size = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
    lane, warps, x = uint64(tid & uint32(WARP - 1)), uint64(block_size // uint32(WARP)), uint64(tid // uint32(WARP))
    bounds, before, first = uint64(room.bound), uint64(room.before), uint64(out)
    stride, pairs, end, seen = uint64(room.stride), uint64(room.pairs), uint64((room.words + 1) >> 1), int32(0)
    while x < uint64(count):
        pair = uint32(room.nodes[uint64(room.listed) + x])
        w, i = uint64(pair >> uint32(16)), uint64(pair & uint32(0xFFFF))
        place, row, word = _place_of(i, w), i * stride, _higher_bits(room, int32(i), int32(w))
        gone, least = uint32(0), int32(NONE)
        b = lane
        while b < uint64(32):
            bit = uint32(uint32(1) << uint32(b))
            if uint32(word & bit) != uint32(0):
                j = uint64(32) * w + b
                row_i, row_j, c, support = i * pairs, j * pairs, uint64(0), int32(0)
                while True:
                    both = uint64(room.doubles[row_i + c] & room.doubles[row_j + c])
                    support = int32(support + int32(cuda.popc(both)))
                    c += uint64(1)
                    if c >= end:
                        break
                seen = int32(seen + support)
                if support <= level:
                    gone = uint32(gone | bit)
                    edge_rank = int32(cuda.popc(uint32(room.bits[before + place] & uint32(bit - uint32(1)))))
                    edge_rank += int32(room.nodes[bounds + place] >> 16) + room.nodes[uint64(room.row) + i]
                    values[first + uint64(edge_rank)] = level + 2
                    others = uint32(~uint32(uint32(1) << uint32(i & uint64(31))))
                    cuda.atomic.and_(room.bits, j * stride + (i >> uint64(5)), others)
                    cuda.atomic.add(room.nodes, uint64(room.loss) + j, int32(1))
                else:
                    least = min(least, support)
            b = next_place(b)
        gone, least = warp_flags(gone), warp_least(least)
        if lane == uint64(0):
            if gone != uint32(0):
                cuda.atomic.and_(room.bits, row + w, uint32(~gone))
                cuda.atomic.add(room.nodes, uint64(room.loss) + i, int32(cuda.popc(gone)))
            if least < NONE:
                # The bound uses the losses noted before this round. Losses of this round may count twice, but are never
                # missed.
                least = int32(least + room.nodes[uint64(room.noted) + i] + room.nodes[uint64(room.drop) + w])
                room.nodes[bounds + place] = int32(int32(room.nodes[bounds + place] & ~0xFFFF) | least)
        x += warps
    cuda.syncthreads()
    return seen


@device
def _note_losses(room):
    """Note the lost edges of each member, and for each word of members the largest loss of one in this round."""
    tid, block_size = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
    for w in range(tid // WARP, room.words, block_size // WARP):
        fall = int32(0)
        for b in range(tid % WARP, 32, WARP):
            i = 32 * w + b
            if i < room.size:
                loss = room.nodes[room.loss + i]
                fall = max(fall, int32(loss - room.nodes[room.noted + i]))
                room.nodes[room.noted + i] = loss
        fall = -warp_least(-fall)
        if tid % WARP == 0:
            room.nodes[room.drop + w] += fall
    cuda.syncthreads()


@device
def _decompose(k, values, out, room):
    """Write the trussness of every edge, and join the members of the k-truss. Returns the triangles the thread saw.

    In the first round every word is listed, because no bound is above level 0.
    """
    tid = int32(cuda.threadIdx.x)
    level, round_, seen, joined = int32(0), int32(0), int32(0), False
    while True:
        slot, after = int32(round_ % 3), int32((round_ + 1) % 3)
        if not joined and level + 2 >= k:
            # The remaining edges are in the (level + 2)-truss; removed edges are in no truss above the previous level.
            joined = True
            _join_living(room)
        if tid == 0:
            room.nodes[room.control + LISTED + after] = 0
            room.nodes[room.control + LOWEST + after] = NONE
        _search_words(level, slot, room)
        count, lowest = room.nodes[room.control + LISTED + slot], room.nodes[room.control + LOWEST + slot]
        if count > 0:
            found = _peel_words(level, count, values, out, room)
            seen = found if round_ == 0 else seen
            _note_losses(room)
        elif lowest < NONE:
            level = lowest
        else:
            return seen
        round_ += 1


_i32, _i64, _int = "int32[::1]", "int64[::1]", "int64"
_QUEUE = group(Queue, _i32, _i64, _int, _int)
_LISTS = group(MemberLists, _i64, _i32, _i64, _i32)


@kernel((_QUEUE, _int, _LISTS, _int, _i64, _i64, _i32, _i32), max_registers=REGISTERS)
def decompose_egos(queue, k, lists, slot, taken, triangles, scores, values):
    """Decompose ego-networks into trusses; any grid, blocks of ``ROW_THREADS`` to ``BLOCK`` threads, whole warps.

    A block takes the next ego-network of the queue. It needs :func:`room_bytes` of dynamic shared memory and reads the
    adjacency of the members once. Counting an edge costs two reads of shared memory per word of its rows in the bit
    matrix, in each round that counts it.

    Parameters
    ----------
    queue : Queue
    k : int
        The k whose k-truss components are counted.
    lists : MemberLists
    slot : int
        Place in ``taken`` of the number of ego-networks started, 0 at the start.
    taken : int64 array
    triangles : int64 array, shape (1,)
        Grows by 3 × the triangles seen.
    scores : int32 array, shape (n,)
        Receives the number of contexts, by rank.
    values : int32 array
        Receives the trussness of each edge, by lower and higher member.
    """
    tid, block_size = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
    doubles = cuda.shared.array(0, uint64)
    bits, nodes = cuda.shared.array(0, uint32), cuda.shared.array(0, int32)
    next_ego = cuda.shared.array(1, int64)
    partial = cuda.shared.array(BLOCK, int32)
    seen = int64(0)
    while True:
        if tid == 0:
            next_ego[0] = cuda.atomic.add(taken, slot, 1)
        cuda.syncthreads()
        place = next_ego[0]
        if place >= queue.length:
            break
        place += queue.first
        v = queue.egos[place]
        start = lists.kept_begin[v]
        room = _room_of(int32(lists.kept_begin[v + 1] - start), doubles, bits, nodes)
        _clear(lists, start, room)
        _extract_edges(lists, room)
        _number_edges(room, partial)
        seen += _decompose(k, values, queue.outs[place], room)
        # Algorithm 3: count the components.
        for i in range(tid, room.size, block_size):
            top = root_of(room, int64(i))
            if cuda.atomic.add(nodes, room.part + top, 1) == k - 1:
                cuda.atomic.add(nodes, room.control + FOUND, 1)
        cuda.syncthreads()
        if tid == 0:
            scores[v] = nodes[room.control + FOUND]
    if seen > 0:
        cuda.atomic.add(triangles, 0, seen)
