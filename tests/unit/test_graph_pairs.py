"""Edge lists that become keys and rows in the place where they were read."""

import numpy as np
import pytest

from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.graph.pairs import Listing, keys_behind, paired
from gpukit.graph.read.formats import read_edges


def test_keys_are_the_pairs():
    u, v = paired(3)
    u[:], v[:] = [0, 5, 2**31 - 1], [7, 0, 3]
    keys = keys_behind(u, v)
    assert keys is not None and keys.tolist() == [7, 5 << 32, (2**31 - 1) << 32 | 3]
    keys[0] = 9 << 32 | 8
    assert (u[0], v[0]) == (9, 8)
    first = keys_behind(u[:2], v[:2])
    assert first is not None and first.tolist() == keys[:2].tolist()


def test_other_arrays_have_no_keys():
    u, v = paired(4)
    table = np.zeros((4, 3), np.int32)
    for tails, heads in [
        (v, u),
        (u, u),
        (u[1:], v[1:]),
        (u[::2], v[::2]),
        (u[::-1], v[::-1]),
        (u[:3], v[:2]),
        (table[:, 1], table[:, 0]),
        (u.copy(), v),
    ]:
        assert keys_behind(tails, heads) is None
    assert keys_behind(u.astype(np.int64), v.astype(np.int64)) is None
    assert keys_behind(*paired(0)) is None or len(keys_behind(*paired(0))) == 0


@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("wide", [None, 0, 3])
def test_a_listing_keeps_what_is_added(weights, wide):
    """Chunks of pairs and of arrays, empty ones, and from one on ids that need 64 bits."""
    listing, wanted = Listing(weights), []
    draw = np.random.default_rng(2)
    for number, count in enumerate([5, 0, 300, 41, 1, 5000]):
        kind = np.int64 if wide is not None and number >= wide else np.int32
        u, v = paired(count + 3, kind) if number % 2 else np.empty((2, count + 3), kind)
        u[:], v[:] = draw.integers(0, np.iinfo(kind).max, (2, count + 3))
        w = draw.random(count) if weights else None
        listing.add((u[:count], v[:count], w))
        wanted.append((u[:count], v[:count], w))
    u, v, w = listing.edges()
    for found, parts in zip((u, v, w), zip(*wanted, strict=True), strict=True):
        assert found is None and parts[0] is None or np.array_equal(found, np.concatenate(parts))
    assert u.dtype == (np.int32 if wide is None else np.int64)
    assert (keys_behind(u, v) is None) == (wide is not None)


@pytest.mark.parametrize("transpose", [True, False])
@pytest.mark.parametrize("weights", ["wc", "trivalency"])
@pytest.mark.parametrize(("n", "lines", "step"), [(40, 300, 1), (40, 300, 3), (5, 400, 1), (40, 300, 10**7), (2, 1, 1)])
def test_a_graph_is_the_same_in_place(n, lines, step, weights, transpose):
    """With loops and repeats, gaps between the ids, and ids so far apart that a table of them would be too large."""
    ends = np.random.default_rng(n).integers(0, n, (2, lines)) * step
    ends[1, 0] += not ends[1, 0] - ends[0, 0]
    u, v = paired(lines)
    u[:], v[:] = ends
    scheme = Weights(weights, seed=3)
    found = build_graph(u, v, weights=scheme, transpose=transpose, consume=True)
    wanted = build_graph(*ends, weights=scheme, transpose=transpose)
    kept = sorted({(a, b) for a, b in ends.T.tolist() if a != b})
    names = wanted.ids if wanted.ids is not None else np.arange(wanted.n)
    tails = np.repeat(np.arange(wanted.n), np.diff(wanted.indptr))
    assert list(zip(names[tails].tolist(), names[wanted.indices].tolist(), strict=True)) == kept
    assert found.facts == wanted.facts and found.facts["self_loops_dropped"] == np.sum(ends[0] == ends[1])
    assert found.facts["parallel_edges_merged"] == np.sum(ends[0] != ends[1]) - len(kept)
    for name in ("indptr", "indices", "ids", "in_indptr", "in_indices", "probabilities", "in_probabilities"):
        one, other = getattr(found, name), getattr(wanted, name)
        assert (one is None) == (other is None), name
        assert one is None or (one.dtype == other.dtype and np.array_equal(one, other)), name


def test_lists_that_somebody_keeps_are_left_alone(tmp_path):
    (tmp_path / "e.txt").write_text("3 1\n1 3\n7 7\n3 1\n")
    listed = read_edges(tmp_path / "e.txt")
    assert keys_behind(listed.u, listed.v) is not None
    for _ in range(2):
        assert build_graph(listed.u, listed.v).m == 2
        assert (listed.u.tolist(), listed.v.tolist()) == ([3, 1, 7, 3], [1, 3, 7, 1])
