"""Bit matrices of ego-networks: a bit for each pair of possible members, and the edges found in them.

Common neighbours are the set bits of the AND of two rows. After the matrix, wide rows have a second level: a bit for
each word of a row that was not zero at the start.
"""

from numba import cuda, int32, int64, uint32

from gpukit.diversity.bounds import COMP
from gpukit.diversity.network_cuda import LANES, find
from gpukit.diversity.teams_cuda import join

PLAIN = 8
"""Rows of up to so many words are read word by word, without the second level."""


@cuda.jit(device=True)
def common(bits, matrix, members, words, i, j, enough):
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
def clear(bits, matrix, words, i, j):
    """Take the edge between i and j out of the matrix."""
    cuda.atomic.and_(bits, matrix + i * words + (j >> 5), uint32(~(uint32(1) << uint32(j & 31))))
    cuda.atomic.and_(bits, matrix + j * words + (i >> 5), uint32(~(uint32(1) << uint32(i & 31))))


@cuda.jit(device=True)
def extract_edges(model, kept, start, members, up_begin, up, bits, matrix, words, nodes, root, lane, width):
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
                    join(nodes, root, int64(i), j)
                else:
                    cuda.atomic.or_(bits, matrix + i * words + (j >> 5), uint32(1) << uint32(j & 31))
                    cuda.atomic.or_(bits, matrix + j * words + (i >> 5), uint32(1) << uint32(i & 31))


@cuda.jit(device=True)
def survey(bits, matrix, members, words, nodes, row, lane, width):
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
def list_edges(bits, matrix, members, words, nodes, row, edges, list_, lane, width):
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
