"""Loading of saved objects."""

from typing import TYPE_CHECKING, Any

from gpukit.api.campaign import Campaign
from gpukit.api.diversity_index import DiversityIndex
from gpukit.api.graph import Graph, read_graph
from gpukit.api.in_memory import GraphLike, as_graph
from gpukit.api.pagerank import PageRankIndex
from gpukit.api.results import Diversity, Seeds, Spread, TopK, another_graph, made_on, path_of
from gpukit.api.session import DeviceName
from gpukit.device.select import check_requested
from gpukit.errors import InputError, UsageError

if TYPE_CHECKING:
    import os

ANSWERS: dict[str, Any] = {"seeds": Seeds, "metrics": Spread, "topk": TopK, "diversity": Diversity}


def load(
    path: "str | os.PathLike[str]", *, graph: GraphLike | None = None, device: DeviceName = "auto"
) -> Graph | PageRankIndex | DiversityIndex | Campaign | Seeds | Spread | TopK | Diversity:
    """Load a graph, an index, a campaign or an answer that gpukit has saved, here or on the command line.

    Parameters
    ----------
    path : path
        The file.
    graph : Graph or graph-like, optional
        The graph that the file was made on. An index needs it, and so does a campaign that is to continue. For an
        answer it provides the degrees of the vertices.
    device : str
        The device for an index or a campaign.

    Raises
    ------
    InputError
        If the file is missing, broken, of a kind that has no class here, or was made on another graph.
    UsageError
        If an index is loaded without its graph, or a graph is given for a file that is a graph itself.

    Examples
    --------
    >>> import gpukit as gk, tempfile, os
    >>> file = os.path.join(tempfile.mkdtemp(), "S.h5")
    >>> star = gk.from_edges(["hub"] * 3, ["a", "b", "c"], weights="const:1")
    >>> gk.influence_maximization(star, k=1).save(file)
    >>> gk.load(file).seeds
    ['hub']
    """
    from gpukit.artifacts import read, read_header
    from gpukit.files import local

    file = path_of(local(path_of(path)))
    check_requested(device)
    kind = read_header(file).kind
    if kind == "graph":
        if graph is not None:
            raise UsageError(f"{file} is a graph itself; leave graph out")
        return read_graph(file)
    artifact = read(file)
    if kind in ("irw", "contexts"):
        if graph is None:
            raise UsageError(f"{file} is an index, which needs its graph; give it: gpukit.load(path, graph=…)")
        return PageRankIndex._of(artifact, graph, device) if kind == "irw" else DiversityIndex._of(artifact, graph)
    opened = None if graph is None else as_graph(graph)
    before = made_on(artifact)
    if opened is not None and before is not None and before != opened.digest:
        raise another_graph(file, before, opened.digest)
    if kind == "campaign":
        return Campaign._of(artifact, opened, device, file)
    spread = kind != "metrics" or {"k", "spread", "stderr", "runs"} <= set(artifact.attributes["columns"])
    if kind not in ANSWERS or not spread:
        raise InputError(f"{file} is of kind {kind}, which has no class in Python; `gpukit export` makes a table of it")
    found: Seeds | Spread | TopK | Diversity = ANSWERS[kind](artifact, {}, opened and opened.csr)
    return found
