"""``gpukit gim sample`` and ``select``: one collection of RR sets in several files, and seeds out of them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

from gpukit.api.seeds import MEMBERS_PER_SET, known_of, record_of
from gpukit.cli import options
from gpukit.cli.command import DEVICE, with_run
from gpukit.cli.common import Run
from gpukit.cli.gim_common import launch_shape, need_edges, summary_of
from gpukit.cli.options import option
from gpukit.errors import UsageError

MADE_FROM = ("graph", "model", "sampler", "stream", "rounds", "seed")
"""What RR sets that are joined, or judge one another, must have in common."""


@with_run("out", *DEVICE, "seed", writes="rrsets")
def sample(
    run: Run,
    graph_file: options.GraphArgument,
    count: Annotated[int, option("--count N", "Number of sets.")],
    *,
    first: Annotated[int, option("--first I", "Sample id of the first set.")] = 0,
    model: options.ModelOption = options.MODEL,
    sampler: options.SamplerOption = options.SAMPLER,
    rounds: options.RoundsOption = 1,
    scan: options.ScanShape,
    compress: options.CompressOption = False,
) -> None:
    """Draw the RR sets of a range of sample ids. A set depends on its id, not on the range, so ranges fit together."""
    run.params = {"first": first, "count": count, "model": model, "sampler": sampler, "rounds": rounds}
    if count < 1 or first < 0 or first + count > 1 << 48:
        raise UsageError(f"sample ids {first} to {first + count - 1}: give --count >= 1 within 0 to 2^48 - 1")
    graph, tables = run.read_graph(graph_file, tables=model == "ic" and sampler == "skip")
    need_edges(graph)
    work = float(MEMBERS_PER_SET) * count * rounds * (graph.m / graph.n if sampler == "scan" else 1)
    device = run.use_device(work=work)
    from gpukit.worlds.factory import make_collection
    from gpukit.worlds.reverse import prepare

    reverse = prepare(graph, model, sampler, tables=tables, rounds=rounds)
    shape = launch_shape(scan, device.kind)
    with run.phase("transfer"):
        sets = make_collection(reverse, run.seed, first, device, sampler=shape if sampler == "scan" else None)
    with run.phase("sampling"):
        sets.extend(count)
    with run.phase("transfer"):
        offsets, members = sets.export()
    with run.phase("write"):
        from gpukit.artifacts import RRSets, write_rrsets

        drawn = RRSets(
            offsets, members, n=graph.n, m=graph.m, ids=graph.ids, labels=graph.labels, first=first,
            stream=reverse.stream.name, model=model, sampler=sampler, graph=run.inputs["graph"], seed=run.seed,
            rounds=rounds, params=run.params,
        )  # fmt: skip
        write_rrsets(run.target, drawn, compress=compress)
    record = {"rr_sets": count, "members": len(members), "mean_size": len(members) / count}
    summary = {"RR sets": f"{count:,}", "members": f"{len(members):,}, {len(members) / count:.3f} a set"}
    run.finish(record, summary)


@with_run("out", *DEVICE, writes="seeds")
def select(
    run: Run,
    files: Annotated[list[Path], options.argument("RR.h5…", "RR sets with sample ids that follow each other.")],
    k: options.RoundSeedsOption,
    judge: Annotated[
        list[Path] | None,
        option("--judge RR.h5", "Other RR sets, drawn alike, to estimate the spread with; once a file."),
    ] = None,
) -> None:
    """Choose k seeds out of RR sets in files, in whatever order they are given; the CPU does it.

    Without --judge what they cover of the very sets they were chosen from is all that is known of their spread, and it
    is too high. There is no guarantee, because nothing says why there are as many sets as there are.
    """
    if run.requested == "cuda":
        from gpukit.device.select import choose

        choose("cuda", run.gpus, run.threads)  # fails where there is none, as everywhere
    run.requested = "cpu" if run.requested == "cpu" else None
    run.use_device()
    with run.phase("read"):
        from gpukit.artifacts import read_rrsets
        from gpukit.gim.shards import Shard, join, separate
        from gpukit.gim.shards import select as choose_seeds

        shards: dict[str, list[Shard]] = {"rrsets": [], "judge": []}
        for what, paths in (("rrsets", files), ("judge", judge or [])):
            for path in paths:
                sets = read_rrsets(path)
                same = {name: getattr(sets, name) for name in MADE_FROM}
                shards[what].append(Shard(str(path), sets.first, sets.offsets, sets.members, tuple(same.items())))
                run.inputs[what if len(paths) == 1 else f"{what}_{sets.first}"] = sets.digest
        run.inputs["graph"] = sets.graph
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

        numbers = result.seeds if sets.ids is None else sets.ids[result.seeds]
        write_seeds(
            run.target, numbers, result.seeds, n=sets.n, method="gim select", labels=sets.labels, graph=sets.graph,
            seed=run.seed, params=run.params, inputs=run.inputs, **known_of(result),
        )  # fmt: skip
    run.graph = SimpleNamespace(n=sets.n, m=sets.m)
    original = numbers if sets.labels is None else sets.labels.texts(result.seeds)
    record = record_of(original.tolist(), result)
    run.finish(record, summary_of(record, sets.n))
