"""``gpukit kpar truth``: exact answers."""

from gpukit import settings
from gpukit.cli.command import DEVICE, with_run
from gpukit.cli.common import Run
from gpukit.cli.kpar_common import finish, read_queries
from gpukit.cli.options import AlphaOption, AnswersOption, GraphArgument, Queries, WeightedOption
from gpukit.errors import DeviceError


@with_run(*DEVICE, "seed", writes="topk")
def truth(
    run: Run,
    graph_file: GraphArgument,
    queries: Queries,
    out: AnswersOption = None,
    alpha: AlphaOption = settings.KPAR_ALPHA,
    weighted: WeightedOption = False,
) -> None:
    """Find the exact answers, by the power method until a mass of 1e-10 is left."""
    run.params = {"k": queries.k, "alpha": alpha, "weighted": weighted}
    if run.requested == "cuda":
        raise DeviceError("kpar truth runs on the CPU; use --device cpu")
    run.requested = "cpu" if run.requested == "cpu" else None
    device = run.use_device()
    with run.phase("read"):
        from gpukit.kpar.problem import ONE, Params, Result

        Params(alpha=alpha)
        graph, sources, k = read_queries(run, graph_file, queries)
    with run.phase("power"), run.progress("queries") as update:
        from gpukit.evaluate.ppr import power_method, top

        vectors = power_method(
            graph, sources.offsets, sources.vertices, sources.mass / float(ONE), alpha,
            weighted=weighted, threads=device.threads, progress=update,
        )  # fmt: skip
        tops = ((top(vector, k), vector) for vector in vectors)
        answers = [(best, (vector[best] * float(ONE)).astype("u8")) for best, vector in tops]
    finish(run, sources, Result.of(answers), "truth")
