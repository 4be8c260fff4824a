"""``gpukit bench kpar``: top-k personalised PageRank, timed and judged."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from gpukit.errors import UsageError

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph


def kpar(
    graphs: Annotated[list[Path] | None, typer.Argument(metavar="G.h5…", help="Graphs to run on.")] = None,
    rmat: Annotated[
        list[str] | None,
        typer.Option("--rmat", metavar="SCALE:DRAWS[:N]", help="R-MAT graphs made on the GPU; N cuts vertices off."),
    ] = None,
    ks: Annotated[str, typer.Option("-k", help="Lengths of answers, with commas between them.")] = "100,1000",
    epsilon: Annotated[float, typer.Option("--epsilon", help="Relative error, in (0, 0.5].")] = 0.5,
    queries: Annotated[int, typer.Option("--queries", min=1, help="Queries asked one at a time.")] = 100,
    batch: Annotated[int, typer.Option("--batch", min=1, help="Queries asked in one call.")] = 1000,
    fora: Annotated[int, typer.Option("--fora", min=0, help="Queries asked of FORA+ on the same device.")] = 20,
    on_threads: Annotated[
        int, typer.Option("--on-threads", min=0, help="Queries asked of kPAR and FORA+ on CPU threads, on a GPU run.")
    ] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="Where to keep the record (JSON).")] = None,
    device: DeviceOption = DeviceChoice.auto,
    threads: ThreadsOption = None,
    seed: SeedOption = 1,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Time top-k personalised PageRank, warm: ranking, index, single queries, batches, and FORA+ beside it."""
    run = Run({"k": ks, "epsilon": epsilon}, seed=seed, out=out, as_json=as_json, verbose=verbose)
    if not graphs and not rmat:
        raise UsageError("give a graph file, or --rmat SCALE:DRAWS for one made on the GPU")
    where = run.use_device(device.value, 1, threads)
    from gpukit.bench.kpar import Bench, sources_with_edges
    from gpukit.bench.machine import copy_bandwidth, peak_memory
    from gpukit.cli.doctor import versions
    from gpukit.kpar import Params

    record: dict[str, Any] = {
        "benchmark": "kpar", "device": where.record(), "versions": versions(), "copy_bandwidth": copy_bandwidth(where),
        "runs": [],
    }  # fmt: skip
    lines: dict[str, str] = {}
    for facts, graph in _graphs(graphs or [], rmat or [], seed):
        bench = Bench(graph, Params(epsilon=epsilon), where, seed, record["copy_bandwidth"])
        facts |= {"n": graph.n, "m": graph.m}
        found: dict[str, Any] = {"graph": facts, "preprocessing": bench.preprocessing(), "latency": [], "batch": []}
        many = sources_with_edges(graph, batch, seed)
        for k in (int(word) for word in ks.split(",")):
            one, all_ = bench.latency(k, many.part(0, min(queries, batch))), bench.throughput(k, many)
            found["latency"].append(one)
            found["batch"].append(all_)
            lines[f"{facts['name']} k = {k}"] = (
                f"{one['mean_ms']:.3f} ms a query ({one['times_floor']:.1f} times the floor), "
                f"{all_['queries_per_s']:.0f} queries/s"
            )
        longest = int(ks.split(",")[-1])
        if on_threads:
            found["on_threads"] = bench.on_threads(longest, many.part(0, min(on_threads, batch)))
        if fora:
            found["fora"] = bench.fora(longest, many.part(0, min(fora, batch)))
            lines[f"{facts['name']} FORA+"] = f"{found['fora']['mean_ms']:.3f} ms a query"
        record["runs"].append({**found, "peak_memory": peak_memory(where)})
    if out is not None:
        out.write_text(json.dumps(record, indent=1) + "\n")
    run.finish(record=record, summary=lines)


def kpar_quality(
    graphs: Annotated[list[Path], typer.Argument(metavar="G.h5…", help="Graphs to run on.")],
    ks: Annotated[str, typer.Option("-k", help="Lengths of answers, with commas between them.")] = "10,100,1000",
    epsilon: Annotated[float, typer.Option("--epsilon", help="Relative error, in (0, 0.5].")] = 0.5,
    queries: Annotated[int, typer.Option("--queries", min=1, help="Random queries of each kind.")] = 100,
    out: Annotated[Path | None, typer.Option("--out", help="Where to keep the record (JSON).")] = None,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    seed: SeedOption = 1,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Judge top-k personalised PageRank by the power method: precision, NDCG, violations of Definition 1."""
    run = Run({"k": ks, "epsilon": epsilon}, seed=seed, out=out, as_json=as_json, verbose=verbose)
    where = run.use_device(device.value, gpus, threads)
    from gpukit.artifacts import digest, read_graph
    from gpukit.bench.kpar_quality import measure
    from gpukit.cli.doctor import versions
    from gpukit.kpar import Params

    record: dict[str, Any] = {"benchmark": "kpar-quality", "device": where.record(), "versions": versions()}
    record |= {"params": {"alpha": 0.2, "epsilon": epsilon, "queries": queries, "seed": seed}, "runs": []}
    lines: dict[str, str] = {}
    lengths = [int(word) for word in ks.split(",")]
    for path in graphs:
        graph = read_graph(path, transpose=False)
        facts = {"name": path.stem, "n": graph.n, "m": graph.m, "digest": digest(path)}
        for found in measure(graph, Params(epsilon=epsilon), where, ks=lengths, queries=queries, seed=seed):
            record["runs"].append({"graph": facts, **found})
            lines[f"{path.stem} {found['sources']} k = {found['k']} {found['depth']}"] = (
                f"precision {found['precision']:.4f}, NDCG {found['ndcg']:.6f}, "
                f"{found['violations']} of {found['positions']} places violated"
            )
    if out is not None:
        out.write_text(json.dumps(record, indent=1) + "\n")
    run.finish(record=record, summary=lines)


def _graphs(files: list[Path], rmat: list[str], seed: int) -> "Iterator[tuple[dict[str, Any], Graph]]":
    """Yield what is known of each graph, and the graph."""
    from gpukit.artifacts import digest, read_graph

    for path in files:
        yield {"name": path.stem, "digest": digest(path)}, read_graph(path)
    for word in rmat:
        try:
            scale, draws, *rest = (int(part) for part in word.split(":"))
        except ValueError:
            raise UsageError(f"--rmat is {word!r}; SCALE:DRAWS or SCALE:DRAWS:N is needed, all whole numbers") from None
        from gpukit.bench.graphs import rmat_graph

        vertices = rest[0] if rest else None
        yield {"name": f"rmat-{word}", "seed": seed}, rmat_graph(scale, draws, seed, vertices=vertices)
