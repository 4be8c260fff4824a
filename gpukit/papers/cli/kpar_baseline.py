"""``gpukit papers kpar baseline``: answers by the competitors of the paper."""

from typing import Annotated, Any, Literal

from gpukit.cli.command import DEVICE, with_run
from gpukit.cli.common import Run
from gpukit.cli.kpar.common import RepeatOption, finish, read_queries, timed
from gpukit.cli.options import AnswersOption, GraphArgument, Queries, option
from gpukit.errors import DeviceError
from gpukit.graph.tiny import one_edge
from gpukit.parameters.kpar import TOPPPR_PRECISION, Params


@with_run(*DEVICE, "seed", writes="topk")
def baseline(
    run: Run,
    graph_file: GraphArgument,
    *,
    method: Annotated[
        Literal["monte-carlo", "fora", "topppr"],
        option("--method", "Monte Carlo walks, FORA+, or TopPPR, which runs on the CPU."),
    ] = "monte-carlo",
    queries: Queries,
    params: Params,
    out: AnswersOption = None,
    delta: Annotated[
        int, option("--delta D", "Scores above D/n have the relative error: 1 in FORA's paper, 16 in kPAR's.", min=1)
    ] = 1,
    precision: Annotated[
        float, option("--precision ρ", "Of TopPPR: find at least this share of the k best, with probability 1 - 1/n.")
    ] = TOPPPR_PRECISION,
    repeat: RepeatOption = 1,
) -> None:
    """Answer queries by a competitor of the paper."""
    run.params = {"k": queries.k, **params.record(), "method": method, "delta": delta}
    if method == "topppr":
        del run.params["epsilon"], run.params["delta"]
        run.params["precision"] = precision
        if run.requested == "cuda":
            raise DeviceError("topppr runs on the CPU; use --device cpu")
        run.requested = "cpu"
    with run.phase("read"):
        graph, sources, k = read_queries(run, graph_file, queries, transpose=method == "topppr")
    device = run.use_device(run.requested, work=10.0 * graph.m * len(sources))
    from gpukit.papers.kpar import baselines_on, topppr

    baselines, placed = baselines_on(device)
    with run.phase("load"):
        from gpukit.kpar.problem import Sources

        edge, zero = one_edge(graph), Sources.single([0])
        if method == "topppr":
            topppr.load(edge, params)
        elif method == "fora":
            baselines.fora(edge, baselines.fora_index(edge, params, seed=run.seed, **placed), zero, 1, **placed)
        else:
            baselines.monte_carlo(edge, zero, 1, params, seed=run.seed, **placed)
    extra: dict[str, int] = {}
    if method == "fora":
        with run.phase("index"):
            found = baselines.fora_index(graph, params, delta=delta, seed=run.seed, **placed)
        extra = {"index_bytes": int(found.places.nbytes + found.ends.nbytes)}

    def ask() -> Any:
        with run.phase("query"):
            if method == "topppr":
                return topppr.topppr(
                    graph, sources, k, params, precision=precision, seed=run.seed, threads=device.threads
                )
            if method == "fora":
                return baselines.fora(graph, found, sources, k, **placed)
            return baselines.monte_carlo(graph, sources, k, params, delta=delta, seed=run.seed, **placed)

    result, times = timed(run, repeat, ask)
    finish(run, sources, result, method, epsilon=params.epsilon, extra=extra | times)
