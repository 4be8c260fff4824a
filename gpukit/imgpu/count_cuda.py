"""Kernels that go from world ids to sums over worlds, a block a world: :func:`gpukit.imgpu.simulate_cpu.sum_gains`.

A block keeps its world in its own part of global memory, which stays in the cache for worlds of a few thousand arcs;
hundreds of blocks have as many worlds under way. All that a block adds to are integers.
"""

from numba import cuda, int32, int64, types

from gpukit.device.select import register_limit
from gpukit.imgpu.condense_cuda import condense
from gpukit.imgpu.reach_cuda import reach_all
from gpukit.imgpu.world_cuda import (
    CHILD,
    COMP,
    GONE,
    MOST_THREADS,
    REACH,
    ROW,
    ROWS,
    SHARED,
    TICKET,
    VERTEX,
    draw,
    forget,
    join_pairs,
    kill,
    localise,
    make_rows,
    make_stars,
)

REGISTERS = 64
"""Registers that a thread may take: 1,024 threads are then on a multiprocessor."""

OVERFLOW, TAKEN, KEPT, MOST_SLOTS, CONTROL = 0, 1, 2, 3, 4
"""Places in ``control``: a flag, worlds begun, slots << 32 | arcs that are kept, most slots of a world; its length."""


@cuda.jit(cache=True, **register_limit(REGISTERS))
def count_worlds(
    tails, heads, blocks, accept, thresholds, n, paired, seed, first, count, seeds, split, combine, reorder, unroll,
    work, cap, slot_of, gains, vertices, homes, rows, kept_heads, control,
):  # fmt: skip
    """Add the marginal reach of every vertex over worlds first … first + count - 1, less one a world, to ``gains``.

    A block owns a world at a time and all its steps (``world_cuda.py``, ``reach_cuda.py``): draw live arcs, number the
    vertices, mark what the seeds reach, merge components, order by level, label, add. Cost: about 40 passes over the
    world's arcs and slots, 4 bytes each, between barriers of the block; one 64-bit atomic a slot.

    Parameters
    ----------
    tails, heads, blocks, accept, thresholds
        The arc blocks (:class:`gpukit.worlds.blocks.ArcBlocks`).
    n, paired
        Vertices; whether an arc stands for both directions.
    seed, first, count
        The worlds.
    seeds : int32 array
        Vertices whose reach counts no more.
    split, combine, reorder, unroll
        How worlds are counted (``reach_cuda.py``).
    work : int32 array, shape (grid * ROWS * cap,)
        Each block's rows; need not be cleared.
    cap : int
        Words in a row: room for cap // 2 live arcs.
    slot_of : int32 array, shape (grid * n,)
        -1 everywhere, before and after.
    gains : int64 array, shape (n,)
        Increased.
    vertices, homes : int32 arrays, rows : int64 array, kept_heads : int32 array
        Where worlds are kept (see :func:`gpukit.imgpu.fixed_cuda.evaluate`), or empty; then seeds must be empty.
    control : int64 array, shape (CONTROL,)
        Zero at the start. ``OVERFLOW`` becomes 1 if a world did not fit into ``work``, or what is kept into its arrays:
        then nothing is of use.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    shared = cuda.shared.array(SHARED, int32)
    partial = cuda.shared.array(MOST_THREADS, int32)
    heaviest = cuda.shared.array(2, int64)
    base = int64(cuda.blockIdx.x) * ROWS * cap
    slot_base = int64(cuda.blockIdx.x) * n
    while True:
        if lane == 0:
            shared[TICKET] = int32(cuda.atomic.add(control, TAKEN, int64(1)))
        cuda.syncthreads()
        ticket = int64(shared[TICKET])
        cuda.syncthreads()
        if ticket >= count:
            break
        live = draw(tails, heads, blocks, accept, thresholds, seed, first + ticket, work, base, cap, shared)
        if live > cap // 2:
            if lane == 0:
                control[OVERFLOW] = 1
            break
        slots = localise(slot_of, slot_base, work, base, cap, live, shared)
        if paired:
            join_pairs(work, base, cap, live, slots)
        if len(vertices) > 0:
            arcs = make_stars(work, base, cap, slots, shared) if paired else live
            make_rows(work, base, cap, arcs, slots, partial)
            if lane == 0:
                heaviest[0] = cuda.atomic.add(control, KEPT, slots << 32 | arcs)
                cuda.atomic.max(control, MOST_SLOTS, slots)
            cuda.syncthreads()
            first_slot, first_arc = heaviest[0] >> 32, heaviest[0] & int64(0xFFFFFFFF)
            cuda.syncthreads()
            if first_slot + slots <= len(vertices) and first_arc + arcs <= len(kept_heads):
                for s in range(lane, slots, width):
                    vertices[first_slot + s] = work[base + VERTEX * cap + s]
                    homes[first_slot + s] = first_slot
                    rows[first_slot + s] = first_arc + work[base + ROW * cap + s]
                for e in range(lane, arcs, width):
                    kept_heads[first_arc + e] = first_slot + work[base + CHILD * cap + e]
            elif lane == 0:
                control[OVERFLOW] = 1
        kill(seeds, slot_of, slot_base, work, base, cap, live, slots, paired, shared)
        if not paired:
            levels, _ = condense(work, base, cap, live, slots, shared)
            reach_all(
                work, base, cap, live, slots, levels, split, combine, reorder, unroll, shared, partial, heaviest
            )  # fmt: skip
        for s in range(lane, slots, width):
            gain = int64(-1)
            if work[base + GONE * cap + s] == 0:
                gain = int64(work[base + REACH * cap + work[base + COMP * cap + s]]) - 1
            if gain != 0:
                cuda.atomic.add(gains, work[base + VERTEX * cap + s], gain)
        forget(slot_of, slot_base, work, base, cap, slots)


@cuda.jit(cache=True, **register_limit(REGISTERS))
def count_reached(
    tails, heads, blocks, accept, thresholds, n, paired, seed, first, seeds, work, cap, slot_of, values, control
):  # fmt: skip
    """Write how many vertices the seeds reach in worlds first … to ``values`` (int64); a block owns a world at a time.

    Parameters are those of :func:`count_worlds`. Cost: drawing, two passes to number the vertices, and one pass over
    the arcs for each step of the longest search.
    """
    lane = cuda.threadIdx.x
    shared = cuda.shared.array(SHARED, int32)
    base = int64(cuda.blockIdx.x) * ROWS * cap
    slot_base = int64(cuda.blockIdx.x) * n
    for i in range(cuda.blockIdx.x, len(values), cuda.gridDim.x):
        live = draw(tails, heads, blocks, accept, thresholds, seed, first + i, work, base, cap, shared)
        if live > cap // 2:
            if lane == 0:
                control[OVERFLOW] = 1
            break
        slots = localise(slot_of, slot_base, work, base, cap, live, shared)
        if paired:
            join_pairs(work, base, cap, live, slots)
        reached = kill(seeds, slot_of, slot_base, work, base, cap, live, slots, paired, shared)
        if lane == 0:
            values[i] = reached
        forget(slot_of, slot_base, work, base, cap, slots)


_i32, _i64, _int = types.int32[::1], types.int64[::1], types.int64
_blocks = (_i32, _i32, types.uint32[:, ::1], types.uint32[::1], types.uint64[::1], _int, types.boolean, types.uint64)

KERNELS = {
    "count_worlds": (
        count_worlds,
        (*_blocks, _int, _int, _i32, _int, types.boolean, types.boolean, _int, _i32, _int, _i32, _i64)
        + (_i32, _i32, _i64, _i32, _i64),
    ),
    "count_reached": (count_reached, (*_blocks, _int, _i32, _i32, _int, _i32, _i64, _i64)),
}
"""Every kernel with the types of the arguments it is launched with."""
