"""``gpukit kpar update``: change edges and vertices of a graph, and update its index."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gpukit.api.pagerank_index import index_artifact, index_of, rank
from gpukit.api.pagerank_update import NONE_LISTED, Follower, Listed, listed, not_updatable, resized
from gpukit.cli import options
from gpukit.cli.command import with_run
from gpukit.cli.common import Run
from gpukit.cli.graph.common import put_graph
from gpukit.cli.kpar.common import check_fit
from gpukit.cli.options import option
from gpukit.errors import InputError, UsageError

if TYPE_CHECKING:
    from gpukit.graph import csr
    from gpukit.kpar.index.build import Paths
    from gpukit.kpar.problem import Params


def read_sizes(path: Path, n: int, params: "Params") -> "tuple[Paths, bool]":
    """Return the paths of an updatable index, and whether it is adaptive (vertices of high PRO-rank start more walks).

    Raises
    ------
    InputError
        If the index is not updatable, or does not fit the graph or the parameters.
    """
    from gpukit.artifacts import read_irw

    file = read_irw(path, paths=True)
    index = index_of(file)
    if index.paths is None:
        raise InputError(f"{path}: {not_updatable()}")
    if len(index.walks) != n:
        raise InputError(f"{path} is for {len(index.walks):,} vertices, the graph has {n:,}; give one for this graph")
    for name in ("alpha", "epsilon"):
        if getattr(index.params, name) != getattr(params, name):
            raise InputError(f"{path} was made with {name} {getattr(index.params, name)}; give --{name} as there")
    return index.paths, bool(file.params.get("adaptive", True))


@dataclass(frozen=True)
class Changing:
    """Options for the changes."""

    add: Annotated[
        Path | None, option("--add EDGES", "Edges to add: text, as for `graph import`; weights in a third column.")
    ] = None
    remove: Annotated[Path | None, option("--remove EDGES", "Edges to remove.")] = None
    set_weights: Annotated[Path | None, option("--set-weights EDGES", "Existing edges, and their new weights.")] = None
    add_vertices: Annotated[Path | None, option("--add-vertices FILE", "New vertices, one per line.")] = None
    remove_vertices: Annotated[
        Path | None, option("--remove-vertices FILE", "Vertices to remove with all of their edges, one per line.")
    ] = None


@with_run("out", "threads", writes="irw")
def update(
    run: Run,
    graph_file: options.GraphArgument,
    *,
    index_file: options.IndexOption,
    asked: Changing,
    out_graph: Annotated[Path, option("--out-graph G2.h5", "The changed graph, to write.")],
    resize: Annotated[bool, option("--resize", "Also compute PageRank and the numbers of walks again.")] = False,
    compress: options.CompressOption = False,
) -> None:
    """Change edges and vertices: draw the affected walks again, and write the new graph and its index.

    The index equals the one that `kpar index --updatable --sizes IRW.h5` makes for a new graph with the same vertices.
    """
    if not resize and not any(getattr(asked, one.name) for one in fields(Changing)):
        raise UsageError("there is nothing to change; give --add, --remove or another of what changes, or --resize")
    run.params = {"resize": resize}
    with run.phase("read"):
        from gpukit.api.graph import Graph
        from gpukit.artifacts import read_irw

        graph, _ = run.read_graph(graph_file)
        file = read_irw(index_file, paths=True)
        check_fit(index_file, file.attributes, run.inputs["graph"], {}, "kpar index")
        index = index_of(file)
        if index.paths is None:
            raise InputError(f"{index_file}: {not_updatable()}")
        run.inputs["index"] = file.payload
    device = run.use_device()
    weighted = index.params.weighted
    with run.phase("read"):
        edges = [
            _read_edges(run, graph, getattr(asked, name), name, weighted) for name in ("add", "remove", "set_weights")
        ]
        vertices = [
            _read_vertices(run, graph, getattr(asked, name), name) for name in ("add_vertices", "remove_vertices")
        ]
    with run.phase("open"):
        follower = Follower(Graph(graph, digest=run.inputs["graph"]), index, device.threads, once=True)
    with run.phase("walks"):
        done = follower.update(*edges, *vertices)
    with run.phase("graph"):
        opened, found = follower.current()
        new = opened.csr
    seed = new.weights.seed if new.weights.drawn else None
    inputs = {"graph": put_graph(run, out_graph, new, compress, seed)}
    if resize:
        kept = {"hubs": index.hubs is not None, "adaptive": bool(file.params.get("adaptive", True))}
        run.seed, run.graph = index.seed, new
        found = resized(run, device, rank(run, device, index.params).order, index.params, **kept)
        done = done._replace(walks_redrawn=found.total)
    run.put(index_artifact(found, file.params, inputs), compress=compress)
    run.finish(done._asdict() | {"walks": found.total, "entries": len(found.starts), "digest": inputs["graph"]})


def _read_edges(run: Run, graph: "csr.Graph", path: Path | None, name: str, weighted: bool) -> Listed:
    """Return the edges of a file; none if no file is given."""
    from gpukit.graph.lines import COUNTS
    from gpukit.graph.read.edgelist import ReadOptions
    from gpukit.graph.read.formats import read_edges

    if path is None:
        return NONE_LISTED
    kind = "integer" if graph.labels is None else "text"
    highest = COUNTS if weighted and name != "remove" else 0
    with run.progress(name) as progress:
        found: Any = read_edges(path, highest, progress, ReadOptions(ids=kind, suspects_first_line=False))
    if found.digest is not None:
        run.inputs[name] = found.digest
    return listed(graph, found, str(path))


def _read_vertices(run: Run, graph: "csr.Graph", path: Path | None, name: str) -> list[Any]:
    """Return the vertices that a file names; none if no file is given."""
    from gpukit.cli.vertices.read import names_in, read_once

    named = [] if path is None else names_in(path, read_once(path, name, run.inputs), graph)
    return [one for _, one in named]
