"""The code that the commands of ``gpukit kpar`` share: reading queries, and writing and printing answers."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gpukit.api.pagerank_answers import answers_artifact
from gpukit.api.pagerank_index import index_of
from gpukit.api.results import another_graph
from gpukit.cli.common import Run, cut_list
from gpukit.cli.options import Queries, option
from gpukit.cli.vertices.read import read_sources
from gpukit.errors import InputError
from gpukit.graph.lines import quoted, source_words
from gpukit.parameters.kpar import USUAL_K
from gpukit.parameters.option import length_of

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph
    from gpukit.kpar.index.build import Index
    from gpukit.kpar.problem import Result, Sources


QUERIES_SHOWN, PLACES_SHOWN, SOURCES_SHOWN = 10, 20, 5
"""Most answers in the summary, most places of an answer, and most vertices of a source."""

RepeatOption = Annotated[
    int, option("--repeat N", "Answer all queries N times, to measure the spread of times: `query_s` of --json.", min=1)
]


def timed(run: Run, repeat: int, ask: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    """Return the result of ``ask``, and for the record the seconds of each repetition, if there are several.

    The time is charged to the phase ``query``.
    """
    ends = [0.0]
    for _ in range(repeat):
        result = ask()
        ends.append(run.timer.seconds()["query"])
    spent = [round(after - before, 6) for before, after in pairwise(ends)]
    return result, {"query_s": spent} if repeat > 1 else {}


def read_queries(
    run: Run, graph_file: Path, asked: Queries, *, transpose: bool = False
) -> "tuple[Graph, Sources, int]":
    """Return the graph, the sources of the queries, and the length of an answer, which is added to the parameters."""
    graph, _ = run.read_graph(graph_file, transpose=transpose)
    k = run.params["k"] = length_of("k", asked.k, USUAL_K, graph.n)
    return graph, read_sources(graph, asked, run.seed, run.inputs), k


def check_fit(path: Path, found: dict[str, Any], graph: str, wanted: dict[str, float | None], maker: str) -> None:
    """Check that an artifact belongs to the graph and has the wanted values; None accepts any value."""
    if found["graph"] != graph:
        raise another_graph(path, found["graph"], graph, f"make it again with `gpukit {maker}` on this one")
    for name, value in wanted.items():
        if value is not None and found[name] != value:
            raise InputError(
                f"{path} was made with {name} {found[name]}, not {value}; give --{name} {found[name]}, or make it again"
            )


def read_index(path: Path, graph: str, alpha: float | None = None, epsilon: float | None = None) -> "tuple[Index, str]":
    """Return an index that fits the graph and the parameters, and its digest."""
    from gpukit.artifacts import read_irw

    file = read_irw(path)
    check_fit(path, file.attributes, graph, {"alpha": alpha, "epsilon": epsilon}, "kpar index")
    return index_of(file), file.payload


def explained(result: "Result") -> list[list[dict[str, Any]]]:
    """Return counts for each step of each query, by name."""
    from gpukit.kpar.problem import TRACE

    return [
        [
            {"delta": result.schedule[row[0]].delta, **dict(zip(TRACE[1:], row[1:].tolist(), strict=True))}
            for row in trace
        ]
        for trace in result.traces
    ]


def finish(
    run: Run,
    sources: "Sources",
    result: Any,
    method: str,
    *,
    epsilon: float | None = None,
    extra: dict[str, Any] | None = None,
) -> None:
    """Write the answers if requested, and print the record."""
    graph, extra = run.graph, extra or {}
    if run.out is not None:
        with run.phase("write"):
            run.put(answers_artifact(run, sources, result, method, epsilon=epsilon))
    starts = [_starts(graph, sources, q) for q in range(len(sources))]
    results: list[dict[str, Any]] = []
    lines: dict[str, Any] = {}
    titles = [
        f"from {_words(*start)}, query {q}" if starts.count(start) > 1 else f"from {_words(*start)}"
        for q, start in enumerate(starts[:QUERIES_SHOWN], 1)
    ]
    for q, (vertices, shares) in enumerate(starts):
        nodes, scores = result.answer(q)
        originals = graph.original(nodes)
        source = vertices[0] if len(vertices) == 1 else list(zip(vertices, shares, strict=True))
        results.append({"source": source, "nodes": originals, "scores": scores})
        places = slice(result.offsets[q], result.offsets[q + 1])
        certain = None if getattr(result, "certain", None) is None else result.certain[places]
        if certain is not None:
            results[-1]["certain"] = certain
        if q < QUERIES_SHOWN:
            first = zip(originals[:PLACES_SHOWN].tolist(), scores[:PLACES_SHOWN], strict=True)
            best = [f"{quoted(v)} ({s:.4g})" for v, s in first]
            own = sources.vertices[sources.offsets[q] : sources.offsets[q + 1]]
            stays = "" if (graph.indptr[own + 1] > graph.indptr[own]).any() else "; no edge leads away from there"
            sure = "" if certain is None else f"; {int(certain.sum()):,} of {len(nodes):,} places certain"
            ties = extra["tied"][q] if "tied" in extra else ()
            out = [quoted(v) for v in ties[:PLACES_SHOWN]]
            alike = f"; left out, as good as the last: {cut_list(out, len(ties))}" if len(ties) else ""
            lines[titles[q]] = cut_list(best, len(nodes)) + stays + sure + alike
    left = len(sources) - QUERIES_SHOWN
    lines["queries"] = f"{len(sources):,}" + (f", of which {left:,} are not shown (--json has all)" if left > 0 else "")
    for q, steps in enumerate(extra.get("explain", [])[:QUERIES_SHOWN]):
        for number, step in enumerate(steps, 1):
            numbers = ", ".join(f"{name} {value:.3g}" for name, value in step.items())
            lines[f"{titles[q]}, step {number}"] = numbers
    run.finish({"results": results, **extra}, lines)


def _starts(graph: "Graph", sources: "Sources", q: int) -> tuple[list[Any], list[float]]:
    """Return the external names of the sources of a query, and the probability of each."""
    from gpukit.kpar.problem import ONE

    part = slice(sources.offsets[q], sources.offsets[q + 1])
    return graph.original(sources.vertices[part]).tolist(), (sources.mass[part] / float(ONE)).tolist()


def _words(vertices: list[Any], shares: list[float]) -> str:
    """Return a source in the syntax of ``--source``, unless it is too long to show."""
    words = source_words(vertices, shares)
    return ",".join(words) if len(words) <= SOURCES_SHOWN else cut_list(words[:SOURCES_SHOWN], len(words))
