"""``gpukit kpar update``: the edges of a graph change, and its index follows."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gpukit.api.pagerank_index import index_artifact, index_of, rank
from gpukit.api.pagerank_update import Update, listed, not_updatable, resized
from gpukit.cli import options
from gpukit.cli.command import with_run
from gpukit.cli.common import Run
from gpukit.cli.graph_common import put_graph
from gpukit.cli.kpar_common import check_fit
from gpukit.cli.options import option
from gpukit.errors import InputError, UsageError

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph
    from gpukit.kpar.index.build import Paths
    from gpukit.kpar.problem import Params
    from gpukit.kpar.update.changes import Edges


def read_sizes(path: Path, n: int, params: "Params") -> "tuple[Paths, bool]":
    """Return the sizes of an updatable index, and whether the head of the PRO-rank list has more walks."""
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


@with_run("out", "threads", writes="irw")
def update(
    run: Run,
    graph_file: options.GraphArgument,
    *,
    index_file: options.IndexOption,
    add: Annotated[Path | None, option("--add EDGES", "Edges to add: text, as for `graph import`.")] = None,
    remove: Annotated[Path | None, option("--remove EDGES", "Edges to remove.")] = None,
    out_graph: Annotated[Path, option("--out-graph G2.h5", "The graph with the new edges, to write.")],
    resize: Annotated[bool, option("--resize", "PageRank and numbers of walks of the new graph, too.")] = False,
    compress: options.CompressOption = False,
) -> None:
    """Add and remove edges: draw again the walks that meet them, and write the new graph and its index.

    The index is what `kpar index --updatable --sizes IRW.h5` makes of the new graph.
    """
    if add is None and remove is None and not resize:
        raise UsageError("there is nothing to change; give --add, --remove or --resize")
    run.params = {"resize": resize}
    with run.phase("read"):
        from gpukit.artifacts import read_irw

        graph, _ = run.read_graph(graph_file)
        file = read_irw(index_file, paths=True)
        check_fit(index_file, file.attributes, run.inputs["graph"], {}, "kpar index")
        index = index_of(file)
        if index.paths is None:
            raise InputError(f"{index_file}: {not_updatable()}")
        run.inputs["index"] = file.payload
    device = run.use_device()
    with run.phase("read"):
        from gpukit.kpar.update.changes import Changed

        comes, goes = _read_edges(run, graph, add, "add"), _read_edges(run, graph, remove, "remove")
        edges = Changed.between(graph, comes, goes)
    with run.phase("graph"):
        from gpukit.graph.change import change

        new = change(graph, edges.keys[edges.adds], edges.keys[~edges.adds])
    redrawn = 0
    if not resize:
        with run.phase("walks"):
            from gpukit.kpar.update.once import updated

            found, redrawn = updated(graph, index, edges, device.threads)
    seed = new.weights.seed if new.weights.drawn else None
    inputs = {"graph": put_graph(run, out_graph, new, compress, seed)}
    if resize:
        kept = {"hubs": index.hubs is not None, "adaptive": bool(file.params.get("adaptive", True))}
        run.seed = index.seed
        order = rank(run, device, index.params).order
        found = resized(run, device, order, index.params, **kept)
        redrawn = found.total
    run.put(index_artifact(found, file.params, inputs), compress=compress)
    done = Update.of(comes, goes, edges, redrawn)._asdict()
    run.finish(done | {"walks": found.total, "entries": len(found.starts), "digest": inputs["graph"]})


def _read_edges(run: Run, graph: "Graph", path: Path | None, name: str) -> "Edges":
    """Return the edges of a file, none where there is no file."""
    from gpukit.graph.read.edgelist import ReadOptions
    from gpukit.graph.read.formats import read_edges
    from gpukit.kpar.update.changes import Edges

    if path is None:
        return Edges.of([], [])
    kind = "integer" if graph.labels is None else "text"
    with run.progress(name) as progress:
        found: Any = read_edges(path, 0, progress, ReadOptions(ids=kind, suspects_first_line=False))
    if found.digest is not None:
        run.inputs[name] = found.digest
    return listed(graph, found, str(path))
