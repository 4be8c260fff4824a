"""Shared by tests of artifacts: a graph whose ids differ from its vertex numbers, with and without a file."""

from pathlib import Path

import numpy as np
import pytest
from mutants import EDGES

from gpukit import artifacts
from gpukit.graph.csr import Graph
from gpukit.worlds.tables import build_tables


@pytest.fixture
def ids_graph(make_graph) -> Graph:
    """Return a graph of 6 vertices and 11 edges, with ids 5, 15, … 55."""
    return Graph(**{**vars(make_graph(6, EDGES)), "ids": np.arange(6) * 10 + 5})


@pytest.fixture
def file(tmp_path: Path, ids_graph: Graph) -> Path:
    """Return a file of that graph and its sampling tables."""
    artifacts.write_graph(tmp_path / "G.h5", ids_graph, build_tables(ids_graph))
    return tmp_path / "G.h5"
