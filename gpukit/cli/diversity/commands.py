"""``gpukit diversity``: ego-networks, the vertices with the most circles, cores and trusses."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gpukit.api import needs
from gpukit.api.diversity import VISITS_PER_ARC, answer, make_undirected, search
from gpukit.api.diversity_index import make_index, read_index, use_index
from gpukit.api.parts import part_of
from gpukit.cli.command import DEVICE, group, with_run
from gpukit.cli.common import Run
from gpukit.cli.diversity.gather import found_lines, gather
from gpukit.cli.options import CompressOption, GraphArgument, PartOption, UndirectedOption, option
from gpukit.cli.vertices.read import vertex_list
from gpukit.errors import UsageError
from gpukit.parameters.diversity import USUAL_T, Length, Params
from gpukit.parameters.option import length_of

if TYPE_CHECKING:
    from gpukit.diversity import Index
    from gpukit.graph.csr import Graph

app = group("Structural diversity: vertices whose neighbours fall into many circles.")


def _read(run: Run, graph_file: Path, undirected: bool) -> tuple["Graph", bool]:
    """Return the undirected graph, and whether directions were ignored for it."""
    with run.phase("read"):
        given, _ = run.read_graph(graph_file, transpose=False)
        directed = make_undirected(run, given, undirected)
        return run.graph, directed


def _read_index(run: Run, graph_file: Path, undirected: bool, index_file: Path, model: str) -> tuple["Index", bool]:
    """Return the part of an index for a model, and whether directions were ignored; set the graph of the run."""
    with run.phase("read"):
        from gpukit.diversity import ignores_directions

        given, _ = run.read_graph(graph_file, transpose=False)
        directed = ignores_directions(given, undirected)
        index = read_index(index_file, model, run.inputs["graph"])
        use_index(run, index)
        return index, directed


def _directions(symmetrised: bool) -> dict[str, str]:
    """Return the summary line about ignored directions, if there were any."""
    return {"directions": "ignored: the graph is directed, every edge counts both ways"} if symmetrised else {}


def _one_gpu(run: Run, command: str) -> None:
    """Refuse several GPUs; raises UsageError."""
    if run.gpus > 1:
        raise UsageError(f"--gpus is {run.gpus}; diversity {command} uses one GPU")


@app.command("egos")
@with_run("out", *DEVICE, writes="egonets", estimate=needs.egos)
def egos(
    run: Run,
    graph_file: GraphArgument,
    vertices: Annotated[str | None, option("--vertices A,B,…|FILE", "The centres; all vertices by default.")] = None,
    undirected: UndirectedOption = False,
    compress: CompressOption = False,
) -> None:
    """Write ego-networks in CSR, in ascending order of their centres."""
    run.params = {"undirected": undirected}
    _one_gpu(run, "egos")
    graph, symmetrised = _read(run, graph_file, undirected)
    centres = sorted(vertex_list(vertices, "--vertices", graph)) if vertices is not None else range(graph.n)
    where = run.use_device(work=VISITS_PER_ARC * graph.m)
    with run.phase("extract"):
        import numpy as np

        from gpukit.diversity import egos as on_cpu

        chosen = np.array(centres, np.int32)
        if where.kind == "cpu":
            found = on_cpu.extract(graph, chosen, where.threads)
        else:
            from gpukit.diversity import egos_cuda as on_gpu

            found = on_gpu.extract(graph, chosen)
    arrays = {
        "centres": graph.numbers(found.centres),
        "node_begin": found.node_begin,
        "nodes": graph.numbers(found.nodes),
        "indptr": found.indptr,
        "indices": found.indices,
    }
    attributes = {"n": graph.n, "count": len(found.centres), **run.inputs}
    run.save("egonets", arrays, attributes, compress=compress)
    record = {"egos": len(found.centres), "nodes": len(found.nodes), "edges": len(found.indices) // 2}
    run.finish(record | {"symmetrised": symmetrised}, record | _directions(symmetrised))


@dataclass(frozen=True)
class Search:
    """Options of a search."""

    t: Length = None
    undirected: UndirectedOption = False
    index_file: Annotated[
        Path | None, option("--index X.h5", "The index by `diversity index`: the same answer, at once.")
    ] = None
    part: PartOption = None


@app.command("search")
@with_run("out", *DEVICE, "explain", writes="diversity", estimate=needs.egos)
def search_(run: Run, graph_file: GraphArgument, params: Params, asked: Search) -> None:
    """Find the t vertices with the most circles among their neighbours, and these circles."""
    find(run, graph_file, params, asked)


def find(run: Run, graph_file: Path, params: Params, asked: Search, *, full: bool = False, make: Any = None) -> None:
    """Search; ``full`` and ``make`` are those of :func:`gpukit.api.diversity.search`."""
    undirected, index_file = asked.undirected, asked.index_file
    run.params = {**params.record(), "undirected": undirected}
    if index_file is not None and (full or run.requested == "cuda"):
        raise UsageError("--index answers on the CPU, from what was decomposed; leave --full and --device cuda out")
    index = None
    if index_file is None:
        graph, symmetrised = _read(run, graph_file, undirected)
    else:
        index, symmetrised = _read_index(run, graph_file, undirected, index_file, params.model)
        graph = run.graph
    t = run.params["t"] = length_of("t", asked.t, USUAL_T, graph.n)
    in_part, first, last = part_of(asked.part, graph.n, "vertices")
    run.params |= in_part
    if index is None:
        artifact, result, found = search(run, params, t, range(first, last), full=full, make=make)
    else:
        run.use_device("cpu", reason="an index is looked up on the CPU")
        with run.phase("search"):
            result = index.search(params, t, among=range(first, last))
        artifact, found = answer(run, params, result)
    run.put(artifact)
    shares = {"shares": found.pop("shares")} if "shares" in found else {}
    record: dict[str, Any] = {**found, "symmetrised": symmetrised, **shares}
    run.finish(
        record, {**found_lines(found["top"], graph.n), "scored": f"{result.scored:,}", **_directions(symmetrised)}
    )


@app.command("index")
@with_run("out", *DEVICE, writes="contexts", estimate=needs.egos)
def index_(
    run: Run, graph_file: GraphArgument, undirected: UndirectedOption = False, compress: CompressOption = False
) -> None:
    """Find the circles of every vertex for every k and model, for searches that take milliseconds."""
    run.params = {"undirected": undirected}
    _, symmetrised = _read(run, graph_file, undirected)
    artifact, index = make_index(run)
    run.put(artifact, compress=compress)
    sizes = {model: len(lists.scores) for model, lists in index.lists.items()}
    shown = {f"largest k, {model}": k for model, k in index.largest.items()}
    record = {"largest": index.largest, "entries": sizes, "symmetrised": symmetrised}
    run.finish(record, shown | _directions(symmetrised))


@app.command("decompose")
@with_run("out", *DEVICE, writes="decomposition", estimate=needs.egos)
def decompose_(
    run: Run,
    graph_file: GraphArgument,
    undirected: UndirectedOption = False,
    egos: Annotated[
        bool, option("--egos", "Also the triangles, and the largest trussness inside ego-networks.")
    ] = False,
    compress: CompressOption = False,
) -> None:
    """Compute the coreness of every vertex and the trussness of every edge of the whole graph."""
    run.params = {"undirected": undirected}
    _one_gpu(run, "decompose")
    graph, symmetrised = _read(run, graph_file, undirected)
    where = run.use_device(work=VISITS_PER_ARC * graph.m)
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
    arrays = {
        "coreness": found.coreness,
        "tails": graph.numbers(found.tails),
        "heads": graph.numbers(found.heads),
        "trussness": found.trussness,
    }
    attributes = {"n": graph.n, **run.inputs}
    run.save("decomposition", arrays, attributes, compress=compress)
    shown = {f"largest {name.replace('_', ' ')}": value for name, value in largest.items()}
    run.finish(record, shown | _directions(symmetrised))


app.command("gather")(gather)
