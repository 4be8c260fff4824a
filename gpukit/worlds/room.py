"""Device memory of the RR collections of a graph on one GPU: what is alive at once, and what a batch may take.

All quantities are bytes. The budget B is ``SHARE`` of what is free when the graph's own arrays lie there; the rest is
for what grows with the number of seeds, and for the gaps that an allocator leaves. The k collections of a graph (two of
OPIM-C, more where several GPUs draw) divide what none of them holds yet, so that all may grow at the same time::

    own    = 8 E + 12 S + 4 n         entries (E places), start and size of a set (S places), counters (n elements)
    spare  = (B - sum of all own) / k
    memory = own + spare - 8 n        less the counters and the copy that a batch goes back to

Of a collection with U members, a batch of p pairs that makes T sets has at once, with [...] 1 where true, else 0:

    drawing:   8 E + [U + p > E] 8 C + 12 S + [T > S] 12 T + PAIR p             <= memory
    selecting: 8 C + 4 (U + p) + (12 + 4) max(S, T)                             <= memory

where C >= U + p, the places of the entries afterwards, is E if that is enough. While they grow, old and new are there
at once. PAIR is what the sampler takes while it draws: 8 for the queue, 4 for ranks and up to 32 for hash tables, or 40
for the logs of walks; the sampler of gIM makes its bitmaps and lists as large as that. A selection takes 4 for each
member (inverted index) and 4 for each set (covered, or earliest where it judges) while it runs. The sets of a
collection in host memory are those of a batch; to have room for them, p is first found without.
"""

from typing import NamedTuple

SHARE = 0.8
"""Part of the free memory that collections may take."""

PAIR = 8 + 4 + 32
"""For a pair of a batch: queue, rank and hash table at most."""

ENTRY, SET, COUNTER = 8, 8 + 4, 4
"""For a member, a set and an element, as long as the collection is there."""

INDEXED, COVERED = 4, 4
"""For a member and a set while seeds are chosen and judged."""


class Held(NamedTuple):
    """Places in the arrays of a collection, and members in its entries."""

    entries: int
    sets: int
    used: int


def most_pairs(memory: int, held: Held, sets: int, pair: int = PAIR) -> int:
    """Return the most pairs of a batch after which there are so many sets; below 0 where nothing fits.

    Parameters
    ----------
    memory : int
        Bytes that the collection may take for its entries, sets, sampler and selection.
    held : Held
    sets : int
        Sets there are to be.
    pair : int
        What the sampler takes for a pair.
    """
    entries, _, used = held
    drawing, selecting = _left(memory, held, sets)
    kept = min(
        entries - used,
        (drawing - ENTRY * entries) // max(1, pair),
        (selecting - ENTRY * entries - INDEXED * used) // INDEXED,
    )
    grown = min(
        (drawing - ENTRY * (entries + used)) // (ENTRY + pair),
        (selecting - (ENTRY + INDEXED) * used) // (ENTRY + INDEXED),
    )
    return max(kept, grown if used + grown > entries else -1)


def most_entries(memory: int, held: Held, sets: int, pairs: int) -> int:
    """Return how many places the entries may have when they grow for a batch of ``most_pairs`` pairs or fewer."""
    drawing, selecting = _left(memory, held, sets)
    return min(
        (drawing - ENTRY * held.entries - PAIR * pairs) // ENTRY,
        (selecting - INDEXED * (held.used + pairs)) // ENTRY,
    )


def _left(memory: int, held: Held, sets: int) -> tuple[int, int]:
    """Return what sets leave of the memory while a batch is drawn, and while seeds are chosen."""
    more = sets if sets > held.sets else 0
    return memory - SET * (held.sets + more), memory - (SET + COVERED) * max(held.sets, sets)
