"""Cores of ego-networks by a team of blocks: for one k, and all by H-index."""

from numba import cuda, int32, int64, uint32

from gpukit.diversity.teams_cuda import FLAGS, join, team_sync


@cuda.jit(device=True)
def core(k, bits, matrix, members, words, nodes, degree, team, control, own, turn, lane, width):
    """Remove members of degree < k until none is left: their degree becomes negative. A thread owns one."""
    for i in range(lane, members, width):
        count = int32(0)
        for w in range(words):
            count += int32(cuda.popc(bits[matrix + i * words + w]))
        nodes[degree + i] = count
    turn = team_sync(team, control, own, turn)
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
        turn = team_sync(team, control, own, turn)
        if control[flag] == 0:
            return turn
        round_ += 1


@cuda.jit(device=True)
def h_index(bits, matrix, members, words, nodes, value, team, control, own, turn, lane, width):
    """Write the coreness of each member: the fixed point of h(u) ← H-index of the neighbours' values (algorithm 4)."""
    for i in range(lane, members, width):
        count = int32(0)
        for w in range(words):
            count += int32(cuda.popc(bits[matrix + i * words + w]))
        nodes[value + i] = count
    turn = team_sync(team, control, own, turn)
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
        turn = team_sync(team, control, own, turn)
        if control[flag] == 0:
            return turn
        round_ += 1


@cuda.jit(device=True)
def join_core(bits, matrix, members, words, nodes, degree, root, k, lane, width):
    """Join the ends of the edges between members of degree k or more; a thread owns a word of the matrix."""
    for x in range(lane, members * words, width):
        i, w = x // words, x % words
        if w >= i >> 5 and nodes[degree + i] >= k:
            word = uint32(bits[matrix + x])
            while word != uint32(0):
                j = (w << 5) + int64(cuda.ffs(word)) - 1
                word = uint32(word & uint32(word - uint32(1)))
                if j > i and nodes[degree + j] >= k:
                    join(nodes, root, int64(i), j)
