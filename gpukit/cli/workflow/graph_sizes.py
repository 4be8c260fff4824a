"""Sizes of the graphs of a configuration before they exist, if known, and the memory and disk that they need."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gpukit.cli.workflow.config_graphs import command_options, find_edges, words

LINE_BYTES = {".gz": 3, "": 4}
"""The least bytes per line of an edge list, by the suffix of its name; compressed files have fewer."""


class Size(NamedTuple):
    """Vertices, and directed edges: an undirected edge counts twice."""

    vertices: int
    edges: int

    @property
    def graph_mb(self) -> int:
        """MB of a graph in memory with in-edges and sampling tables, and of its file (24 B per vertex, 16 per edge)."""
        return (24 * self.vertices + 16 * self.edges) // 10**6

    @property
    def build_mb(self) -> int:
        """MB needed to build a graph in addition to its edge list."""
        from gpukit.graph.memory import UNEQUAL_BYTES, VERTEX_BYTES

        return (VERTEX_BYTES * self.vertices + UNEQUAL_BYTES * self.edges) // 10**6


def size_of(entry: Mapping[str, Any], places: Sequence[Path]) -> Size:
    """Return the size of a graph from its generator or the catalogue, or else an upper bound from its bytes.

    Parameters
    ----------
    entry : mapping
        A checked entry of ``graphs``.
    places : sequence of Path
        Folders in which its edge list is searched; a missing list has size 0.
    """
    if entry["generate"]:
        return _generated(entry["generate"])
    from gpukit.datasets.catalogue import find_dataset, load_catalogue

    shipped = {one.shipped: one for one in load_catalogue().values() if one.shipped}
    known = find_dataset(entry["fetch"]) if entry["fetch"] else shipped.get(entry["edges"])
    if known is not None:
        return Size(known.n, known.m * (1 + entry["undirected"]))
    path = find_edges(entry, places)
    if path is None:
        return Size(0, 0)
    lines = path.stat().st_size // LINE_BYTES.get(path.suffix, LINE_BYTES[""])
    return Size(lines, lines * (1 + entry["undirected"]))


def _generated(text: str) -> Size:
    options = command_options("generate", ["graph", "generate"], words(text, "generate"))
    n = options.get("vertices") or 1 << options["scale"]
    edges = (
        options.get("edges") or options.get("draws") or n * (options.get("attach") or options.get("edge_factor") or 16)
    )
    one_way = words(text, "generate")[0] in ("rmat", "er") and not options.get("undirected")
    return Size(n, edges if one_way else 2 * edges)
