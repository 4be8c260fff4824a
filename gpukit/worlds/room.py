"""Device memory of the RR collections of a graph on one GPU: what coexists, and how much a batch may take.

All quantities are bytes. The budget B is ``SHARE`` of the memory that is free once the graph's own arrays are there.
The rest is for memory that grows with the number of seeds, and for the allocator's gaps. The k collections of a graph
(two of OPIM-C, more if several GPUs draw) divide the unused part of B equally, so that all may grow at the same time::

    own    = 8 E + 12 S + 4 n         entries (capacity E), starts and sizes of sets (capacity S), counters (n elements)
    spare  = (B - sum of all own) / k
    memory = own + spare - 8 n        without the counters, and their copy that restores them if a batch fails

A collection with U members draws a batch of p pairs, after which it has T sets. These bytes are needed at once, where
[...] is 1 if true, else 0:

    drawing:   8 E + [U + p > E] 8 C + 12 S + [T > S] 12 T + PAIR p             <= memory
    selecting: 8 C + 4 (U + p) + (12 + 4) max(S, T)                             <= memory

C >= U + p is the capacity of the entries afterwards; it is E if that is enough. While arrays grow, the old and the new
array coexist. PAIR is the memory of the sampler while it draws: 8 for the queue, 4 for ranks and up to 32 for
hash tables, or 40 for the logs of walks. The sampler of gIM uses as much for its bitmaps and lists. While a
selection runs, it takes 4 for each member (inverted index) and 4 for each set (covered; earliest when it counts
coverage). A collection in host memory keeps only the sets of one batch on the device. To find how much memory these
take, p is first computed without them.
"""

from typing import NamedTuple

SHARE = 0.8
"""Share of the free memory that collections may take."""

PAIR = 8 + 4 + 32
"""Bytes per pair of a batch: queue, rank and hash table at most."""

ENTRY, SET, COUNTER = 8, 8 + 4, 4
"""Bytes per member, per set and per element, as long as the collection exists."""

INDEXED, COVERED = 4, 4
"""Bytes per member and set while seeds are chosen and judged."""


class Held(NamedTuple):
    """Capacity of a collection's arrays of entries and of sets, and the number of members in its entries."""

    entries: int
    sets: int
    used: int


def most_pairs(memory: int, held: Held, sets: int, pair: int = PAIR) -> int:
    """Return the largest number of pairs of a batch after which there are ``sets`` sets; below 0 if nothing fits.

    Parameters
    ----------
    memory : int
        Bytes that the collection may take for its entries, sets, sampler and selection.
    held : Held
    sets : int
        Number of sets after the batch.
    pair : int
        Bytes that the sampler takes per pair.
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
    """Return the largest capacity of the entries, for a batch of at most ``pairs`` pairs."""
    drawing, selecting = _left(memory, held, sets)
    return min(
        (drawing - ENTRY * held.entries - PAIR * pairs) // ENTRY,
        (selecting - INDEXED * (held.used + pairs)) // ENTRY,
    )


def _left(memory: int, held: Held, sets: int) -> tuple[int, int]:
    """Return the memory that sets leave free while a batch is drawn, and while seeds are chosen."""
    more = sets if sets > held.sets else 0
    return memory - SET * (held.sets + more), memory - (SET + COVERED) * max(held.sets, sets)
