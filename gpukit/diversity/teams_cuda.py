"""What a team of blocks that owns an ego-network has in common: its barrier, its counters, its union-find."""

from numba import cuda, int32

from gpukit.device.prefix_sum_cuda import add_up

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
def team_sync(team, control, own, turn):
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
def root_of(nodes, base, x):
    """Return the root of x and halve the path to it."""
    parent = nodes[base + x]
    while parent != x:
        above = nodes[base + parent]
        nodes[base + x] = above
        x = parent
        parent = above
    return x


@cuda.jit(device=True)
def join(nodes, base, a, b):
    """Join the parts of a and b; roots are lowest members at the end."""
    while True:
        a, b = root_of(nodes, base, a), root_of(nodes, base, b)
        if a == b:
            return
        if a < b:
            a, b = b, a
        if cuda.atomic.cas(nodes, base + a, int32(a), int32(b)) == a:
            return


@cuda.jit(device=True)
def running_sum(nodes, base, count, partial):
    """Replace numbers by the sums before them, and write the total after them; one block."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    chunk = (count + width - 1) // width
    low = min(count, lane * chunk)
    high = min(count, low + chunk)
    own = int32(0)
    for x in range(low, high):
        own += nodes[base + x]
    partial[lane] = own
    add_up(partial)
    total = partial[lane] - own
    for x in range(low, high):
        number = nodes[base + x]
        nodes[base + x] = total
        total += number
    if lane == width - 1:
        nodes[base + count] = total
    cuda.syncthreads()
