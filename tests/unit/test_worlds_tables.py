"""Sampling tables against exact binomial probabilities, and the rows against the graph."""

from fractions import Fraction

import numpy as np
import pytest
from oracles.binomial import binomial_cdf

from gpukit.errors import InputError
from gpukit.graph.csr import Weights
from gpukit.graph.probabilities import in_probabilities
from gpukit.worlds.tables import EQUAL, MAX_LIVE, OWN, binomial_thresholds, build_per_edge_tables, build_tables

SCHEMES = (
    Weights(),
    Weights("const", 0.01),
    Weights("const", 0.3),
    Weights("const", 1.0),
    Weights("trivalency", seed=2),
    Weights("uniform", seed=2, low=0.0, high=1.0),
)


@pytest.mark.parametrize(
    ("trials", "numerator", "denominator"),
    [(5, 1, 5), (1, 1, 3), (40, 1, 40), (3000, 1, 3000), (32, 1, 4), (90, 7, 90)],
)
def test_thresholds_are_the_binomial_distribution(trials, numerator, denominator):
    thresholds = binomial_thresholds(trials, numerator, denominator)
    assert len(thresholds) <= MAX_LIVE
    assert thresholds == sorted(thresholds) and thresholds[-1] < 2**64
    exact = binomial_cdf(trials, Fraction(numerator, denominator))
    for k, threshold in enumerate(thresholds):
        assert abs(Fraction(threshold, 2**64) - exact[k]) <= Fraction(1, 2**63)
    assert len(thresholds) == trials or 1 - exact[len(thresholds)] < Fraction(1, 2**64)


@pytest.mark.parametrize("weights", SCHEMES)
def test_rows_hold_each_in_edge_once(random_graph, weights):
    """Walking the rows of a vertex meets its in-edges exactly once, with their probability, at most 64 live at a
    time."""
    graph = random_graph(60, 3000, 4, weights)
    tables = build_tables(graph)
    rows, thresholds = tables["rows"], tables["thresholds"].tolist()
    indices = tables.get("indices", graph.in_indices)
    stored = in_probabilities(graph)
    for v in range(graph.n):
        found = {}
        row = v
        while True:
            start, length, meta, following = rows[row].tolist()
            kind, offset = meta & 255, meta >> 8
            if kind not in (EQUAL, OWN):
                assert kind <= MAX_LIVE and length > 4
                mean = sum(1 - Fraction(t, 2**64) for t in thresholds[offset : offset + kind])
            for e in range(start, start + length):
                if kind == EQUAL:
                    p = Fraction(thresholds[offset], 2**32)
                elif kind == OWN:
                    p = Fraction(int(tables["accept"][e]) + 1, 2**32)
                else:
                    p = mean / length
                    if "accept" in tables:
                        p *= Fraction(int(tables["accept"][e]) + 1, 2**32)
                found[int(indices[e])] = p
            assert kind not in (EQUAL, OWN) or length <= MAX_LIVE
            row = following
            if row == 0:
                break
        low, high = graph.in_indptr[v], graph.in_indptr[v + 1]
        assert sorted(found) == graph.in_indices[low:high].tolist()
        for u, word in zip(graph.in_indices[low:high].tolist(), stored[low:high].tolist(), strict=True):
            assert abs(found[u] - Fraction(word + 1, 2**32)) <= Fraction(1, 2**31)


def test_scan_tables_are_direct(random_graph):
    graph = random_graph(50, 4000, 1)
    tables = build_per_edge_tables(graph)
    assert np.all(tables["rows"][:, 2] == OWN) and tables["rows"][:, 1].max() <= MAX_LIVE
    assert tables["rows"][:, 1].sum() == graph.m
    assert np.array_equal(tables["accept"], in_probabilities(graph))


def test_a_graph_without_transpose_or_probabilities_is_refused(make_graph):
    from dataclasses import replace

    graph = make_graph(3, [(0, 1), (1, 2)])
    with pytest.raises(InputError, match="--transpose"):
        build_tables(replace(graph, in_indptr=None, in_indices=None))
    with pytest.raises(InputError, match="--weights"):
        build_tables(replace(graph, weights=Weights("none")))
