"""Answers to kPAR's queries, for commands and for Python: options, answers, and their artifact."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from gpukit.api.session import Session
from gpukit.api.vertices import Vertices, internal, without
from gpukit.parameters.kpar import USUAL_K
from gpukit.parameters.option import length_of

if TYPE_CHECKING:
    import numpy as np

    from gpukit.artifacts import Artifact
    from gpukit.device.select import Device
    from gpukit.graph.csr import Graph
    from gpukit.kpar.problem import Params, Result, Sources


def among_of(n: int, vertices: list[int], inputs: dict[str, str]) -> "np.ndarray":
    """Return which vertices answers may name (bool, n), and add a digest of their internal ids to ``inputs``."""
    import numpy as np

    among = np.zeros(n, np.bool_)
    among[vertices] = True
    inputs["among"] = hashlib.sha256(np.flatnonzero(among).astype("<i8").tobytes()).hexdigest()
    return among


def restricted(
    session: Session,
    graph: "Graph",
    k: int | None,
    among: Vertices | None,
    exclude: Vertices,
    digest: str | None = None,
) -> "tuple[int, np.ndarray | None, dict[str, int]]":
    """Return the length of answers, the vertices they may name (bool, n; None: all), and their number as parameters."""
    listed = None if among is None else internal(graph, among, "among", none=False, digest=digest)
    if out := internal(graph, exclude, "exclude", digest=digest):
        listed = without(range(graph.n) if listed is None else listed, out)
    if listed is None:
        return length_of("k", k, USUAL_K, graph.n), None, {}
    length = length_of("k", k, USUAL_K, len(listed), "the vertices that answers may name")
    return length, among_of(graph.n, listed, session.inputs), {"among": len(listed)}


def answer(
    session: Session, device: "Device", prepared: Any, sources: "Sources", k: int, *, depth: str = "auto",
    among: "np.ndarray | None" = None, query: "Callable[..., Result] | None" = None,
) -> "Result":  # fmt: skip
    """Answer queries on the result of :func:`gpukit.kpar.run.prepare_on`, by its ``query_on`` or by ``query``."""
    from gpukit.kpar.run import query_on

    to_end, refine = depth == "end", depth == "refined"
    ask = partial(query or query_on, device, prepared, to_end=to_end, refine=refine, among=among)
    session.load(lambda: ask(sources.part(0, min(len(sources), len(prepared))), k))
    with session.phase("query"), session.progress("queries") as update:
        return ask(sources, k, progress=update)


def answer_exactly(
    session: Session, sources: "Sources", params: "Params", k: int, among: "np.ndarray | None" = None
) -> "tuple[Result, list[np.ndarray]]":
    """Return the true k best, and the vertices outside each answer that tie with its last vertex (internal ids)."""
    import numpy as np

    from gpukit.evaluate.ppr import certified
    from gpukit.kpar.problem import ONE, Result

    with session.phase("query"), session.progress("queries") as update:
        asked = sources.offsets, sources.vertices, sources.mass / float(ONE), params.alpha, k
        answers = []
        for found in certified(session.graph, *asked, weighted=params.weighted, among=among):
            answers.append(found)
            update(len(answers), len(sources))
    result = Result.of([(one.vertices, (one.scores * float(ONE)).astype("u8")) for one in answers])
    certain = np.concatenate([one.certain for one in answers])
    return replace(result, certain=certain), [one.tied for one in answers]


def answers_artifact(
    session: Session, sources: "Sources", result: Any, method: str, *, epsilon: float | None = None
) -> "Artifact":
    """Return answers as an artifact."""
    from gpukit.artifacts import topk_artifact

    return topk_artifact(
        answer_arrays(session.graph, sources, result), n=session.graph.n, k=session.params["k"],
        alpha=session.params["alpha"], method=method, graph=session.inputs["graph"], epsilon=epsilon,
        weighted=session.params["weighted"], labels=session.labels, seed=session.seed, params=session.params,
        inputs=session.inputs,
    )  # fmt: skip


def answer_arrays(graph: "Graph", sources: "Sources", result: Any) -> "dict[str, np.ndarray]":
    """Return answers as arrays, named as in an artifact."""
    arrays = {
        "offsets": result.offsets,
        "nodes": graph.numbers(result.nodes),
        "internal": result.nodes,
        "scores": result.scores,
        "source_offsets": sources.offsets,
        "sources": sources.vertices,
        "source_mass": sources.mass,
    }
    if getattr(result, "certain", None) is not None:
        arrays["certain"] = result.certain.view("u1")
    return arrays
