"""Making an index of kPAR: PageRank, the walks, and conversion to and from an artifact."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpukit.api.session import Session

if TYPE_CHECKING:
    import numpy as np

    from gpukit.artifacts import Artifact
    from gpukit.device.select import Device
    from gpukit.kpar.index.build import Index
    from gpukit.kpar.problem import Params
    from gpukit.kpar.rank import Rank

_log = logging.getLogger("gpukit")

RANK_VISITS, INDEX_VISITS = 40, 6
"""Approximate visits per edge for the choice of `auto`: rounds of PageRank, and steps of the walks."""


def rank(session: Session, device: "Device", params: "Params") -> "Rank":
    """Compute PageRank and the PRO-rank list."""
    from gpukit.graph.tiny import one_edge
    from gpukit.kpar.run import rank_on

    session.load(lambda: rank_on(device, one_edge(session.graph), params))
    with session.phase("rank"):
        return rank_on(device, session.graph, params)


def index(
    session: Session, device: "Device", order: "np.ndarray", params: "Params", *, hubs: bool, adaptive: bool,
    memory: int | None,
) -> "tuple[Artifact, Index]":  # fmt: skip
    """Draw the random walks of every vertex; return the artifact, and the index."""
    import numpy as np

    from gpukit.graph.tiny import one_edge
    from gpukit.kpar.run import index_on

    graph = session.graph
    how: dict[str, Any] = {"hubs": hubs, "adaptive": adaptive, "seed": session.seed}
    how["memory"] = None if memory is None else memory << 20
    session.load(lambda: index_on(device, one_edge(graph), np.arange(2, dtype=np.int32), params, **how))
    with session.phase("walks"):
        found = index_on(device, graph, order, params, **how)
    if found.light:
        _log.info("the walks do not fit into %d MiB: only counts are kept, and queries draw walks again", memory)
    with session.phase("write"):
        return index_artifact(found, session.params, session.inputs), found


def index_artifact(found: "Index", params: Mapping[str, Any], inputs: Mapping[str, str]) -> "Artifact":
    """Return an index as an artifact; ``inputs`` has the digest of its graph."""
    from gpukit.artifacts import irw_artifact

    rows, asked, paths = ("src_begin", "starts", "frequent_begin", "frequencies"), found.params, found.paths
    arrays = {name: None if found.light else getattr(found, name) for name in rows}
    arrays |= {"walks": found.walks, "arrivals": found.arrivals, "hubs": found.hubs}
    if paths is not None:
        arrays |= {"factors": paths.factors, "moves": paths.moves, "paths": paths.vertices, "names": paths.names}
    sizes = {} if paths is None else {"sized_for": paths.sized_for, "sized_n": paths.sized_n}
    return irw_artifact(
        arrays, alpha=asked.alpha, epsilon=asked.epsilon, light=found.light, graph=inputs["graph"],
        weighted=asked.weighted, seed=found.seed, params=params, inputs=inputs, **sizes,
    )  # fmt: skip


def index_of(artifact: "Artifact") -> "Index":
    """Return the index in an artifact."""
    from gpukit.kpar.index.build import Index, Paths
    from gpukit.kpar.problem import Params

    a = artifact.attributes
    params, arrays = Params(a["alpha"], a["epsilon"], a.get("weighted", False)), artifact.arrays
    found = Index.of(params, int(artifact.seed or 0), arrays, light=a["light"])
    paths = None
    if "moves" in arrays:
        factors, moves, vertices = (arrays[name] for name in ("factors", "moves", "paths"))
        paths = Paths(a["sized_for"], factors, moves, vertices, arrays.get("names"), a.get("sized_n"))
    return replace(found, updatable="sized_for" in a, paths=paths)
