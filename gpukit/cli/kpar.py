"""``gpukit kpar``: top-k personalised PageRank."""

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from gpukit import settings
from gpukit.api import needs
from gpukit.api.pagerank_answers import among_of, answer, asked_device
from gpukit.api.pagerank_index import INDEX_VISITS, RANK_VISITS, check_memory, index_artifact
from gpukit.api.pagerank_index import index as make_index
from gpukit.api.pagerank_index import rank as compute_rank
from gpukit.api.pagerank_update import device_for_updates, drawn, resized
from gpukit.api.parts import part_of
from gpukit.api.vertices import at_most
from gpukit.cli import options
from gpukit.cli.command import DEVICE, group, with_run
from gpukit.cli.common import Run
from gpukit.cli.kpar_all import everybody
from gpukit.cli.kpar_common import RepeatOption, check_fit, explained, finish, read_index, read_queries, timed
from gpukit.cli.kpar_direct import asked_params, query_without_index
from gpukit.cli.kpar_gather import gather
from gpukit.cli.kpar_reference import baseline, truth
from gpukit.cli.kpar_serve import serve
from gpukit.cli.kpar_update import read_sizes, update
from gpukit.cli.options import ablation, option
from gpukit.cli.vertices import vertex_list
from gpukit.errors import InputError, UsageError
from gpukit.settings import CPU_DEPTHS, Depth

if TYPE_CHECKING:
    import numpy as np

    from gpukit.artifacts import Artifact
    from gpukit.device.select import Device
    from gpukit.kpar.index import Index
    from gpukit.kpar.problem import Params

app = group("Top-k personalised PageRank.")

_log = logging.getLogger("gpukit")


@dataclass(frozen=True)
class Walks:
    """Which walks an index holds."""

    hubs: Annotated[
        bool, ablation("--hubs", "Also list the vertices where more than 8ψ walks end (H of the paper).")
    ] = False
    adaptive: Annotated[
        bool, ablation("--adaptive/--uniform", "More walks for the head of the PRO-rank list, or not.")
    ] = True
    memory: Annotated[
        int | None,
        option("--memory MIB", "Room for the walks; above it queries draw them again."),
    ] = None
    updatable: Annotated[
        bool, option("--updatable", "Keep the paths of the walks, so that `kpar update` can follow changes of edges.")
    ] = False
    sizes: Annotated[
        Path | None,
        option("--sizes IRW.h5", "With --updatable: as many walks for an edge as this one has, without PageRank."),
    ] = None

    def check(self, rank_file: Path | None) -> None:
        """Refuse options that do not go together; raises UsageError."""
        check_memory(self.memory)
        if self.sizes is not None and (not self.updatable or rank_file is not None or not self.adaptive):
            raise UsageError("--sizes goes with --updatable, and without --rank and --uniform, whose place it takes")


@dataclass(frozen=True)
class Method:
    """How a query is answered; all but ``depth`` of use only to see what a part of the method does."""

    depth: Annotated[
        Depth | None,
        option(
            "--depth",
            "refined, the default with an index: once the guarantee holds look twice at the vertices around the end of "
            "the answer, and say which places are certain; auto: without that look; end: halve the error; walks: stop "
            "at δ_min and draw walks where it does not hold yet, as the paper prints it.",
        ),
    ] = None
    bounds: Annotated[
        Literal["exact", "printed"],
        ablation("--bounds", "The stop test; printed: the paper's, which is unsound (an ablation)."),
    ] = "exact"
    collect: Annotated[
        Literal["auto", "scan", "atomic"],
        ablation("--collect", "On a GPU: find frontiers by scans or as pushes reach them."),
    ] = "auto"
    balance: Annotated[
        Literal["both", "push", "none"],
        ablation("--balance", "On a GPU: split long rows among threads (ablations: push, none)."),
    ] = "both"

    @property
    def ablated(self) -> bool:
        """Whether the CPU alone can do it."""
        return self.bounds == "printed" or self.depth in CPU_DEPTHS


@app.command("rank")
@with_run("out", *DEVICE, writes="pagerank", estimate=needs.rank)
def rank(
    run: Run,
    graph_file: options.GraphArgument,
    alpha: options.AlphaOption = settings.KPAR_ALPHA,
    weighted: options.WeightedOption = False,
) -> None:
    """Compute PageRank and the PRO-rank list, which says where more walks pay off."""
    run.params = {"alpha": alpha, "weighted": weighted}
    with run.phase("read"):
        from gpukit.kpar.problem import ONE, Params

        asked = Params(alpha=alpha, weighted=weighted)
        graph, _ = run.read_graph(graph_file)
    device = run.use_device(run.requested, work=RANK_VISITS * graph.m)
    found = compute_rank(run, device, asked)
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
def index(
    run: Run,
    graph_file: options.GraphArgument,
    *,
    rank_file: Annotated[
        Path | None, option("--rank PR.h5", "PageRank by `kpar rank`; computed when not given.")
    ] = None,
    alpha: options.AlphaOption = settings.KPAR_ALPHA,
    epsilon: options.EpsilonOption = settings.KPAR_EPSILON,
    weighted: options.WeightedOption = False,
    walks: Walks,
    compress: options.CompressOption = False,
) -> None:
    """Draw the random walks of every vertex and store where they end."""
    run.params = {"alpha": alpha, "epsilon": epsilon, "hubs": walks.hubs, "adaptive": walks.adaptive}
    run.params |= {"weighted": weighted} | ({"updatable": True} if walks.updatable else {})
    walks.check(rank_file)
    with run.phase("read"):
        from gpukit.kpar.problem import Params

        asked = Params(alpha, epsilon, weighted)
        graph, _ = run.read_graph(graph_file, transpose=rank_file is None and walks.sizes is None)
    if walks.updatable:
        artifact, found = _updatable(run, asked, rank_file, walks)
    else:
        visits = INDEX_VISITS if rank_file is not None else INDEX_VISITS + RANK_VISITS
        device = run.use_device(run.requested, work=visits * graph.m)
        order = _order(run, device, asked, rank_file)
        artifact, found = make_index(
            run, device, order, asked, hubs=walks.hubs, adaptive=walks.adaptive, memory=walks.memory
        )
    run.put(artifact, compress=compress)
    record = {"walks": found.total, "entries": len(found.starts), "frequent": len(found.frequencies)}
    record |= {"light": found.light}
    if found.hubs is not None:
        record["hubs"] = len(found.hubs)
    run.finish(record)


def _updatable(run: Run, params: "Params", rank_file: Path | None, walks: Walks) -> "tuple[Artifact, Index]":
    """Make an index that `kpar update` can change, with sizes by PageRank or those of another index."""
    from gpukit.kpar.update_paths import check_updatable

    check_updatable(params, walks.memory)
    device = run.use_device(device_for_updates(run.requested), reason="an updatable index is made on the CPU")
    if walks.sizes is not None:
        with run.phase("read"):
            sizes, run.params["adaptive"] = read_sizes(walks.sizes, run.graph.n, params)
        found = drawn(run, device, sizes, params, hubs=walks.hubs)
    else:
        order = _order(run, device, params, rank_file)
        found = resized(run, device, order, params, hubs=walks.hubs, adaptive=walks.adaptive)
    return index_artifact(found, run.params, run.inputs), found


def _order(run: Run, device: "Device", params: Any, rank_file: Path | None) -> "np.ndarray":
    """Return the PRO-rank list of a file, or compute it."""
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
    *,
    index_file: Annotated[
        Path | None,
        option("--index IRW.h5", "The index by `kpar index`; without one, every query draws walks of its own."),
    ] = None,
    out: options.AnswersOption = None,
    alpha: Annotated[float | None, option("--alpha A", "Must be that of the index, if there is one.")] = None,
    epsilon: Annotated[float | None, option("--epsilon E", "Must be that of the index, if there is one.")] = None,
    weighted: Annotated[
        bool, option("--weighted", "Without an index: take edges in proportion to their weights.")
    ] = False,
    among: Annotated[
        str | None,
        option("--among A,B,…|FILE", "The k best of these vertices alone, or of those in a file, one a line."),
    ] = None,
    method: Method,
    part: options.PartOption = None,
    explain: Annotated[bool, option("--explain", "Say what each step of each query did.")] = False,
    repeat: RepeatOption = 1,
) -> None:
    """Find the k vertices with the largest personalised PageRank of each source."""
    depth = method.depth or ("auto" if index_file is None or method.bounds == "printed" else "refined")
    method = replace(method, depth=depth)
    run.params = {"k": queries.k, "depth": depth, "bounds": method.bounds}
    with run.phase("read"):
        from gpukit.kpar.problem import check_k

        graph, sources, k = read_queries(run, graph_file, queries)
        named = None
        if among is not None:
            listed = vertex_list(among, "--among", graph)
            named = among_of(graph.n, listed, run.inputs)
            k = run.params["k"] = at_most(queries.k, settings.KPAR_K, len(listed))
            run.params["among"] = len(listed)
        in_part, first, last = part_of(part, len(sources), "queries")
        sources = sources.part(first, last)
        run.params |= in_part
        if named is not None and (index_file is None or method.bounds == "printed" or method.depth == "walks"):
            raise UsageError("--among needs --index, and goes without --bounds printed and --depth walks")
        if repeat > 1 and index_file is None:
            raise UsageError("--repeat needs --index: without one every query reads the graph anew; leave it out")
        if index_file is None:
            return query_without_index(run, sources, method, asked_params(alpha, epsilon, weighted), explain)
        if weighted:
            raise UsageError("an index knows whether its edges are weighted; leave --weighted out")
        found, run.inputs["index"] = read_index(index_file, run.inputs["graph"], alpha, epsilon)
    asked = found.params
    run.params |= {"alpha": asked.alpha, "epsilon": asked.epsilon, "weighted": asked.weighted}
    check_k(k, graph.n)
    where = asked_device(run.requested, method.ablated)
    if method.bounds == "printed":
        _log.warning("--bounds printed is unsound: its answers come without the guarantee")
    device = run.use_device(where, work=float(graph.m) * len(sources))
    with run.phase("prepare"):
        from gpukit.kpar.run import prepare_on

        prepared = prepare_on(device, graph, found)
        shape = _shape(method) if device.kind == "cuda" else None
    if found.light:
        _log.info("%s holds no walks, only counts: they are drawn again, which takes longer", index_file)
    elif device.kind == "cuda" and any(getattr(one, "light", False) for one in prepared):
        _log.info("the walks of %s do not fit onto the GPU: they are drawn again, which takes longer", index_file)
    result, extra = timed(
        run,
        repeat,
        lambda: answer(run, device, prepared, sources, k, depth=depth, bounds=method.bounds, shape=shape, among=named),
    )
    extra["steps"] = result.steps
    if explain:
        extra["explain"] = explained(result)
    finish(run, sources, result, "kpar", epsilon=asked.epsilon, extra=extra)


def _shape(method: Method) -> Any:
    """Return how the kernel of a query is to work."""
    from gpukit.kpar.space_cuda import Shape

    tiled = {"tiled_push": method.balance != "none", "tiled_estimate": method.balance == "both"}
    return Shape(collect=method.collect, **tiled)


app.command("all")(everybody)
app.command("serve")(serve)
app.command("truth")(truth)
app.command("baseline")(baseline)
app.command("gather")(gather)
app.command("update")(update)
