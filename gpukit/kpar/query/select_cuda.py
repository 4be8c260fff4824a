"""Selection and sorting by a team of blocks on a GPU (``team_cuda.py``): the k-th largest, and the k best in order."""

from numba import int32, int64

from gpukit.device.kernels import cuda, device
from gpukit.kpar.query import team_cuda as teams

SORTED_IN_BLOCK = 1024
"""Most pairs that one block sorts alone."""

RANKED = 256
"""Most values that are ranked by comparing all pairs."""

KEYS, IDS, UPPERS, NUMBERS, BROUGHT, FEWEST, TOP_ROWS = 0, 1, 2, 3, 4, 5, 6
"""Rows of the array of the best. Scores, vertices, upper bounds, and numbers that are sorted along with the bounds. For
contenders (``refine_cuda.py``): the mass their tails bring; and the fewest out-edges of a tail, or minus the largest
share of one tail."""

PAST_IDS = 1 << 31
"""A number above every id."""

KEPT, TIES, TAKEN = 0, 0, 0
"""Counters: values kept of the chosen bucket, candidates with the least score taken, candidates taken."""


@device
def _exponent(value):
    """Return ⌊log₂ value⌋ of a positive value."""
    high = int32(value >> 32)
    return 63 - cuda.clz(high) if high > 0 else 31 - _leading(int64(value & 0xFFFFFFFF))


@device
def _leading(value):
    """Return the number of leading zeros of a 32-bit value."""
    return cuda.clz(int32(value >> 1)) - 1 if value > 1 else 31


@device
def _bucket(value, low, shift):
    """Return the bucket of a value: linear in steps of 2**``shift``, or if ``shift`` < 0, 32 per power of two."""
    if shift >= 0:
        return (value - low) >> shift
    if value < 1:
        return int64(0)
    exponent = int64(_exponent(value))
    following = value >> (exponent - 5) if exponent >= 5 else value << (5 - exponent)
    return 1 + 32 * exponent + (following & 31)


# whole: split up, it compiles to another order of comparisons; that has to be timed on a GPU first
@device
def kth(source, count, k, spare, other, team, phase, parity):
    """Find the k-th largest of ``source[:count]`` (int64, not negative), 1 ≤ k ≤ count; all threads of the team.

    A histogram of the values narrows the list down to one bucket. This repeats until so few values are left that every
    block ranks them by itself. A histogram takes two phases; nearly always one is enough. The function is not split up,
    because its instructions would then come in another order.

    Parameters
    ----------
    spare, other : int64 arrays
        Working space for the narrowed lists; ``other`` may be ``source``, whose contents are then lost.
    parity : int
        Which of the two histograms is clear; the function clears the other one.

    Returns
    -------
    value, above, equal, phase, parity
        The k-th largest value; the number of larger values; the number of equal values; the new phase and parity.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    rank, members = team.block * block_size + tid, team.blocks * block_size
    control, pool, local = team.control, team.memory.pool, team.memory.other_stage
    low, shift, bits = int64(0), int64(-1), int64(64)
    above = int64(0)
    values = source
    while count > RANKED and bits > 0:
        # Count the values in each bucket, and clear the next histogram.
        histogram, clear = (
            team.home + teams.HISTOGRAMS + parity * teams.BUCKETS,
            team.home + teams.HISTOGRAMS + (1 - parity) * teams.BUCKETS,
        )
        b = tid
        while b < teams.BUCKETS:
            local[b] = 0
            b += block_size
        b = rank
        while b < teams.BUCKETS:
            control[clear + b] = 0
            b += members
        cuda.syncthreads()
        i = rank
        while i < count:
            cuda.atomic.add(local, _bucket(values[i], low, shift), 1)
            i += members
        cuda.syncthreads()
        b = tid
        while b < teams.BUCKETS:
            if local[b] > 0:
                cuda.atomic.add(control, histogram + b, int64(local[b]))
            b += block_size
        phase = teams.team_barrier(team, phase)
        # Find the bucket with the k-th value: thread i owns ``part`` buckets from part · i on, counted from the top.
        part = teams.BUCKETS // block_size
        held = int64(0)
        for i in range(part):
            held += control[histogram + teams.BUCKETS - 1 - tid * part - i]
        upto, _ = teams.block_prefix_sum(held, team.memory.sums)
        if upto >= k - above and upto - held < k - above:
            larger = upto - held
            bucket = teams.BUCKETS - 1 - tid * part
            while larger + control[histogram + bucket] < k - above:
                larger += control[histogram + bucket]
                bucket -= 1
            pool[teams.BUCKETS], pool[teams.BUCKETS + 1] = bucket, larger
        cuda.syncthreads()
        chosen = pool[teams.BUCKETS]
        above += pool[teams.BUCKETS + 1]
        # Keep the values in that bucket.
        kept = teams.Staged(pool, team.memory.small, 0, spare, control, teams.counters(team, phase), KEPT)
        first = rank - tid
        while first < count:
            i = first + tid
            place = 0
            if i < count and _bucket(values[i], low, shift) == chosen:
                place = teams.put(kept, values[i])
            if teams.block_any(place >= teams.STAGE - block_size, team.memory.small):
                teams.flush(kept)
            first += members
        teams.flush(kept)
        phase = teams.team_barrier(team, phase)
        count = control[teams.counters(team, phase - 1) + KEPT]
        values, spare, other = spare, other, spare
        if shift < 0:
            exponent, following = (chosen - 1) >> 5, 32 + ((chosen - 1) & 31)
            bits = max(exponent - 5, int64(0))
            low = following << bits
        else:
            low += chosen << shift
            bits = shift
        shift = max(bits - 11, int64(0))
        parity = 1 - parity
    cuda.syncthreads()
    if bits == 0:
        # All values left are equal.
        if tid == 0:
            pool[teams.BUCKETS], pool[teams.BUCKETS + 1], pool[teams.BUCKETS + 2] = values[0], above, count
    else:
        # Few are left: each is compared with all.
        i = tid
        while i < count:
            pool[i] = values[i]
            i += block_size
        cuda.syncthreads()
        i = tid
        while i < count:
            mine, larger, equal = pool[i], int64(0), int64(0)
            for j in range(count):
                larger += pool[j] > mine
                equal += pool[j] == mine
            if above + larger < k and above + larger + equal >= k:
                pool[teams.BUCKETS], pool[teams.BUCKETS + 1], pool[teams.BUCKETS + 2] = mine, above + larger, equal
            i += block_size
    phase = teams.team_barrier(team, phase)
    value, above, equal = pool[teams.BUCKETS], pool[teams.BUCKETS + 1], pool[teams.BUCKETS + 2]
    cuda.syncthreads()
    return value, above, equal, phase, parity


@device
def _order(keys, ids, i, j, falling):
    """Order two pairs: larger key first, then smaller id; reversed unless ``falling``."""
    first = keys[i] > keys[j] or (keys[i] == keys[j] and ids[i] <= ids[j])
    if first != falling:
        keys[i], keys[j] = keys[j], keys[i]
        ids[i], ids[j] = ids[j], ids[i]


@device
def sort_in_block(keys, ids, size, pool):
    """Sort ``size`` pairs, a power of two up to SORTED_IN_BLOCK, by falling key, then id; one block."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    local_keys, local_ids = pool[:SORTED_IN_BLOCK], pool[SORTED_IN_BLOCK : 2 * SORTED_IN_BLOCK]
    cuda.syncthreads()
    i = tid
    while i < size:
        local_keys[i], local_ids[i] = keys[i], ids[i]
        i += block_size
    run = 2
    while run <= size:
        step = run >> 1
        while step > 0:
            cuda.syncthreads()
            pair = tid
            while pair < size >> 1:
                i = 2 * pair - (pair & (step - 1))
                _order(local_keys, local_ids, i, i + step, (i & run) == 0)
                pair += block_size
            step >>= 1
        run *= 2
    cuda.syncthreads()
    i = tid
    while i < size:
        keys[i], ids[i] = local_keys[i], local_ids[i]
        i += block_size
    cuda.syncthreads()


@device
def sort_in_team(keys, ids, size, team, phase):
    """Sort ``size`` pairs, a power of two, by falling key, then id; all threads of the team. Returns the phase."""
    rank, members = team.block * cuda.blockDim.x + cuda.threadIdx.x, team.blocks * cuda.blockDim.x
    run = 2
    while run <= size:
        step = run >> 1
        while step > 0:
            pair = rank
            while pair < size >> 1:
                i = 2 * pair - (pair & (step - 1))
                _order(keys, ids, i, i + step, (i & run) == 0)
                pair += members
            phase = teams.team_barrier(team, phase)
            step >>= 1
        run *= 2
    return phase


@device
def take_best(slot, count, length, top, team, phase, parity):
    """Put the ``length`` best of ``count`` candidates into KEYS and IDS of ``top``, unsorted; the whole team.

    Among equal scores the lowest ids are taken. They are selected in the same way, as distances from PAST_IDS. The rest
    of the two rows is filled with values that sort last. ``limits`` and ``spare`` of the slot are undefined afterwards.

    Returns
    -------
    lowest, phase, parity
        The least score taken; the new phase and parity.
    """
    rank, members = team.block * cuda.blockDim.x + cuda.threadIdx.x, team.blocks * cuda.blockDim.x
    scores, candidates, control = slot.scores, slot.candidates, team.control
    spare, other, keys, ids = slot.limits, slot.spare, top[KEYS], top[IDS]
    lowest, above, equal, phase, parity = kth(scores, count, length, spare, other, team, phase, parity)
    farthest = int64(0)
    if equal > length - above:
        at = teams.counters(team, phase)
        j = rank
        while j < count:
            if scores[j] == lowest:
                spare[cuda.atomic.add(control, at + TIES, 1)] = PAST_IDS - int64(candidates[j])
            j += members
        phase = teams.team_barrier(team, phase)
        farthest, _, _, phase, parity = kth(spare, equal, length - above, other, spare, team, phase, parity)
    at = teams.counters(team, phase)
    i = length + rank
    while i < len(keys):
        keys[i], ids[i] = -1, PAST_IDS
        i += members
    j = rank
    while j < count:
        score, v = scores[j], int64(candidates[j])
        if score > lowest or (score == lowest and PAST_IDS - v >= farthest):
            place = cuda.atomic.add(control, at + TAKEN, 1)
            keys[place], ids[place] = score, v
        j += members
    phase = teams.team_barrier(team, phase)
    return lowest, phase, parity


@device
def sort_best(top, both, team, phase, pool):
    """Sort the best by falling score, then id; with ``both``, sort the upper bounds too; all threads of the team."""
    size = top.shape[1]
    if size <= SORTED_IN_BLOCK:
        if team.block == 0:
            sort_in_block(top[KEYS], top[IDS], size, pool)
        if both and team.block == team.blocks - 1:
            sort_in_block(top[UPPERS], top[NUMBERS], size, pool)
        return teams.team_barrier(team, phase)
    for row in range(0, 3 if both else 1, 2):
        phase = sort_in_team(top[row], top[row + 1], size, team, phase)
    return phase
