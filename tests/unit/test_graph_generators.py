"""Random graphs: their models, and that they are functions of options and seed alone."""

import hashlib
import math
from decimal import Decimal, getcontext

import networkx as nx
import numba
import numpy as np
import pytest

from gpukit.errors import UsageError
from gpukit.graph import generators
from gpukit.graph.build import build_graph
from gpukit.graph.generators import draws
from gpukit.graph.generators.communities import _size_tables, _weight_limits

CASES = {
    "rmat": {"scale": 9, "edge_factor": 8},
    "rmat edges": {"model": "rmat", "vertices": 700, "edges": 5000},
    "rmat undirected": {"model": "rmat", "vertices": 700, "edges": 5000, "undirected": True},
    "rmat no dangling": {"model": "rmat", "vertices": 700, "edges": 5000, "no_dangling": True},
    "rmat no dangling undirected": {
        "model": "rmat",
        "vertices": 700,
        "edges": 5000,
        "no_dangling": True,
        "undirected": True,
    },
    "er": {"vertices": 300, "edges": 5000},
    "er undirected": {"model": "er", "vertices": 300, "edges": 5000, "undirected": True},
    "ba": {"vertices": 500, "attach": 4},
    "holme_kim": {"vertices": 500, "attach": 4, "triad": 0.7},
    "affiliation": {"vertices": 1000, "edges": 6000, "triangles": 4000},
}
UNDIRECTED = ("rmat undirected", "rmat no dangling undirected", "er undirected", "ba", "holme_kim", "affiliation")

GOLDEN = {
    "rmat": "1c1cbc49e0f1206f",
    "rmat edges": "146052fb081f305a",
    "rmat no dangling": "27080b64feac8061",
    "er": "14b09d6911e119fb",
    "ba": "f023e9eefd1265e7",
    "holme_kim": "706a444557d7ed25",
    "affiliation": "d181523884713e11",
}


def make(case, seed=1):
    options = dict(CASES[case])
    return getattr(generators, options.pop("model", case))(**options, seed=seed)


def pairs(u, v):
    return list(zip(u.tolist(), v.tolist(), strict=True))


@pytest.mark.parametrize("case", CASES)
def test_same_seed_same_graph_on_any_number_of_threads(case):
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        one = make(case)
    finally:
        numba.set_num_threads(before)
    many, other = make(case), make(case, seed=2)
    assert pairs(*one[:2]) == pairs(*many[:2])
    assert pairs(*one[:2]) != pairs(*other[:2])
    assert one[2] == other[2]


@pytest.mark.parametrize("case", CASES)
def test_edges_are_vertices_and_simple_where_promised(case):
    u, v, n = make(case)
    assert u.dtype == v.dtype == np.int32
    assert min(u.min(), v.min()) >= 0 and max(u.max(), v.max()) < n
    if case != "rmat":
        assert np.all(u != v)
        listed = pairs(u, v)
        assert len(set(listed)) == len(listed)
        if case in UNDIRECTED:
            assert len({tuple(sorted(p)) for p in listed}) == len(listed)


def test_numbers_of_edges():
    for case, m in {"rmat": 512 * 8, "rmat edges": 5000, "er": 5000, "ba": 6 + 4 * 496, "affiliation": 6000}.items():
        assert len(make(case)[0]) == m


def test_golden_values():
    """A change of these changes every published result that used a generated graph."""
    found = {}
    for case in ("rmat", "rmat edges", "rmat no dangling", "er", "ba", "holme_kim", "affiliation"):
        u, v, _ = make(case)
        found[case] = hashlib.sha256(np.stack((u, v)).astype("<i4").tobytes()).hexdigest()[:16]
    assert found == GOLDEN


# Draws


def test_below64_is_the_high_word_of_the_product():
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**32, (200, 2)).tolist() + [[0, 0], [2**32 - 1, 2**32 - 1]]
    for low, high in words:
        for bound in (1, 2, 3, 2**31 - 1, 2**32, 2**40 + 12345, 2**62 + 1):
            assert int(draws.below64(low, high, np.uint64(bound))) == (high * 2**32 + low) * bound >> 64


def test_first_distinct_is_the_start_of_the_sequence():
    sequence = np.random.default_rng(6).integers(-5, 60, 5000)
    expected = list(dict.fromkeys(x for x in sequence.tolist() if x >= 0))

    def draw(first, number):
        return sequence[first : first + number].copy()

    for count in (1, 7, 30, 60):
        assert draws.first_distinct(draw, count).tolist() == sorted(expected[:count])
    kept = np.array([1, 2, 59])
    rest = [x for x in expected if x not in kept.tolist()]
    assert draws.first_distinct(draw, 20, kept).tolist() == sorted(kept.tolist() + rest[:17])
    assert draws.first_distinct(draw, 3, kept) is kept


def test_a_sequence_that_dries_up_is_a_usage_error():
    with pytest.raises(UsageError, match="too few distinct edges for 5"):
        draws.first_distinct(lambda first, number: np.arange(number) % 4, 5)


# R-MAT


def test_rmat_quadrants_have_their_probabilities():
    u, v, n = generators.rmat(1, draws=200_000, seed=3, a=0.5, b=0.2, c=0.1)
    found = np.bincount(2 * u + v, minlength=4) / len(u)
    assert n == 2
    assert np.all(abs(found - [0.5, 0.2, 0.1, 0.2]) < 5 * math.sqrt(0.25 / 200_000))


def test_rmat_levels_are_independent():
    u, v, _ = generators.rmat(6, draws=200_000, seed=4)
    for level in range(6):
        digits = 2 * (u >> level & 1) + (v >> level & 1)
        found = np.bincount(digits, minlength=4) / len(u)
        assert np.all(abs(found - [0.57, 0.19, 0.19, 0.05]) < 5 * math.sqrt(0.25 / 200_000)), level


def test_rmat_with_other_sizes_is_the_conditioned_distribution():
    """Draws outside 0 … n-1 are drawn again: the rest keeps its relative frequencies."""
    u, v, _ = generators.rmat(3, draws=400_000, seed=5)
    inside = (u < 5) & (v < 5)
    expected = np.bincount(5 * u[inside] + v[inside], minlength=25) / inside.sum()
    u, v, n = generators.rmat(vertices=5, draws=400_000, seed=6)
    assert n == 5
    assert np.all(abs(np.bincount(5 * u + v, minlength=25) / 400_000 - expected) < 5 * math.sqrt(2 * 0.25 / 300_000))


def test_rmat_edges_are_the_first_distinct_draws():
    u, v, _ = generators.rmat(vertices=100, draws=4000, seed=7)
    expected = list(dict.fromkeys(p for p in pairs(u, v) if p[0] != p[1]))[:900]
    u, v, _ = generators.rmat(vertices=100, edges=900, seed=7)
    assert pairs(u, v) == sorted(expected)


def test_rmat_without_dangling_vertices_is_first_edges_and_then_draws():
    given = {"vertices": 100, "a": 0.5, "b": 0.1, "c": 0.3}
    u, v, n = generators.rmat(edges=900, seed=7, no_dangling=True, **given)
    assert len(u) == 900 and set(u.tolist()) == set(range(n))
    plain = generators.rmat(edges=800, seed=7, **given)
    assert set(pairs(*plain[:2])) < set(pairs(u, v))
    # The heads of the first edges have the law of columns, here 0.8 in the left half at every level.
    u, v, n = generators.rmat(vertices=2**15, edges=2**15, seed=3, a=0.5, b=0.1, c=0.3, no_dangling=True)
    assert pairs(u, v) == list(zip(range(n), v.tolist(), strict=True))
    for level in range(15):
        assert abs((v >> level & 1 == 0).mean() - 0.8) < 0.012
    u, v, n = generators.rmat(vertices=50, edges=60, seed=1, undirected=True, no_dangling=True)
    assert len(u) == 60 and np.all(u < v) and len(np.union1d(u, v)) == n
    # Columns that know vertex 0 alone leave it the next one.
    u, v, _ = generators.rmat(vertices=4, edges=4, a=0.7, b=0, c=0.3, no_dangling=True)
    assert pairs(u, v) == [(0, 1), (1, 0), (2, 0), (3, 0)]


def test_a_small_reference_rmat_has_the_density_of_the_large_one():
    u, v, n = generators.rmat(14, 16, seed=1)
    graph = build_graph(u, v, ids=False, n=n)
    assert graph.n == 2**14
    assert graph.facts["lines"] == 2**18
    assert 0.75 < graph.m / 2**18 < 0.95


# Erdős–Rényi


@pytest.mark.parametrize("undirected", [False, True])
def test_er_small_graphs_are_equally_likely(undirected):
    possible = 3 if undirected else 6
    seen: dict = {}
    for seed in range(1500):
        u, v, _ = generators.er(3, 2, seed, undirected=undirected)
        seen[tuple(pairs(u, v))] = seen.get(tuple(pairs(u, v)), 0) + 1
    share = 1500 / math.comb(possible, 2)
    assert len(seen) == math.comb(possible, 2)
    assert all(abs(count - share) < 5 * math.sqrt(share) for count in seen.values())


@pytest.mark.parametrize("undirected", [False, True])
def test_er_up_to_the_complete_graph(undirected):
    possible = 190 if undirected else 380
    for m in (1, 95, 96, 189, possible):
        u, v, n = generators.er(20, m, 1, undirected=undirected)
        assert len(set(pairs(u, v))) == m
        assert np.all(u < v if undirected else u != v)


# Attachment


def to_networkx(u, v, n):
    graph = nx.empty_graph(n)
    graph.add_edges_from(pairs(u, v))
    return graph


def test_ba_starts_with_a_clique_and_attaches_r_edges_each():
    u, v, n = generators.ba(200, 3, 5, clique=6)
    assert len(u) == 15 + 3 * 194
    clique = (u < 6) & (v < 6)
    assert clique.sum() == 15
    assert np.bincount(u, minlength=n)[6:].tolist() == [3] * 194
    assert np.all(v < u)
    assert nx.is_connected(to_networkx(u, v, n))


def test_ba_attaches_in_proportion_to_the_degree():
    """Star-like start: clique of 2 and one edge each; the third vertex chooses evenly, the fourth 2:1:1."""
    third, fourth = [], []
    for seed in range(2000):
        _, v, _ = generators.ba(4, 1, seed)
        third.append(v[1])
        fourth.append(v[2] if v[2] != v[1] else -1)
    assert abs(np.mean(third) - 0.5) < 5 * math.sqrt(0.25 / 2000)
    assert abs(np.mean(np.array(fourth) == -1) - 0.5) < 5 * math.sqrt(0.25 / 2000)


def test_ba_has_hubs():
    u, v, n = generators.ba(5000, 4, 1)
    degrees = np.bincount(np.concatenate((u, v)), minlength=n)
    assert degrees.min() == 4 and degrees.max() > 100


def test_holme_kim_without_triads_is_ba():
    assert pairs(*generators.holme_kim(300, 3, 0.0, 9)[:2]) == pairs(*generators.ba(300, 3, 9)[:2])


def test_holme_kim_closes_triangles():
    plain, closed = (to_networkx(*generators.holme_kim(2000, 5, p, 1)) for p in (0.0, 0.9))
    assert plain.number_of_edges() == closed.number_of_edges()
    count = {g: sum(nx.triangles(g).values()) // 3 for g in (plain, closed)}
    assert count[closed] > 4 * count[plain]
    reference = nx.powerlaw_cluster_graph(2000, 5, 0.9, seed=1)
    assert 0.6 < count[closed] / (sum(nx.triangles(reference).values()) // 3) < 1.6


# Affiliation


def test_affiliation_hits_edges_and_triangles():
    graph = to_networkx(*generators.affiliation(20_000, 150_000, 400_000, 2))
    triangles = sum(nx.triangles(graph).values()) // 3
    assert graph.number_of_edges() == 150_000
    assert 0.95 < triangles / 400_000 < 1.1


def test_affiliation_without_triangles_is_chung_lu():
    graph = to_networkx(*generators.affiliation(3000, 9000, 0, 1))
    assert graph.number_of_edges() == 9000
    assert max(d for _, d in graph.degree()) > 5 * 6


def test_affiliation_communities_may_exceed_the_edges():
    u, _, _ = generators.affiliation(400, 10, 3000, 1)
    assert len(u) > 10


def test_power_laws_are_rounded_right():
    limits, coins, expected = _size_tables()
    sizes = np.arange(3, 351)
    mass = sizes**-2.6 / np.sum(sizes**-2.6)
    assert np.allclose(np.diff(limits.astype(float) / 2**64, prepend=0, append=1), mass, atol=1e-12)
    density = np.minimum(1, (sizes / 6) ** -0.04)
    assert np.allclose(coins / 2**32, density, atol=1e-9)
    assert np.allclose(expected / 2**16, sizes * (sizes - 1) * (sizes - 2) / 6 * density**3, rtol=1e-5)
    tail = 1 - _weight_limits().astype(float) / 2**64
    assert len(tail) == 59 * 64
    assert np.allclose(tail, (np.arange(65, 60 * 64 + 1) / 64) ** -1.5, atol=1e-12)


def test_power_laws_do_not_depend_on_the_decimal_context():
    before = [array.tolist() for array in (*_size_tables(), _weight_limits())]
    getcontext().prec = 5
    try:
        assert [array.tolist() for array in (*_size_tables(), _weight_limits())] == before
    finally:
        getcontext().prec = 28
    assert Decimal(1) / 3 == Decimal("0.3333333333333333333333333333")


# Refusals


@pytest.mark.parametrize(
    ("model", "options", "expected"),
    [
        ("rmat", {}, "either a scale"),
        ("rmat", {"scale": 5, "vertices": 32}, "either a scale"),
        ("rmat", {"scale": 0}, "scale 0"),
        ("rmat", {"scale": 31}, "scale 31"),
        ("rmat", {"scale": 4, "a": 0.9}, "sum to at most 1"),
        ("rmat", {"scale": 4, "b": -0.1}, "negative"),
        ("rmat", {"scale": 4, "draws": 0}, "0 draws"),
        ("rmat", {"vertices": 10, "edges": 50}, "use er"),
        ("rmat", {"vertices": 10, "no_dangling": True}, "give edges"),
        ("rmat", {"vertices": 10, "edges": 9, "no_dangling": True}, "give 10 or more"),
        ("rmat", {"vertices": 1}, "1 vertices"),
        ("er", {"vertices": 3, "edges": 7}, "7 edges on 3 vertices; 1 … 6"),
        ("er", {"vertices": 3, "edges": 4, "undirected": True}, "4 edges on 3 vertices; 1 … 3"),
        ("er", {"vertices": 3, "edges": 0}, "0 edges"),
        ("ba", {"vertices": 10, "attach": 0}, "0 edges each"),
        ("ba", {"vertices": 10, "attach": 4, "clique": 3}, "clique of 3"),
        ("ba", {"vertices": 3, "attach": 4}, "3 vertices"),
        ("holme_kim", {"vertices": 10, "attach": 2, "triad": 1.5}, "triad probability 1.5"),
        ("affiliation", {"vertices": 350, "edges": 10, "triangles": 1}, "350 vertices"),
        ("affiliation", {"vertices": 400, "edges": 10, "triangles": -1}, "-1 triangles"),
    ],
)
def test_refusals(model, options, expected):
    with pytest.raises(UsageError, match=expected):
        getattr(generators, model)(**options)
