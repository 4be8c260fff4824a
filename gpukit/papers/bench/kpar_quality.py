"""Answers of kPAR compared with the power method: precision, NDCG and violations of Definition 1."""

from dataclasses import asdict
from typing import Any

import numpy as np

from gpukit.device.select import Device
from gpukit.evaluate.ppr import judge, power_method
from gpukit.graph.csr import Graph
from gpukit.kpar.problem import ONE, Params, Sources, random_vertices
from gpukit.kpar.run import index_on, prepare_on, query_on, rank_on
from gpukit.parameters.option import check_fit


def measure(
    graph: Graph, params: Params, device: Device, *, ks: list[int], queries: int, seed: int
) -> list[dict[str, Any]]:
    """Judge random queries, from all vertices and from vertices with out-edges only.

    Parameters
    ----------
    graph : Graph
    params : Params
    device : Device
    ks : list of int
        Lengths of answers.
    queries : int
        Queries of each kind.
    seed : int
        Chooses walks and sources.

    Returns
    -------
    list of dict
        One for each kind of source, depth and k: the fields of :class:`gpukit.evaluate.ppr.Quality` except ``each``.

    Raises
    ------
    UsageError
        If a k is out of range.
    """
    for k in ks:
        check_fit("k", k, graph.n)
    order = rank_on(device, graph, params).order
    prepared = prepare_on(device, graph, index_on(device, graph, order, params, seed=seed))
    constants = prepared[0].constants
    able = np.flatnonzero(np.diff(graph.indptr))
    kinds = {"all": np.arange(graph.n), "out-edges": able} if len(able) else {"all": np.arange(graph.n)}
    found = []
    for kind, vertices in kinds.items():
        sources = Sources.single(vertices[random_vertices(len(vertices), queries, seed)])
        truths = list(power_method(graph, sources.offsets, sources.vertices, sources.mass / ONE, params.alpha))
        for k in ks:
            for depth in ("refined", "auto", "end"):
                result = query_on(device, prepared, sources, k, to_end=depth == "end", refine=depth == "refined")
                scores = result.scores / float(ONE)
                quality = judge(
                    iter(truths), result.offsets, result.nodes, scores, k,
                    epsilon=params.epsilon, delta=float(constants.delta_min),
                )  # fmt: skip
                facts = {name: value for name, value in asdict(quality).items() if name != "each"}
                found.append({"sources": kind, "depth": depth, **facts})
    return found
