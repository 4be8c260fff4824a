"""Graphs that benchmarks make on the device, in any number of parts, equal those of ``gpukit graph generate``."""

import numpy as np
import pytest

from gpukit.graph.generators.quadrants import rmat


@pytest.mark.parametrize("part", [7, 100, 1 << 28])
@pytest.mark.parametrize("vertices", [None, 40])
def test_edges_are_those_of_the_generator(simulator, monkeypatch, part, vertices):
    from gpukit.papers.bench import graphs

    monkeypatch.setattr(graphs, "PART", part)
    tails, heads, _ = rmat(6, seed=3, draws=500)
    kept = (tails != heads) & (np.maximum(tails, heads) < (vertices or 64))
    expected = np.unique(np.stack([tails, heads], axis=1)[kept], axis=0)
    found = graphs.rmat_graph(6, 500, 3, vertices=vertices)
    assert np.array_equal(np.repeat(np.arange(found.n), np.diff(found.indptr)), expected[:, 0])
    assert np.array_equal(found.indices, expected[:, 1])
