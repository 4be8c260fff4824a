"""``gpukit kpar``: top-k personalised PageRank."""

import logging
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
    SeedOption,
    ThreadsOption,
    VerboseOption,
)
from gpukit.cli.kpar_gather import gather
from gpukit.cli.kpar_options import (
    DEFAULT_K,
    AlphaOption,
    EpsilonOption,
    GraphArgument,
    KOption,
    RandomOption,
    RankOption,
    SourceOption,
    SourcesOption,
    WeightedOption,
    device_for,
)
from gpukit.cli.kpar_output import explained, finish
from gpukit.cli.kpar_reference import baseline, truth
from gpukit.cli.loading import one_edge
from gpukit.cli.numbers import at_most
from gpukit.cli.parts import PartOption, part_of
from gpukit.cli.sources import read_sources
from gpukit.errors import InputError, UsageError

if TYPE_CHECKING:
    import numpy as np

    from gpukit.device.select import Device
    from gpukit.graph.csr import Graph
    from gpukit.kpar.index import Index
    from gpukit.kpar.rank import Rank

app = typer.Typer(help="Top-k personalised PageRank.", no_args_is_help=True, add_completion=False)

_log = logging.getLogger("gpukit")


class Depth(StrEnum):
    """Values of ``--depth``."""

    auto = "auto"
    end = "end"
    walks = "walks"


class Bounds(StrEnum):
    """Values of ``--bounds``."""

    exact = "exact"
    printed = "printed"


class Collect(StrEnum):
    """Values of ``--collect``."""

    auto = "auto"
    scan = "scan"
    atomic = "atomic"


class Balance(StrEnum):
    """Values of ``--balance``."""

    both = "both"
    push = "push"
    none = "none"


RANK_VISITS, INDEX_VISITS = 40, 6
"""Visits of an edge, about, that `auto` weighs: rounds of PageRank, and steps of the walks."""


@app.command("rank")
def rank(
    graph_file: GraphArgument,
    out: OutOption,
    alpha: AlphaOption = 0.2,
    weighted: WeightedOption = False,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Compute PageRank and the PRO-rank list, which says where more walks pay off."""
    run = Run({"alpha": alpha, "weighted": weighted}, out=out, as_json=as_json, verbose=verbose)
    with run.phase("read"):
        from gpukit.artifacts import read_graph_file
        from gpukit.kpar.problem import ONE, Params

        settings = Params(alpha=alpha, weighted=weighted)
        graph, graph_digest, _ = read_graph_file(graph_file)
    where = device_for(device, weighted)
    chosen = run.use_device(where, gpus, threads, work=RANK_VISITS * graph.m)
    found = _rank(run, chosen, graph, settings)
    with run.phase("write"):
        from gpukit.artifacts import write_pagerank

        facts: dict[str, Any] = {"alpha": alpha, "rounds": found.rounds, "remaining": found.remaining}
        facts["weighted"] = weighted
        write_pagerank(out, found.pagerank, found.order, graph=graph_digest, params=run.params, **facts)
    best = (-found.pagerank.astype("f8")).argsort(kind="stable")[:10]
    scores = found.pagerank[best] / float(ONE)
    record = {"rounds": found.rounds, "remaining": found.remaining / ONE}
    top = {"nodes": graph.original(best), "scores": scores}
    lines = {"rounds": found.rounds, "largest": [f"{v} ({s:.3g})" for v, s in zip(*top.values(), strict=True)][:3]}
    run.finish(graph, {**record, "top": top}, lines)


@app.command("index")
def index(
    graph_file: GraphArgument,
    out: OutOption,
    rank_file: RankOption = None,
    alpha: AlphaOption = 0.2,
    epsilon: EpsilonOption = 0.5,
    weighted: WeightedOption = False,
    hubs: Annotated[
        bool, typer.Option("--hubs", help="Also list the vertices where more than 8ψ walks end (H of the paper).")
    ] = False,
    adaptive: Annotated[
        bool, typer.Option("--adaptive/--uniform", help="More walks for the head of the PRO-rank list, or not.")
    ] = True,
    memory: Annotated[
        int | None,
        typer.Option("--memory", metavar="MIB", help="Room for the walks; above it queries draw them again."),
    ] = None,
    compress: CompressOption = False,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Draw the random walks of every vertex and store where they end."""
    params = {"alpha": alpha, "epsilon": epsilon, "hubs": hubs, "adaptive": adaptive, "weighted": weighted}
    run = Run(params, seed=seed, out=out, as_json=as_json, verbose=verbose)
    if memory is not None and memory < 0:
        raise UsageError(f"--memory is {memory}; at least 0 is needed")
    with run.phase("read"):
        from gpukit.artifacts import read_graph_file
        from gpukit.kpar.problem import Params

        settings = Params(alpha, epsilon, weighted)
        graph, name, _ = read_graph_file(graph_file, transpose=rank_file is None)
        inputs = {"graph": name}
    visits = INDEX_VISITS if rank_file is not None else INDEX_VISITS + RANK_VISITS
    where = device_for(device, weighted)
    chosen = run.use_device(where, gpus, threads, work=visits * graph.m)
    order = _order(run, chosen, graph, settings, rank_file, inputs)
    room = None if memory is None else memory << 20
    options: dict[str, Any] = {"hubs": hubs, "adaptive": adaptive, "memory": room, "seed": seed}
    with run.phase("load"):
        import numpy as np

        from gpukit.kpar.run import index_on

        index_on(chosen, one_edge(graph), np.arange(2, dtype=np.int32), settings, **options)
    with run.phase("walks"):
        found = index_on(chosen, graph, order, settings, **options)
    if found.light:
        _log.info("the walks do not fit into %d MiB: only counts are kept, and queries draw walks again", memory)
    with run.phase("write"):
        from gpukit.artifacts import write_irw

        rows = ("src_begin", "starts", "frequent_begin", "frequencies")
        arrays = {name: None if found.light else getattr(found, name) for name in rows}
        arrays |= {"walks": found.walks, "arrivals": found.arrivals, "hubs": found.hubs}
        facts: dict[str, Any] = {"alpha": alpha, "epsilon": epsilon, "light": found.light, "graph": inputs["graph"]}
        facts["weighted"] = weighted
        write_irw(out, arrays, seed=seed, params=run.params, inputs=inputs, compress=compress, **facts)
    record = {"walks": found.total, "entries": len(found.starts), "frequent": len(found.frequencies)}
    record |= {"light": found.light}
    if found.hubs is not None:
        record["hubs"] = len(found.hubs)
    run.finish(graph, record)


def _rank(run: Run, device: "Device", graph: "Graph", params: Any) -> "Rank":
    """Compute PageRank and the PRO-rank list."""
    with run.phase("load"):
        from gpukit.kpar.run import rank_on

        rank_on(device, one_edge(graph), params)
    with run.phase("rank"):
        return rank_on(device, graph, params)


def _order(
    run: Run, device: "Device", graph: "Graph", params: Any, rank_file: Path | None, inputs: dict[str, str]
) -> "np.ndarray":
    """Return the PRO-rank list of a file, or compute it."""
    if rank_file is None:
        return _rank(run, device, graph, params).order
    with run.phase("read"):
        from gpukit.artifacts import read_pagerank

        found = read_pagerank(rank_file)
        inputs["rank"] = found.payload
    _check_fit(rank_file, found.attributes, inputs["graph"], {"alpha": params.alpha}, "kpar rank")
    kinds = {True: "with edge weights", False: "without edge weights"}
    made = kinds[found.attributes.get("weighted", False)]
    if made != kinds[params.weighted]:
        raise InputError(f"{rank_file} was made {made}, the index is to be {kinds[params.weighted]}; make both alike")
    return found.arrays["order"]


def _check_fit(path: Path, found: dict[str, Any], graph: str, wanted: dict[str, float | None], maker: str) -> None:
    """Check that an artifact belongs to the graph and to the wanted values; None wants nothing."""
    if found["graph"] != graph:
        raise InputError(f"{path} was made on another graph; make it again with `gpukit {maker}` on this one")
    for name, value in wanted.items():
        if value is not None and found[name] != value:
            raise InputError(
                f"{path} was made with {name} {found[name]}, not {value}; give --{name} {found[name]}, or make it again"
            )


def _read_index(path: Path, graph: str, alpha: float | None, epsilon: float | None) -> "tuple[Index, str]":
    """Return an index that fits the graph and the parameters, and its digest."""
    from gpukit.artifacts import read_irw
    from gpukit.kpar.index import Index
    from gpukit.kpar.problem import Params

    file = read_irw(path)
    _check_fit(path, file.attributes, graph, {"alpha": alpha, "epsilon": epsilon}, "kpar index")
    params = Params(file.attributes["alpha"], file.attributes["epsilon"], file.attributes.get("weighted", False))
    return Index.of(params, int(file.seed or 0), file.arrays, light=file.attributes["light"]), file.payload


@app.command("query")
def query(
    graph_file: GraphArgument,
    index_file: Annotated[Path, typer.Option("--index", metavar="IRW.h5", help="The index by `kpar index`.")],
    k: KOption = None,
    source: SourceOption = None,
    sources_file: SourcesOption = None,
    random: RandomOption = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="T.h5", help="The answers to write.")] = None,
    alpha: Annotated[
        float | None, typer.Option("--alpha", metavar="A", help="Must be that of the index, if given.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", metavar="E", help="Must be that of the index, if given.")
    ] = None,
    depth: Annotated[
        Depth,
        typer.Option(
            "--depth",
            help="Stop as soon as the guarantee holds; halve the error: go to the end; or stop at δ_min and draw walks "
            "where it does not hold yet, as the paper prints it.",
        ),
    ] = Depth.auto,
    bounds: Annotated[
        Bounds, typer.Option("--bounds", help="The stop test; printed: the paper's, which is unsound (an ablation).")
    ] = Bounds.exact,
    collect: Annotated[
        Collect, typer.Option("--collect", help="On a GPU: find frontiers by scans or as pushes reach them.")
    ] = Collect.auto,
    balance: Annotated[
        Balance, typer.Option("--balance", help="On a GPU: split long rows among threads (ablations: push, none).")
    ] = Balance.both,
    part: PartOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say what each step of each query did.")] = False,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Find the k vertices with the largest personalised PageRank of each source."""
    ablated = bounds is Bounds.printed or depth is Depth.walks
    run = Run(
        {"k": k, "depth": depth.value, "bounds": bounds.value}, seed=seed, out=out, as_json=as_json, verbose=verbose
    )
    with run.phase("read"):
        from gpukit.artifacts import read_graph_file
        from gpukit.kpar.problem import check_k

        graph, name, _ = read_graph_file(graph_file, transpose=False)
        inputs = {"graph": name}
        k = run.params["k"] = at_most(k, DEFAULT_K, graph.n)
        sources = read_sources(graph, source, sources_file, random, seed, k, inputs)
        in_part, first, last = part_of(part, len(sources), "queries")
        sources = sources.part(first, last)
        found, inputs["index"] = _read_index(index_file, inputs["graph"], alpha, epsilon)
    run.params |= {"alpha": found.params.alpha, "epsilon": found.params.epsilon, "weighted": found.params.weighted}
    run.params |= in_part
    check_k(k, graph.n)
    if ablated and device is DeviceChoice.cuda:
        raise UsageError("--bounds printed and --depth walks run on the CPU; use --device cpu")
    if bounds is Bounds.printed:
        _log.warning("--bounds printed is unsound: its answers come without the guarantee")
    where = "cpu" if ablated else device_for(device, found.params.weighted)
    chosen = run.use_device(where, gpus, threads, work=float(graph.m) * len(sources))
    with run.phase("prepare"):
        from gpukit.kpar.run import prepare_on, query_on

        prepared = prepare_on(chosen, graph, found)
        shape = None
        if chosen.kind == "cuda":
            from gpukit.kpar.prepared_cuda import Shape

            tiled = {"tiled_push": balance is not Balance.none, "tiled_estimate": balance is Balance.both}
            shape = Shape(collect=collect.value, **tiled)
    if found.light:
        _log.info("%s holds no walks, only counts: they are drawn again, which takes longer", index_file)
    elif chosen.kind == "cuda" and any(getattr(one, "light", False) for one in prepared):
        _log.info("the walks of %s do not fit onto the GPU: they are drawn again, which takes longer", index_file)
    options: dict[str, Any] = {"to_end": depth is Depth.end, "shape": shape}
    options |= {"printed": bounds is Bounds.printed, "resort": depth is Depth.walks}
    with run.phase("load"):
        query_on(chosen, prepared, sources.part(0, min(len(sources), len(prepared))), k, **options)
    with run.phase("query"), run.progress("queries") as update:
        result = query_on(chosen, prepared, sources, k, progress=update, **options)
    extra: dict[str, Any] = {"steps": result.steps}
    if explain:
        extra["explain"] = explained(result)
    finish(run, graph, sources, result, "kpar", inputs, epsilon=found.params.epsilon, extra=extra)


app.command("truth")(truth)
app.command("baseline")(baseline)
app.command("gather")(gather)
