"""``gpukit merit``: adaptive minimum-cost seeding, simulated or real."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer.main import get_current_context

from gpukit.api import needs
from gpukit.api.campaign_run import Worlds, check_free, record_of, simulate, tell_of_first, use_device
from gpukit.cli.command import DEVICE, group, with_run
from gpukit.cli.common import Run, cut_list
from gpukit.cli.merit.common import read_asked
from gpukit.cli.options import CostsOption, GraphArgument, argument, option
from gpukit.cli.outputs import check_out
from gpukit.cli.vertices.read import named_vertices, read_once, text_lines, vertex_list, vertices_in
from gpukit.errors import UsageError
from gpukit.graph.lines import quoted
from gpukit.parameters.merit import Params
from gpukit.wording import counted

if TYPE_CHECKING:
    import numpy as np

    from gpukit.merit import Result

app = group("Minimum-cost seeding in rounds, with what was observed in between.")

_log = logging.getLogger("gpukit")


@dataclass(frozen=True)
class Simulated:
    """The placeholder for unknown people."""

    worlds: Worlds = 1
    replay: Annotated[
        Path | None, option("--replay FILE", "An observed campaign: one line of activated ids per round.")
    ] = None


@dataclass(frozen=True)
class Step:
    """Options of an unfinished campaign, and the observation."""

    state: Annotated[Path, argument("C.h5", "The campaign, by `merit start` or `merit next`.")]
    observed: Annotated[
        str, option("--observed A,B,…|FILE", "The vertices that the last batch activated; its seeds may be omitted.")
    ]
    out: Annotated[Path | None, option("--out FILE", "The file for the new state; C.h5 itself by default.")] = None


@app.command("run")
@with_run("out", *DEVICE, "seed", "explain", writes="campaign", estimate=needs.mrr_sets)
def run_(
    run: Run, graph_file: GraphArgument, params: Params, simulated: Simulated, costs: CostsOption = "degree"
) -> None:
    """Simulate campaigns: seeds are chosen round by round until η vertices are active."""
    play(run, graph_file, costs, params, simulated)


def play(run: Run, graph_file: Path, costs: str, params: Params, simulated: Simulated, **how: Any) -> None:
    """Simulate campaigns; ``how`` are arguments of :func:`gpukit.api.campaign_run.simulate`."""
    worlds, replay = simulated.worlds, simulated.replay
    run.params = {**params.record(), "costs": costs, "worlds": worlds}
    if replay is not None and worlds > 1:
        raise UsageError("--replay is one campaign; leave --worlds out")
    _keep_to_itself(run.target, new=True)
    _, params, _ = read_asked(run, graph_file, params, costs)
    record = None if replay is None else _recorded(run, replay)
    artifact, found, more = simulate(run, params, worlds=worlds, record=record, **how)
    run.put(artifact)
    first = found[0][1]
    if record and len(record) > len(first.rounds):
        _log.warning(
            "the campaign reached its target in round %d of the %d in %s; the others were not used",
            len(first.rounds), len(record), replay,
        )  # fmt: skip
    _finish_campaigns(run, found, more)


@app.command("start")
@with_run("out", *DEVICE, "seed", "explain", writes="campaign", estimate=needs.mrr_sets)
def start(run: Run, graph_file: GraphArgument, params: Params, costs: CostsOption = "degree") -> None:
    """Begin a real campaign: choose the first batch."""
    begin(run, graph_file, costs, params)


def begin(run: Run, graph_file: Path, costs: str, params: Params, **how: Any) -> None:
    """Begin a real campaign; ``how`` may be ``make_sets`` of :class:`gpukit.merit.Campaign`."""
    run.params = {**params.record(), "costs": costs}
    _keep_to_itself(run.target, new=True)
    graph, params, tables = read_asked(run, graph_file, params, costs)
    device, params = use_device(run, params, **how)
    from gpukit.merit import Campaign

    campaign = Campaign(graph, params, (), device, tables=tables, timer=run.timer, **how)
    campaign.choose()
    _finish_step(run, campaign)


@app.command("next")
@with_run(*DEVICE, "explain", writes="campaign")
def next_(run: Run, graph_file: GraphArgument, step: Step) -> None:
    """Continue a real campaign: give the observed activations, and get the next batch."""
    proceed(run, graph_file, step)


def proceed(run: Run, graph_file: Path, step: Step, **how: Any) -> None:
    """Continue a real campaign; ``how`` may be ``make_sets`` of :class:`gpukit.merit.Campaign`."""
    state = step.state
    if step.out is None:
        check_out(state)
    run.out = step.out or state
    _keep_to_itself(run.out)
    with run.phase("read"):
        from gpukit.api.campaign_state import restored
        from gpukit.artifacts import read

        graph, tables = run.read_graph(graph_file, tables=True)
        before = read(state, "campaign")
        params, rounds = restored(state, before, graph, run.inputs["graph"])
        if not before.attributes["pending"]:
            raise UsageError(f"{state}: the campaign has reached its target; there is nothing to observe")
        activated = vertex_list(step.observed, "--observed", graph, none=True)
    run.params, run.seed, run.inputs = dict(before.params), params.seed, before.inputs
    device, params = use_device(run, params, **how)
    import numpy as np

    from gpukit.merit import Campaign

    campaign = Campaign(graph, params, rounds, device, tables=tables, timer=run.timer, **how)
    campaign.observe(np.array(activated, np.int64))
    tell_of_first(campaign.rounds[:1] if len(rounds) == 1 else [], params.eta)
    if campaign.left > 0:
        campaign.choose()
    _finish_step(run, campaign)


def _keep_to_itself(out: Path, new: bool = False) -> None:
    """Lock a file against other campaigns until the command ends; otherwise each would overwrite the other's result.

    Also refuse to replace an unfinished real campaign by a new one, because nobody can observe it again.
    """
    from gpukit.artifacts.lock import only_writer

    get_current_context().with_resource(only_writer(out))
    if new:
        check_free(out)


def _recorded(run: Run, path: Path) -> "list[np.ndarray]":
    """Return the activated vertices in a text file, one line per round; ``#`` starts a comment."""
    import numpy as np

    if path.is_dir():  # also for an empty text, whose path is the current folder
        raise UsageError("--replay names no file; give one with a line of activated ids a round")
    content = read_once(path, "replay", run.inputs)
    rounds: list[list[tuple[int, Any]]] = []
    for number, text in text_lines(path, content, labels=run.graph.labels is not None):
        rounds.append([(number, one) for one in vertices_in(text, path, number, run.graph)])
    vertices = named_vertices(path, [one for activated in rounds for one in activated], run.graph).astype(np.int32)
    return np.split(vertices, np.cumsum([len(activated) for activated in rounds])[:-1])


def _finish_campaigns(run: Run, found: "list[tuple[int, Result]]", more: list[dict[str, Any]]) -> None:
    """Print the record of simulated campaigns: the whole first campaign, and a summary of each."""
    whole = record_of(run.graph, found, more)
    listed, by_list = whole["campaigns"], whole.get("mean_list_cost")
    lines = {
        "cost": f"{whole['mean_cost']:,.2f} on average of {counted(len(found), 'campaign')}",
        **({} if by_list is None else {"fixed list": f"{by_list:,.2f} on average in the same worlds"}),
        "rounds": cut_list([str(one["rounds"]) for one in listed[:10]], len(found)),
        "activated": cut_list([str(one["activated"]) for one in listed[:10]], len(found)),
        "seeds": cut_list([quoted(one) for one in whole["seeds"][:10]], len(whole["seeds"])),
    }
    run.finish(whole, lines)


def _finish_step(run: Run, campaign: Any) -> None:
    """Write the state of a real campaign, and print the next step."""
    graph, rounds, costs = run.graph, campaign.rounds, campaign.costs
    with run.phase("write"):
        from gpukit.api.campaign_state import rounds_record, stored

        run.put(stored(run, campaign.params, costs, [(-1, rounds)]))
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
        "next batch": ", ".join(map(quoted, batch)) or "none: the target is reached",
        "activated": f"{activated:,} of {campaign.params.eta:,} in {counted(len(rounds) - campaign.pending, 'round')}",
        "cost": f"{costs.amount(spent):,.2f} with this batch" if batch else f"{costs.amount(spent):,.2f}",
    }
    run.finish(record, lines)
