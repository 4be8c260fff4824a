"""Launches of the samplers of RR sets: how many blocks and how much working space a batch gets."""

import numpy as np

from gpukit.device.arrays import Buffer, Pinned, multiprocessors, resident_blocks, xp
from gpukit.device.launch import launch
from gpukit.worlds import block_cuda, room, sample_cuda, walk_cuda
from gpukit.worlds.graph_cuda import Batch

WALK_PLACES = room.PAIR // 8
"""Places in the logs of walks for each expected member."""

GROUPS = 4
"""Groups of at least eight sets that a block starts; blocks that finish early take more groups."""

SETS, LARGE_SETS, BUSY_PAIRS = 32, 4, 1 << 16
"""Sets per block. A block gets fewer, but at least LARGE_SETS, if these have BUSY_PAIRS pairs together."""

FAR_BLOCKS = 2
"""Most blocks per multiprocessor if the edges are in host memory. These blocks already read as fast as the bus allows,
and with fewer blocks each has more memory where memory is short."""


def _power_of_two(least: int) -> int:
    return 1 << max(0, least - 1).bit_length()


def skip(batch: Batch) -> None:
    """Draw sets of any model with :func:`gpukit.worlds.sample_cuda.sample`."""
    rounds, count = batch.graph.tables.rounds, batch.samples.size
    block = 32 if xp is np else block_cuda.BLOCK
    # Sets that end at a limit get one block each if possible: a search is a chain of dependent loads, and the searches
    # in one block wait for each other.
    alone = 0 < batch.samples.limit < batch.graph.tables.n
    fewest = 1 if alone else LARGE_SETS
    busy = count if alone else max(1, count // SETS, min(count // LARGE_SETS, batch.pairs // BUSY_PAIRS))
    blocks = 2 if xp is np else min(resident_blocks(block, block_cuda.REGISTERS), busy)
    if xp is not np and isinstance(batch.graph.indices, Pinned):
        blocks = min(blocks, FAR_BLOCKS * multiprocessors())
    least = 4 * block * rounds
    blocks = max(1, min(blocks, batch.pairs // least))
    places = max(batch.pairs // blocks, least)
    # At most two thirds of a table are filled.
    slots = _power_of_two(3 * places // 2)
    met = Buffer(count, np.int32, 0) if batch.samples.all_marks else batch.graph.not_met
    table, queue = Buffer(blocks * slots, np.uint64), Buffer(blocks * places, np.uint64)
    ranks = Buffer((blocks, places), np.int32)
    space = block_cuda.BlockMemory(table.view, queue.view, ranks.view, met.view)
    begin = max(block_cuda.SLOTS, _power_of_two(block_cuda.FULLEST * batch.expected // blocks))
    group = max(1, min(max(8, count // (GROUPS * blocks)), 2 * block // rounds, count // (fewest * blocks)))
    args = (batch.graph.tables, batch.samples, group, begin, space, batch.out, batch.control)
    launch(sample_cuda.sample, blocks, block, *args)


def walk(batch: Batch) -> None:
    """Draw sets of LT, one round, with :func:`gpukit.worlds.walk_cuda.walk`."""
    graph, count = batch.graph, batch.samples.size
    assert graph.walk_steps is not None
    block = 32 if xp is np else walk_cuda.BLOCK
    blocks = min(2 if xp is np else walk_cuda.BLOCKS * multiprocessors(), -(-count // block))
    places = WALK_PLACES * batch.pairs // (blocks * block)
    log = Buffer((blocks * block, places), np.uint64)
    t = graph.tables
    tables = walk_cuda.WalkTables(t.rows, graph.walk_steps.view, t.lt_kind, t.lt_constant, t.lt_prefix, t.roots, t.n)
    launch(walk_cuda.walk, blocks, block, tables, batch.samples, log.view, batch.out, batch.control)
