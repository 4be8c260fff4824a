"""Bit matrices of ego-networks, with one bit per pair of possible members, and the edges found in them.

Common neighbours are the set bits of the AND of two rows. Wide rows have a second level, stored after the matrix: one
bit per word of a row, set if the word was not zero at the start.
"""

from numba import int32, int64, uint32

from gpukit.device.kernels import cuda, device
from gpukit.diversity.bounds import COMP
from gpukit.diversity.network_cuda import ROW_THREADS, find
from gpukit.diversity.teams_cuda import join, next_bit

PLAIN = 8
"""Rows of at most this many words are read word by word, without the second level."""


@device
def common(ego, i, j, enough):
    """Return the number of common neighbours of members i and j; stop counting at ``enough``.

    Words are read from the last one backwards: hubs have the highest ranks, and most common neighbours are hubs.
    """
    found = int32(0)
    row, other = ego.matrix + i * ego.words, ego.matrix + j * ego.words
    if ego.words <= PLAIN:
        for w in range(ego.words - 1, -1, -1):
            found += int32(cuda.popc(uint32(ego.bits[row + w] & ego.bits[other + w])))
            if found >= enough:
                break
        return found
    levels = (ego.words + 31) >> 5
    second = ego.matrix + ego.size * ego.words
    for s in range(levels - 1, -1, -1):
        mask = uint32(ego.bits[second + i * levels + s] & ego.bits[second + j * levels + s])
        while mask != uint32(0):
            w, mask = next_bit(s, mask)
            found += int32(cuda.popc(uint32(ego.bits[row + w] & ego.bits[other + w])))
            if found >= enough:
                return found
    return found


@device
def clear(ego, i, j):
    """Remove the edge between members i and j from the matrix."""
    cuda.atomic.and_(ego.bits, ego.matrix + i * ego.words + (j >> 5), uint32(~(uint32(1) << uint32(j & 31))))
    cuda.atomic.and_(ego.bits, ego.matrix + j * ego.words + (i >> 5), uint32(~(uint32(1) << uint32(i & 31))))


@device
def extract_edges(model, lists, ego, team):
    """Find the edges between members: set their bits (comp: join their ends). ``ROW_THREADS`` threads per row."""
    highest = lists.kept[ego.start + ego.size - 1]
    for i in range(team.rank // ROW_THREADS, ego.size, team.members // ROW_THREADS):
        u = lists.kept[ego.start + i]
        for p in range(lists.up_begin[u] + team.rank % ROW_THREADS, lists.up_begin[u + 1], ROW_THREADS):
            w = lists.up[p]
            if w > highest:
                break
            j = find(lists.kept, ego.start + i + 1, ego.start + ego.size, w) - ego.start
            if j > 0:
                if model == COMP:
                    join(ego, int64(i), j)
                else:
                    cuda.atomic.or_(ego.bits, ego.matrix + i * ego.words + (j >> 5), uint32(1) << uint32(j & 31))
                    cuda.atomic.or_(ego.bits, ego.matrix + j * ego.words + (i >> 5), uint32(1) << uint32(i & 31))


@device
def survey(ego, team):
    """Count the edges of each row to higher members, and make the second level; one thread per row."""
    levels = (ego.words + 31) >> 5
    second = ego.matrix + ego.size * ego.words
    for i in range(team.rank, ego.size, team.members):
        count, level = int32(0), uint32(0)
        diagonal = i >> 5
        for w in range(ego.words):
            word = ego.bits[ego.matrix + i * ego.words + w]
            if word != uint32(0):
                level |= uint32(1) << uint32(w & 31)
                if w > diagonal:
                    count += int32(cuda.popc(word))
                elif w == diagonal:
                    count += int32(cuda.popc(uint32(word >> uint32(i & 31))))
            if (w & 31) == 31 or w == ego.words - 1:
                if ego.words > PLAIN:
                    ego.bits[second + i * levels + (w >> 5)] = level
                level = uint32(0)
        ego.nodes[ego.row + i] = count


@device
def list_edges(ego, team):
    """Write i << 16 | j for each edge i < j, by i and then j; one thread per row."""
    for i in range(team.rank, ego.size, team.members):
        place = ego.listed + ego.nodes[ego.row + i]
        for w in range(i >> 5, ego.words):
            word = uint32(ego.bits[ego.matrix + i * ego.words + w])
            if w == i >> 5:
                word = uint32(word & uint32(~uint32((uint32(1) << uint32(i & 31)) - uint32(1))))
            while word != uint32(0):
                ego.edges[place] = uint32(i << 16 | (w << 5) + int64(cuda.ffs(word)) - 1)
                place += 1
                word = uint32(word & uint32(word - uint32(1)))
