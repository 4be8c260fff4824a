"""``gpukit diversity``: ego-networks, and the vertices with the most social contexts."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpukit.cli.common import (
    CompressOption,
    DeviceChoice,
    DeviceOption,
    GpusOption,
    JsonOption,
    OutOption,
    Run,
    ThreadsOption,
    VerboseOption,
)
from gpukit.cli.vertices import vertex_list

app = typer.Typer(help="Structural diversity: vertices with many social contexts.", no_args_is_help=True)

GraphArgument = Annotated[Path, typer.Argument(metavar="G.h5", help="The graph.")]
UndirectedOption = Annotated[bool, typer.Option("--undirected", help="Ignore the directions of a directed graph.")]


class Model(StrEnum):
    """Values of ``--model``."""

    comp = "comp"
    core = "core"
    truss = "truss"


@app.callback()
def _group() -> None:
    """Structural diversity: vertices with many social contexts."""


@app.command("egos")
def egos(
    graph_file: GraphArgument,
    out: OutOption,
    vertices: Annotated[
        str | None, typer.Option("--vertices", metavar="A,B,…|FILE", help="The centres; all vertices by default.")
    ] = None,
    undirected: UndirectedOption = False,
    compress: CompressOption = False,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Write ego-networks in CSR, in ascending order of their centres."""
    run = Run({"undirected": undirected}, out=out, as_json=as_json, verbose=verbose)
    workers = run.use_cpu("diversity", device, gpus, threads)
    with run.phase("read"):
        import numpy as np

        from gpukit.artifacts import digest, read_graph, write
        from gpukit.diversity import as_undirected
        from gpukit.diversity.egos import extract

        graph, source = as_undirected(read_graph(graph_file, transpose=False), undirected), digest(graph_file)
        centres = sorted(vertex_list(vertices, "--vertices", graph)) if vertices is not None else range(graph.n)
    with run.phase("extract"):
        found = extract(graph, np.array(centres, np.int32), workers)
    with run.phase("write"):
        arrays = {
            "centres": graph.original(found.centres),
            "node_begin": found.node_begin,
            "nodes": graph.original(found.nodes),
            "indptr": found.indptr,
            "indices": found.indices,
        }
        attributes = {"n": graph.n, "count": len(found.centres), "graph": source}
        write(out, "egonets", arrays, attributes, params=run.params, inputs={"graph": source}, compress=compress)
    run.finish(graph, {"egos": len(found.centres), "nodes": len(found.nodes), "edges": len(found.indices) // 2})


@app.command("search")
def search_(
    graph_file: GraphArgument,
    out: OutOption,
    model: Annotated[Model, typer.Option("--model", help="What counts as a social context.")] = Model.truss,
    k: Annotated[int, typer.Option("-k", metavar="K", help="Threshold of the model.")] = 4,
    t: Annotated[int, typer.Option("-t", metavar="T", help="Number of vertices to find.")] = 100,
    undirected: UndirectedOption = False,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Find the t vertices with the most social contexts, and these contexts."""
    params = {"model": model.value, "k": k, "t": t, "undirected": undirected}
    run = Run(params, out=out, as_json=as_json, verbose=verbose)
    workers = run.use_cpu("diversity", device, gpus, threads)
    with run.phase("read"):
        from gpukit.artifacts import digest, read_graph, write
        from gpukit.diversity import Params, as_undirected, build_network, search
        from gpukit.diversity.problem import check_t

        asked = Params(model.value, k)
        graph, source = as_undirected(read_graph(graph_file, transpose=False), undirected), digest(graph_file)
        check_t(t, graph.n)
    with run.phase("triangles"):
        network = build_network(graph, workers)
    with run.progress("ego-networks") as update:
        result = search(network, asked, t, timer=run.timer, progress=update)
    with run.phase("write"):
        vertices = graph.original(result.vertices)
        arrays = {"vertices": vertices, "internal": result.vertices, "scores": result.scores}
        arrays |= {"first": result.contexts.first, "offsets": result.contexts.offsets}
        arrays["members"] = graph.original(result.contexts.members)
        attributes = {"n": graph.n, "model": model.value, "k": k, "scored": result.scored, "graph": source}
        write(out, "diversity", arrays, attributes, params=run.params, inputs={"graph": source})
    top = [
        {
            "vertex": int(vertex),
            "score": int(score),
            "contexts": [graph.original(part).tolist() for part in result.contexts.of(place)],
        }
        for place, (vertex, score) in enumerate(zip(vertices, result.scores, strict=True))
    ]
    shown = {f"vertex {one['vertex']}": f"{one['score']} contexts" for one in top[:10]}
    run.finish(graph, {"top": top, "scored": result.scored}, {**shown, "scored": f"{result.scored:,}"})
