"""The first pushes of many queries on a GPU, all at once, before teams of blocks continue the queries.

A query pushes in rounds: it takes the residues of its frontier, then pushes them along the edges. In the kernel for all
steps (``query/answer_cuda.py``), all blocks of a team wait for each other after each half of a round. Here, each query
has a *slot*, and each half round of many slots is a separate kernel. A multiprocessor holds more threads of these
kernels. A warp divides the edges of a few vertices among its threads without looking at other vertices.
"""

from typing import Any

from numba import int32, int64, uint32, uint64

from gpukit.device.arrays import Buffer
from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.device.launch import launch
from gpukit.device.select import for_kernels, simulated
from gpukit.device.warp_cuda import warp_fence
from gpukit.graph.csr import Graph
from gpukit.kpar import rule
from gpukit.kpar.batch.heads_cuda import HEADS, Heads, walks_within
from gpukit.kpar.groups import Edges, Walks
from gpukit.kpar.query import lists_cuda as lists
from gpukit.kpar.query import team_cuda as teams
from gpukit.kpar.query.estimate_cuda import propose
from gpukit.kpar.query.starts_cuda import add_for_warp
from gpukit.kpar.query.team_cuda import PREFIX_SUMS, SMALL, STAGE, TEAM_ARRAYS, TeamArrays
from gpukit.kpar.rule import goes_forward, threshold_of

BLOCK, LANES = (4, 1) if simulated() else (256, 32)
"""Threads of a block, a power of two, and of a warp."""

WARPS = BLOCK // LANES

REGISTERS = 64
"""Most registers per thread of the larger kernels."""

BLOCKS = 2 if simulated() else 4096
"""Blocks of a launch, over all slots: ``blockIdx.y`` is the slot."""

VERTICES_A_BLOCK, PUSHING = 1 << 14, 1024
"""Vertices of the graph per block that pushes for a slot, and the most such blocks. A GPU then holds the blocks of only
a few slots at a time, one slot after the other, and its cache keeps the residues of these slots."""

ITEMS = 4
"""Vertices of the frontier along whose edges a warp pushes together."""

EACH = 2
"""Edges that a thread processes at a time, so that their loads overlap."""

PIECE = 2 if simulated() else 128
"""Most edges of a row that a warp processes: longer rows are cut, so that no warp works long after all others."""

ROUNDS_AT_ONCE = 3 if simulated() else 8
"""Rounds that are launched before the host checks whether any query continues; rounds without a frontier cost some
µs."""

SIZE, PIECES, ROUNDS, PUSHED, ALONG = 0, 2, 4, 5, 6
WAITS, COUNT, LEAST_RESERVE, ENTRIES, WALKS_MAX, COARSE = 7, 8, 9, 10, 11, 12
"""Words of a slot's row of ``states``. In order: sizes of the frontier, and of the list of pieces, each for even and
for odd rounds; the numbers of rounds, vertices pushed, and edges pushed along; whether the query waits for its start
lists; its number of candidates; the k-th largest reserve; the number of entries of the lists; two fields of
:class:`gpukit.kpar.groups.Threshold`."""

LISTING, VALUING = 1, 2
"""The phases in whose :func:`gpukit.kpar.query.team_cuda.counters` the kernels :func:`list_all` and :func:`value_all`
count."""

LISTED, VALUED, STATE_WORDS = 16 * LISTING, 16 * VALUING, 48
"""First places of these counters in the row; the row's length."""

edge_part = for_kernels(rule.edge_part)


@device
def take_sources(q, sources, queries, slot, rank, members):
    """Give the sources of a query their mass, and make them the frontier; return their number."""
    size = sources[q + 1] - sources[q]
    first_vertex = queries + 1 + sources[q]
    first_mass = first_vertex + sources[queries]
    i = rank
    while i < size:
        v = sources[first_vertex + i]
        slot.residue[v] = sources[first_mass + i]
        cuda.atomic.or_(slot.marks, v >> 5, uint32(1) << uint32(v & 31))
        slot.frontier[i] = v
        i += members
    return size


_i32, _i64, _u32, _int = "int32[::1]", "int64[::1]", "uint32[::1]", "int64"
_flag, _seed = "boolean", "uint64"
EDGES = group(Edges, _i64, _i32, _seed)
WALKS = group(Walks, _i64, _i32, _u32, _i64, _i32, _i64, _u32, _u32, _i64, _i32, _flag, _seed, _int)


@kernel((_i64, _int, _int, _i64, TEAM_ARRAYS))
def begin_all(sources, queries, first, rhos, space):
    """Begin the queries from ``first`` on, one per slot; a block owns a slot."""
    slot_id, tid, q = cuda.blockIdx.x, cuda.threadIdx.x, first + cuda.blockIdx.x
    row = space.states[slot_id]
    i = tid
    while i < STATE_WORDS:
        row[i] = 0
        i += cuda.blockDim.x
    cuda.syncthreads()
    if tid == 0:
        _, row[WALKS_MAX], row[COARSE] = threshold_of(rhos[0])
    if q < queries:
        size = take_sources(q, sources, queries, teams.slot_of(space, slot_id), tid, cuda.blockDim.x)
        if tid == 0:
            row[SIZE] = size


@kernel((_int, _int, EDGES, None, TEAM_ARRAYS), (_int, _int, EDGES, "uint64[::1]", TEAM_ARRAYS))
def take_all(parity, piece, edges, chances, space):
    """Take the residues of the frontiers of all slots: the first half of a round; a thread owns a vertex of a slot.

    The share of each edge goes to ``scores``, or with ``chances`` (else None) the sum of all shares. The rest stays in
    ``reserve``. Rows of more than ``piece`` edges are listed in ``limits``, piece by piece, one warp per row. Reads and
    writes five words per vertex at random places.
    """
    slot_id, rank, members = cuda.blockIdx.y, cuda.grid(1), cuda.gridsize(1)
    cut = cuda.shared.array(1, int32)
    places = cuda.shared.array((BLOCK, 3), int64)
    slot, row = teams.slot_of(space, slot_id), space.states[slot_id]
    frontier, size, along = slot.frontier, row[SIZE + parity], int64(0)
    if parity == 1:
        frontier = slot.upcoming
    if rank == 0:
        row[SIZE + 1 - parity], row[PIECES + 1 - parity] = 0, 0
        if size > 0:
            row[ROUNDS] += 1
            row[PUSHED] += size
    j = int64(rank)
    while j - cuda.threadIdx.x < size:
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            cut[0] = 0
        cuda.syncthreads()
        if j < size:
            v = int64(frontier[j])
            taken = slot.residue[v]
            slot.residue[v] = 0
            length = edges.indptr[v + 1] - edges.indptr[v]
            share, shares = int64(0), length if chances is None else int64(1)
            if length > 0:
                share = int64(rule.passed_on(uint64(taken), edges.one_minus_alpha) // uint64(shares))
            slot.reserve[v] += taken - shares * share
            slot.scores[j] = share
            if share > 0:
                along += length
                if length > piece:
                    i, count = cuda.atomic.add(cut, 0, 1), (length + piece - 1) // piece
                    places[i, 0], places[i, 1] = cuda.atomic.add(row, PIECES + parity, count), count
                    places[i, 2] = j
        cuda.syncthreads()
        i = cuda.threadIdx.x // LANES
        while i < cut[0]:
            part = int64(cuda.threadIdx.x % LANES)
            while part < places[i, 1]:
                slot.limits[places[i, 0] + part] = part << 32 | places[i, 2]
                part += LANES
            i += WARPS
        j += members
    add_for_warp(row, ALONG, along)


@kernel(
    (_int, _int, EDGES, HEADS, None, _u32, _i64, TEAM_ARRAYS),
    (_int, _int, EDGES, HEADS, "uint64[::1]", _u32, _i64, TEAM_ARRAYS),
    max_registers=REGISTERS,
)
def push_all(parity, piece, edges, heads, chances, counts, rhos, space):
    """Push along the edges of the frontiers of all slots: the second half of a round.

    A warp owns ITEMS rows, or a piece of one row. Each thread processes EACH of their edges at a time.

    An edge costs 4 bytes read (20 along weighted edges, 8 of which were read shortly before) and an 8-byte atomic add.
    A head without residue costs an atomic operation on a mark. ω is read only if the code stored with the head does not
    decide. Vertices lifted over their thresholds form the next frontier.
    """
    slot_id, lane, warp = cuda.blockIdx.y, cuda.threadIdx.x % LANES, cuda.threadIdx.x // LANES
    lengths = cuda.shared.array((WARPS, ITEMS), int32)
    begins = cuda.shared.array((WARPS, ITEMS), int64)
    values = cuda.shared.array((WARPS, ITEMS), int64)
    firsts, lasts = begins, values
    if chances is not None:
        firsts = cuda.shared.array((WARPS, ITEMS), int64)
        lasts = cuda.shared.array((WARPS, ITEMS), int64)
    slot, row = teams.slot_of(space, slot_id), space.states[slot_id]
    frontier, upcoming = slot.frontier, slot.upcoming
    if parity == 1:
        frontier, upcoming = slot.upcoming, slot.frontier
    size, pieces, rho, walks_max = row[SIZE + parity], row[PIECES + parity], rhos[0], row[WALKS_MAX]
    mask = (int64(1) << heads.bits) - 1
    words, olds = cuda.local.array(EACH, int64), cuda.local.array(EACH, int64)
    brings = cuda.local.array(EACH, int64)
    work = int64(cuda.blockIdx.x * WARPS + warp)
    while work < pieces + (size + ITEMS - 1) // ITEMS:
        warp_fence()
        i = lane
        while i < ITEMS:
            j, skipped = int64(size), int64(0)
            if work >= pieces:
                j = (work - pieces) * ITEMS + i
            elif i == 0:
                j, skipped = slot.limits[work] & 0xFFFFFFFF, (slot.limits[work] >> 32) * piece
            lengths[warp, i] = 0
            if j < size and slot.scores[j] > 0:
                v = int64(frontier[j])
                begin, end = edges.indptr[v], edges.indptr[v + 1]
                values[warp, i], begins[warp, i] = slot.scores[j], begin + skipped
                if work < pieces or end - begin <= piece:
                    lengths[warp, i] = min(end - begin - skipped, piece)
                if chances is not None:
                    firsts[warp, i], lasts[warp, i] = begin, end - 1
            i += LANES
        warp_fence()
        # The edges of the rows are numbered consecutively; a thread takes every LANES-th of them, EACH at a time.
        total = int32(0)
        for i in range(ITEMS):
            total += lengths[warp, i]
        e = int32(lane)
        while e - lane < total:
            for each in range(EACH):
                i, place = int32(0), int32(e + each * LANES)
                brings[each] = 0
                if place < total:
                    for _ in range(ITEMS - 1):
                        if place >= lengths[warp, i]:
                            place -= lengths[warp, i]
                            i += int32(1)
                    edge, value = begins[warp, i] + place, values[warp, i]
                    words[each] = int64(heads.words[uint64(edge)])
                    if chances is not None:
                        value = edge_part(value, chances, edge, firsts[warp, i], lasts[warp, i])
                    brings[each] = value
            warp_fence()
            for each in range(EACH):
                if brings[each] > 0:
                    olds[each] = cuda.atomic.add(slot.residue, uint64(words[each] & mask), brings[each])
            warp_fence()
            for each in range(EACH):
                value = brings[each]
                if value > 0:
                    old, u = olds[each], words[each] & mask
                    if old == 0:
                        cuda.atomic.or_(slot.marks, u >> 5, uint32(1) << uint32(u & 31))
                    w, largest = walks_within(words[each], heads)
                    if w <= walks_max and old + value > w * rho and old <= min(largest, walks_max) * rho:
                        if w < largest:
                            w = int64(counts[uint64(u)])
                        if w > 0 and w <= walks_max and old <= w * rho and old + value > w * rho:
                            upcoming[cuda.atomic.add(row, SIZE + 1 - parity, 1)] = u
            e += int32(EACH * LANES)
        work += cuda.gridDim.x * WARPS


@device
def alone(row, memory):
    """Return the blocks of a launch that work on a slot as a team without barriers; its counters are in ``row``."""
    return teams.Team(row, -teams.COUNTERS, cuda.blockIdx.x, cuda.gridDim.x, memory)


@kernel((TEAM_ARRAYS,))
def list_all(space):
    """List the vertices met of each slot (:func:`gpukit.kpar.query.lists_cuda.list_met`); clear SPARE's bits."""
    slot_id = cuda.blockIdx.y
    sums = cuda.shared.array(PREFIX_SUMS, int64)
    small = cuda.shared.array(SMALL, int32)
    stage = cuda.shared.array(STAGE, int32)
    teams.clear(small)
    cuda.syncthreads()
    team = alone(space.states[slot_id], teams.Memory(sums, sums, stage, stage, small))
    slot = teams.slot_of(space, slot_id)
    i = int64(cuda.grid(1))
    while i < (len(slot.spare) + 63) // 64:
        slot.spare[i] = 0
        i += cuda.gridsize(1)
    lists.list_met(slot, team, LISTING)


@kernel((WALKS, None, TEAM_ARRAYS), (WALKS, "boolean[::1]", TEAM_ARRAYS), max_registers=REGISTERS)
def value_all(walks, among, space):
    """Compute the mass per walk (:func:`gpukit.kpar.query.lists_cuda.value_walks`) in each slot."""
    slot_id = cuda.blockIdx.y
    sums = cuda.shared.array(PREFIX_SUMS, int64)
    small = cuda.shared.array(SMALL, int32)
    stage = cuda.shared.array(STAGE, int32)
    other_stage = cuda.shared.array(STAGE, int32)
    teams.clear(small)
    cuda.syncthreads()
    row = space.states[slot_id]
    team = alone(row, teams.Memory(sums, sums, stage, other_stage, small))
    met = teams.met_of(row[LISTED + lists.IN_ALL], True, len(walks.counts))
    lists.value_walks(met, teams.slot_of(space, slot_id), walks, int64(1), row[COARSE], False, among, team, VALUING)


@kernel(
    (_int, _int, _int, _i64, _i64, WALKS, None, TEAM_ARRAYS),
    (_int, _int, _int, _i64, _i64, WALKS, "boolean[::1]", TEAM_ARRAYS),
    max_registers=REGISTERS,
)
def propose_all(blocks, queries, k, rhos, patience, walks, among, space):
    """Find the candidates of the queries that are tested now (:func:`gpukit.kpar.query.estimate_cuda.propose`).

    Cooperative, in teams of ``blocks`` blocks of at most 512 threads (a power of two). The teams take the ``queries``
    slots round-robin. Queries that need start lists are marked as waiting for them.
    """
    cuda.cg.this_grid().sync()
    number, block = int64(cuda.blockIdx.x // blocks), cuda.blockIdx.x % blocks
    memory = teams.block_memory()
    teams.clear(memory.small)
    cuda.syncthreads()
    team = teams.Team(space.control, 1 + number * teams.CONTROL, block, blocks, memory)
    threshold, phase, parity = threshold_of(rhos[0]), int64(1), 0
    slot_id = number
    while slot_id < queries:
        row = space.states[slot_id]
        if row[VALUED + lists.RESIDUE_LEFT] == 0 or len(rhos) == 1 or row[ALONG] >= patience[0]:
            met = teams.met_of(row[LISTED + lists.IN_ALL], True, len(walks.counts))
            least_reserve, count, entries, phase, parity = propose(
                row[VALUED + lists.LARGE], int64(1), k, met, walks, teams.slot_of(space, slot_id), threshold, among,
                team, phase, parity,
            )  # fmt: skip
            phase = teams.team_barrier(team, phase)
            if block == 0 and cuda.threadIdx.x == 0:
                row[COUNT], row[LEAST_RESERVE], row[ENTRIES] = count, least_reserve, entries
                row[WAITS] = int64(not goes_forward(least_reserve, row[VALUED + lists.FORWARD_ENTRIES], entries))
        slot_id += cuda.gridDim.x // blocks


@kernel((TEAM_ARRAYS,))
def clean_all(space):
    """Reset what the queries of all slots wrote to zero, except their marks; a warp owns LANES words of marks.

    A vertex is reset if any vertex of the same 32-byte sector has a mark: four residues or reserves, or sixteen units.
    A sector that is written only in part would be read first.
    """
    slot_id, lane, warp = cuda.blockIdx.y, cuda.threadIdx.x % LANES, cuda.threadIdx.x // LANES
    words = cuda.shared.array((WARPS, LANES), uint32)
    residue, reserve, units = (
        space.long[slot_id, teams.RESIDUE],
        space.long[slot_id, teams.RESERVE],
        space.units[slot_id],
    )
    n, length = len(residue), space.marks.shape[1]
    first = (cuda.blockIdx.x * WARPS + warp) * LANES
    while first < length:
        warp_fence()
        words[warp, lane] = space.marks[slot_id, min(first + lane, length - 1)]
        warp_fence()
        for i in range(min(LANES, length - first)):
            word = words[warp, i]
            if word > 0:
                for part in range(32 // LANES):
                    j = part * LANES + lane
                    v = (first + i) * 32 + j
                    if word >> uint32(j & 28) & uint32(15) and v < n:
                        residue[v] = 0
                        reserve[v] = 0
                    if word >> uint32(j & 16) & uint32(0xFFFF) and v < n:
                        units[v] = 0
        first += cuda.gridDim.x * WARPS * LANES


def longest_piece(n: int, m: int) -> int:
    """Return the edges of the longest piece of a row, such that no frontier has more than n pieces.

    Of m edges, at most m / piece rows are longer than a piece, and they add at most m / piece pieces.
    """
    return max(PIECE, -(-2 * m // n))


def push_first(
    graph: Graph, sources: Any, queries: int, first: int, among: Any, edges: Edges, heads: Heads, chances: Any,
    walks: Walks, rhos: Any, states: Buffer, space: TeamArrays,
) -> None:  # fmt: skip
    """Push for the queries from ``first`` on, one per slot, until no residue is above its threshold.

    Afterwards the vertices met are listed and the mass per walk is known, as after the first push of
    :func:`gpukit.kpar.query.answer_cuda.answer`, which has the same arguments. ``states`` has a row for each slot.
    """
    slots, piece = len(states), longest_piece(graph.n, graph.m)
    launch(begin_all, slots, BLOCK, sources, queries, first, rhos, space)
    grid, parity, going = (max(1, BLOCKS // slots), slots), 0, True
    pushing = max(grid[0], min(graph.n // VERTICES_A_BLOCK, PUSHING)), slots
    while going:
        for _ in range(ROUNDS_AT_ONCE):
            launch(take_all, grid, BLOCK, parity, piece, edges, chances, space)
            launch(push_all, pushing, BLOCK, parity, piece, edges, heads, chances, walks.counts, rhos, space)
            parity = 1 - parity
        going = bool(states.host()[:, SIZE + parity].any())
    launch(list_all, grid, BLOCK, space)
    launch(value_all, grid, BLOCK, walks, among, space)


def clean_up(slots: int, marks: Buffer, space: TeamArrays) -> None:
    """Reset what the queries in ``slots`` slots wrote to zero."""
    launch(clean_all, (max(1, BLOCKS // slots), slots), BLOCK, space)
    marks.array.fill(0)


"""The types of graph and index, in signatures of kernels."""
