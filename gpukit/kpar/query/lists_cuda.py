"""Lists of the vertices that a query has met, made by a team of blocks on a GPU."""

from numba import int32, int64, uint32, uint64

from gpukit.device.kernels import cuda, device
from gpukit.device.select import for_kernels
from gpukit.device.warp_cuda import warp_fence
from gpukit.kpar import rule
from gpukit.kpar.query import team_cuda as teams
from gpukit.kpar.query.team_cuda import AT_ONCE
from gpukit.kpar.rule import packed

left_out = for_kernels(rule.left_out)

LIFTED = 1
"""Counter: vertices above their threshold, as in a push."""

IN_ALL = 0
"""Counter: vertices met."""

CARRIERS, LARGE, FORWARD_ENTRIES, SEEN, RESIDUE_LEFT = 0, 1, 2, 3, 4
"""Counters of :func:`value_walks`."""

LISTED, LIST_ENTRIES = 0, 2
"""Counters of :func:`list_candidates` and :func:`list_reached`: vertices listed, and the entries of their start
lists."""


@device
def list_met(slot, team, phase):
    """List in ``touched`` the vertices that have a mark (IN_ALL); ids rise within each portion of a block.

    A thread owns a word of 32 marks; all words are read. The vertices a block finds go through its stage, STAGE ids at
    a time, so that neighbouring threads write neighbouring ids. Ids rise, so the threads of a later pass over the list
    read from the same sectors. In the order in which vertices were met, passes took more than twice as long.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    small, stage, at = team.memory.small, team.memory.stage, teams.counters(team, phase)
    first = team.block * block_size
    while first < len(slot.marks):
        word = uint32(0)
        if first + tid < len(slot.marks):
            word = slot.marks[first + tid]
        upto, whole = teams.block_prefix_sum(int64(cuda.popc(word)), team.memory.sums)
        if tid == 0:
            small[teams.BASE] = cuda.atomic.add(team.control, at + IN_ALL, whole)
        cuda.syncthreads()
        base, place, written = small[teams.BASE], upto - cuda.popc(word), int64(0)
        while written < whole:
            while word > 0 and place < written + teams.STAGE:
                stage[place - written] = ((first + tid) << 5) + cuda.ffs(word) - 1
                word = uint32(word & uint32(word - uint32(1)))
                place += 1
            cuda.syncthreads()
            i = tid
            while i < min(whole - written, teams.STAGE):
                slot.touched[base + written + i] = stage[i]
                i += block_size
            cuda.syncthreads()
            written += teams.STAGE
        first += team.blocks * block_size


@device
def collect_frontier(met, slot, walks, threshold, target, team, phase):
    """List in ``target`` the vertices above their threshold (LIFTED), among those met or among all.

    A thread owns ``AT_ONCE`` vertices at a time.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    memory, counter = team.memory, teams.counters(team, phase) + LIFTED
    lifted = teams.Staged(memory.other_stage, memory.small, 1, target, team.control, counter, 0)
    rests = cuda.local.array(AT_ONCE, int64)
    first = AT_ONCE * team.block * block_size
    while first < met.span:
        fullest = -1
        for i in range(AT_ONCE):
            j = first + i * block_size + tid
            rests[i] = 0
            if j < met.span:
                rests[i] = slot.residue[teams.met_vertex(met, slot.touched, j)]
        for i in range(AT_ONCE):
            if rests[i] > threshold.rho:
                j = first + i * block_size + tid
                v = teams.met_vertex(met, slot.touched, j)
                w = int64(walks[v])
                if w > 0 and w <= threshold.walks_max and rests[i] > w * threshold.rho:
                    fullest = max(fullest, teams.put(lifted, v))
        if teams.block_any(fullest >= teams.STAGE >> 2, team.memory.small):
            teams.flush(lifted)
        first += AT_ONCE * team.blocks * block_size
    teams.flush(lifted)


@device
def value_walks(met, slot, walks, floor, coarse, listing, among, team, phase):
    """After a push, turn residues of absorbing vertices into reserve, and set ``unit``, the mass per walk.

    Units lack their lowest ``coarse`` bits, and are packed (:func:`gpukit.kpar.rule.packed`).

    The function lists in ``upcoming`` (LARGE) the vertices with a reserve of at least ``floor`` that answers may name.
    If ``listing``, it also lists the vertices with a unit in ``frontier`` (CARRIERS). It adds up the forward entries of
    vertices with a unit, the vertices met, and the blocks that saw residue. A thread owns ``AT_ONCE`` vertices at a
    time.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    at = teams.counters(team, phase)
    carriers = teams.Staged(team.memory.stage, team.memory.small, 0, slot.frontier, team.control, at, CARRIERS)
    large = teams.Staged(team.memory.other_stage, team.memory.small, 1, slot.upcoming, team.control, at, LARGE)
    cost, seen, left = int64(0), int64(0), False
    vertices, counts = cuda.local.array(AT_ONCE, int32), cuda.local.array(AT_ONCE, uint32)
    rests, keeps = cuda.local.array(AT_ONCE, int64), cuda.local.array(AT_ONCE, int64)
    lengths = cuda.local.array(AT_ONCE, int64)
    passes, fullest = 0, -1
    first = AT_ONCE * team.block * block_size
    while first < met.span:
        for i in range(AT_ONCE):
            vertices[i] = teams.met_vertex(met, slot.touched, min(first + i * block_size + tid, met.span - 1))
        warp_fence()
        for i in range(AT_ONCE):
            v = int64(vertices[i])
            rests[i], keeps[i], counts[i] = slot.residue[v], slot.reserve[v], walks.counts[v]
            lengths[i] = walks.row_begin[v + 1] - walks.row_begin[v]
        warp_fence()
        for i in range(AT_ONCE):
            rest, kept = rests[i], keeps[i]
            if first + i * block_size + tid < met.span and (rest > 0 or kept > 0):
                v = int64(vertices[i])
                seen += 1
                w = int64(counts[i])
                if w == 0 and rest > 0:
                    kept += rest
                    slot.reserve[v] = kept
                    slot.residue[v] = 0
                    rest = int64(0)
                value = int64(0)
                if rest > 0:
                    left = True
                    value = int64(uint64(rest) // uint64(w)) >> coarse
                slot.unit[v] = packed(value)
                if value > 0:
                    cost += lengths[i]
                    if listing:
                        fullest = max(fullest, teams.put(carriers, v))
                if kept >= floor and not left_out(v, among):
                    fullest = max(fullest, teams.put(large, v))
        # Vertices with a large reserve are few.
        if listing or passes & 3 == 3:
            if teams.block_any(fullest >= teams.STAGE >> 2, team.memory.small):
                teams.flush(carriers)
                teams.flush(large)
            fullest = -1
        passes += 1
        first += AT_ONCE * team.blocks * block_size
    teams.flush(carriers)
    teams.flush(large)
    _, cost = teams.block_prefix_sum(cost, team.memory.sums)
    _, seen = teams.block_prefix_sum(seen, team.memory.sums)
    left = teams.block_any(left, team.memory.small)
    if tid == 0:
        cuda.atomic.add(team.control, at + FORWARD_ENTRIES, cost)
        cuda.atomic.add(team.control, at + SEEN, seen)
        if left:
            cuda.atomic.add(team.control, at + RESIDUE_LEFT, 1)


@device
def list_carriers(met, slot, team, phase):
    """List the vertices with a unit in ``frontier`` (CARRIERS); a thread owns a vertex at a time."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    memory, at = team.memory, teams.counters(team, phase)
    carriers = teams.Staged(memory.stage, memory.small, 0, slot.frontier, team.control, at, CARRIERS)
    passes, fullest = 0, -1
    first = team.block * block_size
    while first < met.span:
        if first + tid < met.span:
            v = teams.met_vertex(met, slot.touched, first + tid)
            if slot.unit[v] > 0:
                fullest = max(fullest, teams.put(carriers, v))
        if teams.time_to_flush(passes, fullest, memory.small):
            teams.flush(carriers)
            fullest = -1
        passes += 1
        first += team.blocks * block_size
    teams.flush(carriers)


@device
def list_candidates(reserves, met, slot, walks, threshold, least_reserve, among, team, phase):
    """List the vertices whose reserve and walks could reach ``least_reserve`` (LISTED, LIST_ENTRIES).

    If ``reserves`` is positive, the first ``reserves`` vertices of ``upcoming`` are all vertices with a reserve; the
    function reads these. Otherwise it reads the vertices met. A thread owns ``AT_ONCE`` of them at a time. Then it owns
    one of the first vertices in the list sorted by ω_I, unless the first pass has covered it. Vertices that ``among``
    excludes are skipped.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    small, src_begin = team.memory.small, walks.src_begin
    rho, walks_max = threshold.rho, threshold.walks_max
    n = len(walks.by_arrivals)
    at = teams.counters(team, phase)
    candidates = teams.Staged(team.memory.stage, small, 0, slot.candidates, team.control, at, LISTED)
    cost, fullest = int64(0), -1
    vertices = cuda.local.array(AT_ONCE, int32)
    many, keeps = cuda.local.array(AT_ONCE, int64), cuda.local.array(AT_ONCE, int64)
    items = slot.touched
    if reserves > 0:
        items, met = slot.upcoming, teams.Met(reserves, False)
    first = AT_ONCE * team.block * block_size
    while first < met.span:
        fullest = -1
        for i in range(AT_ONCE):
            vertices[i] = teams.met_vertex(met, items, min(first + i * block_size + tid, met.span - 1))
        warp_fence()
        for i in range(AT_ONCE):
            many[i], keeps[i] = walks.arrivals[vertices[i]], slot.reserve[vertices[i]]
        warp_fence()
        for i in range(AT_ONCE):
            found = first + i * block_size + tid < met.span
            if found and (many[i] > walks_max or keeps[i] + many[i] * rho >= least_reserve):
                v = int64(vertices[i])
                if left_out(v, among):
                    continue
                fullest = max(fullest, teams.put(candidates, v))
                cost += src_begin[v + 1] - src_begin[v]
        if teams.block_any(fullest >= teams.STAGE >> 2, small):
            teams.flush(candidates)
            fullest = -1
        first += AT_ONCE * team.blocks * block_size
    going = not met.dense
    first = team.block * block_size
    while going:
        passed = False
        if first + tid < n:
            v = int64(walks.by_arrivals[first + tid])
            walks_here = walks.arrivals[v]
            if walks_here > walks_max or walks_here * rho >= least_reserve:
                passed = True
                there = slot.reserve[v] > 0 or (reserves == 0 and slot.residue[v] > 0)
                if not there and not left_out(v, among):
                    fullest = max(fullest, teams.put(candidates, v))
                    cost += src_begin[v + 1] - src_begin[v]
        if teams.block_any(fullest >= teams.STAGE - block_size, small):
            teams.flush(candidates)
            fullest = -1
        going = teams.block_any(passed, small)
        first += team.blocks * block_size
    teams.flush(candidates)
    _, cost = teams.block_prefix_sum(cost, team.memory.sums)
    if tid == 0:
        cuda.atomic.add(team.control, at + LIST_ENTRIES, cost)


@device
def list_reached(met, slot, reached, among, team, phase):
    """List the vertices with a reserve, and the ``reached`` ends of walks in ``upcoming`` without one (LISTED).

    A thread owns a vertex at a time. Vertices that ``among`` excludes are skipped.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    memory, at = team.memory, teams.counters(team, phase)
    candidates = teams.Staged(memory.stage, memory.small, 0, slot.candidates, team.control, at, LISTED)
    passes, fullest = 0, -1
    first = team.block * block_size
    while first < met.span + reached:
        j = first + tid
        if j < met.span + reached:
            if j < met.span:
                v = teams.met_vertex(met, slot.touched, j)
            else:
                v = int64(slot.upcoming[j - met.span])
            if (slot.reserve[v] > 0) == (j < met.span) and not left_out(v, among):
                fullest = max(fullest, teams.put(candidates, v))
        if teams.time_to_flush(passes, fullest, team.memory.small):
            teams.flush(candidates)
            fullest = -1
        passes += 1
        first += team.blocks * block_size
    teams.flush(candidates)
