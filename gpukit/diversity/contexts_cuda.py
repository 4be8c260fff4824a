"""Scores of ego-networks on a GPU: the scores of ``contexts_cpu.py``, to the bit.

A team of blocks owns one ego-network at a time and takes the next from a queue that falls by cost: one warp for the
many small ones, a block for the middle, several blocks for hubs; the code is the same. Numba's cache notices changes of
this file alone: touch it after a change of the files that its kernel's parts are in.
"""

import numba
from numba import cuda, int32, int64, uint32

from gpukit.device.select import register_limit
from gpukit.diversity.bounds import COMP, CORE, least_size
from gpukit.diversity.cores_cuda import core, h_index, join_core
from gpukit.diversity.matrix_cuda import extract_edges, list_edges, survey
from gpukit.diversity.teams_cuda import (
    FLAGS,
    FOUND,
    GOING,
    NODE_ARRAYS,
    NONE,
    PER_TEAM,
    PLACE,
    QUEUE,
    ROOT,
    ROW,
    SIZE,
    TEAMS,
    join,
    root_of,
    running_sum,
    team_sync,
)
from gpukit.diversity.truss_cuda import full_truss, lazy_truss

BLOCK, REGISTERS = 512, 64
"""Most threads in a block, and the registers each may take."""


FACTS, ALL_FACTS = 4, 20
"""Numbers that :func:`classify` finds out about a class, and about all five."""

COPIES = 32
"""Copies of the facts in a block, so that the threads of a warp do not wait for one another."""

MOST_MEMBERS = 1 << 16
"""An edge of a bit matrix is two 16-bit places."""

SCORE, LABEL, FULL = 0, 1, 2
"""What is wanted: scores, or also the part of every member, or also the trussness of every edge."""


@cuda.jit(cache=True, **register_limit(REGISTERS))
def score_egos(
    egos, outs, first, count, model, k, wanted, kept_begin, kept, up_begin, up, team, matrices, lists, numbers,
    bits, edges, nodes, control, scores, values,
):  # fmt: skip
    """Score ego-networks; cooperative, a multiple of ``team`` blocks of at most ``BLOCK`` threads, ``LANES`` at least.

    A team takes the next ego of the queue, finds its edges (a binary search for each neighbour of higher rank of each
    member, two atomic ORs for each edge), lists them, removes what is in no context, joins the ends of what is left and
    counts the parts. All it keeps is in its own part of global memory, which it uses again and again: a bit for each
    pair of members, 4 bytes an edge, 16 bytes a member.

    Parameters
    ----------
    egos : int32 array
        Ranks of centres, by falling cost.
    outs : int64 array
        First place in ``values`` of each; unused with ``SCORE``.
    first, count : int
        Which of them to score.
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
    matrices, lists, numbers : int
        Length of a team's part of ``bits``, ``edges`` and ``nodes``.
    bits, edges, nodes : uint32, uint32 and int32 arrays
        Working space of the teams; need not be cleared.
    control : int64 array, shape (>= TEAMS + PER_TEAM * teams,)
        Zeros at the start. ``TRIANGLES`` grows by thrice the triangles that ``FULL`` sees.
    scores : int32 array, shape (n,)
        Receives the number of contexts, by rank.
    values : int32 array
        ``LABEL``: the lowest member of each member's part. ``FULL``, truss: trussness of each edge, by lower and higher
        member. Else unused.
    """
    cuda.cg.this_grid().sync()
    mine = cuda.blockIdx.x // team
    own = int64(TEAMS + PER_TEAM * mine)
    lane = int64(cuda.blockIdx.x % team * cuda.blockDim.x + cuda.threadIdx.x)
    width = int64(team * cuda.blockDim.x)
    matrix, list_ = int64(mine) * matrices, int64(mine) * lists
    room = numbers // NODE_ARRAYS
    stamp = int64(mine) * numbers
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
        turn = team_sync(team, control, own, turn)
        place = control[own + PLACE]
        if place >= count:
            break
        place += first
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
        turn = team_sync(team, control, own, turn)
        extract_edges(model, kept, start, members, up_begin, up, bits, matrix, words, nodes, root, lane, width)
        turn = team_sync(team, control, own, turn)
        if model == CORE:
            if wanted == FULL:
                turn = h_index(bits, matrix, members, words, nodes, stamp, team, control, own, turn, lane, width)
            else:
                turn = core(k, bits, matrix, members, words, nodes, stamp, team, control, own, turn, lane, width)
            join_core(bits, matrix, members, words, nodes, stamp, root, k, lane, width)
        elif model > CORE:
            survey(bits, matrix, members, words, nodes, row, lane, width)
            turn = team_sync(team, control, own, turn)
            if lane < cuda.blockDim.x:
                running_sum(nodes, row, members, partial)
            turn = team_sync(team, control, own, turn)
            listed = int64(nodes[row + members])
            list_edges(bits, matrix, members, words, nodes, row, edges, list_, lane, width)
            turn = team_sync(team, control, own, turn)
            out = outs[place]
            if wanted == FULL:
                turn = full_truss(
                    bits, matrix, members, words, nodes, stamp, edges, list_, listed, values, out,
                    team, control, own, turn, lane, width,
                )  # fmt: skip
            elif k > 2:
                turn = lazy_truss(
                    k, bits, matrix, members, words, nodes, stamp, edges, list_, listed,
                    team, control, own, turn, lane, width,
                )  # fmt: skip
            for e in range(lane, listed, width):
                pair = int64(edges[list_ + e])
                if (values[out + e] >= k) if wanted == FULL else pair != 0:
                    join(nodes, root, pair >> 16, pair & 0xFFFF)
        turn = team_sync(team, control, own, turn)
        for i in range(lane, members, width):
            top = root_of(nodes, root, int64(i))
            if wanted == LABEL:
                values[outs[place] + i] = top
            if cuda.atomic.add(nodes, size + top, 1) == least - 1:
                cuda.atomic.add(control, own + FOUND, 1)
        turn = team_sync(team, control, own, turn)
        if lane == 0:
            scores[v] = control[own + FOUND]


@cuda.jit(cache=True)
def classify(
    ranks, count, kept_begin, room, matrices, least, by_edges, warp_members, small_edges, small_words, block_edges,
    block_words, keys, facts, scores,
):  # fmt: skip
    """Sort ego-networks into classes by size, for :func:`score_egos`; any grid, a thread an ego-network.

    Parameters
    ----------
    ranks : int32 array
        The centres, the first ``count`` of them.
    kept_begin, room : int64 arrays, shapes (n + 1,) and (n,)
        First possible member, and most edges, of each.
    matrices : bool
        Whether the model needs bit matrices.
    least : int
        Fewest members that are worth a look.
    by_edges : bool
        Whether an ego-network must have an edge to be worth it.
    warp_members, small_edges, small_words, block_edges, block_words : int
        Largest sizes of the classes 3 (a warp), 2 and 1 (a small and a large block); the rest is 0 (many blocks), and 4
        is not worth it.
    keys : int64 array, shape (>= ranks,)
        The result: ascending by class, and in it by falling cost.
    facts : int64 array, shape (ALL_FACTS,)
        Zeros at the start; for each class its number of ego-networks, and their most members, edges and words of a
        matrix with its second level.
    scores : int32 array, shape (n,)
        0 for those that are not worth it.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    own = lane % COPIES
    local = cuda.shared.array((ALL_FACTS, COPIES), int64)
    for x in range(lane, ALL_FACTS * COPIES, width):
        local[x // COPIES, x % COPIES] = 0
    cuda.syncthreads()
    for x in range(cuda.grid(1), count, cuda.gridsize(1)):
        v = ranks[x]
        members, edges = kept_begin[v + 1] - kept_begin[v], room[v]
        words = int64(0)
        if matrices:
            words = (members + 31) >> 5
            words = members * (words + ((words + 31) >> 5))
        kind = 0
        if members < least or (by_edges and edges == 0):
            kind = 4
            scores[v] = 0
        elif members <= warp_members:
            kind = 3
        elif edges <= small_edges and words <= small_words:
            kind = 2
        elif edges <= block_edges and words <= block_words:
            kind = 1
        keys[x] = (int64(kind + 1) << 56) - edges - members
        cuda.atomic.add(local, (kind * FACTS, own), 1)
        cuda.atomic.max(local, (kind * FACTS + 1, own), members)
        cuda.atomic.max(local, (kind * FACTS + 2, own), edges)
        cuda.atomic.max(local, (kind * FACTS + 3, own), words)
    cuda.syncthreads()
    for x in range(lane, ALL_FACTS, width):
        total, most = int64(0), int64(0)
        for c in range(COPIES):
            total += local[x, c]
            most = max(most, local[x, c])
        if x % FACTS == 0:
            cuda.atomic.add(facts, x, total)
        else:
            cuda.atomic.max(facts, x, most)


_u32, _i32, _i64, _int = numba.uint32[::1], numba.int32[::1], numba.int64[::1], numba.int64

_bool = numba.boolean

KERNELS = {
    "classify": (classify, (_i32, _int, _i64, _i64, _bool, _int, _bool, *5 * (_int,), _i64, _i64, _i32)),
    "score_egos": (
        score_egos,
        (
            _i32,
            _i64,
            _int,
            _int,
            _int,
            _int,
            _int,
            _i64,
            _i32,
            _i64,
            _i32,
            _int,
            _int,
            _int,
            _int,
            _u32,
            _u32,
            _i32,
            _i64,
            _i32,
            _i32,
        ),
    ),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
