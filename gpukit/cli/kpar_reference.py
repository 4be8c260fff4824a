"""``gpukit kpar truth`` and ``baseline``: exact answers, and those of the methods that the paper compares with."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpukit.cli.common import (
    DeviceChoice,
    DeviceOption,
    GpusOption,
    JsonOption,
    Run,
    SeedOption,
    ThreadsOption,
    VerboseOption,
)
from gpukit.cli.kpar_options import (
    DEFAULT_K,
    AlphaOption,
    EpsilonOption,
    GraphArgument,
    KOption,
    RandomOption,
    SourceOption,
    SourcesOption,
    WeightedOption,
    device_for,
)
from gpukit.cli.kpar_output import finish, packed
from gpukit.cli.loading import one_edge
from gpukit.cli.numbers import at_most
from gpukit.cli.sources import read_sources
from gpukit.errors import DeviceError


class Baseline(StrEnum):
    """Values of ``--method``."""

    monte_carlo = "monte-carlo"
    fora = "fora"


def truth(
    graph_file: GraphArgument,
    k: KOption = None,
    source: SourceOption = None,
    sources_file: SourcesOption = None,
    random: RandomOption = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="T.h5", help="The answers to write.")] = None,
    alpha: AlphaOption = 0.2,
    weighted: WeightedOption = False,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Find the exact answers, by the power method until a mass of 1e-10 is left."""
    run = Run({"k": k, "alpha": alpha, "weighted": weighted}, seed=seed, out=out, as_json=as_json, verbose=verbose)
    if device is DeviceChoice.cuda:
        raise DeviceError("kpar truth runs on the CPU; use --device cpu")
    run.use_device("cpu" if device is DeviceChoice.cpu else None, gpus, threads)
    with run.phase("read"):
        from gpukit.artifacts import read_graph_file
        from gpukit.kpar.problem import ONE, Params

        Params(alpha=alpha)
        graph, name, _ = read_graph_file(graph_file, transpose=False)
        inputs = {"graph": name}
        k = run.params["k"] = at_most(k, DEFAULT_K, graph.n)
        sources = read_sources(graph, source, sources_file, random, seed, k, inputs)
    with run.phase("power"), run.progress("queries") as update:
        from gpukit.evaluate.ppr import power_method, top

        vectors = power_method(
            graph, sources.offsets, sources.vertices, sources.mass / float(ONE), alpha,
            weighted=weighted, progress=update,
        )  # fmt: skip
        answers = [(best := top(vector, k), vector[best]) for vector in vectors]
    finish(run, graph, sources, packed(answers), "truth", inputs)


def baseline(
    graph_file: GraphArgument,
    method: Annotated[Baseline, typer.Option("--method", help="Monte Carlo walks, or FORA+.")] = Baseline.monte_carlo,
    k: KOption = None,
    source: SourceOption = None,
    sources_file: SourcesOption = None,
    random: RandomOption = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="T.h5", help="The answers to write.")] = None,
    alpha: AlphaOption = 0.2,
    epsilon: EpsilonOption = 0.5,
    weighted: WeightedOption = False,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Answer by a method the paper compares with."""
    params = {"k": k, "alpha": alpha, "epsilon": epsilon, "method": method.value, "weighted": weighted}
    run = Run(params, seed=seed, out=out, as_json=as_json, verbose=verbose)
    with run.phase("read"):
        from gpukit.artifacts import read_graph_file
        from gpukit.kpar.problem import Params

        settings = Params(alpha, epsilon, weighted)
        graph, name, _ = read_graph_file(graph_file, transpose=False)
        inputs = {"graph": name}
        k = run.params["k"] = at_most(k, DEFAULT_K, graph.n)
        sources = read_sources(graph, source, sources_file, random, seed, k, inputs)
    where = device_for(device, weighted)
    chosen = run.use_device(where, gpus, threads, work=10.0 * graph.m * len(sources))
    on_gpu = chosen.kind == "cuda"
    extra: dict[str, int] = {}
    if on_gpu:
        from gpukit.kpar import baselines_cuda as baselines
    else:
        from gpukit.kpar import baselines  # type: ignore[no-redef]
    placed = {"gpu": chosen.gpus[0]} if on_gpu else {"threads": chosen.threads}
    with run.phase("load"):
        from gpukit.kpar.problem import Sources

        edge, zero = one_edge(graph), Sources.single([0])
        if method is Baseline.fora:
            baselines.fora(edge, baselines.fora_index(edge, settings, seed=seed, **placed), zero, 1, **placed)
        else:
            baselines.monte_carlo(edge, zero, 1, settings, seed=seed, **placed)
    if method is Baseline.fora:
        with run.phase("index"):
            found = baselines.fora_index(graph, settings, seed=seed, **placed)
        extra = {"index_bytes": int(found.places.nbytes + found.ends.nbytes)}
        with run.phase("query"):
            result = baselines.fora(graph, found, sources, k, **placed)
    else:
        with run.phase("query"):
            result = baselines.monte_carlo(graph, sources, k, settings, seed=seed, **placed)
    finish(run, graph, sources, result, method.value, inputs, epsilon=epsilon, extra=extra)
