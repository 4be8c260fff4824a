"""Edge probabilities: schemes, fixed point, trivalency, the check for the linear threshold model."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpukit.device.philox import Stream, draw4
from gpukit.errors import InputError, UsageError
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.graph.probabilities import (
    ONE,
    cascade_stored,
    check_lt,
    in_degrees,
    in_probabilities,
    out_probabilities,
    parse_weights,
    stored,
    threshold,
    trivalency_stored,
    uniform_stored,
)


@pytest.mark.parametrize(
    "text", ["wc", "file", "none", "trivalency", "const:0.01", "const:1", "const:1e-09", "uniform:0.0:0.1"]
)
def test_scheme_names_come_back(text):
    assert parse_weights(str(parse_weights(text))) == parse_weights(text)


def test_parsed_schemes():
    assert parse_weights("const:0.25") == Weights("const", p=0.25)
    assert parse_weights("trivalency", 7) == Weights("trivalency", seed=7)
    assert parse_weights("uniform:0:1", 7) == Weights("uniform", seed=7, low=0.0, high=1.0)
    assert parse_weights("wc", 7) == Weights("wc")


@pytest.mark.parametrize(
    "text",
    ["", "WC", "const", "const:", "const:0", "const:1.1", "const:-1", "const:nan", "const:x"]
    + ["uniform", "uniform:", "uniform:0.1", "uniform:0.2:0.1", "uniform:0:1.1", "uniform:-0.1:1", "uniform:0:nan"]
    + ["uniform:0:0.1:", "uniform:0:0.1:0.2", "uniform::", "uniform:0:_1"],
)
def test_unknown_schemes(text):
    with pytest.raises(UsageError, match="--weights"):
        parse_weights(text)


@given(st.floats(min_value=1e-300, max_value=1))
def test_fixed_point_is_the_nearest_and_never_zero(p):
    exact = Fraction(p) * ONE
    assert 1 <= threshold(p) <= ONE
    assert abs(threshold(p) - exact) <= Fraction(1, 2) + Fraction(1, 2**20) or (threshold(p) == 1 and exact < 1)
    assert int(stored(np.array([p]))[0]) + 1 == threshold(p)


def test_fixed_point_at_the_ends():
    assert [threshold(p) for p in (1.0, 0.5, 2**-32, 1e-300)] == [ONE, ONE // 2, 1, 1]
    assert stored(np.array([1.0])).dtype == np.uint32


@given(st.integers(1, 2**31 - 1))
def test_weighted_cascade_is_rounded_in_integers(d):
    word = int(cascade_stored(np.array([d]))[0]) + 1
    exact = Fraction(ONE, d)
    assert exact - Fraction(1, 2) < word <= exact + Fraction(1, 2)


def test_weighted_cascade_of_no_edges_is_harmless():
    assert cascade_stored(np.array([0, 1, 2])).tolist() == [0, ONE - 1, ONE // 2 - 1]


def graph_of(pairs, weights, w=None, **options):
    u, v = np.array(pairs, np.int64).T
    return build_graph(u, v, w=None if w is None else np.array(w), weights=weights, **options)


PAIRS = [(0, 1), (2, 1), (1, 0), (3, 1), (3, 0)]


def test_probabilities_of_every_scheme_in_both_orders():
    wc = graph_of(PAIRS, Weights("wc"))
    assert (out_probabilities(wc).astype(float) + 1).tolist() == pytest.approx(
        [ONE / 3, ONE / 2, ONE / 3, ONE / 2, ONE / 3], abs=1
    )
    assert in_probabilities(wc).tolist() == cascade_stored(np.array([2, 2, 3, 3, 3])).tolist()
    assert np.array_equal(out_probabilities(graph_of(PAIRS, Weights("wc"), transpose=False)), out_probabilities(wc))
    const = graph_of(PAIRS, Weights("const", p=0.5))
    assert set(out_probabilities(const).tolist()) == set(in_probabilities(const).tolist()) == {ONE // 2 - 1}
    listed = graph_of(PAIRS, Weights("file"), [0.1, 0.2, 0.3, 0.4, 0.5])
    assert out_probabilities(listed).tolist() == stored(np.array([0.1, 0.3, 0.2, 0.5, 0.4])).tolist()
    assert in_probabilities(listed).tolist() == stored(np.array([0.3, 0.5, 0.1, 0.2, 0.4])).tolist()


def test_probabilities_that_are_not_there():
    none = graph_of(PAIRS, Weights("none"))
    for question in (in_probabilities, out_probabilities, check_lt):
        with pytest.raises(InputError, match="--weights"):
            question(none)
    with pytest.raises(InputError, match="--transpose"):
        in_probabilities(graph_of(PAIRS, Weights("wc"), transpose=False))


def test_in_degrees_with_and_without_the_transpose():
    for keep in (True, False):
        assert in_degrees(graph_of(PAIRS, Weights("wc"), transpose=keep)).tolist() == [2, 3, 0, 0]


def test_trivalency_is_keyed_by_seed_tail_and_head():
    levels = [threshold(p) - 1 for p in (0.1, 0.01, 0.001)]
    rng = np.random.default_rng(1)
    graph = graph_of(rng.integers(0, 40, (300, 2)), Weights("trivalency", seed=2**63 + 5), undirected=True)
    place = 0
    for u in range(graph.n):
        for v in graph.indices[graph.indptr[u] : graph.indptr[u + 1]]:
            word = draw4(np.uint64(2**63 + 5), int(Stream.TRIVALENCY), u, int(v), 0)[0]
            assert graph.probabilities[place] == levels[int(word) * 3 >> 32]
            place += 1


def test_trivalency_classes_are_equally_likely():
    n = 300
    indptr, indices = np.arange(n + 1) * n, np.tile(np.arange(n, dtype=np.int32), n)
    words, counts = np.unique(trivalency_stored(indptr, indices, 1), return_counts=True)
    assert len(words) == 3
    assert np.all(abs(counts - n * n / 3) < 5 * np.sqrt(n * n * 2 / 9))
    assert not np.array_equal(trivalency_stored(indptr, indices, 1), trivalency_stored(indptr, indices, 2))


def test_uniform_probabilities_are_keyed_and_cover_their_range():
    rng = np.random.default_rng(1)
    for low, high in ((0.0, 1.0), (0.25, 0.3), (0.5, 0.5), (1.0, 1.0), (0.0, 2.0**-32)):
        weights = Weights("uniform", seed=2**63 + 5, low=low, high=high)
        graph = graph_of(rng.integers(0, 40, (300, 2)), weights, undirected=True)
        first, last = round(low * ONE), round(high * ONE)
        for u in range(graph.n):
            for i in range(graph.indptr[u], graph.indptr[u + 1]):
                word = int(draw4(np.uint64(2**63 + 5), int(Stream.TRIVALENCY), u, int(graph.indices[i]), 0)[1])
                assert int(graph.probabilities[i]) + 1 == max(1, first + word * (last - first + 1) // ONE)
    assert graph.facts["zero_probability_dropped"] == 0


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 0.1), (0.2, 0.7)])
def test_uniform_probabilities_are_uniform(low, high):
    """Shares below every place differ from the law by less than the bound of Dvoretzky, Kiefer, Wolfowitz (1e-6)."""
    n = 300
    indptr, indices = np.arange(n + 1) * n, np.tile(np.arange(n, dtype=np.int32), n)
    words = uniform_stored(indptr, indices, low, high, 1)
    p = np.sort((words.astype(np.float64) + 1) / ONE)
    law = (p - low) / (high - low)
    radius = np.sqrt(np.log(2 / 1e-6) / (2 * n * n))
    assert np.all(np.abs(np.arange(1, n * n + 1) / (n * n) - law) <= radius + 2**-20)
    assert p[0] >= low and p[-1] <= high + 2**-32
    assert np.unique(words).size > 0.99 * n * n
    # No edge tells anything of the next one in its row, nor of the same place in the next row.
    grid = ((words.astype(np.float64) + 1) / ONE - (low + high) / 2).reshape(n, n) / (high - low)
    for product in (grid[:, 1:] * grid[:, :-1], grid[1:] * grid[:-1], grid * grid.T):
        assert abs(np.triu(product, 1).mean() * 2) < 0.01
    assert not np.array_equal(words, uniform_stored(indptr, indices, low, high, 2))


def test_uniform_probabilities_of_zero_go_at_import():
    graph = graph_of(PAIRS, Weights("uniform", seed=1, low=0.0, high=0.0))
    assert (graph.m, graph.n, graph.facts["zero_probability_dropped"]) == (0, 4, 5)


def test_combine_of_uniform_probabilities():
    pairs = [(0, 1), (0, 1), (1, 2)]
    weights = Weights("uniform", seed=3, low=0.1, high=0.9)
    once = (out_probabilities(graph_of(pairs, weights)).astype(float) + 1) / ONE
    twice = graph_of(pairs, weights, parallel="combine")
    expected = [1 - (1 - once[0]) ** 2, once[1]]
    assert (out_probabilities(twice).astype(float) + 1) / ONE == pytest.approx(expected, abs=2**-31)
    assert twice.facts["combined_from"] == "uniform:0.1:0.9"


# The linear threshold model


LT_GRAPHS = [
    (graph_of(PAIRS, Weights("wc")), True),
    (graph_of(PAIRS, Weights("const", p=1 / 3)), True),
    (graph_of(PAIRS, Weights("trivalency", seed=1)), True),
    (graph_of(PAIRS, Weights("uniform", seed=1, low=0.0, high=0.25)), True),
    (graph_of([(i, 999) for i in range(10)], Weights("file"), [0.1] * 10), True),
    (graph_of([(i, 999) for i in range(7)], Weights("file"), [1 / 7] * 7), True),
    (graph_of([(i, 999) for i in range(3)], Weights("file"), [1e-12, 1e-13, 1.0]), True),
    (graph_of([(1, 9)] * 3 + [(2, 9)], Weights("wc"), parallel="combine"), True),
    (graph_of([(i, 999) for i in range(10)], Weights("file"), [0.1] * 9 + [0.1001]), False),
    (graph_of([(i, 999) for i in range(7)], Weights("file"), [1 / 7 + 1e-9] * 7), False),
    (graph_of([(i, 999) for i in range(3)], Weights("file"), [1e-8, 1e-13, 1.0]), False),
]
"""Graphs, and whether the probabilities into every vertex sum to 1 at most."""


def accepted(graph):
    try:
        check_lt(graph)
    except InputError:
        return False
    return True


@pytest.mark.parametrize(("graph", "expected"), LT_GRAPHS)
def test_sums_of_one_pass_and_others_do_not(graph, expected):
    """As whole numbers say: a probability may be one unit of 2**-32 too large."""
    words, heads = out_probabilities(graph).tolist(), graph.indices.tolist()
    sums = [sum(word + 1 for word, head in zip(words, heads, strict=True) if head == v) for v in range(graph.n)]
    assert all(sums[v] <= ONE + heads.count(v) for v in range(graph.n)) is expected
    assert accepted(graph) is expected


@pytest.mark.parametrize("keep", [True, False])
def test_the_first_vertex_whose_sum_is_above_one_is_named(keep):
    graph = graph_of(
        [(70, 50), (60, 50), (50, 60), (70, 60), (50, 70)], Weights("file"), [0.5, 0.5, 0.75, 0.5, 1], transpose=keep
    )
    with pytest.raises(InputError, match="into vertex 60 sum to 1.25; the sum is too large at 1 vertices") as caught:
        check_lt(graph)
    assert "\n" not in str(caught.value)


def test_a_constant_times_the_in_degree():
    check_lt(graph_of(PAIRS, Weights("const", p=0.33)))
    with pytest.raises(InputError, match="into vertex 1 sum to 1.02"):
        check_lt(graph_of(PAIRS, Weights("const", p=0.34)))


def test_uniform_probabilities_may_be_too_many():
    with pytest.raises(InputError, match="the linear threshold model allows at most 1"):
        check_lt(graph_of(PAIRS, Weights("uniform", seed=1, low=0.6, high=0.9)))


def test_a_sum_just_above_one_is_found():
    with pytest.raises(InputError, match="vertex 9 sum to 1"):
        check_lt(graph_of([(1, 9), (2, 9)], Weights("file"), [0.5, 0.5 + 1e-8]))
