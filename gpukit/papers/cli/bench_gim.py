"""``gpukit papers bench gim``: influence maximisation, timed."""

from itertools import product
from typing import Annotated

from gpukit.cli.command import DEVICE, with_run
from gpukit.cli.common import Run
from gpukit.cli.options import option
from gpukit.cli.vertices.read import number
from gpukit.errors import InputError, UsageError
from gpukit.papers.cli.bench_record import Record, each_graph, milliseconds
from gpukit.papers.cli.options import SEEDS_TIMED, DiffusionOption, GraphsArgument, Kept, RepeatOption, SeedsTimedOption
from gpukit.parameters.gim import Sets
from gpukit.parameters.option import Option, length_of
from gpukit.parameters.spread import ModelParameter

QUALITY_KS = "5,50,200"
"""Default numbers of seeds to judge, as far as the graph has as many vertices."""


@with_run(*DEVICE, seed=1, writes="record")
def gim(
    run: Run,
    graphs: GraphsArgument,
    *,
    models: DiffusionOption = "ic,lt",
    bounds: Annotated[str, option("--bounds", "Of opim, imm, imm-fresh; with commas between them.")] = "opim,imm",
    k: SeedsTimedOption = None,
    epsilon: Annotated[float, option("--epsilon", "Approximation error, in (0, 1).")] = 0.05,
    sets: Annotated[Sets, option("--sets", "Leave out trivial RR sets, or draw all of them.")] = "kept",
    optimism: Annotated[
        float | None,
        Option(
            "Optimism at which OPIM-C stops, in addition to its certificate.", metavar="E|off", none="off", gt=0, lt=1
        ),
    ] = None,
    min_sets: Annotated[int, option("--min-sets", "Least number of RR sets.")] = 0,
    repeat: RepeatOption = 7,
    kept: Kept,
) -> None:
    """Time influence maximisation after a warm-up: every model and bound on every graph."""
    run.params = {"k": SEEDS_TIMED if k is None else k, "epsilon": epsilon}
    where = run.use_device()
    from gpukit.gim.problem import Params
    from gpukit.papers.bench.gim import measure
    from gpukit.papers.bench.machine import peak_memory

    record = Record("gim", run, kept.compare)
    for name, facts, graph, tables in each_graph(graphs, tables=True):
        size = length_of("k", k, SEEDS_TIMED, graph.n)
        for model, bound in product(models.split(","), bounds.split(",")):
            params = Params(
                k=size, epsilon=epsilon, model=model, bound=bound.removesuffix("-fresh"), min_sets=min_sets,  # type: ignore[arg-type]
                seed=run.seed, sets=sets, optimism=optimism,
                samples="fresh" if bound.endswith("-fresh") else "grid",
            )  # fmt: skip
            found = measure(graph, params, where, tables=tables, repeat=repeat, bandwidth=record.bandwidth)
            record.add(facts, found | {"peak_memory": peak_memory(where)})
            record.lines[f"{name} {model} {bound}"] = (
                f"{milliseconds(found['algorithm_ms'])}, {found['rr_sets']:,} RR sets"
                f", sampling floor {100 * found['floor_share']:.0f} %"
            )
    record.finish()


@with_run(*DEVICE, seed=1, writes="record")
def gim_quality(
    run: Run,
    graphs: GraphsArgument,
    *,
    weights: Annotated[
        str | None,
        option("--weights SCHEME,…", "Edge probabilities that replace the graphs', with commas between them."),
    ] = None,
    ks: Annotated[
        str | None, option("-k --k", f"Numbers of seeds, with commas between them; {QUALITY_KS} up to n by default.")
    ] = None,
    methods: Annotated[
        str, option("--methods", "Of gim, degree, degree-discount, imgpu, imm, imm-20; with commas between them.")
    ] = "gim,degree,degree-discount,imgpu,imm,imm-20",
    model: ModelParameter = "ic",
    error: Annotated[float, option("--error E", "Two standard errors of a spread, as a share of it.")] = 0.002,
    limit: Annotated[
        float, option("--limit MINUTES", "Most CPU minutes of a competitor; one that needs more is left out.")
    ] = 10,
    kept: Kept,
) -> None:
    """Judge seeds of gIM and of its competitors by forward simulation: every method, number of seeds and graph."""
    asked_ks = QUALITY_KS if ks is None else ks
    run.params = {"k": asked_ks, "weights": weights, "methods": methods, "model": model, "error": error, "limit": limit}
    where = run.use_device()
    from gpukit.graph.probabilities import parse_weights
    from gpukit.papers.bench.gim_quality import METHODS, Contest, reweighted

    chosen = sorted(methods.split(","), key=lambda one: METHODS.index(one) if one in METHODS else -1)
    if unknown := [one for one in chosen if one not in METHODS]:
        raise UsageError(f"--methods is {unknown[0]!r}; {', '.join(METHODS)} are allowed")
    if "imm-20" in chosen and "imm" not in chosen:
        raise UsageError("--methods: imm-20 takes its number of sets from imm; add that")
    if not limit > 0:
        raise UsageError(f"--limit is {limit}; more than 0 minutes are needed")
    schemes = [
        None if word is None else parse_weights(word, run.seed) for word in (weights.split(",") if weights else [None])
    ]
    if any(one is not None and one.scheme in ("file", "none") for one in schemes):
        raise UsageError(f"--weights is {weights}; wc, const:P, trivalency and uniform:LO:HI are allowed here")
    sizes = sorted({number(word, "-k", int) for word in asked_ks.split(",")})
    record = Record("gim-quality", run, kept.compare)
    for name, facts, stored, _ in each_graph(graphs):
        fitting = sorted({min(k, stored.n) for k in sizes}) if ks is None else sizes
        if not stored.m:
            raise InputError(f"{name} has no edges, so there is no influence to maximise; give a graph with edges")
        if not 1 <= fitting[0] <= fitting[-1] <= stored.n:
            raise UsageError(f"-k is {asked_ks}; 1 to {stored.n}, the number of vertices of {name}, are allowed")
        for scheme in schemes:
            graph = stored if scheme is None else reweighted(stored, scheme)
            contest = Contest(graph, model, where, run.seed, error, 60 * limit)
            for k, method in product(fitting, chosen):
                found = contest.measure(method, k)
                record.add(facts | {"weights": str(graph.weights)}, found)
                record.lines[f"{name} {graph.weights} k = {k} {method}"] = (
                    f"left out: {found['left_out']}" if "left_out" in found else
                    f"{found['spread']:,.2f} ± {2 * found['stderr']:.2g}, {found['core_s']:.2f} core-seconds"
                )  # fmt: skip
    record.finish()
