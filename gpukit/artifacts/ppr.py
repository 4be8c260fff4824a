"""PageRank, inverted random walks and top-k answers as artifacts."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpukit.artifacts import store
from gpukit.artifacts.artifact import Artifact, given
from gpukit.artifacts.labels import Texts, packed_of
from gpukit.artifacts.store import PathLike


def write_pagerank(
    path: PathLike,
    pagerank: np.ndarray,
    order: np.ndarray,
    *,
    alpha: float,
    rounds: int,
    remaining: int,
    graph: str,
    weighted: bool = False,
    params: Mapping[str, Any] | None = None,
) -> str:
    """Write PageRank (uint64, units of 2**-62) and the PRO-rank list (int32); return the payload digest."""
    attributes = {"n": len(pagerank), "alpha": alpha, "rounds": rounds, "remaining": remaining, "graph": graph}
    attributes["weighted"] = weighted or None
    arrays = {"pagerank": pagerank, "order": order}
    return store.write(path, "pagerank", arrays, given(attributes), params=params, inputs={"graph": graph})


def read_pagerank(path: PathLike) -> Artifact:
    """Read PageRank; raises InputError like :func:`gpukit.artifacts.store.read`."""
    return store.read(path, "pagerank")


def irw_artifact(
    arrays: Mapping[str, np.ndarray | None],
    *,
    alpha: float,
    epsilon: float,
    light: bool,
    graph: str,
    seed: int,
    weighted: bool = False,
    sized_for: int | None = None,
    sized_n: int | None = None,
    params: Mapping[str, Any] | None = None,
    inputs: Mapping[str, str] | None = None,
) -> Artifact:
    """Return inverted random walks as an artifact.

    ``arrays`` are named as in the layout; None leaves one out. ``sized_for`` and ``sized_n`` belong to updatable
    indexes.
    """
    kept = given(arrays)
    attributes = {"n": len(kept["walks"]), "alpha": alpha, "epsilon": epsilon, "light": light, "graph": graph}
    attributes |= {"weighted": weighted or None, "sized_for": sized_for, "sized_n": sized_n}
    inputs = {"graph": graph, **(inputs or {})}
    return store.make("irw", kept, given(attributes), params=params, seed=seed, inputs=inputs)


def read_irw(path: PathLike, *, paths: bool = False) -> Artifact:
    """Read inverted random walks, with the data of updates only if ``paths``; raises InputError like ``store.read``."""
    return store.read(path, "irw", skip=() if paths else ("factors", "moves", "paths", "names"))


def topk_artifact(
    arrays: Mapping[str, np.ndarray],
    *,
    n: int,
    k: int,
    alpha: float,
    method: str,
    graph: str,
    epsilon: float | None = None,
    weighted: bool = False,
    labels: Texts | None = None,
    seed: int | None = None,
    params: Mapping[str, Any] | None = None,
    inputs: Mapping[str, str] | None = None,
) -> Artifact:
    """Return answers (arrays named as in the layout) as an artifact; ``labels`` are those of the graph."""
    attributes: dict[str, Any] = {"n": n, "k": k, "alpha": alpha, "method": method, "graph": graph}
    attributes |= {"weighted": weighted or None, "epsilon": epsilon}
    inputs = {"graph": graph, **(inputs or {})}
    arrays = {**arrays, **packed_of("topk", arrays, labels)}
    return store.make("topk", arrays, given(attributes), params=params, seed=seed, inputs=inputs)


def read_topk(path: PathLike) -> Artifact:
    """Read answers; raises InputError like :func:`gpukit.artifacts.store.read`."""
    return store.read(path, "topk")
