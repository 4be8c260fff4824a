"""Vertices that a configuration names, directly or in files.

They are looked up in the edge lists before any rule runs.
"""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpukit.cli.workflow.config_graphs import LOOKED_THROUGH, check_generator, find_edges, find_file, read_listed
from gpukit.errors import InputError, UsageError
from gpukit.files import reason

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph

MOST_GENERATED = 1 << 24
"""Most vertices of a generated graph in which vertices are looked up; costs of more would take too much memory."""

Check = Callable[["Graph"], object]


def wrong_vertices(entry: dict[str, Any], config: Mapping[str, Any], places: Sequence[Path]) -> Iterator[str]:
    """Yield the errors in the vertices that are named for a graph: the key, and the message of its command.

    Vertices are not looked up in fetched graphs and in edge lists of more than :data:`~.config_graphs.LOOKED_THROUGH`
    bytes.
    """
    checks = dict(_checks(entry["systems"], config, places))
    graph = _vertices_of(entry, places) if checks else None
    if graph is None:
        return
    for key, check in checks.items():
        try:
            check(graph)
        except OSError as error:
            yield f"{key}: {error.filename}: {reason(error)}"
        except (InputError, UsageError) as error:
            yield f"{key}: {str(error).removeprefix(f'{key}: ')}"


def _checks(systems: Sequence[str], config: Mapping[str, Any], places: Sequence[Path]) -> Iterator[tuple[str, Check]]:
    """Yield the keys that name vertices for a graph with these systems, and the function that checks their values."""
    from gpukit.cli.vertices import read

    def file(value: str) -> Path:
        return find_file(value, places) or Path(value)

    def own(system: str, name: str) -> Any:
        return config[system][name] if system in systems else None

    for name in ("include", "exclude"):
        if (value := own("gim", name)) is not None:
            text = str(file(value)) if isinstance(value, str) and find_file(value, places) else vertices_of(value)
            yield f"gim.{name}", partial(read.vertex_list, text, f"gim.{name}")
    if (targets := own("gim", "targets")) is not None:
        yield "gim.targets", partial(read.vertex_weights, file(targets), inputs={})
    for system in ("gim", "merit"):
        if (costs := own(system, "costs")) not in (None, "degree", "uniform"):
            yield f"{system}.costs", partial(read.vertex_costs, file(costs), inputs={})
    sources = own("kpar", "sources")
    if isinstance(sources, list):
        lines = "\n".join(map(str, sources)).encode()
        yield "kpar.sources", partial(read.check_sources, Path("kpar.sources"), lines)
    elif isinstance(sources, str):
        yield "kpar.sources", lambda graph: read.check_sources(file(sources), file(sources).read_bytes(), graph)
    for name, value in config["seeds"].items() if {"gim", "imgpu"} & set(systems) else ():
        yield f"seeds.{name}", partial(_check_seeds, file(value))


def _check_seeds(path: Path, graph: "Graph") -> None:
    """Check a text of seeds; an artifact states its graph itself."""
    from gpukit.cli.vertices.read import listed_vertices

    content = path.read_bytes()
    if not content.startswith(b"\x89HDF"):
        listed_vertices(path, content, graph)


def _vertices_of(entry: dict[str, Any], places: Sequence[Path]) -> "Graph | None":
    """Return the vertices of a graph, without its edges; None if vertices are not looked up in it."""
    import numpy as np

    from gpukit.graph.csr import Graph

    def graph(n: int, **names: Any) -> Graph:
        return Graph(np.zeros(n + 1, np.int64), np.zeros(0, np.int32), **names)

    if entry["generate"]:
        n = check_generator(entry["generate"])
        return graph(n) if n <= MOST_GENERATED else None
    path = find_edges(entry, places) if entry["edges"] else None
    if path is None or path.stat().st_size > LOOKED_THROUGH:
        return None
    listed = read_listed(path, entry)
    if listed.labels is not None:
        return graph(len(listed.labels), labels=listed.labels)
    if listed.n is not None:
        return graph(listed.n)
    ids = np.union1d(listed.u, listed.v).astype(np.int64) if listed.ids is None else listed.ids
    return graph(len(ids), ids=ids)


def vertices_of(value: Any) -> str:
    """Return vertices of a configuration (one, a list, or a text as on the command line) in the syntax of options."""
    if not isinstance(value, list):
        return str(value)
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(value)
    return text.getvalue()
