"""``gpukit kpar``: top-k personalised PageRank."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gpukit.api import needs
from gpukit.api.pagerank_answers import among_of, answer
from gpukit.api.pagerank_index import INDEX_VISITS, RANK_VISITS, index_artifact
from gpukit.api.pagerank_index import index as make_index
from gpukit.api.pagerank_index import rank as compute_rank
from gpukit.api.pagerank_update import device_for_updates, drawn, resized
from gpukit.api.parts import part_of
from gpukit.api.vertices import without
from gpukit.cli import options
from gpukit.cli.command import DEVICE, group, with_run
from gpukit.cli.common import Run
from gpukit.cli.kpar.common import RepeatOption, check_fit, explained, finish, read_index, read_queries, timed
from gpukit.cli.kpar.direct import answer_truly, asked_params, query_without_index
from gpukit.cli.kpar.everybody import everybody
from gpukit.cli.kpar.gather import gather
from gpukit.cli.kpar.serve import serve
from gpukit.cli.kpar.truth import truth
from gpukit.cli.kpar.update import read_sizes, update
from gpukit.cli.options import option
from gpukit.cli.vertices.read import vertex_list
from gpukit.errors import InputError, UsageError
from gpukit.parameters.kpar import USUAL_K, DepthParameter, Memory, Params
from gpukit.parameters.option import Option, length_of

if TYPE_CHECKING:
    import numpy as np

    from gpukit.artifacts import Artifact
    from gpukit.device.select import Device
    from gpukit.kpar.index.build import Index
    from gpukit.kpar.problem import Result

app = group("Top-k personalised PageRank.")

_log = logging.getLogger("gpukit")


@dataclass(frozen=True)
class IndexOptions:
    """Options of an index: its PageRank, and its walks."""

    rank_file: Annotated[Path | None, option("--rank PR.h5", "PageRank by `kpar rank`; computed when not given.")] = (
        None
    )
    memory: Memory = None
    updatable: Annotated[
        bool,
        option("--updatable", "Keep the paths of the walks, so that `kpar update` can follow changes of the graph."),
    ] = False
    sizes: Annotated[
        Path | None,
        option(
            "--sizes IRW.h5", "With --updatable: take the numbers of walks per edge from this index, without PageRank."
        ),
    ] = None
    compress: options.CompressOption = False


@dataclass(frozen=True)
class Query:
    """Options of a query besides its sources."""

    index_file: Annotated[
        Path | None,
        option("--index IRW.h5", "The index by `kpar index`; without one, every query draws its own walks."),
    ] = None
    out: options.AnswersOption = None
    alpha: Annotated[float | None, Option("Must be that of the index, if there is one.", metavar="A")] = None
    epsilon: Annotated[float | None, Option("Must be that of the index, if there is one.", metavar="E")] = None
    weighted: Annotated[
        bool, option("--weighted", "Without an index: walks choose edges in proportion to their weights.")
    ] = False
    among: Annotated[
        str | None,
        option("--among A,B,…|FILE", "Rank only these vertices, or those in a file, one per line."),
    ] = None
    exclude: Annotated[
        str | None, option("--exclude A,B,…|FILE", "Leave these vertices out of the answers, or those in a file.")
    ] = None
    part: options.PartOption = None
    explain: Annotated[bool, option("--explain", "Print counts of each step of each query, and explain words.")] = False
    repeat: RepeatOption = 1


@app.command("rank")
@with_run("out", *DEVICE, writes="pagerank", estimate=needs.rank)
def rank(run: Run, graph_file: options.GraphArgument, params: Annotated[Params, "alpha", "weighted"]) -> None:
    """Compute PageRank and the PRO-rank list, which names the vertices where additional walks pay off."""
    alpha, weighted = params.alpha, params.weighted
    run.params = {"alpha": alpha, "weighted": weighted}
    with run.phase("read"):
        from gpukit.kpar.problem import ONE

        graph, _ = run.read_graph(graph_file)
    device = run.use_device(run.requested, work=RANK_VISITS * graph.m)
    found = compute_rank(run, device, params)
    with run.phase("write"):
        from gpukit.artifacts import write_pagerank

        write_pagerank(
            run.target, found.pagerank, found.order, alpha=alpha, rounds=found.rounds, remaining=found.remaining,
            graph=run.inputs["graph"], weighted=weighted, params=run.params,
        )  # fmt: skip
    best = (-found.pagerank.astype("f8")).argsort(kind="stable")[:10]
    top = {"nodes": graph.original(best), "scores": found.pagerank[best] / float(ONE)}
    largest = [f"{v} ({s:.3g})" for v, s in zip(*top.values(), strict=True)][:3]
    record = {"rounds": found.rounds, "remaining": found.remaining / ONE, "top": top}
    run.finish(record, {"rounds": found.rounds, "largest": largest})


@app.command("index")
@with_run("out", *DEVICE, "seed", writes="irw", estimate=needs.index)
def index(run: Run, graph_file: options.GraphArgument, params: Params, asked: IndexOptions) -> None:
    """Draw the random walks of every vertex and store where they end."""
    build(run, graph_file, params, asked)


def build(
    run: Run, graph_file: Path, params: Params, asked: IndexOptions, *, hubs: bool = False, adaptive: bool = True
) -> None:
    """Make an index. Ablations: with a list of hubs, or with the same factor of walks for every vertex."""
    run.params = {**params.record(), "hubs": hubs, "adaptive": adaptive}
    run.params |= {"updatable": True} if asked.updatable else {}
    if asked.sizes is not None and (not asked.updatable or asked.rank_file is not None or not adaptive):
        raise UsageError("--sizes goes with --updatable, and without --rank and --uniform, whose place it takes")
    graph, _ = run.read_graph(graph_file, transpose=asked.rank_file is None and asked.sizes is None)
    if asked.updatable:
        artifact, found = _updatable(run, params, asked, hubs, adaptive)
    else:
        visits = INDEX_VISITS if asked.rank_file is not None else INDEX_VISITS + RANK_VISITS
        device = run.use_device(run.requested, work=visits * graph.m)
        order = _order(run, device, params, asked.rank_file)
        artifact, found = make_index(run, device, order, params, hubs=hubs, adaptive=adaptive, memory=asked.memory)
    run.put(artifact, compress=asked.compress)
    record = {"walks": found.total, "entries": len(found.starts), "frequent": len(found.frequencies)}
    record |= {"light": found.light}
    if found.hubs is not None:
        record["hubs"] = len(found.hubs)
    run.finish(record)


def _updatable(run: Run, params: Params, asked: IndexOptions, hubs: bool, adaptive: bool) -> "tuple[Artifact, Index]":
    """Make an index that `kpar update` can change; its sizes follow from PageRank, or are those of another index."""
    from gpukit.kpar.update.paths import check_updatable

    check_updatable(params, asked.memory)
    device = run.use_device(device_for_updates(run.requested), reason="an updatable index is made on the CPU")
    if asked.sizes is not None:
        with run.phase("read"):
            sizes, run.params["adaptive"] = read_sizes(asked.sizes, run.graph.n, params)
        found = drawn(run, device, sizes, params, hubs=hubs)
    else:
        order = _order(run, device, params, asked.rank_file)
        found = resized(run, device, order, params, hubs=hubs, adaptive=adaptive)
    return index_artifact(found, run.params, run.inputs), found


def _order(run: Run, device: "Device", params: Any, rank_file: Path | None) -> "np.ndarray":
    """Return the PRO-rank list from a file, or compute it."""
    if rank_file is None:
        return compute_rank(run, device, params).order
    with run.phase("read"):
        from gpukit.artifacts import read_pagerank

        found = read_pagerank(rank_file)
        run.inputs["rank"] = found.payload
    check_fit(rank_file, found.attributes, run.inputs["graph"], {"alpha": params.alpha}, "kpar rank")
    kinds = {True: "with edge weights", False: "without edge weights"}
    made = kinds[found.attributes.get("weighted", False)]
    if made != kinds[params.weighted]:
        raise InputError(f"{rank_file} was made {made}, the index is to be {kinds[params.weighted]}; make both alike")
    return found.arrays["order"]


@app.command("query")
@with_run(*DEVICE, "seed", writes="topk", estimate=needs.answers)
def query(
    run: Run,
    graph_file: options.GraphArgument,
    queries: options.Queries,
    asked: Query,
    depth: DepthParameter = None,
) -> None:
    """Find the k vertices with the largest personalised PageRank of each source."""
    ask(run, graph_file, queries, asked, depth)


def ask(
    run: Run, graph_file: Path, queries: options.Queries, asked: Query, depth: str | None, *, bounds: str = "exact",
    how: "Callable[..., Result] | None" = None,
) -> None:  # fmt: skip
    """Answer queries; with an index by the function ``how``, :func:`gpukit.kpar.run.query_on` by default."""
    run.explain = asked.explain
    depth = depth or ("auto" if asked.index_file is None else "refined")
    run.params = {"k": queries.k, "depth": depth, "bounds": bounds}
    with run.phase("read"):
        graph, sources, k = read_queries(run, graph_file, queries)
        named = None
        if asked.among is not None or asked.exclude is not None:
            among = range(graph.n) if asked.among is None else vertex_list(asked.among, "--among", graph)
            listed = without(among, vertex_list(asked.exclude, "--exclude", graph))
            named = among_of(graph.n, listed, run.inputs)
            k = length_of("k", queries.k, USUAL_K, len(listed), "the vertices that answers may name")
            run.params["k"] = k
            run.params["among"] = len(listed)
        in_part, first, last = part_of(asked.part, len(sources), "queries")
        sources = sources.part(first, last)
        run.params |= in_part
        if asked.repeat > 1 and asked.index_file is None:
            raise UsageError("--repeat needs --index: without one every query reads the graph again; leave it out")
        if asked.index_file is None:
            wanted = asked_params(asked.alpha, asked.epsilon, asked.weighted)
            return query_without_index(run, sources, depth, wanted, asked.explain, named)
        if asked.weighted:
            raise UsageError("an index knows whether its edges are weighted; leave --weighted out")
        found, run.inputs["index"] = read_index(asked.index_file, run.inputs["graph"], asked.alpha, asked.epsilon)
    params = found.params
    run.params |= params.record()
    if depth == "exact":
        if asked.explain or run.requested == "cuda":
            raise UsageError("--depth exact runs on the CPU, without steps to --explain; leave the other out")
        run.use_device("cpu")
        answer_truly(run, sources, params, named)
        return
    device = run.use_device(run.requested, work=float(graph.m) * len(sources))
    with run.phase("prepare"):
        from gpukit.kpar.run import prepare_on

        prepared = prepare_on(device, graph, found)
    if found.light:
        _log.info("%s holds no walks, only counts: they are drawn again, which takes longer", asked.index_file)
    elif device.kind == "cuda" and any(getattr(one, "light", False) for one in prepared):
        _log.info("the walks of %s do not fit onto the GPU: they are drawn again, which takes longer", asked.index_file)
    result, extra = timed(
        run, asked.repeat, lambda: answer(run, device, prepared, sources, k, depth=depth, among=named, query=how)
    )
    extra["steps"] = result.steps
    if asked.explain:
        extra["explain"] = explained(result)
    finish(run, sources, result, "kpar", epsilon=params.epsilon, extra=extra)


app.command("all")(everybody)
app.command("serve")(serve)
app.command("truth")(truth)
app.command("gather")(gather)
app.command("update")(update)
