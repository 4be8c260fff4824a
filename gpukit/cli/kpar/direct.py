"""``gpukit kpar query`` without an index."""

from typing import TYPE_CHECKING, Any

from gpukit.api.pagerank_direct import REASON, answer_directly
from gpukit.cli.common import Run
from gpukit.cli.kpar.common import explained, finish
from gpukit.errors import UsageError
from gpukit.parameters.kpar import Params

if TYPE_CHECKING:
    from gpukit.kpar.problem import Sources


def asked_params(alpha: float | None, epsilon: float | None, weighted: bool) -> Params:
    """Return the parameters of queries without an index."""
    return Params(Params.alpha if alpha is None else alpha, Params.epsilon if epsilon is None else epsilon, weighted)


def query_without_index(run: Run, sources: "Sources", depth: str, asked: Params, explain: bool, among: Any) -> None:
    """Answer queries by pushes and by walks that are drawn for them; write and print the answers.

    Raises
    ------
    UsageError
        If an option needs an index, or a GPU is requested: a single query ends before a graph could be copied to it.
    """
    if depth == "refined":
        raise UsageError("--depth refined needs an index; give --index, or leave it out")
    exact = depth == "end"
    if (exact or depth == "exact") and explain:
        raise UsageError(f"--explain tells of values of δ, and --depth {depth} needs none here; leave one out")
    if run.requested == "cuda":
        raise UsageError("without an index queries run on the CPU; give --index, or --device cpu")
    run.params |= asked.record()
    k = run.params["k"]
    run.requested = "cpu" if run.requested == "cpu" else None
    device = run.use_device(reason=REASON)
    if depth == "exact":
        answer_truly(run, sources, asked, among)
        return
    result = answer_directly(run, device, asked, sources, k, exact=exact, among=among)
    extra: dict[str, Any] = {"steps": result.steps}
    if explain:
        extra["explain"] = explained(result)
    finish(run, sources, result, "kpar", epsilon=asked.epsilon, extra=extra)


def answer_truly(run: Run, sources: "Sources", params: Params, among: Any = None) -> None:
    """Find the true answers; write and print them, with the vertices outside each answer that tie with its last one."""
    from gpukit.api.pagerank_answers import answer_exactly

    result, tied = answer_exactly(run, sources, params, run.params["k"], among)
    names = [run.graph.original(one) for one in tied]
    finish(run, sources, result, "kpar", epsilon=params.epsilon, extra={"tied": names})
