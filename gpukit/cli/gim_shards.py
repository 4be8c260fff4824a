"""``gpukit gim sample`` and ``select``: one collection of RR sets in several files, and seeds out of them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

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
from gpukit.cli.gim_options import (
    MEMBERS_PER_SET,
    BlockOption,
    GraphArgument,
    GridOption,
    KOption,
    Model,
    ModelOption,
    RoundsOption,
    Sampler,
    SamplerOption,
    launch_shape,
    need_edges,
    record_of,
    stored,
    summary_of,
)
from gpukit.errors import UsageError

MADE_FROM = ("graph", "model", "sampler", "stream", "rounds", "seed")
"""What RR sets that are joined, or judge one another, must have in common."""


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
        from gpukit.artifacts import read_graph_file

        skipping = model == Model.ic and sampler == Sampler.skip
        graph, source, tables = read_graph_file(graph_file, tables=skipping)
    need_edges(graph)
    work = float(MEMBERS_PER_SET) * count * rounds * (graph.m / graph.n if sampler == Sampler.scan else 1)
    chosen = run.use_device(device.value, gpus, threads, work=work)
    from gpukit.worlds.factory import make_collection
    from gpukit.worlds.reverse import prepare

    reverse = prepare(graph, model.value, sampler.value, tables=tables, rounds=rounds)
    with run.phase("transfer"):
        sets = make_collection(reverse, seed, first, chosen, shape=launch_shape(block, grid, chosen.kind))
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
            graph=source,
            seed=seed,
            rounds=rounds,
            params=run.params,
            compress=compress,
        )
    record = {"rr_sets": count, "members": len(members), "mean_size": len(members) / count}
    summary = {"RR sets": f"{count:,}", "members": f"{len(members):,}, {len(members) / count:.3f} a set"}
    run.finish(graph, record, summary)


def select(
    files: Annotated[
        list[Path], typer.Argument(metavar="RR.h5…", help="RR sets with sample ids that follow each other.")
    ],
    out: OutOption,
    k: KOption,
    judge: Annotated[
        list[Path] | None,
        typer.Option(
            "--judge", metavar="RR.h5", help="Other RR sets, drawn alike, to estimate the spread with; once a file."
        ),
    ] = None,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Choose k seeds out of RR sets in files, in whatever order they are given; the CPU does it.

    Without --judge what they cover of the very sets they were chosen from is all that is known of their spread, and it
    is too high. There is no guarantee, because nothing says why there are as many sets as there are.
    """
    run = Run(out=out, as_json=as_json, verbose=verbose)
    if device == DeviceChoice.cuda:
        from gpukit.device.select import choose

        choose("cuda", gpus, threads)  # fails where there is none, as everywhere
    run.use_device("cpu" if device == DeviceChoice.cpu else None, gpus, threads)
    with run.phase("read"):
        from gpukit.artifacts import read_rrsets
        from gpukit.gim.shards import Shard, join, separate
        from gpukit.gim.shards import select as choose_seeds

        shards: dict[str, list[Shard]] = {"rrsets": [], "judge": []}
        inputs: dict[str, str] = {}
        for what, paths in (("rrsets", files), ("judge", judge or [])):
            for path in paths:
                sets = read_rrsets(path)
                same = {name: getattr(sets, name) for name in MADE_FROM}
                shards[what].append(Shard(str(path), sets.first, sets.offsets, sets.members, tuple(same.items())))
                inputs[what if len(paths) == 1 else f"{what}_{sets.first}"] = sets.digest
        inputs["graph"] = sets.graph
        joined = {what: join(found) for what, found in shards.items() if found}
        separate(shards["rrsets"], shards["judge"])
        run.seed, run.params = sets.seed, {"k": k}
        for what, (offsets, _) in joined.items():
            prefix = "" if what == "rrsets" else "judge_"
            first = min(shard.first for shard in shards[what])
            run.params |= {f"{prefix}first": first, f"{prefix}count": len(offsets) - 1}
        run.params |= {name: same[name] for name in ("model", "sampler", "rounds")}
    with run.phase("selection"):
        result = choose_seeds(*joined["rrsets"], sets.n, sets.rounds, k, judge=joined.get("judge"))
    with run.phase("write"):
        from gpukit.artifacts import write_seeds

        original = result.seeds if sets.ids is None else sets.ids[result.seeds]
        known = stored(run, inputs, result)
        write_seeds(out, original, result.seeds, n=sets.n, method="gim select", inputs=inputs, **known)
    record = record_of(original.tolist(), result)
    run.finish(SimpleNamespace(n=sets.n, m=sets.m), record, summary_of(record, sets.n))
