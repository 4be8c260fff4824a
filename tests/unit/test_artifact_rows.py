"""Rows and edges of artifacts are looked at piece by piece: what is wrong is found wherever the pieces end."""

import numpy as np
import pytest

from gpukit.artifacts import cores, edges
from gpukit.errors import InputError

SIZES = [1, 2, 3, 5, 64]


@pytest.fixture(params=SIZES)
def pieces(request, monkeypatch):
    """Make all pieces so small."""
    monkeypatch.setattr(edges, "_PART", request.param)
    monkeypatch.setattr(edges, "_AT_ONCE", request.param)


def rows(seed):
    """Return row starts and heads of a random graph without loops, some of its rows empty."""
    random = np.random.default_rng(seed)
    dense = random.random((9, 9)) < random.choice([0.05, 0.3, 0.9], (9, 1))
    np.fill_diagonal(dense, False)
    tails, heads = np.nonzero(dense)
    return np.searchsorted(tails, np.arange(10)).astype(np.int64), heads.astype(np.int32)


@pytest.mark.parametrize("seed", range(8))
def test_rows_that_do_not_ascend_are_named(pieces, seed):
    starts, heads = rows(seed)
    edges.rows_ascend(starts, heads, "heads")
    for row in range(9):
        for at in range(starts[row], starts[row + 1] - 1):
            wrong = heads.copy()
            wrong[at + 1] = wrong[at]
            with pytest.raises(InputError, match=rf"heads of row {row} do not ascend \(… {heads[at]}, {heads[at]} …\)"):
                edges.rows_ascend(starts, wrong, "heads")


@pytest.mark.parametrize("seed", range(8))
def test_the_first_loop_is_found(pieces, seed):
    starts, heads = rows(seed)
    assert edges.first_loop(starts, heads) is None
    tails = np.repeat(np.arange(9), np.diff(starts))
    for at in range(len(heads)):
        looped = heads.copy()
        looped[at:] = tails[at:]
        assert edges.first_loop(starts, looped) == at


@pytest.mark.parametrize("seed", range(8))
def test_a_transpose_is_told_from_what_is_none(pieces, seed):
    starts, heads = rows(seed)
    tails = np.repeat(np.arange(9), np.diff(starts)).astype(np.int32)
    order = np.lexsort((tails, heads))
    words = np.arange(len(heads), dtype=np.uint32)
    back = np.searchsorted(heads[order], np.arange(10)).astype(np.int64), tails[order], words[order]
    assert edges.same_edges((starts, heads, words), back)
    for at in range(len(heads)):
        for place in (1, 2):
            wrong = [part.copy() for part in back]
            wrong[place][at] += 1
            assert not edges.same_edges((starts, heads, words), tuple(wrong))


@pytest.mark.parametrize("threads", [1, 3, None])
def test_cores_share_parts_and_tell_what_was_raised(threads):
    assert cores.on_all_cores(lambda part: part * part, range(50), threads) == [part * part for part in range(50)]
    assert cores.on_all_cores(str, [], threads) == []

    def odd(part):
        if part == 17:
            raise InputError("part 17")
        return part

    with pytest.raises(InputError, match="part 17"):
        cores.on_all_cores(odd, range(50), threads)
