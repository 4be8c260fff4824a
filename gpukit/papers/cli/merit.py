"""``gpukit papers merit``: campaigns with parts replaced by those of MERIT's paper, and all seeds at once."""

from dataclasses import replace
from typing import Annotated, Any

from gpukit.api import needs
from gpukit.cli.command import DEVICE, group, with_run
from gpukit.cli.common import Run
from gpukit.cli.merit.commands import Simulated, Step, begin, play, proceed
from gpukit.cli.options import CostsOption, GraphArgument
from gpukit.papers.cli.merit_once import once
from gpukit.papers.cli.options import ablation, check_groups
from gpukit.parameters.merit import Params
from gpukit.parameters.option import ABLATIONS

app = group("MERIT with parts of it replaced, and all seeds at once.")

GroupsOption = Annotated[
    int, ablation("--groups β", "Groups by load in the update on a GPU: 1, or of segments 2, 4, 8 or 16.")
]


def _how(groups: int) -> dict[str, Any]:
    """Return the argument ``make_sets`` for a number of groups; raises UsageError."""
    check_groups(groups)
    from gpukit.papers.merit.factory import sets_in

    return {"make_sets": sets_in("tables" if groups == 1 else "segments", groups)}


@app.command("run")
@with_run("out", *DEVICE, "seed", writes="campaign", estimate=needs.mrr_sets)
def run_(
    run: Run,
    graph_file: GraphArgument,
    params: Annotated[Params, ABLATIONS],
    simulated: Simulated,
    costs: CostsOption = "degree",
    fresh_ids: Annotated[bool, ablation("--fresh-ids", "With --update regenerate: new sets every round.")] = False,
    groups: GroupsOption = 1,
) -> None:
    """Simulate campaigns like `merit run`, with the variants of the paper."""
    params = replace(params, ids="fresh") if fresh_ids else params
    play(run, graph_file, costs, params, simulated, **_how(groups))


@app.command("start")
@with_run("out", *DEVICE, "seed", writes="campaign", estimate=needs.mrr_sets)
def start(
    run: Run,
    graph_file: GraphArgument,
    params: Annotated[Params, ABLATIONS],
    costs: CostsOption = "degree",
    groups: GroupsOption = 1,
) -> None:
    """Begin a real campaign like `merit start`, with the variants of the paper."""
    begin(run, graph_file, costs, params, **_how(groups))


@app.command("next")
@with_run(*DEVICE, writes="campaign")
def next_(run: Run, graph_file: GraphArgument, step: Step, groups: GroupsOption = 1) -> None:
    """Continue a campaign like `merit next`, with the variants that it began with."""
    proceed(run, graph_file, step, **_how(groups))


app.command("once")(once)
