"""Fixtures of all tests. Its place also puts ``tests/`` on the import path, for ``from oracles.worlds import …``."""

import signal

import numpy as np
import pytest

from gpukit.graph.build import build_graph
from gpukit.graph.csr import Graph, Weights


@pytest.fixture(scope="session")
def make_graph():
    """Return a function that builds a graph on vertices 0 … n-1 from (tail, head[, probability]) tuples."""

    def make(n: int, edges, weights: Weights | None = None) -> Graph:
        rows = list(edges)
        tails = np.array([row[0] for row in rows], np.int64)
        heads = np.array([row[1] for row in rows], np.int64)
        explicit = bool(rows) and len(rows[0]) == 3
        w = np.array([row[2] for row in rows], np.float64) if explicit else None
        scheme = Weights("file") if explicit else weights or Weights()
        return build_graph(tails, heads, w=w, weights=scheme, ids=False, n=n)

    return make


@pytest.fixture(scope="session")
def random_graph(make_graph):
    """Return a function that builds a random graph of about m edges, the same for the same key."""

    def make(n: int, m: int, key: int, weights: Weights | None = None) -> Graph:
        generator = np.random.default_rng(key)
        return make_graph(n, generator.integers(0, n, (m, 2)).tolist(), weights)

    return make


@pytest.fixture(autouse=True, scope="session")
def _interruptible() -> None:
    """Let processes that tests start be interrupted, also where the tests themselves run in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
