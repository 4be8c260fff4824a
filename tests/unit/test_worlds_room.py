"""The memory plan of RR collections keeps what it promises: everything that is alive at once, and no less than fits."""

import numpy as np
import pytest

from gpukit.worlds.room import COVERED, ENTRY, INDEXED, PAIR, SET, Held, most_entries, most_pairs


def alive(held, sets, pairs, places, pair=PAIR):
    """Return the bytes of each array by name, while a batch is drawn and while seeds are chosen afterwards."""
    grows, more = held.used + pairs > held.entries, sets > held.sets
    drawing = {
        "old entries": ENTRY * held.entries,
        "new entries": ENTRY * places if grows else 0,
        "old sets": SET * held.sets,
        "new sets": SET * sets if more else 0,
        "sampler": pair * pairs,
    }
    selecting = {
        "entries": ENTRY * (places if grows else held.entries),
        "index": INDEXED * (held.used + pairs),
        "sets": (SET + COVERED) * max(sets, held.sets),
    }
    return sum(drawing.values()), sum(selecting.values())


@pytest.mark.parametrize("pair", [PAIR, 0])
def test_the_largest_batch_fits_and_a_larger_one_does_not(pair):
    generator = np.random.default_rng(1)
    fitting = 0
    for _ in range(4000):
        entries, sets, more = (int(2 ** generator.uniform(0, 24)) for _ in range(3))
        held = Held(entries, sets, int(generator.integers(0, entries + 1)))
        memory, target = int(2 ** generator.uniform(8, 34)), int(generator.integers(0, sets + more))
        pairs = most_pairs(memory, held, target, pair)
        if pairs >= 0:
            fitting += 1
            assert max(alive(held, target, pairs, held.used + pairs, pair)) <= memory
        assert max(alive(held, target, max(pairs, -1) + 1, held.used + max(pairs, -1) + 1, pair)) > memory
    assert 1000 < fitting < 4000


def test_places_beyond_those_needed_fit_too():
    generator = np.random.default_rng(2)
    checked = 0
    for _ in range(4000):
        entries, sets = (int(2 ** generator.uniform(0, 24)) for _ in range(2))
        held, memory = Held(entries, sets, int(generator.integers(0, entries + 1))), int(2 ** generator.uniform(10, 34))
        most = most_pairs(memory, held, 2 * sets)
        pairs = int(generator.integers(1, most + 1)) if most > 0 else 0
        if held.used + pairs > entries:
            checked += 1
            places = most_entries(memory, held, 2 * sets, pairs)
            assert places >= held.used + pairs
            assert max(alive(held, 2 * sets, pairs, places)) <= memory
            assert max(alive(held, 2 * sets, pairs, places + 1)) > memory
    assert checked > 500
