"""``gpukit merit``: adaptive minimum-cost seeding, simulated or real."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer.main import get_current_context

from gpukit import settings
from gpukit.cli.command import DEVICE, group, with_run
from gpukit.cli.common import Run, cut_list
from gpukit.cli.loading import one_edge
from gpukit.cli.merit_common import check_groups, read_asked
from gpukit.cli.merit_once import once
from gpukit.cli.options import CampaignOptions, GraphArgument, GroupsOption, ablation, argument, option
from gpukit.cli.outputs import check_out
from gpukit.cli.vertices import named_vertices, read_once, text_lines, vertex_list, vertices_in
from gpukit.errors import InputError, UsageError

if TYPE_CHECKING:
    import numpy as np

    from gpukit.device.select import Device
    from gpukit.graph.csr import Graph
    from gpukit.merit import Params, Result

app = group("Minimum-cost seeding in rounds, with what was observed in between.")

_log = logging.getLogger("gpukit")

MAX_WORLDS = 10**6
PHASES = ("generate", "update", "judge", "select")
"""What the time of a campaign is made of; the hidden world's own time is left out."""
MEMBERS_PER_ROOT, SETS_PER_ROUND = 5, 20_000
"""Guesses for the choice of the device."""


@app.command("run")
@with_run("out", *DEVICE, "seed")
def run_(
    run: Run,
    graph_file: GraphArgument,
    asked: CampaignOptions,
    *,
    fresh_ids: Annotated[bool, ablation("--fresh-ids", "With --update regenerate: new sets every round.")] = False,
    worlds: Annotated[int, option("--worlds W", "Hidden worlds to run a campaign in.")] = 1,
    replay: Annotated[
        Path | None, option("--replay FILE", "An observed campaign: a line of activated ids a round.")
    ] = None,
    groups: GroupsOption = 1,
) -> None:
    """Simulate campaigns: seeds are chosen round by round until η vertices are active."""
    wanted = _settings(asked, fresh_ids)
    run.params = {**wanted, "costs": asked.costs, "worlds": worlds}
    if not 1 <= worlds <= MAX_WORLDS:
        raise UsageError(f"--worlds is {worlds}; 1 to {MAX_WORLDS} are allowed")
    if replay is not None and worlds > 1:
        raise UsageError("--replay is one campaign; leave --worlds out")
    _keep_to_itself(run.target, new=True)
    graph, params, tables = read_asked(run, graph_file, wanted, asked.costs)
    record = None if replay is None else _recorded(run, replay)
    device = _use_device(run, params, groups, worlds)
    from gpukit.merit import ReplayedWorld, SimulatedWorld
    from gpukit.merit.paper.factory import simulate

    found: list[tuple[int, Result]] = []
    spent: list[dict[str, float]] = []
    with run.progress("campaigns") as bar:
        for number in range(worlds):
            world = ReplayedWorld(record) if record else SimulatedWorld(graph, params.model, params.seed, number)

            def update_bar(done: int, total: int, before: int = number) -> None:
                bar(before * total + done, worlds * total)

            before_it = run.timer.seconds()
            result = simulate(
                graph, params, world, device, groups=groups, tables=tables, timer=run.timer, progress=update_bar
            )
            found.append((-1 if record else number, result))
            after_it = run.timer.seconds()
            spent.append({phase: round(after_it.get(phase, 0.0) - before_it.get(phase, 0.0), 6) for phase in PHASES})
    from gpukit.cli.merit_state import save

    with run.phase("write"):
        save(run, params, found[0][1].costs, [(number, result.rounds) for number, result in found])
    first = found[0][1]
    if record and len(record) > len(first.rounds):
        _log.warning(
            "the campaign reached its target in round %d of the %d in %s; the others were not used",
            len(first.rounds), len(record), replay,
        )  # fmt: skip
    _finish_campaigns(run, found, spent)


@app.command("start")
@with_run("out", *DEVICE, "seed")
def start(run: Run, graph_file: GraphArgument, asked: CampaignOptions, groups: GroupsOption = 1) -> None:
    """Begin a real campaign: choose the first batch."""
    wanted = _settings(asked, False)
    run.params = {**wanted, "costs": asked.costs}
    _keep_to_itself(run.target, new=True)
    graph, params, tables = read_asked(run, graph_file, wanted, asked.costs)
    device = _use_device(run, params, groups, 1)
    from gpukit.merit.paper.factory import Campaign

    campaign = Campaign(graph, params, (), device, groups=groups, tables=tables, timer=run.timer)
    campaign.choose()
    _finish_step(run, campaign)


@app.command("next")
@with_run(*DEVICE)
def next_(
    run: Run,
    graph_file: GraphArgument,
    state: Annotated[Path, argument("C.h5", "The campaign, by `merit start` or `merit next`.")],
    observed: Annotated[
        str, option("--observed A,B,…|FILE", "What the last batch activated; its seeds go without saying.")
    ],
    out: Annotated[Path | None, option("--out FILE", "Where the new state goes; C.h5 itself by default.")] = None,
    groups: GroupsOption = 1,
) -> None:
    """Go on with a real campaign: give what was observed, get the next batch."""
    if out is None:
        check_out(state)
    run.out = out or state
    _keep_to_itself(run.out)
    with run.phase("read"):
        from gpukit.cli.merit_state import load

        graph, tables = run.read_graph(graph_file, tables=True)
        params, rounds, before = load(state, graph, run.inputs["graph"])
        if not before.attributes["pending"]:
            raise UsageError(f"{state}: the campaign has reached its target; there is nothing to observe")
        activated = vertex_list(observed, "--observed", graph, none=True)
    run.params, run.seed, run.inputs = dict(before.params), params.seed, before.inputs
    device = _use_device(run, params, groups, 1)
    import numpy as np

    from gpukit.merit.paper.factory import Campaign

    campaign = Campaign(graph, params, rounds, device, groups=groups, tables=tables, timer=run.timer)
    campaign.observe(np.array(activated, np.int64))
    if campaign.left > 0:
        campaign.choose()
    _finish_step(run, campaign)


def _keep_to_itself(out: Path, new: bool = False) -> None:
    """Keep other campaigns out of a file until the command ends: each would undo what the one before it did there.

    A new campaign, moreover, does not take the place of a real one under way: nobody can observe that again.
    """
    from gpukit.artifacts import read
    from gpukit.artifacts.lock import only_writer

    get_current_context().with_resource(only_writer(out))
    if not new or not out.is_file():
        return
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


def _settings(asked: CampaignOptions, fresh_ids: bool) -> dict[str, Any]:
    """Return what decides a campaign, but for the costs; raises UsageError for an option that the model has not."""
    if asked.lt_residual is not None and asked.model == "ic":
        raise UsageError("--lt-residual belongs to --model lt, and the model is ic; leave it out or change the model")
    wanted = {name: getattr(asked, name) for name in ("eta", "batch", "model", "epsilon", "update")}
    wanted |= {"ids": "fresh" if fresh_ids else "kept", "certificate": asked.certificate}
    return wanted | {"lt_residual": asked.lt_residual or settings.default(settings.Residual)}


def _recorded(run: Run, path: Path) -> "list[np.ndarray]":
    """Return what a text file records: activated vertices, a line a round, ``#`` starts a comment."""
    import numpy as np

    if path.is_dir():  # also of an empty text, whose path is the current folder
        raise UsageError("--replay names no file; give one with a line of activated ids a round")
    content = read_once(path, "replay", run.inputs)
    rounds: list[list[tuple[int, Any]]] = []
    for number, text in text_lines(path, content, labels=run.graph.labels is not None):
        rounds.append([(number, one) for one in vertices_in(text, path, number, run.graph)])
    vertices = named_vertices(path, [one for activated in rounds for one in activated], run.graph).astype(np.int32)
    return np.split(vertices, np.cumsum([len(activated) for activated in rounds])[:-1])


def _use_device(run: Run, asked: "Params", groups: int, worlds: int) -> "Device":
    """Choose the device by the sets that campaigns need, roughly, and load compiled code there."""
    check_groups(groups)
    if run.gpus > 1:
        raise UsageError(f"--gpus is {run.gpus}; a campaign runs on one GPU, run several worlds side by side instead")
    roots = run.graph.n / asked.eta
    rounds = asked.eta / (4 * asked.batch) + 5
    work = worlds * rounds * SETS_PER_ROUND * roots * MEMBERS_PER_ROOT / asked.batch * 4
    device = run.use_device(work=work)
    with run.phase("load"):
        _load(run.graph, asked, device)
    return device


def _load(graph: "Graph", asked: "Params", device: "Device") -> None:
    """Load compiled code with a campaign on one edge, before the phases that people compare."""
    from gpukit.merit import Params, SimulatedWorld
    from gpukit.merit.paper.factory import simulate

    edge = one_edge(graph, vertices=3)
    same = ("update", "ids", "certificate", "lt_residual")
    params = Params(3, 1, asked.model, **{name: getattr(asked, name) for name in same})
    simulate(edge, params, SimulatedWorld(edge, asked.model, 0), device)


def _finish_campaigns(run: Run, found: "list[tuple[int, Result]]", spent: list[dict[str, float]]) -> None:
    """Print the record of simulated campaigns: all of the first, and of each what it cost."""
    from gpukit.cli.merit_state import rounds_record

    first, graph = found[0][1], run.graph
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
    mean = sum(result.amount for _, result in found) / len(found)
    whole = {
        "rounds": rounds_record(graph, first.rounds, first.costs),
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
        "cost": f"{mean:,.2f} on average of {len(found)} campaign(s)",
        "rounds": cut_list([one["rounds"] for one in listed[:10]], len(found)),
        "activated": cut_list([f"{one['activated']:,}" for one in listed[:10]], len(found)),
        "seeds": cut_list(whole["seeds"][:10], len(first.seeds)),
    }
    run.finish(whole, lines)


def _finish_step(run: Run, campaign: Any) -> None:
    """Write the state of a real campaign and say what to do next."""
    graph, rounds, costs = run.graph, campaign.rounds, campaign.costs
    with run.phase("write"):
        from gpukit.cli.merit_state import rounds_record, save

        save(run, campaign.params, costs, [(-1, rounds)])
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
    run.finish(record, lines)


app.command("once")(once)
