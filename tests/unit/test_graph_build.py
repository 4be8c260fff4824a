"""build_graph and transpose against scipy, networkx and dictionaries."""

from collections import Counter
from fractions import Fraction

import networkx as nx
import numba
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from gpukit.errors import InputError, UsageError
from gpukit.graph.build import build_graph, transpose
from gpukit.graph.csr import Graph, Weights
from gpukit.graph.probabilities import check_lt

BIGGEST = 2**63 - 1
NO_P = Weights("none")


def make(pairs, **options) -> Graph:
    u, v = np.array(list(pairs), np.int64).reshape(-1, 2).T
    return build_graph(u, v, weights=options.pop("weights", NO_P), **options)


def edges_of(graph):
    """Return the out-edges as pairs of original ids, in the order of the arrays."""
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    return list(zip(graph.original(tails).tolist(), graph.original(graph.indices).tolist(), strict=True))


def in_edges_of(graph):
    heads = np.repeat(np.arange(graph.n), np.diff(graph.in_indptr))
    return list(zip(graph.original(graph.in_indices).tolist(), graph.original(heads).tolist(), strict=True))


def p_of(graph):
    return dict(zip(edges_of(graph), ((int(x) + 1) / 2**32 for x in graph.probabilities), strict=True))


ids = st.one_of(st.integers(0, 6), st.sampled_from([BIGGEST, BIGGEST - 1, 2**40, 10**6]))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(ids, ids), max_size=40), st.booleans())
def test_equals_networkx(pairs, undirected):
    graph = make(pairs, undirected=undirected)
    expected = nx.DiGraph()
    expected.add_nodes_from(x for pair in pairs for x in pair)
    for u, v in pairs:
        if u != v:
            expected.add_edge(u, v)
            if undirected:
                expected.add_edge(v, u)
    assert graph.n == len(expected)
    assert graph.original(np.arange(graph.n)).tolist() == sorted(expected)
    assert edges_of(graph) == sorted(expected.edges)
    assert in_edges_of(graph) == sorted(expected.edges, key=lambda e: (e[1], e[0]))
    loops = sum(u == v for u, v in pairs)
    distinct = len({tuple(sorted(p)) if undirected else p for p in pairs if p[0] != p[1]})
    assert graph.facts["lines"] == len(pairs)
    assert graph.facts["self_loops_dropped"] == loops
    assert graph.facts["parallel_edges_merged"] == len(pairs) - loops - distinct
    degrees = [d for _, d in expected.degree()]
    assert graph.facts["isolated"] == degrees.count(0)
    assert graph.facts["dangling"] == [d for _, d in expected.out_degree()].count(0)
    assert graph.facts["max_in_degree"] == max((d for _, d in expected.in_degree()), default=0)
    assert graph.facts["max_out_degree"] == max((d for _, d in expected.out_degree()), default=0)


def test_array_types_and_shapes():
    graph = make([(3, 9), (9, 3), (3, 5)])
    kinds = [getattr(graph, x).dtype.name for x in ("indptr", "indices", "ids", "in_indptr", "in_indices")]
    assert kinds == ["int64", "int32", "int64", "int64", "int32"]
    assert (graph.n, graph.m, len(graph.indptr), len(graph.in_indptr)) == (3, 3, 4, 4)


def test_ids_are_none_only_if_they_are_positions():
    assert make([(0, 1), (1, 2)]).ids is None
    assert make([(1, 2)]).ids.tolist() == [1, 2]
    assert make([(0, 2)]).ids.tolist() == [0, 2]


def test_declared_vertices_stay_isolated():
    graph = make([(1, 3), (0, 0)], ids=False, n=6)
    assert (graph.n, graph.ids, edges_of(graph)) == (6, None, [(1, 3)])
    assert graph.facts["isolated"] == 4
    named = make([(1, 0)], ids=np.array([10, 20, 30]))
    assert (named.n, edges_of(named)) == (3, [(20, 10)])


def test_a_vertex_with_only_a_loop_stays():
    graph = make([(4, 4), (1, 2)])
    assert graph.ids.tolist() == [1, 2, 4]
    assert edges_of(graph) == [(1, 2)]


@pytest.mark.parametrize(
    ("pairs", "n", "m"),
    [
        ([], 0, 0),
        ([(7, 7)], 1, 0),
        ([(7, 8)], 2, 1),
        ([(0, i) for i in range(1, 2000)], 2000, 1999),
        ([(i, 0) for i in range(1, 2000)], 2000, 1999),
        ([(i, j) for i in range(40) for j in range(40)], 40, 40 * 39),
        ([(5, 6)] * 1000, 2, 1),
    ],
    ids=["empty", "one loop", "one edge", "star out", "star in", "clique", "one edge often"],
)
def test_extreme_shapes(pairs, n, m):
    graph = make(pairs)
    assert (graph.n, graph.m) == (n, m)
    assert edges_of(graph) == sorted({p for p in pairs if p[0] != p[1]})
    assert sorted(in_edges_of(graph)) == edges_of(graph)


def test_large_random_graph_equals_scipy_for_any_number_of_threads():
    rng = np.random.default_rng(5)
    u, v = (rng.random((2, 200_000)) ** 3 * 3000).astype(np.int64)
    keep = u != v
    matrix = scipy.sparse.coo_array((np.ones(keep.sum()), (u[keep], v[keep])), shape=(3000, 3000)).tocsr()
    matrix.sum_duplicates()
    before = numba.get_num_threads()
    try:
        for threads in {1, before}:
            numba.set_num_threads(threads)
            graph = build_graph(u, v, weights=NO_P, ids=False, n=3000)
            assert np.array_equal(graph.indptr, matrix.indptr)
            assert np.array_equal(graph.indices, matrix.indices)
            other = matrix.T.tocsr()
            other.sort_indices()
            assert np.array_equal(graph.in_indptr, other.indptr)
            assert np.array_equal(graph.in_indices, other.indices)
    finally:
        numba.set_num_threads(before)


def test_transpose_is_optional_and_can_follow():
    graph = make([(0, 1), (2, 1), (1, 0)], transpose=False)
    assert graph.in_indptr is None
    full = transpose(graph)
    assert in_edges_of(full) == [(1, 0), (0, 1), (2, 1)]
    assert transpose(full) is full


def test_the_order_of_lines_does_not_matter():
    rng = np.random.default_rng(8)
    u, v = rng.integers(0, 30, (2, 600))
    w = rng.random(600)
    order = rng.permutation(600)
    for parallel in ("merge", "combine"):
        one = build_graph(u, v, w=w, weights=Weights("file"), parallel=parallel)
        other = build_graph(u[order], v[order], w=w[order], weights=Weights("file"), parallel=parallel)
        assert np.array_equal(one.probabilities, other.probabilities)
        assert np.array_equal(one.in_probabilities, other.in_probabilities)


def test_probabilities_travel_with_the_transpose():
    rng = np.random.default_rng(2)
    u, v = rng.integers(0, 50, (2, 900))
    graph = build_graph(u, v, w=rng.random(900), weights=Weights("file"))
    outward = dict(zip(edges_of(graph), graph.probabilities.tolist(), strict=True))
    inward = dict(zip(in_edges_of(graph), graph.in_probabilities.tolist(), strict=True))
    assert outward == inward


# Parallel edges


def test_merge_counts_an_edge_once_and_keeps_the_largest_weight():
    pairs, w = [(1, 2), (1, 2), (2, 3), (1, 2)], np.array([0.25, 0.75, 0.5, 0.5])
    graph = make(pairs, w=w, weights=Weights("file"))
    assert p_of(graph) == {(1, 2): 0.75, (2, 3): 0.5}
    assert graph.facts["parallel_edges_merged"] == 2
    assert make(pairs, weights=Weights("const", p=0.3)).probabilities is None


def test_combine_of_file_weights_is_the_chance_of_any():
    rng = np.random.default_rng(4)
    pairs = rng.integers(0, 6, (300, 2)).tolist()
    w = rng.random(300).round(3)
    miss: dict = {}
    for (a, b), x in zip(pairs, w.tolist(), strict=True):
        if a != b and x > 0:
            miss[a, b] = miss.get((a, b), Fraction(1)) * (1 - Fraction(x))
    graph = make(pairs, w=w, weights=Weights("file"), parallel="combine")
    found = p_of(graph)
    assert found.keys() == miss.keys()
    assert all(abs(found[e] - float(1 - miss[e])) < 3e-9 for e in miss)


@pytest.mark.parametrize("undirected", [False, True])
def test_combine_of_a_constant(undirected):
    pairs = [(1, 2)] * 3 + [(2, 1)] * 2 + [(2, 3)] + [(3, 3)]
    graph = make(pairs, weights=Weights("const", p=0.1), parallel="combine", undirected=undirected)
    counts = Counter(p for p in pairs if p[0] != p[1])
    if undirected:
        counts = Counter({e: counts[e] + counts[e[::-1]] for e in list(counts) + [e[::-1] for e in counts]})
    assert p_of(graph) == pytest.approx({e: 1 - 0.9**c for e, c in counts.items()}, abs=1e-9)
    assert graph.weights == Weights("file")
    assert graph.facts["combined_from"] == "const:0.1"
    assert graph.facts["parallel_edges_merged"] == (4 if undirected else 3)


def test_combine_of_weighted_cascade_counts_parallel_edges_in_the_degree():
    graph = make([(1, 9)] * 3 + [(2, 9)] + [(1, 2)], parallel="combine", weights=Weights("wc"))
    assert p_of(graph) == pytest.approx({(1, 9): 1 - 0.75**3, (2, 9): 0.25, (1, 2): 1.0}, abs=1e-9)
    assert sum(p for e, p in p_of(graph).items() if e[1] == 9) <= 1


def test_combine_of_trivalency_uses_one_class_an_edge():
    pairs = [(i, i + 1) for i in range(200) for _ in range(2)]
    once = p_of(make(pairs, weights=Weights("trivalency", seed=3)))
    twice = p_of(make(pairs, weights=Weights("trivalency", seed=3), parallel="combine"))
    assert set(np.round(list(once.values()), 6)) == {0.1, 0.01, 0.001}
    assert twice == pytest.approx({e: 1 - (1 - p) ** 2 for e, p in once.items()}, abs=1e-9)


def test_combine_without_parallel_edges_keeps_the_scheme():
    graph = make([(1, 2), (2, 1)], weights=Weights("const", p=0.2), parallel="combine")
    assert graph.weights == Weights("const", p=0.2)
    assert graph.probabilities is None


def test_combining_never_makes_a_certain_edge_uncertain():
    graph = make([(1, 2)] * 5, w=np.array([1, 0.5, 1e-12, 0, 1.0]), weights=Weights("file"), parallel="combine")
    assert graph.probabilities.tolist() == [2**32 - 1]


# Probability zero


def test_edges_of_probability_zero_go_and_are_counted():
    pairs, w = [(1, 2), (1, 2), (2, 3), (4, 4), (5, 6)], np.array([0, 0.5, 0, 0, 1e-300])
    graph = make(pairs, w=w, weights=Weights("file"))
    assert p_of(graph) == {(1, 2): 0.5, (5, 6): 2**-32}
    assert graph.n == 6
    assert graph.facts["zero_probability_dropped"] == 2
    assert graph.facts["self_loops_dropped"] == 1
    assert graph.facts["parallel_edges_merged"] == 0


def test_undirected_edges_carry_their_probability_both_ways():
    graph = make([(1, 2), (3, 2)], w=np.array([0.25, 1.0]), weights=Weights("file"), undirected=True)
    assert p_of(graph) == {(1, 2): 0.25, (2, 1): 0.25, (3, 2): 1.0, (2, 3): 1.0}


# Errors


def test_refusals():
    with pytest.raises(InputError, match="-4 is negative"):
        make([(1, -4)])
    with pytest.raises(InputError, match=r"vertex 5 is outside \[0, 4\]"):
        make([(1, 5)], ids=False, n=5)
    with pytest.raises(InputError, match="4294967297 vertices are too many"):
        make([(0, 2**32)], ids=False)
    with pytest.raises(UsageError, match="third column"):
        make([(1, 2)], weights=Weights("file"))
    with pytest.raises(UsageError, match="'both'; sum, max, combine and first are allowed"):
        make([(1, 2)], parallel="both")


# Original ids


def test_internal_is_the_inverse_of_original():
    graph = make([(5, BIGGEST), (17, 5)])
    assert graph.internal([BIGGEST, 5, 17]).tolist() == [2, 0, 1]
    assert graph.original([2, 0]).tolist() == [BIGGEST, 5]
    assert make([(0, 1)]).internal([1, 0]).tolist() == [1, 0]
    for unknown in (6, 0, BIGGEST - 1):
        with pytest.raises(InputError, match=f"vertex {unknown} is not in the graph"):
            graph.internal([5, unknown])
    with pytest.raises(InputError, match="vertex -1 is not"):
        make([(0, 1)]).internal(-1)
    assert int(graph.internal(17)) == 1


# Weights that are counts


def _probabilities(rows, scale, undirected, parallel):
    """Return {(tail, head): p} of (tail, head, weight) rows, in exact fractions, step by step."""
    both = rows + [(v, u, w) for u, v, w in rows] if undirected else rows
    kept = [(u, v, Fraction(w)) for u, v, w in both if u != v and w > 0]
    if parallel != "combine":
        weights = {}
        for line in range(len(rows)):  # both directions of a line, one after the other
            for u, v, w in both[line :: len(rows)]:
                if u != v and w > 0:
                    weights.setdefault((u, v), []).append(Fraction(w))
        chosen = {"merge": max, "sum": sum, "first": lambda listed: listed[0]}[parallel]
        kept = [(u, v, chosen(listed)) for (u, v), listed in weights.items()]
    into = {}
    for _, v, w in kept:
        into[v] = into.get(v, 0) + w
    missed = {}
    for u, v, w in kept:
        p = w / (max(w for _, _, w in kept) if scale == "max" else into[v] if scale == "in-sum" else int(float(scale)))
        missed[u, v] = missed.get((u, v), 1) * (1 - p)
    return {pair: 1 - miss for pair, miss in missed.items()}


@pytest.mark.parametrize("parallel", ["merge", "combine", "sum", "first"])
@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("scale", ["max", "in-sum", "1e3"])
def test_counts_become_probabilities(scale, undirected, parallel):
    generator = np.random.default_rng(3)
    rows = [(int(u), int(v), int(w)) for u, v, w in generator.integers(0, 9, (60, 3))]
    u, v, w = np.array(rows).T
    options = {"weights": Weights("file"), "scale": scale, "undirected": undirected, "ids": False, "n": 9}
    graph = build_graph(u, v, w=w.astype(float), parallel=parallel, **options)
    expected = _probabilities(rows, scale, undirected, parallel)
    tails = np.repeat(np.arange(9), np.diff(graph.indptr))
    found = dict(
        zip(zip(tails.tolist(), graph.indices.tolist(), strict=True), graph.probabilities.tolist(), strict=True)
    )
    assert found.keys() == expected.keys()
    for pair, word in found.items():
        assert abs(Fraction(word + 1, 2**32) - expected[pair]) <= Fraction(2 if parallel == "combine" else 1, 2**32)
    assert graph.facts["scale"] == scale
    if scale == "in-sum":
        check_lt(graph)
    order = generator.permutation(60)
    again = build_graph(u[order], v[order], w=w[order].astype(float), parallel=parallel, **options)
    same = np.array_equal(again.probabilities, graph.probabilities)
    assert same == (parallel != "first"), "the order of the lines matters to the first alone"


def test_counts_of_every_size():
    weights = np.array([5e-324, 1e308, 1e308, 0.0, 7.0])
    ends = np.array([0, 1, 2, 3, 3]), np.array([4, 4, 5, 5, 3])
    graph = build_graph(*ends, w=weights, weights=Weights("file"), scale="max")
    assert graph.probabilities.tolist() == [0, 2**32 - 1, 2**32 - 1]
    assert build_graph(*ends, w=weights, weights=Weights("file"), scale="in-sum").probabilities.tolist() == [
        0, 2**32 - 1, 2**32 - 1,
    ]  # fmt: skip
    with pytest.raises(InputError, match="sum to more than"):
        build_graph(np.array([0, 1]), np.array([2, 2]), w=np.full(2, 1e308), weights=Weights("file"), scale="in-sum")
    nothing = build_graph(np.array([1]), np.array([1]), w=np.ones(1), weights=Weights("file"), scale="max")
    assert nothing.m == 0


def test_scales_that_are_none():
    with pytest.raises(InputError, match="the weight 1 is above --scale 0.5; give the largest possible weight"):
        build_graph(np.array([0]), np.array([1]), w=np.ones(1), weights=Weights("file"), scale="0.5")
    for scheme, scale in ((Weights("wc"), "max"), *((Weights("file"), one) for one in ("sum", "0", "1e999"))):
        with pytest.raises(UsageError, match="max, in-sum and a number above 0 are allowed"):
            build_graph(np.array([0]), np.array([1]), w=np.ones(1), weights=scheme, scale=scale)
