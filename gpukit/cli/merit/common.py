"""The code that the commands of ``gpukit merit`` share: reading and checking their inputs."""

import os.path
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpukit.api.campaign_run import checked, priced
from gpukit.api.session import Session
from gpukit.cli.common import Run
from gpukit.cli.vertices.read import vertex_costs
from gpukit.errors import UsageError
from gpukit.parameters.merit import Params

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph
    from gpukit.merit import Costs


def read_asked(run: Run, graph_file: Path, params: Params, costs: str) -> "tuple[Graph, Params, dict[str, Any] | None]":
    """Return the graph, the checked parameters with the costs of seeds, and the sampling tables.

    The batch may still be None (:func:`gpukit.api.campaign_run.use_device`).
    """
    with run.phase("read"):
        graph, tables = run.read_graph(graph_file, tables=params.model == "ic")
        return graph, checked(run, params, read_costs(run, graph, costs)), tables


def read_costs(run: Session, graph: "Graph", text: str) -> "Costs":
    """Return the costs of seeds, and add them to the parameters of the run; a file of costs is added to its inputs."""
    from gpukit.merit import Costs

    if text == "degree":
        return Costs.degree(graph)
    if text == "uniform":
        return Costs.uniform(graph)
    # Not Path(text).exists(): the path of an empty text is the current folder.
    if not os.path.exists(text):
        raise UsageError(f"--costs {text[:40]!r} is neither degree nor uniform nor a file; choose one of them")
    values, unpriced = vertex_costs(Path(text), graph, run.inputs)
    run.params["costs"] = "file"
    return priced(values, unpriced)
