"""Graphs as artifacts: a Binsparse CSR at the root, the transpose and the sampling tables in groups beside it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpukit.artifacts import store
from gpukit.artifacts.store import PathLike
from gpukit.graph.csr import Graph, Weights


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
    arrays: dict[str, np.ndarray] = {}
    groups: dict[str, dict[str, str]] = {}
    _put_csr("", arrays, groups, graph.indptr, graph.indices, graph.probabilities)
    if graph.ids is not None:
        arrays["ids"] = graph.ids
    if graph.in_indptr is not None and graph.in_indices is not None:
        _put_csr("transpose", arrays, groups, graph.in_indptr, graph.in_indices, graph.in_probabilities)
    for name, table in (tables or {}).items():
        arrays[f"tables/{name}"] = np.asarray(table)
    weights = graph.weights
    attributes: dict[str, Any] = {
        "n": graph.n,
        "m": graph.m,
        "scheme": weights.scheme,
        "undirected": bool(graph.undirected),
        "facts": graph.facts,
    }
    if weights.p is not None:
        attributes["p"] = weights.p
    if weights.seed is not None:
        attributes["weights_seed"] = weights.seed
    return store.write(
        path, "graph", arrays, attributes, params=params, seed=seed, inputs=inputs, groups=groups, compress=compress
    )


def _put_csr(
    group: str,
    arrays: dict[str, np.ndarray],
    groups: dict[str, dict[str, str]],
    indptr: np.ndarray,
    indices: np.ndarray,
    probabilities: np.ndarray | None,
) -> None:
    """Add one CSR matrix and its Binsparse descriptor (version 0.1.0, JSON in one string attribute)."""
    prefix = f"{group}/" if group else ""
    n = len(indptr) - 1
    descriptor: dict[str, Any] = {
        "binsparse": {
            "version": "0.1.0",
            "format": "CSR",
            "shape": [n, n],
            "number_of_stored_values": len(indices),
            "data_types": {"pointers_to_1": "int64", "indices_1": "int32", "values": "iso[int8]"},
        },
        "gpukit": {"rows": "heads" if group else "tails", "columns": "tails" if group else "heads"},
    }
    arrays[f"{prefix}pointers_to_1"] = indptr
    arrays[f"{prefix}indices_1"] = indices
    arrays[f"{prefix}values"] = np.ones(1, np.int8)
    if probabilities is not None:
        arrays[f"{prefix}probabilities"] = probabilities
    groups[group] = {"binsparse": store.canonical_json(descriptor)}


def read_graph(path: PathLike, *, transpose: bool = True) -> Graph:
    """Read a graph.

    Parameters
    ----------
    path : path
        An artifact of kind graph.
    transpose : bool
        Whether to read the transpose; ``in_*`` stay None when it is not wanted or not stored.

    Raises
    ------
    InputError
        If the file is missing, of another kind or broken.
    """
    artifact = store.read(path, "graph", skip=("tables/",) if transpose else ("tables/", "transpose/"))
    get, attributes = artifact.arrays.get, artifact.attributes
    return Graph(
        indptr=artifact.arrays["pointers_to_1"],
        indices=artifact.arrays["indices_1"],
        ids=get("ids"),
        weights=Weights(attributes["scheme"], attributes.get("p"), attributes.get("weights_seed")),
        probabilities=get("probabilities"),
        in_indptr=get("transpose/pointers_to_1"),
        in_indices=get("transpose/indices_1"),
        in_probabilities=get("transpose/probabilities"),
        undirected=attributes["undirected"],
        facts=attributes["facts"],
    )


def read_tables(path: PathLike) -> dict[str, np.ndarray] | None:
    """Return the sampling tables of a graph by name, None if it has none; raises InputError like :func:`read_graph`."""
    artifact = store.read(
        path, "graph", skip=("pointers_to_1", "indices_1", "values", "probabilities", "ids", "transpose/")
    )
    tables = {name.removeprefix("tables/"): array for name, array in artifact.arrays.items()}
    return tables or None
