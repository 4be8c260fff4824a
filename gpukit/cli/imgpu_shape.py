"""``gpukit imgpu shape``: what a bottom-up traversal of a graph and its worlds meets."""

from pathlib import Path
from typing import Annotated, Any

import typer

from gpukit.cli.common import JsonOption, Run, SeedOption, VerboseOption
from gpukit.errors import InputError, UsageError


def shape(
    graph_file: Annotated[Path, typer.Argument(metavar="G.h5", help="The graph.")],
    worlds: Annotated[int, typer.Option("--worlds", metavar="R", help="Number of live-edge worlds.")] = 100,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Show levels, degrees and where children lie, and how much of it worlds keep (one CPU thread)."""
    run = Run({"worlds": worlds}, seed=seed, as_json=as_json, verbose=verbose)
    if not 1 <= worlds < 2**31:
        raise UsageError(f"--worlds is {worlds}; 1 to 2^31 - 1 are allowed")
    with run.phase("read"):
        from gpukit.artifacts import read_graph

        graph = read_graph(graph_file)
    if graph.m == 0:
        raise InputError("the graph has no edges, so there is nothing to traverse")
    run.use_device(threads=1)
    from gpukit.graph.build import build_graph
    from gpukit.graph.csr import Weights
    from gpukit.imgpu.problem import check
    from gpukit.imgpu.shape import BINS, NEAR, describe

    check(graph, 1)
    with run.phase("load"):
        import numpy as np

        describe(build_graph(np.zeros(1, np.int64), np.ones(1, np.int64), weights=Weights()), seed, 1)
    with run.phase("worlds"):
        found = describe(graph, seed, worlds)
    hubs: list[dict[str, Any]] = [
        {"vertex": int(graph.original([hub.vertex])[0]), "children": hub.children, "near": hub.near}
        for hub in found.hubs
    ]
    record = {
        "levels": found.levels,
        "degrees": found.degrees,
        "below_10": found.below_10,
        "above_10000": found.above_10000,
        "bins": BINS,
        "near_places": NEAR,
        "hubs": hubs,
        "same_degree": found.same_degree,
        "same_level": found.same_level,
        "dag_share": found.dag_share,
    }
    lines = {
        "levels": f"{len(found.levels)}, {int((found.levels < 100).sum())} of them with fewer than 100 components",
        "degrees": f"{found.below_10:,} vertices below 10, {found.above_10000:,} above 10,000",
        "alike in a world too": f"{found.same_degree:.1%} by degree, {found.same_level:.1%} by level",
        "DAG conversion": f"{found.dag_share:.1%} of the time",
    }
    run.finish(graph, record, lines)
