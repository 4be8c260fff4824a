"""Clocks of LT choices: logarithms, comparison, the law of what is chosen, and choices that stay while others die."""

from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction

import numba
import numpy as np
import pytest
from oracles.statistics import ALPHA, check_cells, chi_square_p

from gpukit.device.philox import Stream
from gpukit.graph.csr import Weights
from gpukit.graph.probabilities import stored
from gpukit.merit.clocks import first_clock, halvings, is_before
from gpukit.merit.rule import DRAWS, InEdges, Key, Remaining, living_choice
from gpukit.worlds.reverse import prepare
from gpukit.worlds.rule import CALLS_PER_ROW, LT_CASCADE, LT_CONSTANT, LT_PREFIX, lt_choice

SEED, TAG = np.uint64(11), int(Stream.LT)
UNDECIDED = -2
NONE = np.zeros(0, np.uint32)


def words():
    """Return 64-bit words: the ends, powers of two and their neighbours, and random ones of every length."""
    generator = np.random.default_rng(0)
    ends = {min(max((1 << b) + d, 0), 2**64 - 1) for b in range(65) for d in (-2, -1, 0, 1)}
    random = [
        int(w) >> int(s) for w, s in zip(*generator.integers(0, (2**64, 64), (2000, 2), np.uint64).T, strict=True)
    ]
    return sorted(ends | set(random) | {2**64 - 1 - w for w in random})


def test_halvings_are_logarithms():
    """Against decimal logarithms of 50 digits; what rounds to the nearest unit is off by at most half of one."""
    with localcontext(prec=50):
        two = Decimal(2).ln()
        for word in words():
            exact = (64 - Decimal(word + 1).ln() / two) * 2**32
            assert abs(int(halvings(np.uint64(word))) - exact) <= Decimal("0.51"), word
    known = {0: 64 << 32, 2**63 - 1: 1 << 32, 2**64 - 1: 0, 3 * 2**62 - 1: 1782572486, 2**40 - 2: 0x1800000000}
    assert {word: int(halvings(np.uint64(word))) for word in known} == known


def test_clocks_are_compared_as_fractions():
    generator = np.random.default_rng(1)
    clocks = [0, 1, 2**32 - 1, 2**32, 2**38, *generator.integers(0, 2**38, 15).tolist()]
    weights = [1, 2, 2**32 - 1, 2**32, *generator.integers(1, 2**32, 8).tolist()]
    for a in clocks:
        for b in clocks:
            for v in weights:
                for w in (*weights, v):
                    expected = Fraction(a, v) < Fraction(b, w)
                    assert is_before(*(np.uint64(x) for x in (a, v, b, w))) == expected
                    # What is compared with nothing, at first, is before it.
                    assert is_before(*(np.uint64(x) for x in (a, v, 1, 0)))


class Row:
    """The in-edges of vertex 0 from the vertices 1, 2, …, with weights each or all alike."""

    def __init__(self, make_graph, weights):
        if isinstance(weights, tuple):
            degree, scheme = weights
            edges = [(v, 0) for v in range(1, degree + 1)]
        else:
            degree, scheme = len(weights), None
            edges = [(v, 0, w) for v, w in enumerate(weights, 1)]
        self.graph, self.degree = make_graph(degree + 1, edges, scheme), degree
        r = prepare(self.graph, "lt")
        self.kind, self.indices = r.lt_kind, r.indices
        self.row = (r.lt_kind, degree, 0, np.uint64(r.lt_constant), r.lt_prefix)
        self.dead = np.zeros(degree + 1, np.uint8)

    def kill(self, *places):
        self.dead[[place + 1 for place in places]] = 1

    def chances(self):
        """Return the chance of each place and of none (-1): weights of the living in 2**32nds, over what is left."""
        if self.kind == LT_CASCADE:
            weights = [1] * self.degree
            none = 0
        else:
            words = self.graph.in_probabilities
            if words is None:
                words = np.repeat(stored(np.array([self.graph.weights.p])), self.degree)
            weights = [int(word) + 1 for word in words]
            none = 2**32 - sum(weights)
        living = {j: weight for j, weight in enumerate(weights) if not self.dead[j + 1]} | {-1: max(none, 0)}
        return {place: Fraction(weight, sum(living.values())) for place, weight in living.items() if weight}

    def choose(self, function, count):
        """Return what ``count`` samples choose."""
        living_in = np.array([self.degree - self.dead.sum(), *[0] * self.degree], np.int32)
        return function(*self.row, self.indices, self.dead, living_in, count)


@numba.njit
def by_clocks(kind, degree, start, constant, prefix, indices, dead, living_in, count):
    found = np.empty(count, np.int64)
    for sample in range(count):
        found[sample] = first_clock(kind, degree, start, constant, prefix, SEED, sample, 0, indices, dead)
    return found


@numba.njit
def by_rule(kind, degree, start, constant, prefix, indices, dead, living_in, count):
    found = np.empty(count, np.int64)
    edges = InEdges(NONE, indices, NONE, NONE, kind, constant, prefix)
    remaining = Remaining(dead, 0, 0, living_in, False)
    for sample in range(count):
        found[sample] = living_choice(edges, remaining, degree, start, Key(SEED, TAG, 0), sample, 0)
    return found


@numba.njit
def by_draws(kind, degree, start, constant, prefix, indices, dead, living_in, count):
    """Repeat draws until one does not meet the dead, as far as draws are repeated."""
    found = np.full(count, UNDECIDED)
    for sample in range(count):
        for draw in range(DRAWS):
            chosen = lt_choice(kind, degree, start, constant, prefix, SEED, TAG, sample, 0, draw * CALLS_PER_ROW)
            if chosen < 0 or not dead[indices[start + chosen]]:
                found[sample] = chosen
                break
    return found


ROWS = [
    ([0.9999999, 0.0000001], [0], LT_PREFIX),
    ([0.999999, 0.0000004, 0.0000002], [0], LT_PREFIX),
    ([0.0000004, 0.999, 0.0000002, 0.0009, 0.00000002], [1, 3], LT_PREFIX),
    ([0.2, 0.3, 0.1, 0.15], [1], LT_PREFIX),
    ([0.9, 0.04, 0.03, 0.03], [0], LT_PREFIX),
    ((9, Weights("const", 0.1)), [0, 3, 4], LT_CONSTANT),
    ((99, Weights("const", 0.01)), [*range(2, 50), *range(51, 98)], LT_CONSTANT),
    ((5, Weights()), [1, 4], LT_CASCADE),
    ((200, Weights()), [*range(3, 90), *range(92, 199)], LT_CASCADE),
]


@pytest.mark.parametrize(("weights", "dead", "kind"), ROWS)
def test_choices_follow_the_weights_of_the_living(make_graph, weights, dead, kind):
    """By clocks alone, and by draws with clocks behind them; a right program fails with a chance below 4e-6 each."""
    row = Row(make_graph, weights)
    assert row.kind == kind
    row.kill(*dead)
    chances = row.chances()
    for function in (by_clocks, by_rule):
        counts = Counter(row.choose(function, 50_000).tolist())
        check_cells(counts, chances)
        if len(chances) > 1:
            assert chi_square_p(counts, chances) > ALPHA


def test_what_rounding_left_without_weight_is_chosen_when_nothing_else_lives(make_graph):
    row = Row(make_graph, [0.9999999999, 0.0000000001])
    assert (row.choose(by_rule, 1000) == 0).all()
    row.kill(0)
    assert (row.choose(by_rule, 1000) == 1).all()


@pytest.mark.parametrize(("weights", "dead", "kind"), ROWS)
def test_few_draws_choose_as_they_did(make_graph, weights, dead, kind):
    row = Row(make_graph, weights)
    row.kill(*dead)
    before, now = row.choose(by_draws, 3000), row.choose(by_rule, 3000)
    decided = before != UNDECIDED
    assert np.array_equal(before[decided], now[decided])
    assert np.array_equal(row.choose(by_clocks, 3000)[~decided], now[~decided])


@pytest.mark.parametrize(("weights", "dead", "kind"), ROWS)
def test_choices_stay_while_the_chosen_live(make_graph, weights, dead, kind):
    """In-neighbours die one by one, those with the most weight first, then in any order."""
    row = Row(make_graph, weights)
    rest = np.random.default_rng(2).permutation(np.setdiff1d(np.arange(row.degree), dead)).tolist()
    before = row.choose(by_rule, 3000)
    for place in [*dead, *rest][-40:]:
        row.kill(place)
        now = row.choose(by_rule, 3000)
        stay = before != place
        assert np.array_equal(before[stay], now[stay])
        assert not row.dead[now[now >= 0] + 1].any()
        before = now
    assert (before == -1).all() or row.degree > 40
