"""``gpukit diversity``: ego-networks, the vertices with the most social contexts, cores and trusses."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from gpukit.cli.diversity_gather import gather
from gpukit.cli.numbers import at_most
from gpukit.cli.parts import PartOption, part_of
from gpukit.cli.vertices import vertex_list
from gpukit.errors import UsageError

if TYPE_CHECKING:
    from gpukit.device.select import Device
    from gpukit.graph.csr import Graph

app = typer.Typer(
    help="Structural diversity: vertices with many social contexts.", no_args_is_help=True, add_completion=False
)

GraphArgument = Annotated[Path, typer.Argument(metavar="G.h5", help="The graph.")]
TOption = Annotated[
    int | None, typer.Option("-t", metavar="T", help="Number of vertices to find; 100, or n if smaller, by default.")
]
DEFAULT_T = 100
UndirectedOption = Annotated[bool, typer.Option("--undirected", help="Ignore the directions of a directed graph.")]


class Model(StrEnum):
    """Values of ``--model``."""

    comp = "comp"
    core = "core"
    truss = "truss"


class Balance(StrEnum):
    """Values of ``--balance``."""

    none = "none"
    pack = "pack"
    random = "random"
    exhausted = "exhausted"
    dynamic = "dynamic"


VISITS_PER_ARC = 8
"""Steps of the search for an arc at least, by which ``auto`` chooses the device."""


def _read(run: Run, graph_file: Path, undirected: bool) -> tuple["Graph", str, bool]:
    """Return the graph, undirected, the digest of its file, and whether directions were ignored for that."""
    with run.phase("read"):
        from gpukit.artifacts import read_graph_file
        from gpukit.diversity import as_undirected

        given, source, _ = read_graph_file(graph_file, transpose=False)
        return as_undirected(given, undirected), source, not given.undirected


def _told(symmetrised: bool) -> dict[str, str]:
    """Return what people read of ignored directions, if there were any."""
    return {"directions": "ignored: the graph is directed, every edge counts both ways"} if symmetrised else {}


def _device(run: Run, graph: "Graph", device: DeviceChoice, gpus: int, threads: int | None) -> "Device":
    return run.use_device(device.value, gpus, threads, work=VISITS_PER_ARC * graph.m)


def _one_gpu(gpus: int, command: str) -> None:
    if gpus > 1:
        raise UsageError(f"--gpus is {gpus}; diversity {command} uses one GPU")


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
    _one_gpu(gpus, "egos")
    graph, source, symmetrised = _read(run, graph_file, undirected)
    centres = sorted(vertex_list(vertices, "--vertices", graph)) if vertices is not None else range(graph.n)
    where = _device(run, graph, device, gpus, threads)
    with run.phase("extract"):
        import numpy as np

        from gpukit.diversity import egos as on_cpu

        chosen = np.array(centres, np.int32)
        if where.kind == "cpu":
            found = on_cpu.extract(graph, chosen, where.threads)
        else:
            from gpukit.diversity import egos_cuda as on_gpu

            found = on_gpu.extract(graph, chosen)
    with run.phase("write"):
        from gpukit.artifacts import write

        arrays = {
            "centres": graph.original(found.centres),
            "node_begin": found.node_begin,
            "nodes": graph.original(found.nodes),
            "indptr": found.indptr,
            "indices": found.indices,
        }
        attributes = {"n": graph.n, "count": len(found.centres), "graph": source}
        write(out, "egonets", arrays, attributes, params=run.params, inputs={"graph": source}, compress=compress)
    record = {"egos": len(found.centres), "nodes": len(found.nodes), "edges": len(found.indices) // 2}
    run.finish(graph, record | {"symmetrised": symmetrised}, record | _told(symmetrised))


@app.command("search")
def search_(
    graph_file: GraphArgument,
    out: OutOption,
    model: Annotated[Model, typer.Option("--model", help="What counts as a social context.")] = Model.truss,
    k: Annotated[int, typer.Option("-k", metavar="K", help="Threshold of the model.")] = 4,
    t: TOption = None,
    undirected: UndirectedOption = False,
    full: Annotated[
        bool, typer.Option("--full", help="Decompose every ego-network, as the paper does; the same answer, slower.")
    ] = False,
    part: PartOption = None,
    balance: Annotated[
        Balance, typer.Option("--balance", help="How several GPUs share the work; the same answer.")
    ] = Balance.dynamic,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Find the t vertices with the most social contexts, and these contexts."""
    params = {"model": model.value, "k": k, "t": t, "undirected": undirected}
    run = Run(params, out=out, as_json=as_json, verbose=verbose)
    graph, source, symmetrised = _read(run, graph_file, undirected)
    from gpukit.diversity import Params, make_network, search
    from gpukit.diversity.problem import check_t

    asked = Params(model.value, k)
    t = run.params["t"] = at_most(t, DEFAULT_T, graph.n)
    check_t(t, graph.n)
    in_part, first, last = part_of(part, graph.n, "vertices")
    run.params |= in_part
    where = _device(run, graph, device, gpus, threads)
    with run.phase("triangles"):
        network = make_network(graph, where, strategy=balance.value, full=full)
    with run.progress("ego-networks") as update:
        result = search(network, asked, t, among=range(first, last), timer=run.timer, progress=update)
    with run.phase("write"):
        from gpukit.artifacts import write

        vertices = graph.original(result.vertices)
        arrays = {"vertices": vertices, "internal": result.vertices, "scores": result.scores}
        arrays |= {"first": result.contexts.first, "offsets": result.contexts.offsets}
        arrays["members"] = graph.original(result.contexts.members)
        attributes = {"n": graph.n, "model": model.value, "k": k, "graph": source}
        write(out, "diversity", arrays, attributes, params=run.params, inputs={"graph": source})
    top = [
        {
            "vertex": int(vertex),
            "score": int(score),
            "contexts": [graph.original(part).tolist() for part in result.contexts.of(place)],
        }
        for place, (vertex, score) in enumerate(zip(vertices, result.scores, strict=True))
    ]
    record: dict[str, Any] = {"top": top, "scored": result.scored, "symmetrised": symmetrised}
    if shares := getattr(network, "shares", []):  # of several GPUs
        record["shares"] = [vars(share) for share in shares]
    shown = {f"vertex {one['vertex']}": f"{one['score']} contexts" for one in top[:10]}
    run.finish(graph, record, {**shown, "scored": f"{result.scored:,}", **_told(symmetrised)})


@app.command("decompose")
def decompose_(
    graph_file: GraphArgument,
    out: OutOption,
    undirected: UndirectedOption = False,
    egos: Annotated[
        bool, typer.Option("--egos", help="Also the triangles, and the largest trussness inside ego-networks.")
    ] = False,
    compress: CompressOption = False,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Compute the coreness of every vertex and the trussness of every edge of the whole graph."""
    run = Run({"undirected": undirected}, out=out, as_json=as_json, verbose=verbose)
    _one_gpu(gpus, "decompose")
    graph, source, symmetrised = _read(run, graph_file, undirected)
    where = _device(run, graph, device, gpus, threads)
    with run.phase("decompose"):
        from gpukit.diversity import decompose

        found = decompose(graph, where)
    largest = {"coreness": int(found.coreness.max(initial=0)), "trussness": int(found.trussness.max(initial=0))}
    record: dict[str, Any] = {"largest": largest, "edges": len(found.tails), "symmetrised": symmetrised}
    if egos and graph.n:
        with run.phase("egos"):
            from gpukit.diversity import ego_trussness, make_network

            network = make_network(graph, where)
            largest["degree"] = int((graph.indptr[1:] - graph.indptr[:-1]).max())
            largest["ego_trussness"] = ego_trussness(network, largest["trussness"])
            record["triangles"] = network.ego_edges // 3
    with run.phase("write"):
        from gpukit.artifacts import write

        arrays = {
            "coreness": found.coreness,
            "tails": graph.original(found.tails),
            "heads": graph.original(found.heads),
            "trussness": found.trussness,
        }
        attributes = {"n": graph.n, "graph": source}
        write(out, "decomposition", arrays, attributes, params=run.params, inputs={"graph": source}, compress=compress)
    shown = {f"largest {name.replace('_', ' ')}": value for name, value in largest.items()}
    run.finish(graph, record, shown | _told(symmetrised))


app.command("gather")(gather)
