"""One live-edge world on the CPU: its arcs, its vertices with local numbers, and the seeds' reach.

Vertices without live arcs are left out, so the cost of a world depends on its live arcs and not on the graph. The other
vertices are its *slots*: first those with out-arcs, then those with in-arcs only.
"""

from typing import NamedTuple

import numpy as np
from numba import uint32

from gpukit.device.compiled import njit
from gpukit.device.philox import draw4
from gpukit.imgpu.world import WORLD
from gpukit.worlds.blocks import ArcBlocks
from gpukit.worlds.rule import live_edges
from gpukit.worlds.tables import MAX_LIVE


class World(NamedTuple):
    """Working space of one worker: one world at a time.

    Attributes
    ----------
    slot_of : int32 array, shape (n,)
        Slot of each vertex; -1 without a slot, and everywhere between two worlds.
    live : uint32 array, shape (most live arcs,)
        The live arcs, as places in the order of the blocks.
    vertex, row, heads : int32 arrays, shapes (slots,), (slots + 1,), (arcs,)
        Vertex of each slot; CSR of the live arcs.
    gone : uint8 array, shape (slots,)
        1 if seeds reach the slot.
    comp : int32 array, shape (slots,)
        The component of each slot, named by its representative slot.
    weight : int32 array, shape (slots,)
        Members of each component, at its representative slot.
    members, order : int32 arrays, shapes (slots,), (slots + 1,)
        Slots with out-arcs by component; start of each component in ``members``. A component comes after all components
        that it reaches.
    low, visit, cursor, stack, frames : int32 arrays, shape (slots,)
        Working space of searches.
    """

    slot_of: np.ndarray
    live: np.ndarray
    vertex: np.ndarray
    row: np.ndarray
    heads: np.ndarray
    gone: np.ndarray
    comp: np.ndarray
    weight: np.ndarray
    members: np.ndarray
    order: np.ndarray
    low: np.ndarray
    visit: np.ndarray
    cursor: np.ndarray
    stack: np.ndarray
    frames: np.ndarray


def make_world(ready: ArcBlocks) -> World:
    """Return working space for the worlds of a graph."""
    arcs = ready.most_live
    slots = min(ready.n, 2 * arcs) + 2
    i32 = {name: np.empty(slots, np.int32) for name in World._fields}
    i32["slot_of"] = np.full(ready.n, -1, np.int32)
    i32["live"] = np.empty(arcs + MAX_LIVE, np.uint32)
    # The arcs of a paired world become cycles through the components: one arc per slot.
    i32["heads"] = np.empty(max(arcs, slots), np.int32)
    i32["gone"] = np.empty(slots, np.uint8)
    return World(**i32)


@njit
def draw(arcs, seed, id_, out):
    """Write the live arcs of world ``id_`` to ``out``, ascending by place, and return their number."""
    buffer = np.empty(MAX_LIVE, np.uint32)
    total = 0
    for b in range(len(arcs.blocks)):
        start, length, meta = arcs.blocks[b, 0], arcs.blocks[b, 1], arcs.blocks[b, 2]
        words = draw4(seed, WORLD, id_, b, 0)
        found = live_edges(length, meta, start, 0, arcs.accept, arcs.thresholds, seed, WORLD, id_, b, words, buffer)
        for j in range(found):
            place = uint32(start + buffer[j])
            k = total + j
            while k > total and out[k - 1] > place:
                out[k] = out[k - 1]
                k -= 1
            out[k] = place
        total += found
    return total


@njit
def number_slots(arcs, world, count):
    """Assign slots to the vertices of the first ``count`` arcs of ``live`` and build the CSR; return (tails, slots)."""
    slot_of, vertex, row = world.slot_of, world.vertex, world.row
    tails = 0
    for i in range(count):
        u = arcs.tails[world.live[i]]
        s = slot_of[u]
        if s < 0:
            s = tails
            slot_of[u] = s
            vertex[s] = u
            row[s + 1] = 0
            tails += 1
        row[s + 1] += 1
    row[0] = 0
    for s in range(tails):
        row[s + 1] += row[s]
        world.cursor[s] = row[s]
    slots = tails
    for i in range(count):
        v = arcs.heads[world.live[i]]
        s = slot_of[v]
        if s < 0:
            s = slots
            slot_of[v] = s
            vertex[s] = v
            row[s + 1] = count
            slots += 1
        u = slot_of[arcs.tails[world.live[i]]]
        world.heads[world.cursor[u]] = s
        world.cursor[u] += 1
    return tails, slots


@njit
def forget_slots(world, slots):
    """Reset ``slot_of`` for the next world."""
    for s in range(slots):
        world.slot_of[world.vertex[s]] = -1


@njit
def _root(parent, s):
    """Return the root of s and halve the path to it."""
    while parent[s] != s:
        parent[s] = parent[parent[s]]
        s = parent[s]
    return s


@njit
def join_pairs(arcs, world, count):
    """Assign slots to the vertices of a paired world, and replace its arcs by a cycle through each connected component.

    Then every slot has one out-arc, and each component is strongly connected. Returns (tails, slots), which are equal,
    and fills ``comp`` and ``weight``, so no condensation is needed.
    """
    parent, vertex = world.low, world.vertex
    slots = 0
    for i in range(count):
        a = world.live[i]
        for v in (arcs.tails[a], arcs.heads[a]):
            if world.slot_of[v] < 0:
                world.slot_of[v] = slots
                vertex[slots] = v
                parent[slots] = slots
                slots += 1
        p, q = _root(parent, world.slot_of[arcs.tails[a]]), _root(parent, world.slot_of[arcs.heads[a]])
        if p < q:
            parent[q] = p
        else:
            parent[p] = q
    last = world.cursor
    for s in range(slots):
        world.row[s] = s
        r = _root(parent, s)
        world.comp[s] = r
        if r == s:
            world.weight[s] = 0
        else:
            world.heads[last[r]] = s
        world.weight[r] += 1
        world.heads[s] = r
        last[r] = s
    world.row[slots] = slots
    return slots, slots


@njit
def remove_reached(world, slots, tails, seeds):
    """Mark the seeds' reach in ``gone`` and return its number of vertices, seeds without live arcs included."""
    gone, stack = world.gone, world.stack
    gone[:slots] = 0
    top = 0
    reached = len(seeds)
    for v in seeds:
        s = world.slot_of[v]
        if s >= 0 and gone[s] == 0:
            gone[s] = 1
            stack[top] = s
            top += 1
    seeded = top
    reached -= seeded
    marked = seeded
    while top > 0:
        top -= 1
        s = stack[top]
        if s >= tails:
            continue
        for e in range(world.row[s], world.row[s + 1]):
            t = world.heads[e]
            if gone[t] == 0:
                gone[t] = 1
                marked += 1
                stack[top] = t
                top += 1
    return reached + marked


@njit
def open_world(arcs, seed, id_, seeds, world):
    """Draw a world, number its vertices as slots, and mark the seeds' reach (Algorithm 2, line 5).

    Returns (tails, slots, number of vertices that the seeds reach). Call :func:`forget_slots` before the next world.
    """
    count = draw(arcs, seed, id_, world.live)
    tails, slots = join_pairs(arcs, world, count) if arcs.paired else number_slots(arcs, world, count)
    return tails, slots, remove_reached(world, slots, tails, seeds)
