"""Start lists read once for several queries on a GPU.

On a large graph, every entry of a start list refers to a unit of residue at a random place. A sector of 32 bytes is
read for the 2 bytes of the unit. Therefore the units of GROUP_SIZE queries, each in a *slot*, are interleaved. The list
of each vertex that is a candidate of any of these queries is read once for all of them. All blocks of the GPU process
one such group after the other, in kernels without a barrier, so the cache keeps the data of a group as long as it is
needed. The last group may have fewer slots.

Starts rise within a list, except for frequent starts, which come first. All lists are read up to the same vertex, then
up to the next such vertex. So units are read from one range of vertices at a time, of which the cache holds a larger
part.
"""

from numba import int32, int64, uint16, uint32, uint64

from gpukit.device.kernels import cuda, device, kernel
from gpukit.device.launch import launch
from gpukit.device.select import for_kernels, simulated
from gpukit.device.shape import shape
from gpukit.device.warp_cuda import warp_fence
from gpukit.kpar import rule
from gpukit.kpar.batch.push_cuda import COARSE, COUNT, WAITS, WALKS
from gpukit.kpar.groups import Walks
from gpukit.kpar.query import team_cuda as teams
from gpukit.kpar.query.starts_cuda import A_LIST, add_starts_for_group
from gpukit.kpar.query.team_cuda import GROUP_SIZE, PAIRS, POOL, PREFIX_SUMS, SMALL, STAGE, TEAM_ARRAYS, TeamArrays

BLOCK = 4 if simulated() else 512

REGISTERS = 64
"""Most registers per thread of the larger kernels: two blocks of BLOCK threads fit on a multiprocessor."""

RANGE = 5 if simulated() else 1 << 23
"""Vertices of a range: with smaller ranges, starting the lists anew takes longer than the cache saves."""

COLUMNS = BLOCK + 2
"""Columns of a tile whose rows threads write and whose columns they read: 2 more than BLOCK, so that neighbours read
different banks."""

IN_UNION = 0
"""Counter: vertices that are candidates of any slot."""

row_place = for_kernels(rule.row_place)


@device
def team_of(space, first, pool, sums, stage, small):
    """Return all blocks of a launch as a team without barriers, with the counters of a group's first slot."""
    memory = teams.Memory(pool, sums, stage, stage, small)
    return teams.Team(space.control, 1 + first * teams.CONTROL, cuda.blockIdx.x, cuda.gridDim.x, memory)


@device
def union_of(space, first):
    """Return the list of a group's candidates, the place of its length in ``control``, and each vertex's position."""
    counter = 1 + first * teams.CONTROL + teams.COUNTERS + IN_UNION
    return space.long[first, teams.ROOM], counter, space.long[first + 1, teams.SPARE]


_int = "int64"


@kernel((_int, TEAM_ARRAYS))
def unite(first, space):
    """List the candidates of the slots of a group, each once; a thread owns a candidate of a slot at a time.

    The thread that first sets the bit of a vertex, in SPARE of the first slot, lists it. One atomic operation per
    candidate.
    """
    small = cuda.shared.array(SMALL, int32)
    stage = cuda.shared.array(STAGE, int32)
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    teams.clear(small)
    cuda.syncthreads()
    listed, counter, _ = union_of(space, first)
    in_union = teams.Staged(stage, small, 0, listed, space.control, counter, 0)
    seen = space.long[first, teams.SPARE]
    for slot_id in range(first, teams.group_end(space, first)):
        candidates, row = space.short[slot_id, teams.CANDIDATES], space.states[slot_id]
        count = row[COUNT] if row[WAITS] != 0 else int64(0)
        passes, fullest = 0, -1
        base = cuda.blockIdx.x * block_size
        while base < count:
            if base + tid < count:
                u = int64(candidates[base + tid])
                bit = int64(1) << (u & 63)
                if cuda.atomic.or_(seen, u >> 6, bit) & bit == 0:
                    fullest = max(fullest, teams.put(in_union, u))
            if teams.time_to_flush(passes, fullest, small):
                teams.flush(in_union)
                fullest = -1
            passes += 1
            base += cuda.gridDim.x * block_size
    teams.flush(in_union)


@kernel((_int, TEAM_ARRAYS), max_registers=REGISTERS)
def lay_side_by_side(first, space):
    """Interleave the units of a group's slots, with zero for missing slots.

    A block owns as many vertices at a time as it has threads. Each thread reads the units of one vertex and writes
    consecutive pairs: 2 bytes read and 2 written per vertex and slot, all in order.
    """
    tile = cuda.shared.array((GROUP_SIZE, COLUMNS), uint16)
    found = cuda.local.array(GROUP_SIZE, uint16)
    tid, n, end = cuda.threadIdx.x, space.units.shape[1], teams.group_end(space, first)
    base = int64(cuda.blockIdx.x) * BLOCK
    while base < n:
        # Indices are unsigned: Numba checks whether a signed index counts from the end.
        v = uint64(min(base + tid, n - 1))
        for s in range(GROUP_SIZE):
            found[s] = space.units[uint64(min(first + s, end - 1)), v]
        warp_fence()
        for s in range(GROUP_SIZE):
            tile[uint32(s), uint32(tid)] = found[s] if first + s < end else uint16(0)
        cuda.syncthreads()
        for i in range(PAIRS):
            column, pair = uint32(i * (BLOCK // PAIRS) + tid // PAIRS), uint32(tid % PAIRS)
            if base + int64(column) < n:
                low, high = tile[uint32(2 * pair), column], tile[uint32(2 * pair + 1), column]
                space.pairs[uint64(base * PAIRS + i * BLOCK + tid)] = uint32(low) | uint32(high) << uint32(16)
        cuda.syncthreads()
        base += int64(cuda.gridDim.x) * BLOCK


@device
def stretches_of(space, first):
    """Return the begin and end, in all start lists, of the part to read of each of a group's lists."""
    return space.long[first + 1, teams.ROOM], space.long[first + 1, teams.LIMITS]


@kernel((_int, "boolean", _int, WALKS, TEAM_ARRAYS))
def measure_lists(first, begun, upto, walks, space):
    """Find the next part to read of each list of a group, and add up the lengths within each block's share.

    The part holds the starts below ``upto`` that are still unread. If lists are not ``begun``, it includes the frequent
    starts. A thread owns a list. It writes the begin and end of the part, after a binary search in the rest of the
    list: a dozen reads. If lists are not ``begun``, it also writes the list's position.
    """
    sums = cuda.shared.array(PREFIX_SUMS, int64)
    small = cuda.shared.array(SMALL, int32)
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    team, limits = team_of(space, first, sums, sums, small, small), space.long[first, teams.LIMITS]
    listed, counter, places = union_of(space, first)
    begins, ends = stretches_of(space, first)
    share = (space.control[counter] + team.blocks - 1) // team.blocks
    base, last, running = team.block * share, min((team.block + 1) * share, space.control[counter]), int64(0)
    while base < last:
        j, length = base + tid, int64(0)
        if j < last:
            v = int64(listed[j])
            begin, end = walks.src_begin[v], walks.src_begin[v + 1]
            least = begin + walks.frequent_begin[v + 1] - walks.frequent_begin[v]
            if begun:
                begin = least = ends[j]
            else:
                places[v] = j
            if upto < len(walks.counts):
                end = row_place(walks.starts, least, end, upto)
            begins[j], ends[j], length = begin, end, end - begin + A_LIST
        before, whole = teams.block_prefix_sum(length, sums)
        if j < last:
            limits[j] = running + before - length
        running += whole
        base += block_size
    if tid == 0:
        space.control[team.home + teams.SUMS + team.block] = running


@kernel((_int, WALKS, TEAM_ARRAYS), max_registers=REGISTERS)
def add_lists(first, walks, space):
    """Sum the mass that walks carry to a group's candidates.

    See :func:`gpukit.kpar.query.starts_cuda.add_starts_for_group`.
    """
    pool = cuda.shared.array(POOL, int64)
    sums = cuda.shared.array(PREFIX_SUMS, int64)
    small = cuda.shared.array(SMALL, int32)
    team = team_of(space, first, pool, sums, small, small)
    listed, counter, _ = union_of(space, first)
    whole = teams.prefix_over_blocks(team, pool, sums)
    # Missing slots of a short group carry nothing.
    slot_id, last = first + cuda.threadIdx.x % PAIRS * 2, teams.group_end(space, first) - 1
    sums_of = space.long[min(slot_id, last), teams.WALKED], space.long[min(slot_id + 1, last), teams.WALKED]
    add_starts_for_group(
        listed, space.control[counter], whole, stretches_of(space, first), walks,
        space.pairs, space.states[first, COARSE], sums_of, space.long[first, teams.LIMITS], team, pool,
    )  # fmt: skip


@kernel((_int, TEAM_ARRAYS))
def score_candidates(first, space):
    """Write the scores of a group's candidates, reserve plus mass of walks; a thread owns a candidate at a time."""
    _, _, places = union_of(space, first)
    for slot_id in range(first, teams.group_end(space, first)):
        candidates, row = space.short[slot_id, teams.CANDIDATES], space.states[slot_id]
        scores, reserve = space.long[slot_id, teams.SCORES], space.long[slot_id, teams.RESERVE]
        walked = space.long[slot_id, teams.WALKED]
        count, j = row[COUNT] if row[WAITS] != 0 else int64(0), int64(cuda.grid(1))
        while j < count:
            scores[j] = reserve[candidates[j]] + walked[places[candidates[j]]]
            j += cuda.gridsize(1)


@kernel((_int, TEAM_ARRAYS))
def forget_lists(first, space):
    """Reset WALKED of all slots of a group to zero; a thread owns a place of the list."""
    _, counter, _ = union_of(space, first)
    for slot_id in range(first, teams.group_end(space, first)):
        walked, j = space.long[slot_id, teams.WALKED], int64(cuda.grid(1))
        while j < space.control[counter]:
            walked[j] = 0
            j += cuda.gridsize(1)


def gather_batched(slots: int, n: int, walks: Walks, space: TeamArrays) -> None:
    """Write the scores of the candidates of all queries that wait for them, one group of slots after the other.

    The arguments except the numbers of slots and vertices are those of kernels. ``space.control`` must be zero. SPARE
    (with no bit set), LIMITS and ROOM of a group's slots are working space. WALKED is zero before and afterwards. The
    lists of a query that does not wait stay unchanged.
    """
    grid, block = shape(add_lists, teams.MAX_BLOCKS, BLOCK)
    laying = shape(lay_side_by_side, -(-n // BLOCK), BLOCK).grid
    for first in range(0, slots, GROUP_SIZE):
        launch(lay_side_by_side, laying, block, first, space)
        launch(unite, grid, block, first, space)
        for upto in range(RANGE, n + RANGE, RANGE):
            launch(measure_lists, grid, block, first, upto > RANGE, upto, walks, space)
            launch(add_lists, grid, block, first, walks, space)
        launch(score_candidates, grid, block, first, space)
        launch(forget_lists, grid, block, first, space)
