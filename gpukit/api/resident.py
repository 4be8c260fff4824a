"""An index that stays open: graph, index and prepared data of queries are mapped from files."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpukit.api.pagerank_index import index_of
from gpukit.api.results import another_graph
from gpukit.errors import InputError

if TYPE_CHECKING:
    from gpukit.artifacts import Header
    from gpukit.device.select import Device
    from gpukit.kpar.query.answer import Prepared


@dataclass(frozen=True, eq=False)
class Opened:
    """A graph and its index, ready for queries on the CPU.

    Attributes
    ----------
    graph, index : Header
        The headers of the files; ``payload`` is the digest.
    prepared : Prepared
        The prepared data; their graph has edges and names, but no probabilities.
    mapped : bool
        Whether a file with the prepared data existed; otherwise they were made now.
    """

    graph: "Header"
    index: "Header"
    prepared: "Prepared"
    mapped: bool

    def on(self, device: "Device") -> Any:
        """Return the result of :func:`gpukit.kpar.run.prepare_on` on a device."""
        if device.kind == "cpu":
            return [self.prepared]
        from gpukit.kpar.run import prepare_on

        return prepare_on(device, self.prepared.graph, self.prepared.index)


def open_files(graph_file: Path, index_file: Path) -> Opened:
    """Open a graph and its index.

    The first opening prepares the data of queries and stores them next to the index, if it can write there
    (``IRW.h5.ready``, :mod:`gpukit.artifacts.ready`). Later openings map this file, and read only the headers of the
    two other files.

    Raises
    ------
    InputError
        If a file is missing or broken, or the index was made on another graph.
    """
    from gpukit.artifacts import read_header
    from gpukit.artifacts.ready import map_ready, ready_path

    graph, index = read_header(graph_file, "graph"), read_header(index_file, "irw")
    if index.attributes["graph"] != graph.payload:
        raise another_graph(index_file, index.attributes["graph"], graph.payload)
    about = {"graph": graph.payload, "index": index.payload}
    arrays = map_ready(ready_path(index_file), about, graph.attributes["n"])
    if arrays is not None:
        return Opened(graph, index, _from_arrays(arrays, index, graph.attributes), True)
    return Opened(graph, index, _make(graph_file, index_file, about), False)


def _make(graph_file: Path, index_file: Path, about: dict[str, str]) -> "Prepared":
    """Read both files, prepare the data of queries, and store them next to the index."""
    from gpukit.artifacts import read_graph_file, read_irw
    from gpukit.artifacts.ready import ready_path, write_ready
    from gpukit.kpar.query.answer import Prepared

    graph, digest, _ = read_graph_file(graph_file, transpose=False)
    artifact = read_irw(index_file)
    if {"graph": digest, "index": artifact.payload} != about:
        raise InputError(f"{graph_file} or {index_file} was replaced while it was read; try again")
    made = Prepared.of(graph, index_of(artifact))
    index, forward, in_edges = made.index, made.index.forward, made.in_edges()
    assert forward is not None
    optional = {"chances": made.chances, "ids": graph.ids}
    if graph.labels is not None:
        optional |= {"label_offsets": graph.labels.offsets, "label_data": graph.labels.data}
    arrays = {
        "indptr": graph.indptr, "indices": graph.indices, "walks": index.walks, "arrivals": index.arrivals,
        "src_begin": index.src_begin, "starts": index.starts, "frequent_begin": index.frequent_begin,
        "frequencies": index.frequencies, "by_arrivals": made.by_arrivals,
        **dict(zip(("row_begin", "row_ends", "row_freqs"), forward, strict=True)),
        **{f"in_{name}": array for name, array in in_edges._asdict().items()},
        **{name: array for name, array in optional.items() if array is not None},
    }  # fmt: skip
    write_ready(ready_path(index_file), about, arrays)
    return made


def _from_arrays(arrays: Any, header: "Header", about: Mapping[str, Any]) -> "Prepared":
    """Return the result of :meth:`Prepared.of` from its arrays; ``about`` has the attributes of the graph's file."""
    from gpukit.graph.csr import Graph
    from gpukit.graph.labels import Labels
    from gpukit.kpar.groups import InEdges
    from gpukit.kpar.index.build import Index
    from gpukit.kpar.problem import Constants, Params
    from gpukit.kpar.query.answer import Prepared

    labels = None
    if "label_offsets" in arrays:
        labels = Labels(arrays["label_offsets"], arrays["label_data"]).joined(about["facts"])
    graph = Graph(arrays["indptr"], arrays["indices"], arrays.get("ids"), labels=labels, undirected=about["undirected"])
    a = header.attributes
    params = Params(a["alpha"], a["epsilon"], a.get("weighted", False))
    index = Index.of(params, int(header.seed or 0), arrays, light=a["light"])
    forward = tuple(arrays[name] for name in ("row_begin", "row_ends", "row_freqs"))
    index = replace(index, forward=forward, updatable="sized_for" in a)
    in_edges = InEdges(*(arrays[f"in_{name}"] for name in InEdges._fields))
    return Prepared(
        graph, index, Constants.of(graph.n, graph.m, params), arrays["by_arrivals"], arrays.get("chances"),
        made={"in": in_edges},
    )  # fmt: skip
