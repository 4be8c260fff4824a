"""``gpukit papers bench diversity``: structural diversity, timed."""

from typing import Annotated

from gpukit.cli.command import DEVICE, with_run
from gpukit.cli.common import Run
from gpukit.cli.options import UndirectedOption, option
from gpukit.cli.vertices.read import number
from gpukit.errors import UsageError
from gpukit.papers.cli.bench_record import Record, each_graph, milliseconds
from gpukit.papers.cli.options import GraphsArgument, Kept, RepeatOption
from gpukit.parameters.diversity import USUAL_T, Length
from gpukit.parameters.option import length_of


@with_run(*DEVICE, writes="record")
def diversity(
    run: Run,
    graphs: GraphsArgument,
    *,
    models: Annotated[str, option("--models", "Of comp, core, truss; with commas between them.")] = "truss",
    methods: Annotated[
        str,
        option(
            "--methods",
            "Of score, full, search, whole, extract, scatter, no-gpu-ego, cpu-div, mcpu-div, bc-div, pgl-div, steal.",
        ),
    ] = "score,full,search",
    balances: Annotated[
        str, option("--balances", "Of none, pack, random, exhausted, dynamic; several GPUs.")
    ] = "dynamic",
    fractions: Annotated[
        str, option("--fractions", "Parts of the vertices timed for the cost model; several GPUs.")
    ] = "0.01",
    k: Annotated[str, option("-k --k", "Thresholds, with commas between them.")] = "4",
    t: Length = None,
    undirected: UndirectedOption = False,
    sample: Annotated[int, option("--sample", "Vertices that bc-div and pgl-div are timed on; 0: all.", min=0)] = 0,
    repeat: RepeatOption = 7,
    kept: Kept,
) -> None:
    """Time structural diversity after a warm-up: scores of all vertices, searches, ablations and baselines."""
    run.params = {"t": USUAL_T if t is None else t, "undirected": undirected, "repeat": repeat}
    where = run.use_device()
    from gpukit.diversity import Params, as_undirected
    from gpukit.papers.bench.diversity import METHODS, Bench
    from gpukit.papers.bench.machine import peak_memory

    for method in methods.split(","):
        if method not in METHODS:
            raise UsageError(f"--methods: {method!r} is unknown; choose {', '.join(METHODS)}")
    wanted = [
        (balance, fraction, Params(model, number(one, "-k", int)))  # type: ignore[arg-type]
        for balance in balances.split(",")
        for fraction in (number(one, "--fractions", float) for one in fractions.split(","))
        for model in models.split(",")
        for one in k.split(",")
    ]
    record = Record("diversity", run, kept.compare)
    for name, known, given, _ in each_graph(graphs, transpose=False):
        graph = as_undirected(given, undirected)
        length = length_of("t", t, USUAL_T, graph.n)
        known |= {"n": graph.n, "m": graph.m, "weights": str(graph.weights)}
        for balance, fraction, params in wanted:
            bench = Bench(graph, where, repeat=repeat, bandwidth=record.bandwidth, balance=balance, fraction=fraction)
            facts = known | {"ego_edges": bench.ego_edges, "network_ms": bench.build}
            for method in methods.split(","):
                found = bench.measure(method, params, length, sample) | {"fraction": fraction}
                found |= {"balance": balance} if len(where.gpus) > 1 else {}
                record.add(facts, found | {"peak_memory": peak_memory(where)})
                title = f"{name} {params.model} k={params.k} {method}"
                title += f" {balance} {fraction}" if len(where.gpus) > 1 else ""
                if method == "steal":
                    record.lines[f"{title} {balance}"] = f"{found['makespan']:.3f} times an even share, simulated"
                    continue
                record.lines[title] = milliseconds(found["ms"])
    record.finish()
