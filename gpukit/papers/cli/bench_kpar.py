"""``gpukit papers bench kpar``: top-k personalised PageRank, timed and judged."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gpukit.cli.command import DEVICE, with_run
from gpukit.cli.common import Run
from gpukit.cli.options import argument, option
from gpukit.cli.vertices.read import number
from gpukit.errors import UsageError
from gpukit.papers.cli.bench_record import Record, each_graph
from gpukit.papers.cli.options import GraphsArgument, Kept, RelativeErrorOption
from gpukit.parameters.kpar import Params, StopParameter
from gpukit.parameters.option import length_of

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph

KS, QUALITY_KS = "100,1000", "10,100,1000"
"""Default lengths of answers, as far as the graph has as many vertices."""


@with_run("device", "threads", seed=1, writes="record")
def kpar(
    run: Run,
    graphs: Annotated[list[Path] | None, argument("G.h5…", "Graphs to run on.")] = None,
    *,
    rmat: Annotated[
        list[str] | None, option("--rmat SCALE:DRAWS[:N]", "R-MAT graphs made on the GPU; N cuts vertices off.")
    ] = None,
    ks: Annotated[
        str | None, option("-k --k", "Lengths of answers, with commas between them; 100,1000 up to n by default.")
    ] = None,
    epsilon: RelativeErrorOption = Params.epsilon,
    depth: StopParameter = "refined",
    queries: Annotated[int, option("--queries", "Queries asked one at a time.", min=1)] = 100,
    batch: Annotated[int, option("--batch", "Queries asked in one call.", min=1)] = 1000,
    repeat: Annotated[
        int, option("--repeat", "Timed calls of a batch; single queries are repeated by --queries.", min=1)
    ] = 2,
    any_source: Annotated[
        bool, option("--any-source", "Ask from any vertex; otherwise from those with out-edges.")
    ] = False,
    fora: Annotated[int, option("--fora", "Queries asked of FORA+ on the same device.", min=0)] = 20,
    on_threads: Annotated[
        int, option("--on-threads", "Queries of kPAR and FORA+ on CPU threads; give one a thread.", min=0)
    ] = 0,
    kept: Kept,
) -> None:
    """Time top-k personalised PageRank after a warm-up: ranking, index, single queries, batches, FORA+."""
    asked_ks = KS if ks is None else ks
    run.params = {"k": asked_ks, "epsilon": epsilon, "depth": depth, "repeat": repeat}
    if not graphs and not rmat:
        raise UsageError("give a graph file, or --rmat SCALE:DRAWS for one made on the GPU")
    where = run.use_device()
    if rmat and where.kind != "cuda":
        raise UsageError("--rmat graphs are made on a GPU, and this runs on the CPU; give graph files instead")
    from gpukit.papers.bench.kpar import Bench, random_sources
    from gpukit.papers.bench.machine import peak_memory

    wanted = [number(word, "-k", int) for word in asked_ks.split(",")]
    record = Record("kpar", run, kept.compare)
    for name, facts, graph in _graphs(graphs or [], rmat or [], run.seed):
        lengths = _lengths(wanted, graph.n, default=ks is None)
        many = random_sources(graph, batch, run.seed, any_source=any_source)
        bench = Bench(
            graph, Params(epsilon=epsilon), where, run.seed, record.bandwidth, refine=depth == "refined", repeat=repeat
        )
        found: dict[str, Any] = {
            "params": {"epsilon": epsilon, "seed": run.seed, "any_source": any_source, "depth": depth}
        }
        found |= {"preprocessing": bench.preprocessing(), "latency": [], "batch": []}
        for k in lengths:
            one, all_ = bench.latency(k, many.part(0, min(queries, batch))), bench.throughput(k, many)
            found["latency"].append(one)
            found["batch"].append(all_)
            record.lines[f"{name} k = {k}"] = (
                f"{one['mean_ms']:.3f} ms a query ({one['times_floor']:.1f} times the floor), "
                f"{all_['queries_per_s']:.0f} queries/s"
            )
        if on_threads:
            found["on_threads"] = bench.on_threads(lengths[-1], many.part(0, min(on_threads, batch)))
        if fora:
            found["fora"] = bench.fora(lengths[-1], many.part(0, min(fora, batch)))
            record.lines[f"{name} FORA+"] = f"{found['fora']['mean_ms']:.3f} ms a query"
        record.add(facts, found | {"peak_memory": peak_memory(where)})
    record.finish()


@with_run(*DEVICE, seed=1, writes="record")
def kpar_quality(
    run: Run,
    graphs: GraphsArgument,
    *,
    ks: Annotated[
        str | None, option("-k --k", "Lengths of answers, with commas between them; 10,100,1000 up to n by default.")
    ] = None,
    epsilon: RelativeErrorOption = Params.epsilon,
    queries: Annotated[int, option("--queries", "Random queries of each kind.", min=1)] = 100,
    kept: Kept,
) -> None:
    """Judge top-k personalised PageRank by the power method: precision, NDCG, violations of Definition 1."""
    asked_ks = QUALITY_KS if ks is None else ks
    run.params = {"k": asked_ks, "epsilon": epsilon}
    where = run.use_device()
    from gpukit.papers.bench.kpar_quality import measure

    wanted = [number(word, "-k", int) for word in asked_ks.split(",")]
    asked = {"alpha": Params.alpha, "epsilon": epsilon, "queries": queries, "seed": run.seed}
    record = Record("kpar-quality", run, kept.compare, {"params": asked})
    for name, facts, graph, _ in each_graph(graphs, transpose=False):
        lengths = _lengths(wanted, graph.n, default=ks is None)
        for found in measure(graph, Params(epsilon=epsilon), where, ks=lengths, queries=queries, seed=run.seed):
            record.add(facts, found)
            record.lines[f"{name} {found['sources']} k = {found['k']} {found['depth']}"] = (
                f"precision {found['precision']:.4f}, NDCG {found['ndcg']:.6f}, "
                f"{found['violations']} of {found['positions']} places violated"
            )
    record.finish()


def _lengths(wanted: list[int], n: int, *, default: bool) -> list[int]:
    """Return the lengths of answers for a graph: the requested ones, or those of ``wanted`` up to n, or n."""
    found = [length_of("k", None if default else k, k, n) for k in wanted]
    return sorted({*found}) if default else found


def _graphs(files: list[Path], rmat: list[str], seed: int) -> "Iterator[tuple[str, dict[str, Any], Graph]]":
    """Yield the display name of each graph, facts about it, and the graph."""
    for name, facts, graph, _ in each_graph(files):
        yield name, facts, graph
    for word in rmat:
        try:
            scale, draws, *rest = (int(part) for part in word.split(":"))
        except ValueError:
            raise UsageError(f"--rmat is {word!r}; SCALE:DRAWS or SCALE:DRAWS:N is needed, all whole numbers") from None
        from gpukit.papers.bench.graphs import rmat_graph

        vertices = rest[0] if rest else None
        graph = rmat_graph(scale, draws, seed, vertices=vertices)
        yield f"rmat-{word}", {"name": f"rmat-{word}", "seed": seed, "n": graph.n, "m": graph.m}, graph
