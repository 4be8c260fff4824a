"""``gpukit kpar truth``: compute exact answers."""

from typing import Annotated

from gpukit.cli.command import DEVICE, with_run
from gpukit.cli.common import Run
from gpukit.cli.kpar.common import finish, read_queries
from gpukit.cli.options import AnswersOption, GraphArgument, Queries
from gpukit.errors import DeviceError
from gpukit.parameters.kpar import Params


@with_run(*DEVICE, "seed", writes="topk")
def truth(
    run: Run,
    graph_file: GraphArgument,
    queries: Queries,
    params: Annotated[Params, "alpha", "weighted"],
    out: AnswersOption = None,
) -> None:
    """Find the exact answers, by the power method until a mass of 1e-10 is left."""
    alpha, weighted = params.alpha, params.weighted
    run.params = {"k": queries.k, "alpha": alpha, "weighted": weighted}
    if run.requested == "cuda":
        raise DeviceError("kpar truth runs on the CPU; use --device cpu")
    run.requested = "cpu" if run.requested == "cpu" else None
    device = run.use_device()
    with run.phase("read"):
        from gpukit.kpar.problem import ONE, Result

        graph, sources, k = read_queries(run, graph_file, queries)
    with run.phase("load"):
        import numpy as np

        from gpukit.evaluate.ppr import power_method, top
        from gpukit.graph.tiny import one_edge

        list(power_method(one_edge(graph), np.arange(2), np.zeros(1, int), np.ones(1), alpha, weighted=weighted))
    with run.phase("power"), run.progress("queries") as update:
        vectors = power_method(
            graph, sources.offsets, sources.vertices, sources.mass / float(ONE), alpha,
            weighted=weighted, threads=device.threads, progress=update,
        )  # fmt: skip
        tops = ((top(vector, k), vector) for vector in vectors)
        answers = [(best, (vector[best] * float(ONE)).astype("u8")) for best, vector in tops]
    finish(run, sources, Result.of(answers), "truth")
