"""``gpukit merit``: adaptive minimum-cost seeding, simulated or real."""

import hashlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.main import get_current_context

from gpukit.cli.common import (
    DeviceChoice,
    DeviceOption,
    GpusOption,
    JsonOption,
    OutOption,
    Run,
    SeedOption,
    ThreadsOption,
    VerboseOption,
    cut_list,
)
from gpukit.cli.loading import one_edge
from gpukit.cli.merit_once import once
from gpukit.cli.merit_options import (
    BatchOption,
    Certificate,
    CertificateOption,
    CostsOption,
    EpsilonOption,
    EtaOption,
    FreshIdsOption,
    GraphArgument,
    GroupsOption,
    Model,
    ModelOption,
    Residual,
    ResidualOption,
    Update,
    UpdateOption,
    check_groups,
    read_asked,
)
from gpukit.cli.outputs import check_out
from gpukit.cli.vertices import once_each, text_lines, vertex_id, vertex_list, vertices_of, words_of
from gpukit.errors import InputError, UsageError

if TYPE_CHECKING:
    import numpy as np

    from gpukit.device.select import Device
    from gpukit.graph.csr import Graph
    from gpukit.merit import Params, Result

app = typer.Typer(
    help="Minimum-cost seeding in rounds, with what was observed in between.",
    no_args_is_help=True,
    add_completion=False,
)

_log = logging.getLogger("gpukit")

MAX_WORLDS = 10**6
PHASES = ("generate", "update", "judge", "select")
"""What the time of a campaign is made of; the hidden world's own time is left out."""
MEMBERS_PER_ROOT, SETS_PER_ROUND = 5, 20_000
"""Guesses for the choice of the device."""


@app.command("run")
def run_(
    graph_file: GraphArgument,
    out: OutOption,
    eta: EtaOption,
    batch: BatchOption = None,
    model: ModelOption = Model.ic,
    epsilon: EpsilonOption = 0.5,
    update: UpdateOption = Update.coupled,
    certificate: CertificateOption = Certificate.fresh,
    lt_residual: ResidualOption = None,
    costs: CostsOption = "degree",
    fresh_ids: FreshIdsOption = False,
    worlds: Annotated[int, typer.Option("--worlds", metavar="W", help="Hidden worlds to run a campaign in.")] = 1,
    replay: Annotated[
        Path | None,
        typer.Option("--replay", metavar="FILE", help="An observed campaign: a line of activated ids a round."),
    ] = None,
    groups: GroupsOption = 1,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Simulate campaigns: seeds are chosen round by round until η vertices are active."""
    settings = _settings(eta, batch, model, epsilon, update, certificate, lt_residual, fresh_ids)
    run = Run({**settings, "costs": costs, "worlds": worlds}, seed=seed, out=out, as_json=as_json, verbose=verbose)
    if not 1 <= worlds <= MAX_WORLDS:
        raise UsageError(f"--worlds is {worlds}; 1 to {MAX_WORLDS} are allowed")
    if replay is not None and worlds > 1:
        raise UsageError("--replay is one campaign; leave --worlds out")
    _hold(out)
    _keep_observed(out)
    graph, inputs, asked, tables = read_asked(run, graph_file, settings, costs, seed)
    record = None if replay is None else _recorded(replay, graph, inputs)
    where = _use_device(run, graph, asked, device, gpus, threads, groups, worlds)
    from gpukit.merit import ReplayedWorld, SimulatedWorld, simulate

    found: list[tuple[int, Result]] = []
    spent: list[dict[str, float]] = []
    with run.progress("campaigns") as bar:
        for number in range(worlds):
            world = ReplayedWorld(record) if record else SimulatedWorld(graph, asked.model, seed, number)

            def update_bar(done: int, total: int, before: int = number) -> None:
                bar(before * total + done, worlds * total)

            before_it = run.timer.seconds()
            result = simulate(
                graph, asked, world, where, groups=groups, tables=tables, timer=run.timer, progress=update_bar
            )
            found.append((-1 if record else number, result))
            after_it = run.timer.seconds()
            spent.append({phase: round(after_it.get(phase, 0.0) - before_it.get(phase, 0.0), 6) for phase in PHASES})
    with run.phase("write"):
        from gpukit.cli.merit_state import rounds_record, save

        prices = found[0][1].costs
        campaigns = [(number, result.rounds) for number, result in found]
        save(out, graph, inputs["graph"], asked, prices, campaigns, run.params, inputs)
    first = found[0][1]
    if record and len(record) > len(first.rounds):
        _log.warning(
            "the campaign reached its target in round %d of the %d in %s; the others were not used",
            len(first.rounds), len(record), replay,
        )  # fmt: skip
    listed = [
        {
            "world": number,
            "cost": result.amount,
            "activated": result.activated,
            "rounds": len(result.rounds),
            "seeds": len(result.seeds),
            "probes": result.probes,
            "time_s": seconds,
        }
        for (number, result), seconds in zip(found, spent, strict=True)
    ]
    mean = sum(result.amount for _, result in found) / worlds
    whole = {
        "rounds": rounds_record(graph, first.rounds, prices),
        "activated": first.activated,
        "cost": first.amount,
        "seeds": graph.original(first.seeds).tolist(),
        "probes": first.probes,
        "updating_probes": first.updating_probes,
        "most_members": first.members,
        "device_memory": first.memory,
        "planned_device_memory": first.planned_memory,
        "campaigns": listed,
        "mean_cost": mean,
    }
    lines = {
        "cost": f"{mean:,.2f} on average of {worlds} campaign(s)",
        "rounds": cut_list([one["rounds"] for one in listed[:10]], worlds),
        "activated": cut_list([f"{one['activated']:,}" for one in listed[:10]], worlds),
        "seeds": cut_list(whole["seeds"][:10], len(first.seeds)),
    }
    run.finish(graph, whole, lines)


@app.command("start")
def start(
    graph_file: GraphArgument,
    out: OutOption,
    eta: EtaOption,
    batch: BatchOption = None,
    model: ModelOption = Model.ic,
    epsilon: EpsilonOption = 0.5,
    update: UpdateOption = Update.coupled,
    certificate: CertificateOption = Certificate.fresh,
    lt_residual: ResidualOption = None,
    costs: CostsOption = "degree",
    groups: GroupsOption = 1,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Begin a real campaign: choose the first batch."""
    settings = _settings(eta, batch, model, epsilon, update, certificate, lt_residual, False)
    run = Run({**settings, "costs": costs}, seed=seed, out=out, as_json=as_json, verbose=verbose)
    _hold(out)
    _keep_observed(out)
    graph, inputs, asked, tables = read_asked(run, graph_file, settings, costs, seed)
    where = _use_device(run, graph, asked, device, gpus, threads, groups, 1)
    from gpukit.merit import Campaign

    campaign = Campaign(graph, asked, (), where, groups=groups, tables=tables, timer=run.timer)
    campaign.choose()
    _finish_step(run, graph, campaign, out, inputs)


@app.command("next")
def next_(
    graph_file: GraphArgument,
    state: Annotated[Path, typer.Argument(metavar="C.h5", help="The campaign, by `merit start` or `merit next`.")],
    observed: Annotated[
        str,
        typer.Option(
            "--observed", metavar="A,B,…|FILE", help="What the last batch activated; its seeds go without saying."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where the new state goes; C.h5 itself by default.")
    ] = None,
    groups: GroupsOption = 1,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Go on with a real campaign: give what was observed, get the next batch."""
    if out is None:
        check_out(state)
    run = Run(out=out or state, as_json=as_json, verbose=verbose)
    _hold(out or state)
    with run.phase("read"):
        from gpukit.artifacts import read_graph_file
        from gpukit.cli.merit_state import load

        graph, name, tables = read_graph_file(graph_file, tables=True)
        asked, rounds, before = load(state, graph, name)
        if not before.attributes["pending"]:
            raise UsageError(f"{state}: the campaign has reached its target; there is nothing to observe")
        activated = vertex_list(observed, "--observed", graph, none=True)
    run.params, run.seed = dict(before.params), asked.seed
    where = _use_device(run, graph, asked, device, gpus, threads, groups, 1)
    import numpy as np

    from gpukit.merit import Campaign

    campaign = Campaign(graph, asked, rounds, where, groups=groups, tables=tables, timer=run.timer)
    campaign.observe(np.array(activated, np.int64))
    if campaign.left > 0:
        campaign.choose()
    _finish_step(run, graph, campaign, out or state, before.inputs)


def _hold(out: Path) -> None:
    """Keep other campaigns out of a file until the command ends: each would undo what the one before it did there."""
    from gpukit.artifacts.lock import only_writer

    get_current_context().with_resource(only_writer(out))


def _keep_observed(out: Path) -> None:
    """Check that a new campaign does not take the place of a real one under way: nobody can observe that again."""
    if not out.is_file():
        return
    from gpukit.artifacts import read

    try:
        there = read(out, "campaign")
    except InputError:
        return  # not a campaign, and as good as any other file that is written over
    observed = len(there.arrays["cost"]) - 1
    if there.attributes["pending"] and observed > 0:
        raise UsageError(
            f"--out {out} holds a campaign under way, with {observed} observed round(s) that would be lost; name "
            "another file, or remove that one"
        )


def _settings(
    eta: int, batch: int | None, model: Model, epsilon: float, update: Update, certificate: Certificate,
    lt_residual: Residual | None, fresh_ids: bool,
) -> dict[str, Any]:  # fmt: skip
    """Return what decides a campaign, but for the costs; raises UsageError for an option that the model has not."""
    if lt_residual is not None and model is Model.ic:
        raise UsageError("--lt-residual belongs to --model lt, and the model is ic; leave it out or change the model")
    return {
        "eta": eta,
        "batch": batch,
        "model": model.value,
        "epsilon": epsilon,
        "update": update.value,
        "ids": "fresh" if fresh_ids else "kept",
        "certificate": certificate.value,
        "lt_residual": (lt_residual or Residual.renormalised).value,
    }


def _recorded(path: Path, graph: "Graph", inputs: dict[str, str]) -> "list[np.ndarray]":
    """Return what a text file records: activated vertices, a line a round, ``#`` starts a comment."""
    import numpy as np

    if path.is_dir():  # also of an empty text, whose path is the current folder
        raise UsageError("--replay names no file; give one with a line of activated ids a round")
    content = path.read_bytes()
    inputs["replay"] = hashlib.sha256(content).hexdigest()
    rounds: list[list[int]] = []
    lines: list[int] = []
    for number, text in text_lines(path, content):
        words = words_of(text)
        rounds.append([vertex_id(word, path, number) for word in words])
        lines += [number] * len(words)
    ids = [one for activated in rounds for one in activated]
    once_each(path, lines, ids)
    vertices = vertices_of(path, lines, ids, graph).astype(np.int32)
    return np.split(vertices, np.cumsum([len(activated) for activated in rounds])[:-1])


def _use_device(
    run: Run, graph: "Graph", asked: "Params", device: DeviceChoice, gpus: int, threads: int | None, groups: int,
    worlds: int,
) -> "Device":  # fmt: skip
    check_groups(groups)
    if gpus > 1:
        raise UsageError(f"--gpus is {gpus}; a campaign runs on one GPU, run several worlds side by side instead")
    roots = graph.n / asked.eta
    rounds = asked.eta / (4 * asked.batch) + 5
    work = worlds * rounds * SETS_PER_ROUND * roots * MEMBERS_PER_ROOT / asked.batch * 4
    chosen = run.use_device(device.value, gpus, threads, work=work)
    with run.phase("load"):
        _load(graph, asked, chosen)
    return chosen


def _load(graph: "Graph", asked: "Params", device: "Device") -> None:
    """Load compiled code with a campaign on one edge, before the phases that people compare."""
    from gpukit.merit import Params, SimulatedWorld, simulate

    edge = one_edge(graph, vertices=3)
    params = Params(
        3, 1, asked.model, update=asked.update, ids=asked.ids, certificate=asked.certificate,
        lt_residual=asked.lt_residual,
    )  # fmt: skip
    simulate(edge, params, SimulatedWorld(edge, asked.model, 0), device)


def _finish_step(run: Run, graph: "Graph", campaign: Any, out: Path, inputs: dict[str, str]) -> None:
    """Write the state of a real campaign and say what to do next."""
    with run.phase("write"):
        from gpukit.cli.merit_state import rounds_record, save

        rounds, costs = campaign.rounds, campaign.costs
        save(out, graph, inputs["graph"], campaign.params, costs, [(-1, rounds)], run.params, inputs)
    batch = graph.original(rounds[-1].batch).tolist() if campaign.pending else []
    spent = sum(one.cost for one in rounds)
    activated = sum(len(one.activated) for one in rounds if one.activated is not None)
    record = {
        "done": not campaign.pending,
        "batch": batch,
        "batch_cost": costs.amount(rounds[-1].cost) if campaign.pending else 0.0,
        "left": max(0, campaign.left),
        "rounds": rounds_record(graph, rounds, costs),
        "activated": activated,
        "cost": costs.amount(spent),
        "seeds": [v for one in rounds for v in graph.original(one.batch).tolist()],
    }
    lines = {
        "next batch": batch if batch else "none: the target is reached",
        "activated": f"{activated:,} of {campaign.params.eta:,} in {len(rounds) - campaign.pending} round(s)",
        "cost": f"{costs.amount(spent):,.2f} with this batch" if batch else f"{costs.amount(spent):,.2f}",
    }
    run.finish(graph, record, lines)


app.command("once")(once)
