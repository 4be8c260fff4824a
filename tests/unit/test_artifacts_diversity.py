"""Untrue ego-networks, diversity answers and decompositions: ``verify`` names the error."""

import numpy as np
import pytest

from gpukit.artifacts import store
from gpukit.artifacts.verify import verify
from gpukit.errors import InputError

DIGEST = "cd" * 32

EGONETS = {
    # Centre 10 with neighbours 20, 30, 40 and the edge 20 - 30; centre 20 with neighbours 10, 30, joined.
    "centres": np.array([10, 20]),
    "node_begin": np.array([0, 3, 5]),
    "nodes": np.array([20, 30, 40, 10, 30]),
    "indptr": np.array([0, 1, 2, 2, 3, 4]),
    "indices": np.array([1, 0, 1, 0], np.int32),
}
DIVERSITY = {
    "vertices": np.array([10, 20, 40]),
    "internal": np.array([0, 1, 3], np.int32),
    "scores": np.array([2, 1, 1], np.int32),
    "first": np.array([0, 2, 3, 4]),
    "offsets": np.array([0, 2, 4, 6, 8]),
    "members": np.array([20, 30, 40, 50, 10, 30, 10, 50]),
}
DECOMPOSITION = {
    "coreness": np.array([2, 2, 2, 1], np.int32),
    "tails": np.array([10, 10, 10, 20]),
    "heads": np.array([20, 30, 40, 30]),
    "trussness": np.array([3, 3, 2, 3], np.int32),
}
CASES = {
    "egonets": (EGONETS, {"n": 6, "count": 2, "graph": DIGEST}),
    "diversity": (DIVERSITY, {"n": 6, "model": "comp", "k": 2, "graph": DIGEST}),
    "decomposition": (DECOMPOSITION, {"n": 4, "graph": DIGEST}),
}


def check(path, kind, arrays, attributes):
    store.write(path, kind, arrays, attributes)
    verify(path)


@pytest.mark.parametrize("kind", CASES)
def test_true_ones_pass(tmp_path, kind):
    check(tmp_path / "x.h5", kind, *CASES[kind])


@pytest.mark.parametrize(
    ("kind", "name", "value", "word"),
    [
        ("egonets", "indices", np.array([1, 0, 2, 0], np.int32), "outside its ego-network"),
        ("egonets", "indices", np.array([-1, 0, 1, 0], np.int32), "indices holds -1"),
        ("egonets", "indices", np.array([0, 0, 1, 0], np.int32), "edge to itself"),
        ("egonets", "indices", np.array([2, 0, 1, 0], np.int32), "one direction only"),
        ("egonets", "nodes", np.array([30, 20, 40, 10, 30]), "nodes of row 0 do not ascend"),
        ("egonets", "node_begin", np.array([0, 3, 6]), "node_begin"),
        ("egonets", "indptr", np.array([0, 2, 1, 2, 3, 4]), "indptr"),
        ("egonets", "graph", "xyz", "SHA-256"),
        ("egonets", "count", 3, "count"),
        ("diversity", "scores", np.array([1, 2, 1], np.int32), "ordered by falling score"),
        ("diversity", "vertices", np.array([10, 40, 20]), "ordered by falling score"),
        ("diversity", "first", np.array([0, 1, 3, 4]), "numbers of contexts differ"),
        ("diversity", "offsets", np.array([0, 1, 4, 6, 8]), "too few members"),
        ("diversity", "members", np.array([30, 20, 40, 50, 10, 30, 10, 50]), "members of row 0 do not ascend"),
        ("diversity", "internal", np.array([0, 1, 6], np.int32), "internal"),
        ("diversity", "model", "clique", "unknown model 'clique'"),
        ("diversity", "model", "core", "too few members"),
        ("diversity", "graph", "", "SHA-256"),
        ("decomposition", "tails", np.array([10, 10, 20, 10]), "edges must ascend"),
        ("decomposition", "heads", np.array([20, 30, 30, 10]), "edges must ascend"),
        ("decomposition", "heads", np.array([20, 20, 40, 30]), "edges must ascend"),
        ("decomposition", "trussness", np.array([3, 3, 1, 3], np.int32), "trussness holds 1"),
        ("decomposition", "coreness", np.array([2, 2, -1, 1], np.int32), "coreness holds -1"),
        ("decomposition", "coreness", np.array([2, 2, 1], np.int32), "n"),
        ("decomposition", "graph", "xyz", "SHA-256"),
    ],
)
def test_untrue_ones_do_not(tmp_path, kind, name, value, word):
    arrays, attributes = CASES[kind]
    where = arrays if name in arrays else attributes
    changed = {**where, name: value}
    with pytest.raises(InputError, match=word):
        check(tmp_path / "x.h5", kind, *((changed, attributes) if where is arrays else (arrays, changed)))
