"""``gpukit papers imgpu shape``: the shape of a graph and its worlds for a bottom-up traversal."""

from typing import Any

from gpukit.cli.command import with_run
from gpukit.cli.common import Run
from gpukit.cli.options import GraphArgument, WorldsOption
from gpukit.errors import InputError
from gpukit.graph.tiny import one_edge


@with_run("seed")
def shape(run: Run, graph_file: GraphArgument, worlds: WorldsOption = 100) -> None:
    """Show levels, degrees and positions of children of a graph, and how similar its worlds are (one CPU thread)."""
    run.params = {"worlds": worlds}
    graph, _ = run.read_graph(graph_file)
    if graph.m == 0:
        raise InputError("the graph has no edges, so there is nothing to traverse")
    run.use_device(threads=1)
    from gpukit.imgpu.problem import check
    from gpukit.papers.imgpu.shape import BINS, NEAR, describe

    check(graph, 1)
    with run.phase("load"):
        describe(one_edge(graph), run.seed, 1)
    with run.phase("worlds"):
        found = describe(graph, run.seed, worlds)
    hubs: list[dict[str, Any]] = [
        {"vertex": graph.original([hub.vertex]).tolist()[0], "children": hub.children, "near": hub.near}
        for hub in found.hubs
    ]
    counts = ("levels", "degrees", "below_10", "above_10000")
    shares = ("same_degree", "same_level", "dag_share")
    record = {name: getattr(found, name) for name in counts} | {"bins": BINS, "near_places": NEAR, "hubs": hubs}
    record |= {name: getattr(found, name) for name in shares}
    lines = {
        "levels": f"{len(found.levels)}, {int((found.levels < 100).sum())} of them with fewer than 100 components",
        "degrees": f"{found.below_10:,} vertices below 10, {found.above_10000:,} above 10,000",
        "alike in a world too": f"{found.same_degree:.1%} by degree, {found.same_level:.1%} by level",
        "DAG conversion": f"{found.dag_share:.1%} of the time",
    }
    run.finish(record, lines)
