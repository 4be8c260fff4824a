"""``gpukit gim``: influence maximisation, in one step or in shards, and simple seeds to compare with."""

import hashlib
import math
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpukit.cli.common import (
    CompressOption,
    DeviceChoice,
    DeviceOption,
    GpusOption,
    JsonOption,
    OutOption,
    Run,
    SeedOption,
    ThreadsOption,
    VerboseOption,
)
from gpukit.cli.vertices import vertex_list, vertex_numbers
from gpukit.errors import InputError, UsageError

if TYPE_CHECKING:
    from gpukit.gim import Result
    from gpukit.graph.csr import Graph

app = typer.Typer(help="Influence maximisation by reverse-reachable sets.", no_args_is_help=True, add_completion=False)

COST_DECIMALS = 6
_UNIT = 10**COST_DECIMALS
_MEMBERS_PER_SET = 20


class Model(StrEnum):
    """Values of ``--model``."""

    ic = "ic"
    lt = "lt"


class Bound(StrEnum):
    """Values of ``--bound``."""

    opim = "opim"
    imm = "imm"


class Sampler(StrEnum):
    """Values of ``--sampler``."""

    skip = "skip"
    scan = "scan"


class Samples(StrEnum):
    """Values of ``--samples``."""

    grid = "grid"
    fresh = "fresh"
    original = "original"


class Selecting(StrEnum):
    """Values of ``--selection``."""

    by_index = "index"
    by_scan = "scan"


class Method(StrEnum):
    """Values of ``--method``."""

    degree = "degree"
    degree_discount = "degree-discount"
    random = "random"


GraphArgument = Annotated[Path, typer.Argument(metavar="G.h5", help="The graph.")]
KOption = Annotated[int, typer.Option("-k", metavar="K", help="Number of seeds (of each round).")]
ModelOption = Annotated[Model, typer.Option("--model", help="Independent cascade or linear threshold.")]
SamplerOption = Annotated[Sampler, typer.Option("--sampler", help="Skip dead edges, or test every edge.")]
RoundsOption = Annotated[int, typer.Option("--rounds", metavar="T", help="Rounds of seeding, 1 to 255.")]
BlockOption = Annotated[
    int | None, typer.Option("--block", metavar="N", help="Threads of a block of the scan sampler on a GPU.")
]
GridOption = Annotated[
    int | None, typer.Option("--grid", metavar="N", help="Blocks of the scan sampler on a GPU; 0: as many as fit.")
]


@app.callback()
def _group() -> None:
    """Influence maximisation by reverse-reachable sets."""


@app.command("run")
def run_(
    graph_file: GraphArgument,
    out: OutOption,
    k: Annotated[
        int | None, typer.Option("-k", metavar="K", help="Number of seeds (of each round); or give --budget.")
    ] = None,
    epsilon: Annotated[
        float, typer.Option("--epsilon", metavar="E", help="Accuracy of the guarantee, in (0, 1).")
    ] = 0.1,
    model: ModelOption = Model.ic,
    bound: Annotated[Bound, typer.Option("--bound", help="How many RR sets are enough: OPIM-C or IMM.")] = Bound.opim,
    sampler: SamplerOption = Sampler.skip,
    samples: Annotated[
        Samples, typer.Option("--samples", help="IMM: re-use the search phase's sets soundly, not, or as printed.")
    ] = Samples.grid,
    selection: Annotated[
        Selecting, typer.Option("--selection", help="Choose seeds by an index, or by a scan of all sets a seed.")
    ] = Selecting.by_index,
    rounds: RoundsOption = 1,
    min_sets: Annotated[
        int, typer.Option("--min-sets", metavar="N", help="Fewest RR sets, all collections together.")
    ] = 100_000,
    include: Annotated[
        str | None, typer.Option("--include", metavar="A,B,…|FILE", help="Vertices that must be seeds.")
    ] = None,
    exclude: Annotated[
        str | None, typer.Option("--exclude", metavar="A,B,…|FILE", help="Vertices that cannot be seeds.")
    ] = None,
    targets: Annotated[
        Path | None,
        typer.Option("--targets", metavar="FILE", help="Lines `id weight`: what a vertex counts for; 0 if not named."),
    ] = None,
    costs: Annotated[
        Path | None, typer.Option("--costs", metavar="FILE", help="Lines `id cost`: what a seed costs; 1 if not named.")
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="B", help="What the seeds may cost together, instead of -k.")
    ] = None,
    block: BlockOption = None,
    grid: GridOption = None,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Find k seeds, or seeds within a budget, of large expected spread, and say how good they are."""
    params: dict[str, Any] = {
        "k": k,
        "epsilon": epsilon,
        "model": model.value,
        "bound": bound.value,
        "sampler": sampler.value,
        "samples": samples.value,
        "rounds": rounds,
        "min_sets": min_sets,
        "budget": budget,
    }
    run = Run(params, seed=seed, out=out, as_json=as_json, verbose=verbose)
    if k is None and budget is None:
        raise UsageError("give the number of seeds by -k, or what they may cost by --budget")
    budget_units = None if budget is None else _budget(budget)
    if not 0 < epsilon < 1:
        raise UsageError(f"--epsilon is {epsilon}; it must lie in (0, 1)")
    with run.phase("read"):
        from gpukit.artifacts import digest, read_graph, read_tables

        graph = read_graph(graph_file)
        inputs = {"graph": digest(graph_file)}
        tables = read_tables(graph_file) if model == Model.ic and sampler == Sampler.skip else None
        forced, barred = vertex_list(include, "--include", graph), vertex_list(exclude, "--exclude", graph)
        for name, vertices in (("include", forced), ("exclude", barred)):
            if vertices:
                run.params[name] = graph.original(vertices).tolist()
        weights = prices = None
        if targets is not None:
            weights = vertex_numbers(targets, graph, default=0, decimals=0, low=Decimal(0), high=Decimal(2**53))
            inputs["targets"] = _file_digest(targets)
        if costs is not None:
            low, high = Decimal(1) / _UNIT, Decimal(2**31 - 1) / _UNIT
            prices = vertex_numbers(costs, graph, default=_UNIT, decimals=COST_DECIMALS, low=low, high=high)
            inputs["costs"] = _file_digest(costs)
        elif budget is not None:
            import numpy as np

            prices = np.full(graph.n, _UNIT)
    work = _work(graph, k or 50, epsilon, bound, sampler, min_sets) * rounds
    chosen = run.use_device(device.value, gpus, threads, work=work)
    with run.phase("load"):
        from gpukit.gim import Params, maximise

        same = {"model": model.value, "bound": bound.value, "sampler": sampler.value, "selection": selection.value}
        maximise(_toy(graph), Params(k=1, epsilon=0.9, min_sets=0, rounds=rounds, **same), chosen)
    with run.progress("RR sets") as update:
        result = maximise(
            graph,
            Params(
                k=k,
                epsilon=epsilon,
                samples=samples.value,
                rounds=rounds,
                min_sets=min_sets,
                seed=seed,
                include=forced,
                exclude=barred,
                root_weights=weights,
                costs=prices,
                budget=budget_units,
                **same,
            ),
            chosen,
            tables=tables,
            shape=_shape(block, grid, chosen.kind),
            timer=run.timer,
            progress=update,
        )
    with run.phase("write"):
        from gpukit.artifacts import write_seeds

        method = f"gim {bound.value}"
        original = graph.original(result.seeds)
        stored = _stored(run, inputs, result)
        write_seeds(out, original, result.seeds, n=graph.n, method=method, inputs=inputs, **stored)
    record = _record(original.tolist(), result)
    run.finish(graph, {**record, "selection": selection.value}, _summary(record))


def _stored(run: Run, inputs: dict[str, str], result: "Result") -> dict[str, Any]:
    """Return the arguments of ``write_seeds`` that say what is known of the seeds."""
    return {
        "graph": inputs["graph"],
        "gains": result.gains,
        "rounds": result.rounds,
        "spread_estimate": result.spread_estimate,
        "rr_sets": result.rr_sets,
        "guarantee": {"value": result.guarantee, "kind": result.guarantee_kind},
        "seed": run.seed,
        "params": run.params,
    }


def _record(seeds: list[int], result: "Result") -> dict[str, Any]:
    record: dict[str, Any] = {"seeds": seeds}
    if result.rounds is not None:
        record["rounds"] = result.rounds.tolist()
    record |= result.facts() | {"gains": result.gains.tolist()}
    record["history"] = [vars(step) for step in result.history]
    return record


def _summary(record: dict[str, Any]) -> dict[str, Any]:
    """Return what people read."""
    lines = {"seeds": record["seeds"]}
    if "rounds" in record:
        lines["rounds"] = record["rounds"]
    lines["spread"] = f"{record['spread_estimate']:,.2f} (estimate)"
    lines["RR sets"] = f"{record['rr_sets']:,}"
    if record["guarantee"] is None:
        lines["guarantee"] = "none"
    else:
        lines["guarantee"] = f"{record['guarantee']:.4f} of the best possible, {record['guarantee_kind']}"
    return lines


@app.command("sample")
def sample(
    graph_file: GraphArgument,
    out: OutOption,
    count: Annotated[int, typer.Option("--count", metavar="N", help="Number of sets.")],
    first: Annotated[int, typer.Option("--first", metavar="I", help="Sample id of the first set.")] = 0,
    model: ModelOption = Model.ic,
    sampler: SamplerOption = Sampler.skip,
    rounds: RoundsOption = 1,
    block: BlockOption = None,
    grid: GridOption = None,
    compress: CompressOption = False,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Draw the RR sets of a range of sample ids. A set depends on its id, not on the range, so ranges fit together."""
    params = {"first": first, "count": count, "model": model.value, "sampler": sampler.value, "rounds": rounds}
    run = Run(params, seed=seed, out=out, as_json=as_json, verbose=verbose)
    if count < 1 or first < 0 or first + count > 1 << 48:
        raise UsageError(f"sample ids {first} to {first + count - 1}: give --count >= 1 within 0 to 2^48 - 1")
    with run.phase("read"):
        from gpukit.artifacts import digest, read_graph, read_tables

        graph = read_graph(graph_file)
        inputs = {"graph": digest(graph_file)}
        tables = read_tables(graph_file) if model == Model.ic and sampler == Sampler.skip else None
    _need_edges(graph)
    work = float(_MEMBERS_PER_SET) * count * rounds * (graph.m / graph.n if sampler == Sampler.scan else 1)
    chosen = run.use_device(device.value, gpus, threads, work=work)
    from gpukit.worlds.factory import make_collection
    from gpukit.worlds.reverse import prepare

    reverse = prepare(graph, model.value, sampler.value, tables=tables, rounds=rounds)
    with run.phase("transfer"):
        sets = make_collection(reverse, seed, first, chosen, shape=_shape(block, grid, chosen.kind))
    with run.phase("sampling"):
        sets.extend(count)
    with run.phase("transfer"):
        offsets, members = sets.export()
    with run.phase("write"):
        from gpukit.artifacts import write_rrsets

        write_rrsets(
            out,
            offsets,
            members,
            n=graph.n,
            m=graph.m,
            ids=graph.ids,
            first=first,
            stream=reverse.stream.name,
            model=model.value,
            sampler=sampler.value,
            graph=inputs["graph"],
            seed=seed,
            rounds=rounds,
            params=run.params,
            compress=compress,
        )
    record = {"rr_sets": count, "members": len(members), "mean_size": len(members) / count}
    summary = {"RR sets": f"{count:,}", "members": f"{len(members):,}, {len(members) / count:.3f} a set"}
    run.finish(graph, record, summary)


@app.command("select")
def select(
    files: Annotated[
        list[Path], typer.Argument(metavar="RR.h5…", help="RR sets with sample ids that follow each other.")
    ],
    out: OutOption,
    k: KOption,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Choose k seeds out of RR sets in files, in whatever order they are given; the CPU does it.

    The estimate comes from the sets that the seeds were chosen from, and there is no guarantee, because nothing says
    why there are as many sets as there are.
    """
    run = Run(out=out, as_json=as_json, verbose=verbose)
    if device == DeviceChoice.cuda:
        from gpukit.device.select import choose

        choose("cuda", gpus, threads)  # fails where there is none, as everywhere
    run.use_device("cpu", threads=threads)
    with run.phase("read"):
        from gpukit.artifacts import digest, read_rrsets
        from gpukit.gim.shards import Shard, join
        from gpukit.gim.shards import select as choose_seeds

        shards = []
        for path in files:
            sets = read_rrsets(path)
            same = {name: getattr(sets, name) for name in ("graph", "model", "sampler", "rounds", "seed")}
            shards.append(Shard(str(path), sets.first, sets.offsets, sets.members, tuple(same.items())))
        offsets, members = join(shards)
        run.seed = sets.seed
        first = min(shard.first for shard in shards)
        run.params = {"k": k, "first": first, "count": len(offsets) - 1}
        run.params |= {name: value for name, value in same.items() if name not in ("graph", "seed")}
    with run.phase("selection"):
        result = choose_seeds(offsets, members, sets.n, sets.rounds, k)
    with run.phase("write"):
        from gpukit.artifacts import write_seeds

        inputs = {"graph": sets.graph}
        if len(files) == 1:
            inputs["rrsets"] = digest(files[0])
        original = result.seeds if sets.ids is None else sets.ids[result.seeds]
        stored = _stored(run, inputs, result)
        write_seeds(out, original, result.seeds, n=sets.n, method="gim select", **stored)
    record = _record(original.tolist(), result)
    run.finish(SimpleNamespace(n=sets.n, m=sets.m), record, _summary(record))


@app.command("baseline")
def baseline(
    graph_file: GraphArgument,
    out: OutOption,
    k: KOption,
    method: Annotated[Method, typer.Option("--method", help="By out-degree, by degree discount, or at random.")],
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Choose k seeds without RR sets and without a guarantee, to compare with."""
    run = Run({"method": method.value, "k": k}, seed=seed, out=out, as_json=as_json, verbose=verbose)
    with run.phase("read"):
        from gpukit.artifacts import digest, read_graph

        graph = read_graph(graph_file)
        inputs = {"graph": digest(graph_file)}
    _need_edges(graph)
    run.use_device("cpu", threads=1)
    with run.phase("selection"):
        from gpukit.gim import baselines

        if method == Method.random:
            seeds = baselines.random(graph, k, seed)
        else:
            seeds = (baselines.degree if method == Method.degree else baselines.degree_discount)(graph, k)
    with run.phase("write"):
        from gpukit.artifacts import write_seeds

        original = graph.original(seeds)
        write_seeds(
            out, original, seeds, n=graph.n, method=method.value, graph=inputs["graph"], seed=seed, params=run.params
        )
    run.finish(graph, {"seeds": original.tolist()})


def _toy(graph: "Graph") -> "Graph":
    """Return one edge with arrays and probabilities of the same kinds, to load compiled code before the clock counts."""
    import numpy as np

    from gpukit.graph.csr import Graph

    explicit = graph.probabilities is not None
    words = np.zeros(1, np.uint32) if explicit else None
    return Graph(
        indptr=np.array([0, 1, 1]), indices=np.ones(1, np.int32), weights=graph.weights, probabilities=words,
        in_indptr=np.array([0, 0, 1]), in_indices=np.zeros(1, np.int32), in_probabilities=words,
    )  # fmt: skip


def _need_edges(graph: "Graph") -> None:
    if graph.m == 0:
        raise InputError("the graph has no edges, so there is no influence to maximise; give one with edges")


def _budget(text: str) -> int:
    """Return a budget in units of 10**-6."""
    try:
        units = Decimal(text) * _UNIT
        good = units == units.to_integral_value() and 0 < units < 2**62
    except InvalidOperation:
        good = False
    if not good:
        raise UsageError(f"--budget: {text!r} is not a number > 0 with at most {COST_DECIMALS} decimals")
    return int(units)


def _file_digest(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _shape(block: int | None, grid: int | None, kind: str) -> Any:
    """Return the launch shape of the scan sampler; None on the CPU, which has none."""
    if not (block is None or (1 <= block <= 1024 and block % 32 == 0)) or not (grid is None or 0 <= grid < 2**31):
        raise UsageError(f"--block {block} --grid {grid}: allowed are multiples of 32 up to 1024, and 0 to 2^31 - 1")
    if kind == "cpu":
        return None
    from gpukit.worlds.collection_cuda import Shape

    return Shape(**{name: value for name, value in (("block", block), ("grid", grid)) if value is not None})


def _work(graph: "Graph", k: int, epsilon: float, bound: Bound, sampler: Sampler, min_sets: int) -> float:
    """Estimate the vertex and edge visits of a run, for the choice of the device only: 20 members a set.

    OPIM-C stops after about 16 · (0.05/ε)² times its first size; IMM needs about what an optimum of 0.15 n asks for.
    """
    k = max(1, min(k, graph.n))
    log_sets = math.lgamma(graph.n + 1) - math.lgamma(k + 1) - math.lgamma(graph.n - k + 1)
    first = 2 * (0.64 * math.sqrt(math.log(6 * graph.n)) + math.sqrt(0.64 * (log_sets + math.log(6 * graph.n)))) ** 2
    sets = first / (0.15 * epsilon**2) if bound == Bound.imm else 2 * first * max(1.0, 16 * (0.05 / epsilon) ** 2)
    scanned = graph.m / graph.n if sampler == Sampler.scan else 1.0
    return max(sets, min_sets) * _MEMBERS_PER_SET * scanned
