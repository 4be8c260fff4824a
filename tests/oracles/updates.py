"""Walks on slot tables in plain Python: Philox and SplitMix64 by big integers; the lowest head is served first."""

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


def table(tail, heads):
    """Return the slots of the heads, None where empty: lower heads are served first, and the order decides it all."""
    if not heads:
        return []
    bits = 1
    while 2**bits < 2 * len(heads):
        bits += 1
    slots = [None] * 2**bits
    for head in sorted(heads):
        place = splitmix(tail << 32 | head) >> (64 - bits)
        while slots[place] is not None:
            place = (place + 1) % len(slots)
        slots[place] = head
    return slots


def walk(tables, one_minus_alpha, seed, start, number):
    """Return the vertices that a walk visits, its start first."""
    path = [start]
    while tables[path[-1]]:
        slots, step = tables[path[-1]], len(path) - 1
        counter = (step, start, number & _LOW, number >> 32 | WALK << 24)
        w0, w1, w2, _ = philox(counter, (seed & _LOW, seed >> 32))
        if w0 >= one_minus_alpha:
            break
        first = word = w1 << 32 | w2
        tries = 0
        while slots[word * len(slots) >> 64] is None:
            tries += 1
            word = splitmix(first + tries * 0x9E3779B97F4A7C15 & _WORD)
        path.append(slots[word * len(slots) >> 64])
    return path


def paths(rows, counts, one_minus_alpha, seed):
    """Return the paths of all walks by start and number; ``rows`` has the heads of each vertex, ``counts`` ω."""
    tables = [table(v, heads) for v, heads in enumerate(rows)]
    return [walk(tables, one_minus_alpha, seed, v, j) for v in range(len(rows)) for j in range(counts[v])]


def start_lists(found, n):
    """Return for each end its starts, frequent ones first, both parts ascending, and the frequencies above one."""
    lists = []
    for end in range(n):
        starts = Counter(path[0] for path in found if path[-1] == end)
        frequent = sorted(v for v in starts if starts[v] > 1)
        lists.append((frequent + sorted(v for v in starts if starts[v] == 1), [starts[v] for v in frequent]))
    return lists
