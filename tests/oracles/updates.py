"""Walks on slot tables in plain Python, with Philox and SplitMix64 by big integers; lower names get slots first."""

from collections import Counter

_LOW, _WORD = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
WALK = 4
"""The stream of walks."""


def philox(counter, key):
    """Return the four words of Philox4x32-10 (Salmon et al., SC 2011)."""
    c, k = list(counter), list(key)
    for _ in range(10):
        one, two = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [two >> 32 ^ c[1] ^ k[0], two & _LOW, one >> 32 ^ c[3] ^ k[1], one & _LOW]
        k = [(k[0] + 0x9E3779B9) & _LOW, (k[1] + 0xBB67AE85) & _LOW]
    return c


def splitmix(word):
    """Return the finaliser of SplitMix64."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        word = (word ^ word >> shift) * factor & _WORD
    return word ^ word >> 31


def fold(name):
    """Return 32 bits of a name."""
    return (name ^ name >> 32) & _LOW


def table(tail, edges, names=None):
    """Return the slots of a row (None: empty); lower names get slots first, and nothing else decides.

    ``edges`` are heads, or their weights by head; a slot has a head and how many of 2**unit attempts accept it.
    """
    edges = edges if isinstance(edges, dict) else dict.fromkeys(edges, 1)
    names = names or range(2**31)
    if not edges:
        return []
    unit = 1
    while unit * len(edges) < sum(edges.values()):
        unit *= 2
    copies = {head: -(-weight // unit) for head, weight in edges.items()}
    size = 2
    while size < 2 * sum(copies.values()):
        size *= 2
    slots = [None] * size
    for head in sorted(edges, key=lambda head: names[head]):
        word = splitmix(fold(names[tail]) << 32 | fold(names[head]))
        for copy in range(copies[head]):
            place = (splitmix(word + copy * 0x9E3779B97F4A7C15 & _WORD) if copy else word) * size >> 64
            while slots[place] is not None:
                place = (place + 1) % size
            slots[place] = head, unit if copy else edges[head] - (copies[head] - 1) * unit, unit
    return slots


def walk(tables, one_minus_alpha, seed, start, number, names=None):
    """Return the vertices that a walk visits, its start first."""
    path, name = [start], names[start] if names else start
    while tables[path[-1]]:
        slots, step = tables[path[-1]], len(path) - 1
        counter = (step | name >> 48 << 16, name & _LOW, number & _LOW, number >> 32 | name >> 32 & 0xFFFF | WALK << 24)
        w0, w1, w2, _ = philox(counter, (seed & _LOW, seed >> 32))
        if w0 >= one_minus_alpha:
            break
        first = word = w1 << 32 | w2
        tries, found = 0, slots[word * len(slots) >> 64]
        while found is None or word % found[2] >= found[1]:
            tries += 1
            word = splitmix(first + tries * 0x9E3779B97F4A7C15 & _WORD)
            found = slots[word * len(slots) >> 64]
        path.append(found[0])
    return path


def paths(rows, counts, one_minus_alpha, seed, names=None):
    """Return the paths of all walks by start and number; ``rows`` has the edges of each vertex, ``counts`` ω."""
    tables = [table(v, edges, names) for v, edges in enumerate(rows)]
    return [walk(tables, one_minus_alpha, seed, v, j, names) for v in range(len(rows)) for j in range(int(counts[v]))]


def start_lists(found, n):
    """Return for each end its starts, frequent ones first, both parts ascending, and the frequencies above one."""
    lists = []
    for end in range(n):
        starts = Counter(path[0] for path in found if path[-1] == end)
        frequent = sorted(v for v in starts if starts[v] > 1)
        lists.append((frequent + sorted(v for v in starts if starts[v] == 1), [starts[v] for v in frequent]))
    return lists
