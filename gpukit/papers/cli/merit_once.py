"""``gpukit papers merit once``: all seeds at once, for comparison with a campaign in rounds."""

from typing import Any

from gpukit.cli.command import with_run
from gpukit.cli.common import Run
from gpukit.cli.merit.common import read_asked
from gpukit.cli.options import CostsOption, GraphArgument
from gpukit.parameters.merit import Eta, Params
from gpukit.parameters.spread import ModelParameter


@with_run("out", "seed", writes="seeds")
def once(
    run: Run, graph_file: GraphArgument, eta: Eta, model: ModelParameter = "ic", costs: CostsOption = "degree"
) -> None:
    """Choose all seeds in advance, such that they reach η with probability 0.99."""
    run.params = {"eta": eta, "model": model, "costs": costs}
    graph, asked, tables = read_asked(run, graph_file, Params(eta, 1, model), costs)
    run.use_device(threads=1)
    from gpukit.merit.problem import check
    from gpukit.papers.merit.nonadaptive import choose_once

    with run.phase("select"):
        chosen = choose_once(graph, asked, tables=tables)
    guarantee: dict[str, Any] = {"probability": 0.99, "reached": chosen.reached, "of": chosen.judges}
    record: dict[str, Any] = {"seeds": run.save_seeds(chosen.seeds, "merit once", guarantee=guarantee)}
    record |= {"cost": check(graph, asked).amount(chosen.cost)}
    run.finish(record | {name: getattr(chosen, name) for name in ("reached", "judges", "attempts")})
