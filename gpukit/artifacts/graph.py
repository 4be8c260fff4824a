"""Graphs as artifacts: a Binsparse CSR at the root, the transpose and the sampling tables in groups beside it."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gpukit.artifacts import store
from gpukit.artifacts.artifact import Artifact, canonical_json
from gpukit.artifacts.checks import descriptor
from gpukit.artifacts.labels import labels_of, packed
from gpukit.artifacts.layout import TABLES
from gpukit.artifacts.store import PathLike
from gpukit.graph.csr import Graph, Weights

_log = logging.getLogger("gpukit")


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
    """Write a graph, its transpose where it has one, and sampling tables.

    Any Binsparse reader sees a pattern matrix whose values are all 1; explicit probabilities stay beside it as the
    32-bit fixed-point numbers the samplers use, since one array of eight-byte values would double the file.

    Parameters
    ----------
    path : path
        The target.
    graph : Graph
        The graph; ``in_*`` arrays are stored when they are there.
    tables : mapping of str to array, optional
        Sampling tables of one or two axes, by name.
    compress, inputs, params, seed
        See :func:`gpukit.artifacts.store.write`.

    Returns
    -------
    str
        The payload digest; it depends on neither transpose nor tables.
    """
    arrays, attributes, groups = _content(graph, tables)
    return store.write(
        path, "graph", arrays, attributes, params=params, seed=seed, inputs=inputs, groups=groups, compress=compress
    )


def graph_artifact(graph: Graph) -> Artifact:
    """Return the out-edges of a graph, which are all that its digest depends on, as an artifact."""
    bare = replace(graph, in_indptr=None, in_indices=None, in_probabilities=None)
    arrays, attributes, _ = _content(bare, None)
    return store.make("graph", arrays, attributes)


def _content(
    graph: Graph, tables: Mapping[str, np.ndarray] | None
) -> tuple[dict[str, np.ndarray], dict[str, Any], dict[str, dict[str, str]]]:
    """Return the arrays, the attributes and the attributes of groups of a graph."""
    arrays: dict[str, np.ndarray] = {}
    groups: dict[str, dict[str, str]] = {}
    _put_csr("", arrays, groups, graph.indptr, graph.indices, graph.probabilities)
    if graph.ids is not None:
        arrays["ids"] = graph.ids
    if graph.labels is not None:
        arrays |= packed(graph.labels)
    if graph.in_indptr is not None and graph.in_indices is not None:
        _put_csr("transpose", arrays, groups, graph.in_indptr, graph.in_indices, graph.in_probabilities)
    for name, table in (tables or {}).items():
        arrays[f"tables/{name}"] = np.asarray(table)
    weights = graph.weights
    attributes = {"n": graph.n, "m": graph.m, "scheme": weights.scheme, "undirected": bool(graph.undirected)}
    attributes["facts"] = graph.facts
    optional = {"p": weights.p, "weights_seed": weights.seed, "low": weights.low, "high": weights.high}
    if tables and TABLES > 1:  # files from before there was a version have tables of version 1
        optional["tables"] = TABLES
    attributes |= {name: value for name, value in optional.items() if value is not None}
    return arrays, attributes, groups


def _put_csr(
    group: str,
    arrays: dict[str, np.ndarray],
    groups: dict[str, dict[str, str]],
    indptr: np.ndarray,
    indices: np.ndarray,
    probabilities: np.ndarray | None,
) -> None:
    """Add one CSR matrix and its Binsparse descriptor (JSON in one string attribute)."""
    prefix = f"{group}/" if group else ""
    arrays[f"{prefix}pointers_to_1"] = indptr
    arrays[f"{prefix}indices_1"] = indices
    arrays[f"{prefix}values"] = np.ones(1, np.int8)
    if probabilities is not None:
        arrays[f"{prefix}probabilities"] = probabilities
    groups[group] = {"binsparse": canonical_json(descriptor(group, len(indptr) - 1, len(indices)))}


class GraphFile(NamedTuple):
    """A graph with what else its file says, of one reading of it.

    Attributes
    ----------
    graph : Graph
    digest : str
        The payload digest, by which results name the graph.
    tables : dict of str to array, or None
        The sampling tables, if they were wanted and stored, and are what this version makes of a graph.
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
        Whether to read the transpose; ``in_*`` stay None when it is not wanted or not stored.
    tables : bool
        Whether to read the sampling tables.

    Raises
    ------
    InputError
        If the file is missing, of another kind or broken.
    """
    skip = (() if tables else ("tables/",)) + (() if transpose else ("transpose/",))
    artifact = store.read(path, "graph", skip=skip)
    get, attributes = artifact.arrays.get, artifact.attributes
    graph = Graph(
        indptr=artifact.arrays["pointers_to_1"],
        indices=artifact.arrays["indices_1"],
        ids=get("ids"),
        labels=labels_of(artifact.arrays),
        weights=Weights.of(attributes),
        probabilities=get("probabilities"),
        in_indptr=get("transpose/pointers_to_1"),
        in_indices=get("transpose/indices_1"),
        in_probabilities=get("transpose/probabilities"),
        undirected=attributes["undirected"],
        facts=attributes["facts"],
    )
    found = {name.removeprefix("tables/"): a for name, a in artifact.arrays.items() if name.startswith("tables/")}
    if found and attributes.get("tables", 1) != TABLES:
        _log.info("the sampling tables of %s are of another version of gpukit; they are built anew", path)
        found = {}
    return GraphFile(graph, artifact.payload, found or None)


def read_graph(path: PathLike, *, transpose: bool = True) -> Graph:
    """Read a graph alone; see :func:`read_graph_file`."""
    return read_graph_file(path, transpose=transpose).graph
