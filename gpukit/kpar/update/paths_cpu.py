"""Kernels of walks on slot tables, on the CPU (Numba): lengths, paths and ends."""

from numba import int64, uint16, uint64

from gpukit.device.compiled import njit
from gpukit.kpar.update.rule import chosen
from gpukit.kpar.update.tables_cpu import draws_of


@njit
def longest(key, steps_max, walk, vertex):
    """Return the number of steps of walk ``walk`` from ``vertex`` if no vertex absorbs it, at most ``steps_max``."""
    step = 0
    while step < steps_max and uint64(draws_of(key, walk, vertex, step)[0]) < key.one_minus_alpha:
        step += 1
    return step


@njit
def longest_walks(key, steps_max, walks, places, first, last, room):
    """Write :func:`longest` of all walks of the vertices first … last - 1 to ``room`` (uint16), from ``places`` on."""
    for v in range(first, last):
        for j in range(int64(walks[v])):
            room[places[v] + j] = uint16(longest(key, steps_max, j, v))


@njit
def next_of(key, tables, walk, vertex, here, step):
    """Return the vertex to which walk ``walk`` from ``vertex`` goes in step ``step`` from ``here``; -1 if it ends."""
    where = tables.where[here]
    if where == 0:
        return int64(-1)
    w0, word = draws_of(key, walk, vertex, step)
    if uint64(w0) >= key.one_minus_alpha:
        return int64(-1)
    return int64(chosen(tables.slots, tables.weights, where >> 16, where & 0xFFFF, word))


@njit
def draw_paths(key, tables, walks, places, cells, first, last, moves, path):
    """Draw the paths of all walks of the vertices first … last - 1, one step after another.

    Parameters
    ----------
    key, tables
    walks : integer array, shape (n,)
    places : int64 array, shape (n + 1,)
        Number of the first walk of each vertex.
    cells : int64 array, shape (walks + 1,)
        Start of the path of each walk in ``path``, with room for its greatest length.
    moves : uint16 array, shape (walks,)
        Receives the number of steps of each.
    path : int32 array
        Receives the vertex after each step.
    """
    for v in range(first, last):
        for j in range(int64(walks[v])):
            r = places[v] + j
            step = 0
            here = next_of(key, tables, j, v, int64(v), step)
            while here >= 0:
                path[cells[r] + step] = here
                step += 1
                here = next_of(key, tables, j, v, here, step)
            moves[r] = uint16(step)


@njit
def pack_paths(cells, moves, begin, first, last, path, packed):
    """Copy the paths of the walks first … last - 1, which have gaps between them, without gaps (from ``begin``)."""
    for r in range(first, last):
        for i in range(int64(moves[r])):
            packed[begin[r] + i] = path[cells[r] + i]


@njit
def ends_of(places, begin, path, first, last, ends):
    """Write the end of each walk of the vertices first … last - 1: the last vertex of its path, or its start."""
    for v in range(first, last):
        for r in range(places[v], places[v + 1]):
            ends[r] = path[begin[r + 1] - 1] if begin[r + 1] > begin[r] else v
