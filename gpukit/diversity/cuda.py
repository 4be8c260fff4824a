"""Scores of ego-networks on a GPU: the scores of ``cpu.py``, to the bit.

A team of blocks owns one ego-network at a time and takes the next from a queue that falls by cost: one warp for the
many small ones, a block for the middle, several blocks for hubs; the code is the same. Adjacency is a bit matrix over
the possible members, so that common neighbours are the set bits of the AND of two rows. Wide rows have a second level,
a bit for each word that is not zero. An edge that fails to be in enough triangles is cleared while others still count:
bits of the maximal truss never go, so every order ends at the same truss.
"""

import numba
from numba import cuda, int32, int64, uint32

from gpukit.device.select import register_limit
from gpukit.diversity.bounds import COMP, CORE, least_size
from gpukit.diversity.network_cuda import LANES, find

BLOCK, REGISTERS = 512, 64
"""Most threads in a block, and the registers each may take."""

PLAIN = 8
"""Rows of up to so many words are read word by word, without the second level."""

MOST_MEMBERS = 1 << 16
"""An edge of a bit matrix is two 16-bit places."""

SCORE, LABEL, FULL = 0, 1, 2
"""What is wanted: scores, or also the part of every member, or also the trussness of every edge."""

QUEUE, TRIANGLES, TEAMS, PER_TEAM = 0, 1, 16, 16
"""Places in ``control``: egos started, thrice the triangles seen; the first team's counters, and their number."""

PLACE, ARRIVED, FOUND, FLAGS, GOING = 0, 1, 2, 4, 8
"""Places in a team's counters: its ego, blocks at the barrier, contexts, and two times three numbers that rounds use in
turn."""

STAMP, ROOT, SIZE, ROW, NODE_ARRAYS = 0, 1, 2, 3, 4
"""Arrays of a team with a number for each member: round of the last loss (with ``FULL``: edges lost; core: degree),
parent, size, first edge."""

NONE, DOOMED = 0x7FFFFFFF, -0x7FFFFFFF


@cuda.jit(device=True)
def _team_sync(team, control, own, turn):
    """Wait for all blocks of a team, see what they wrote, and return the number of the next barrier."""
    cuda.syncthreads()
    if team > 1:
        if cuda.threadIdx.x == 0:
            cuda.threadfence()
            cuda.atomic.add(control, own + ARRIVED, 1)
            while cuda.atomic.add(control, own + ARRIVED, 0) < team * turn:
                pass
            cuda.threadfence()
        cuda.syncthreads()
    return turn + 1


@cuda.jit(device=True)
def _root(nodes, base, x):
    """Return the root of x and halve the path to it."""
    parent = nodes[base + x]
    while parent != x:
        above = nodes[base + parent]
        nodes[base + x] = above
        x = parent
        parent = above
    return x


@cuda.jit(device=True)
def _join(nodes, base, a, b):
    """Join the parts of a and b; roots are lowest members at the end."""
    while True:
        a, b = _root(nodes, base, a), _root(nodes, base, b)
        if a == b:
            return
        if a < b:
            a, b = b, a
        if cuda.atomic.cas(nodes, base + a, int32(a), int32(b)) == a:
            return


@cuda.jit(device=True)
def _common(bits, matrix, members, words, i, j, enough):
    """Return how many neighbours rows i and j have in common; stop counting at ``enough``."""
    found = int32(0)
    row, other = matrix + i * words, matrix + j * words
    if words <= PLAIN:
        for w in range(words - 1, -1, -1):
            found += int32(cuda.popc(uint32(bits[row + w] & bits[other + w])))
            if found >= enough:
                break
        return found
    levels = (words + 31) >> 5
    second = matrix + members * words
    for s in range(levels - 1, -1, -1):
        mask = uint32(bits[second + i * levels + s] & bits[second + j * levels + s])
        while mask != uint32(0):
            w = (s << 5) + int64(cuda.ffs(mask)) - 1
            mask = uint32(mask & uint32(mask - uint32(1)))
            found += int32(cuda.popc(uint32(bits[row + w] & bits[other + w])))
            if found >= enough:
                return found
    return found


@cuda.jit(device=True)
def _clear(bits, matrix, words, i, j):
    """Take the edge between i and j out of the matrix."""
    cuda.atomic.and_(bits, matrix + i * words + (j >> 5), uint32(~(uint32(1) << uint32(j & 31))))
    cuda.atomic.and_(bits, matrix + j * words + (i >> 5), uint32(~(uint32(1) << uint32(i & 31))))


@cuda.jit(device=True)
def _running_sum(nodes, base, count, partial):
    """Replace numbers by the sums before them, and write the total after them; one block."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    chunk = (count + width - 1) // width
    low = min(count, lane * chunk)
    high = min(count, low + chunk)
    own = int32(0)
    for x in range(low, high):
        own += nodes[base + x]
    partial[lane] = own
    cuda.syncthreads()
    step = 1
    while step < width:
        more = partial[lane - step] if lane >= step else int32(0)
        cuda.syncthreads()
        partial[lane] += more
        cuda.syncthreads()
        step *= 2
    total = partial[lane] - own
    for x in range(low, high):
        number = nodes[base + x]
        nodes[base + x] = total
        total += number
    if lane == width - 1:
        nodes[base + count] = total
    cuda.syncthreads()


@cuda.jit(device=True)
def _extract(model, kept, start, members, up_begin, up, bits, matrix, words, nodes, root, lane, width):
    """Find the edges between members: set their bits (comp: join their ends). ``LANES`` threads own a row."""
    highest = kept[start + members - 1]
    for i in range(lane // LANES, members, width // LANES):
        u = kept[start + i]
        for p in range(up_begin[u] + lane % LANES, up_begin[u + 1], LANES):
            w = up[p]
            if w > highest:
                break
            j = find(kept, start + i + 1, start + members, w) - start
            if j > 0:
                if model == COMP:
                    _join(nodes, root, int64(i), j)
                else:
                    cuda.atomic.or_(bits, matrix + i * words + (j >> 5), uint32(1) << uint32(j & 31))
                    cuda.atomic.or_(bits, matrix + j * words + (i >> 5), uint32(1) << uint32(i & 31))


@cuda.jit(device=True)
def _survey(bits, matrix, members, words, nodes, row, lane, width):
    """Count the edges of each row to higher members, and make the second level; a thread owns a row."""
    levels = (words + 31) >> 5
    second = matrix + members * words
    for i in range(lane, members, width):
        count, level = int32(0), uint32(0)
        own = i >> 5
        for w in range(words):
            word = bits[matrix + i * words + w]
            if word != uint32(0):
                level |= uint32(1) << uint32(w & 31)
                if w > own:
                    count += int32(cuda.popc(word))
                elif w == own:
                    count += int32(cuda.popc(uint32(word >> uint32(i & 31))))
            if (w & 31) == 31 or w == words - 1:
                if words > PLAIN:
                    bits[second + i * levels + (w >> 5)] = level
                level = uint32(0)
        nodes[row + i] = count


@cuda.jit(device=True)
def _list_edges(bits, matrix, members, words, nodes, row, edges, list_, lane, width):
    """Write i << 16 | j for each edge i < j, by i and then j; a thread owns a row."""
    for i in range(lane, members, width):
        place = list_ + nodes[row + i]
        for w in range(i >> 5, words):
            word = uint32(bits[matrix + i * words + w])
            if w == i >> 5:
                word = uint32(word & uint32(~uint32((uint32(1) << uint32(i & 31)) - uint32(1))))
            while word != uint32(0):
                edges[place] = uint32(i << 16 | (w << 5) + int64(cuda.ffs(word)) - 1)
                place += 1
                word = uint32(word & uint32(word - uint32(1)))


@cuda.jit(device=True)
def _lazy_truss(
    k, bits, matrix, members, words, nodes, stamp, edges, list_, count, team, control, own, turn, lane, width
):
    """Remove edges in fewer than k - 2 triangles until none is left; removed ones become 0 in the list.

    A thread owns an edge. It is counted again only if an end of it lost an edge since. Returns the next barrier.
    """
    round_ = int32(1)
    while True:
        flag = own + FLAGS + round_ % 3
        if lane == 0:
            control[own + FLAGS + (round_ + 1) % 3] = 0
        changed = False
        for e in range(list_ + lane, list_ + count, width):
            pair = int64(edges[e])
            if pair != 0:
                i, j = pair >> 16, pair & 0xFFFF
                if nodes[stamp + i] >= round_ - 1 or nodes[stamp + j] >= round_ - 1:
                    if _common(bits, matrix, members, words, i, j, k - 2) < k - 2:
                        edges[e] = uint32(0)
                        _clear(bits, matrix, words, i, j)
                        nodes[stamp + i] = round_
                        nodes[stamp + j] = round_
                        changed = True
        if changed:
            control[flag] = 1
        turn = _team_sync(team, control, own, turn)
        if control[flag] == 0:
            return turn
        round_ += 1


@cuda.jit(device=True)
def _full_truss(
    bits, matrix, members, words, nodes, lost, edges, list_, count, values, out, team, control, own, turn, lane, width
):
    """Write the trussness of every edge; a thread owns an edge. Returns the next barrier.

    As PKT: edges of the lowest support go together, level by level. Supports are not counted down: an edge has lost at
    most as many triangles as its ends have lost edges since it was counted, and is counted again once that could have
    brought it to the level. A living edge has -1 - (support + lost edges of its ends) in ``values``, both when it was
    counted; one that goes next has ``DOOMED``.
    """
    least, seen = int64(NONE), int64(0)
    for e in range(lane, count, width):
        pair = int64(edges[list_ + e])
        support = _common(bits, matrix, members, words, pair >> 16, pair & 0xFFFF, NONE)
        values[out + e] = -1 - support
        least = min(least, int64(support))
        seen += support
    if least < NONE:
        cuda.atomic.min(control, own + FLAGS, least)
        cuda.atomic.add(control, TRIANGLES, seen)
    turn = _team_sync(team, control, own, turn)
    level, round_ = control[own + FLAGS], int32(1)
    while level < NONE:
        flag, going = own + FLAGS + round_ % 3, own + GOING + round_ % 3
        if lane == 0:
            control[own + FLAGS + (round_ + 1) % 3] = NONE
            control[own + GOING + (round_ + 1) % 3] = 0
        least = int64(NONE)
        found = False
        for e in range(lane, count, width):
            value = int64(values[out + e])
            if value < 0:
                pair = int64(edges[list_ + e])
                i, j = pair >> 16, pair & 0xFFFF
                losses = int64(nodes[lost + i]) + int64(nodes[lost + j])
                support = -1 - value - losses
                if support <= level:
                    support = int64(_common(bits, matrix, members, words, i, j, NONE))
                    if support <= level:
                        values[out + e] = DOOMED
                        found = True
                    else:
                        values[out + e] = -1 - (support + losses)
                if support > level:
                    least = min(least, support)
        if found:
            control[going] = 1
        if least < control[flag]:
            cuda.atomic.min(control, flag, least)
        turn = _team_sync(team, control, own, turn)
        if control[going] == 0:
            level = control[flag]
        else:
            for e in range(lane, count, width):
                if values[out + e] == DOOMED:
                    pair = int64(edges[list_ + e])
                    i, j = pair >> 16, pair & 0xFFFF
                    values[out + e] = level + 2
                    _clear(bits, matrix, words, i, j)
                    cuda.atomic.add(nodes, lost + i, 1)
                    cuda.atomic.add(nodes, lost + j, 1)
            turn = _team_sync(team, control, own, turn)
        round_ += 1
    return turn


@cuda.jit(device=True)
def _core(k, bits, matrix, members, words, nodes, degree, team, control, own, turn, lane, width):
    """Remove members of degree < k until none is left: their degree becomes negative. A thread owns one."""
    for i in range(lane, members, width):
        count = int32(0)
        for w in range(words):
            count += int32(cuda.popc(bits[matrix + i * words + w]))
        nodes[degree + i] = count
    turn = _team_sync(team, control, own, turn)
    round_ = int32(1)
    while True:
        flag = own + FLAGS + round_ % 3
        if lane == 0:
            control[own + FLAGS + (round_ + 1) % 3] = 0
        for i in range(lane, members, width):
            if 0 <= nodes[degree + i] < k:
                # Neighbours may be counting it down at this moment; far below zero it stays dead.
                cuda.atomic.add(nodes, degree + i, -(1 << 20))
                for w in range(words):
                    word = uint32(bits[matrix + i * words + w])
                    while word != uint32(0):
                        j = (w << 5) + int64(cuda.ffs(word)) - 1
                        word = uint32(word & uint32(word - uint32(1)))
                        cuda.atomic.add(nodes, degree + j, -1)
                control[flag] = 1
        turn = _team_sync(team, control, own, turn)
        if control[flag] == 0:
            return turn
        round_ += 1


@cuda.jit(device=True)
def _h_index(bits, matrix, members, words, nodes, value, team, control, own, turn, lane, width):
    """Write the coreness of each member: the fixed point of h(u) ← H-index of the neighbours' values (algorithm 4)."""
    for i in range(lane, members, width):
        count = int32(0)
        for w in range(words):
            count += int32(cuda.popc(bits[matrix + i * words + w]))
        nodes[value + i] = count
    turn = _team_sync(team, control, own, turn)
    round_ = int32(1)
    while True:
        flag = own + FLAGS + round_ % 3
        if lane == 0:
            control[own + FLAGS + (round_ + 1) % 3] = 0
        for i in range(lane, members, width):
            before = nodes[value + i]
            h, high = int32(0), before
            while h < high:
                middle = (h + high + 1) >> 1
                reaching = int32(0)
                for w in range(words):
                    word = uint32(bits[matrix + i * words + w])
                    while word != uint32(0):
                        j = (w << 5) + int64(cuda.ffs(word)) - 1
                        word = uint32(word & uint32(word - uint32(1)))
                        reaching += int32(nodes[value + j] >= middle)
                if reaching >= middle:
                    h = middle
                else:
                    high = middle - 1
            if h < before:
                nodes[value + i] = h
                control[flag] = 1
        turn = _team_sync(team, control, own, turn)
        if control[flag] == 0:
            return turn
        round_ += 1


@cuda.jit(device=True)
def _join_core(bits, matrix, members, words, nodes, degree, root, k, lane, width):
    """Join the ends of the edges between members of degree k or more; a thread owns a word of the matrix."""
    for x in range(lane, members * words, width):
        i, w = x // words, x % words
        if w >= i >> 5 and nodes[degree + i] >= k:
            word = uint32(bits[matrix + x])
            while word != uint32(0):
                j = (w << 5) + int64(cuda.ffs(word)) - 1
                word = uint32(word & uint32(word - uint32(1)))
                if j > i and nodes[degree + j] >= k:
                    _join(nodes, root, int64(i), j)


@cuda.jit(cache=True, **register_limit(REGISTERS))
def score_egos(
    egos, outs, model, k, wanted, kept_begin, kept, up_begin, up, team, matrices, bits, edges, nodes,
    control, scores, values,
):  # fmt: skip
    """Score ego-networks; cooperative, a multiple of ``team`` blocks of at most ``BLOCK`` threads, ``LANES`` at least.

    A team takes the next ego of the queue, finds its edges (a binary search for each neighbour of higher rank of each
    member, two atomic ORs for each edge), lists them, removes what is in no context, joins the ends of what is left and
    counts the parts. All it keeps is in its own part of global memory, which it uses again and again: a bit for each
    pair of members, 4 bytes an edge, 16 bytes a member.

    Parameters
    ----------
    egos : int32 array
        Ranks of the centres, by falling cost.
    outs : int64 array
        First place in ``values`` of each; unused with ``SCORE``.
    model, k : int
    wanted : int
        ``SCORE``, ``LABEL`` or ``FULL``. ``FULL`` decomposes: trussness of every edge (truss), coreness by H-index
        (core).
    kept_begin, kept : int64 (n + 1,) and int32 arrays
        Possible members of each ego-network, ranks ascending.
    up_begin, up : int64 (n + 1,) and int32 arrays
        Neighbours of higher rank of each vertex, over edges that may be in a context.
    team : int
        Blocks of a team.
    matrices : int64
        Words of a team in ``bits``; the others are divided evenly.
    bits, edges, nodes : uint32, uint32 and int32 arrays
        Working space of the teams; need not be cleared.
    control : int64 array, shape (TEAMS + PER_TEAM * teams,)
        Zeros at the start. ``TRIANGLES`` grows by thrice the triangles that ``FULL`` sees.
    scores : int32 array, shape (n,)
        Receives the number of contexts, by rank.
    values : int32 array
        ``LABEL``: the lowest member of each member's part. ``FULL``, truss: trussness of each edge, by lower and higher
        member. Else unused.
    """
    cuda.cg.this_grid().sync()
    teams = cuda.gridDim.x // team
    mine = cuda.blockIdx.x // team
    own = int64(TEAMS + PER_TEAM * mine)
    lane = int64(cuda.blockIdx.x % team * cuda.blockDim.x + cuda.threadIdx.x)
    width = int64(team * cuda.blockDim.x)
    matrix, list_ = int64(mine) * matrices, int64(mine) * (len(edges) // teams)
    room = len(nodes) // teams // NODE_ARRAYS
    stamp = int64(mine) * room * NODE_ARRAYS
    root, size, row = stamp + ROOT * room, stamp + SIZE * room, stamp + ROW * room
    partial = cuda.shared.array(BLOCK, int32)
    least = least_size(model, k)
    turn = int64(1)
    while True:
        if lane == 0:
            control[own + PLACE] = cuda.atomic.add(control, QUEUE, 1)
            control[own + FOUND] = 0
            for r in range(3):
                control[own + FLAGS + r] = NONE if wanted == FULL and model > CORE else 0
                control[own + GOING + r] = 0
        turn = _team_sync(team, control, own, turn)
        place = control[own + PLACE]
        if place >= len(egos):
            break
        v = egos[place]
        start = kept_begin[v]
        members = kept_begin[v + 1] - start
        words = (members + 31) >> 5
        if model != COMP:
            for x in range(lane, members * words, width):
                bits[matrix + x] = uint32(0)
        for i in range(lane, members, width):
            nodes[stamp + i] = 0
            nodes[root + i] = i
            nodes[size + i] = 0
        turn = _team_sync(team, control, own, turn)
        _extract(model, kept, start, members, up_begin, up, bits, matrix, words, nodes, root, lane, width)
        turn = _team_sync(team, control, own, turn)
        if model == CORE:
            if wanted == FULL:
                turn = _h_index(bits, matrix, members, words, nodes, stamp, team, control, own, turn, lane, width)
            else:
                turn = _core(k, bits, matrix, members, words, nodes, stamp, team, control, own, turn, lane, width)
            _join_core(bits, matrix, members, words, nodes, stamp, root, k, lane, width)
        elif model > CORE:
            _survey(bits, matrix, members, words, nodes, row, lane, width)
            turn = _team_sync(team, control, own, turn)
            if lane < cuda.blockDim.x:
                _running_sum(nodes, row, members, partial)
            turn = _team_sync(team, control, own, turn)
            count = int64(nodes[row + members])
            _list_edges(bits, matrix, members, words, nodes, row, edges, list_, lane, width)
            turn = _team_sync(team, control, own, turn)
            out = outs[place]
            if wanted == FULL:
                turn = _full_truss(
                    bits, matrix, members, words, nodes, stamp, edges, list_, count, values, out,
                    team, control, own, turn, lane, width,
                )  # fmt: skip
            elif k > 2:
                turn = _lazy_truss(
                    k, bits, matrix, members, words, nodes, stamp, edges, list_, count,
                    team, control, own, turn, lane, width,
                )  # fmt: skip
            for e in range(lane, count, width):
                pair = int64(edges[list_ + e])
                if (values[out + e] >= k) if wanted == FULL else pair != 0:
                    _join(nodes, root, pair >> 16, pair & 0xFFFF)
        turn = _team_sync(team, control, own, turn)
        for i in range(lane, members, width):
            top = _root(nodes, root, int64(i))
            if wanted == LABEL:
                values[outs[place] + i] = top
            if cuda.atomic.add(nodes, size + top, 1) == least - 1:
                cuda.atomic.add(control, own + FOUND, 1)
        turn = _team_sync(team, control, own, turn)
        if lane == 0:
            scores[v] = control[own + FOUND]


_u32, _i32, _i64, _int = numba.uint32[::1], numba.int32[::1], numba.int64[::1], numba.int64

KERNELS = {
    "score_egos": (
        score_egos,
        (_i32, _i64, _int, _int, _int, _i64, _i32, _i64, _i32, _int, _int, _u32, _u32, _i32, _i64, _i32, _i32),
    ),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
