"""Graphs as artifacts: a Binsparse CSR at the root; groups hold the transpose and the sampling tables."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gpukit.artifacts import store
from gpukit.artifacts.artifact import Artifact, canonical_json, given
from gpukit.artifacts.bounds import graph_of, tables_of
from gpukit.artifacts.checks import descriptor
from gpukit.artifacts.labels import packed
from gpukit.artifacts.layout import TABLES
from gpukit.artifacts.store import PathLike
from gpukit.graph.csr import Graph


def write_graph(
    path: PathLike,
    graph: Graph,
    tables: Mapping[str, np.ndarray] | None = None,
    *,
    compress: bool = False,
    inputs: Mapping[str, str] | None = None,
    params: Mapping[str, Any] | None = None,
    seed: int | None = None,
) -> str:
    """Write a graph, its transpose if it has one, and sampling tables.

    Any Binsparse reader sees a pattern matrix of ones. Explicit probabilities are stored separately, as the 32-bit
    fixed-point numbers that samplers use; an array of eight-byte values would double the file.

    Parameters
    ----------
    path : path
        The target.
    graph : Graph
        The graph; ``in_*`` arrays are stored if it has them.
    tables : mapping of str to array, optional
        Sampling tables of one or two axes, by name.
    compress, inputs, params, seed
        See :func:`gpukit.artifacts.store.write`.

    Returns
    -------
    str
        The payload digest; it does not depend on transpose or tables.
    """
    arrays, attributes, groups = _content(graph, tables)
    return store.write(
        path, "graph", arrays, attributes, params=params, seed=seed, inputs=inputs, groups=groups, compress=compress
    )


def graph_artifact(graph: Graph) -> Artifact:
    """Return the out-edges of a graph as an artifact; its digest depends only on these."""
    bare = replace(graph, in_indptr=None, in_indices=None, in_probabilities=None)
    arrays, attributes, _ = _content(bare, None)
    return store.make("graph", arrays, attributes)


def _content(
    graph: Graph, tables: Mapping[str, np.ndarray] | None
) -> tuple[dict[str, np.ndarray], dict[str, Any], dict[str, dict[str, str]]]:
    """Return the arrays, the attributes and the attributes of groups of a graph."""
    transpose = graph.in_indptr is not None and graph.in_indices is not None
    arrays = _csr("", graph.indptr, graph.indices, graph.probabilities) | {"ids": graph.ids, **packed(graph.labels)}
    if transpose:
        arrays |= _csr("transpose/", graph.in_indptr, graph.in_indices, graph.in_probabilities)
    arrays |= {f"tables/{name}": np.asarray(table) for name, table in (tables or {}).items()}
    groups = {
        group: {"binsparse": canonical_json(descriptor(group, graph.n, graph.m))}
        for group in ("", "transpose")[: 1 + transpose]
    }
    weights = graph.weights
    attributes = {"n": graph.n, "m": graph.m, "scheme": weights.scheme, "undirected": bool(graph.undirected)}
    attributes |= {"facts": graph.facts, "p": weights.p, "weights_seed": weights.seed}
    attributes |= {"low": weights.low, "high": weights.high}
    if tables and TABLES > 1:  # files without this attribute have tables of version 1
        attributes["tables"] = TABLES
    return given(arrays), given(attributes), groups


def _csr(prefix: str, indptr: Any, indices: Any, probabilities: Any) -> dict[str, Any]:
    """Return the arrays of a CSR matrix by path."""
    arrays = {"pointers_to_1": indptr, "indices_1": indices, "values": np.ones(1, np.int8)}
    return {f"{prefix}{name}": array for name, array in (arrays | {"probabilities": probabilities}).items()}


class GraphFile(NamedTuple):
    """A graph and further contents of its file, from one reading.

    Attributes
    ----------
    graph : Graph
    digest : str
        The payload digest; results name the graph by it.
    tables : dict of str to array, or None
        The sampling tables, if requested, stored, and of this version.
    """

    graph: Graph
    digest: str
    tables: dict[str, np.ndarray] | None


def read_graph_file(path: PathLike, *, transpose: bool = True, tables: bool = False) -> GraphFile:
    """Read a graph, its digest and its sampling tables.

    Parameters
    ----------
    path : path
        An artifact of kind graph.
    transpose : bool
        Whether to read the transpose; ``in_*`` are None if it is not requested or not stored.
    tables : bool
        Whether to read the sampling tables.

    Raises
    ------
    InputError
        If the file is missing, of another kind, or damaged.
    """
    skip = (() if tables else ("tables/",)) + (() if transpose else ("transpose/",))
    artifact = store.read(path, "graph", skip=skip)
    return GraphFile(graph_of(artifact), artifact.payload, tables_of(artifact))


def read_graph(path: PathLike, *, transpose: bool = True) -> Graph:
    """Read only a graph; see :func:`read_graph_file`."""
    return read_graph_file(path, transpose=transpose).graph
