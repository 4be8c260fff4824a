"""``gpukit gim sample`` and ``select``: draw a collection of RR sets in several files, and choose seeds from these."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

from gpukit.api import needs
from gpukit.api.seeds import MEMBERS_PER_SET, in_weights, known_of, record_of
from gpukit.cli import options
from gpukit.cli.command import DEVICE, with_run
from gpukit.cli.common import Run
from gpukit.cli.gim.common import need_edges, summary_of
from gpukit.cli.options import option
from gpukit.cli.vertices.read import vertex_weights
from gpukit.errors import UsageError
from gpukit.parameters.spread import ModelParameter, Rounds

if TYPE_CHECKING:
    from gpukit.artifacts import RRSets
    from gpukit.gim.known import Known
    from gpukit.gim.shards import Shard

MADE_FROM = ("graph", "model", "sampler", "stream", "rounds", "seed", "sets")
"""Attributes, besides the targets, that must be equal for RR sets that are joined or judge each other."""


@dataclass(frozen=True)
class Range:
    """Options for the range of sample ids."""

    count: Annotated[int, option("--count N", "Number of sample ids; each id is that of a set.")]
    first: Annotated[int, option("--first I", "First sample id.")] = 0
    targets: options.TargetsOption = None
    model: ModelParameter = "ic"
    rounds: Rounds = 1
    compress: options.CompressOption = False


@with_run("out", *DEVICE, "seed", writes="rrsets", estimate=needs.rr_sets)
def sample(run: Run, graph_file: options.GraphArgument, asked: Range) -> None:
    """Draw the RR sets of a range of sample ids. A set depends on its id, not on the range, so ranges fit together."""
    draw(run, graph_file, asked)


def draw(
    run: Run, graph_file: Path, asked: Range, sampler: str = "skip", sets: str = "kept", sampler_of: Any = None
) -> None:
    """Draw RR sets; ``sampler_of`` returns the sampler for a kind of device, if it is not the default one."""
    first, count, model, rounds = asked.first, asked.count, asked.model, asked.rounds
    kept = sets == "kept" and sampler == "skip" and rounds == 1
    run.params = {"first": first, "count": count, "model": model, "sampler": sampler, "rounds": rounds}
    run.params["sets"] = "kept" if kept else "plain"
    if count < 1 or first < 0 or first + count > 1 << 48:
        raise UsageError(f"sample ids {first} to {first + count - 1}: give --count >= 1 within 0 to 2^48 - 1")
    graph, tables = run.read_graph(graph_file, tables=model == "ic" and sampler == "skip")
    need_edges(graph)
    weights, decimals = (None, 0) if asked.targets is None else vertex_weights(asked.targets, graph, run.inputs)
    work = float(MEMBERS_PER_SET) * count * rounds * (graph.m / graph.n if sampler == "scan" else 1)
    device = run.use_device(work=work)
    from gpukit.worlds.factory import make_collection
    from gpukit.worlds.reverse import prepare

    reverse = prepare(graph, model, sampler, tables=tables, rounds=rounds, root_weights=weights, kept=kept)
    how = None if sampler_of is None else sampler_of(device.kind)
    with run.phase("transfer"):
        drawn = make_collection(reverse, run.seed, first, device, sampler=how)
    with run.phase("sampling"):
        drawn.extend_over(count)
    with run.phase("transfer"):
        offsets, members = drawn.export()
    with run.phase("write"):
        from gpukit.artifacts import RRSets, write_rrsets

        trivial: dict[str, Any] = {"own": reverse.singleton, "gamma": reverse.gamma, "kept_of": count} if kept else {}
        found = RRSets(
            offsets, members, n=graph.n, m=graph.m, ids=graph.ids, labels=graph.labels, first=first,
            stream=reverse.stream.name, model=model, sampler=sampler, graph=run.inputs["graph"], seed=run.seed,
            rounds=rounds, params=run.params, weights=weights, decimals=decimals, inputs=run.inputs, **trivial,
        )  # fmt: skip
        write_rrsets(run.target, found, compress=asked.compress)
    mean = len(members) / max(found.count, 1)
    record = {"rr_sets": found.count, "drawn": count, "members": len(members), "mean_size": mean}
    of_ids = f" that are not trivial, of {count:,} sample ids" if kept else ""
    summary = {"RR sets": f"{found.count:,}{of_ids}", "members": f"{len(members):,}, {mean:.3f} a set"}
    run.finish(record, summary)


@with_run("out", *DEVICE, writes="seeds")
def select(
    run: Run,
    files: Annotated[list[Path], options.argument("RR.h5…", "RR sets with consecutive sample ids.")],
    k: options.RoundSeedsOption,
    judge: Annotated[
        list[Path] | None,
        option("--judge RR.h5", "Other RR sets, drawn alike, to estimate the spread; once per file."),
    ] = None,
) -> None:
    """Choose k seeds from RR sets in files, given in any order; this runs on the CPU.

    Without --judge the spread is estimated from the sets that the seeds were chosen from, so it is too high. There is
    no guarantee, because the number of sets was not chosen for one.
    """
    if run.requested == "cuda":
        from gpukit.device.select import choose

        choose("cuda", run.gpus, run.threads)  # fails if there is none, as in other commands
    run.requested = "cpu" if run.requested == "cpu" else None
    run.use_device()
    with run.phase("read"):
        from gpukit.gim.shards import select as choose_seeds
        from gpukit.gim.shards import separate

        read = {what: _read(paths) for what, paths in (("rrsets", files), ("judge", judge)) if paths}
        if "judge" in read:
            separate(read["rrsets"][0], read["judge"][0])
        run.params = {"k": k}
        wholes = {what: _whole(*found) for what, found in read.items()}
        for what, whole in wholes.items():
            prefix = "" if what == "rrsets" else "judge_"
            run.params |= {f"{prefix}first": whole.first, f"{prefix}count": whole.drawn}
            run.inputs[what] = whole.digest
        sets = wholes["rrsets"]
        run.inputs["graph"] = sets.graph
        run.seed = sets.seed
        run.params |= {name: getattr(sets, name) for name in ("model", "sampler", "rounds", "sets")}
    with run.phase("selection"):
        pairs = {what: (whole.offsets, whole.members) for what, whole in wholes.items()}
        result = choose_seeds(pairs["rrsets"], _known(sets), sets.n, sets.rounds, k, judge=pairs.get("judge"))
        result = in_weights(result, sets.decimals)
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
    run.finish(record, summary_of(record, sets.n, sets.model))


def _read(paths: Sequence[Path]) -> "tuple[list[Shard], RRSets]":
    """Return the RR sets of files as shards, and the last of the files for the attributes that all have in common."""
    from gpukit.artifacts import read_rrsets
    from gpukit.gim.shards import Shard

    shards = []
    for path in paths:
        sets = read_rrsets(path)
        same: dict[str, Any] = {name: getattr(sets, name) for name in MADE_FROM}
        same["targets"] = sets.targets
        drawn = sets.kept_of
        shards.append(Shard(str(path), sets.first, sets.offsets, sets.members, tuple(same.items()), drawn))
    return shards, sets


def _whole(shards: "list[Shard]", alike: "RRSets") -> "RRSets":
    """Return the sets of all shards, with the digest that one file with all of them would have."""
    from gpukit.artifacts import rrsets_artifact
    from gpukit.gim.shards import join

    offsets, members = join(shards)
    if len(shards) == 1:
        return alike
    first = min(shard.first for shard in shards)
    drawn = max(shard.end for shard in shards) - first
    whole = replace(
        alike, offsets=offsets, members=members, first=first, kept_of=None if alike.kept_of is None else drawn
    )
    return replace(whole, digest=rrsets_artifact(whole).payload)


def _known(sets: "RRSets") -> "Known":
    """Return the worth of single vertices, as stated in files of RR sets."""
    from gpukit.gim.known import Known

    mass = sets.n if sets.weights is None else int(sets.weights.sum())
    return Known.of_mass(mass << 63 if sets.gamma is None else sets.gamma, sets.own, sets.weights)
