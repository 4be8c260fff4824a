"""``gpukit bench gim``: influence maximisation, timed."""

from itertools import product
from typing import Annotated

from gpukit import settings
from gpukit.cli import options
from gpukit.cli.bench_record import Record, each_graph, milliseconds
from gpukit.cli.command import DEVICE, with_run
from gpukit.cli.common import Run
from gpukit.cli.gim_common import optimism_of
from gpukit.cli.options import option
from gpukit.cli.vertices import at_most

SETS: settings.Sets = settings.default(settings.Sets)


@with_run(*DEVICE, seed=1)
def gim(
    run: Run,
    graphs: options.GraphsArgument,
    *,
    models: options.DiffusionOption = "ic,lt",
    bounds: Annotated[str, option("--bounds", "Of opim, imm, imm-fresh; with commas between them.")] = "opim,imm",
    k: options.SeedsTimedOption = None,
    epsilon: Annotated[float, option("--epsilon", "Approximation error, in (0, 1).")] = 0.05,
    sets: Annotated[settings.Sets, option("--sets", "Leave out trivial RR sets, or draw all of them.")] = SETS,
    optimism: Annotated[str, option("--optimism E|off", "Until when OPIM-C draws, beyond its certificate.")] = "off",
    min_sets: Annotated[int, option("--min-sets", "Least number of RR sets.")] = 0,
    repeat: options.RepeatOption = 7,
    kept: options.Kept,
) -> None:
    """Time influence maximisation, warm: every model and bound on every graph."""
    run.params = {"k": options.SEEDS_TIMED if k is None else k, "epsilon": epsilon}
    where = run.use_device()
    from gpukit.bench.gim import measure
    from gpukit.bench.machine import peak_memory
    from gpukit.gim.problem import Params

    record = Record("gim", run, kept.compare)
    for name, facts, graph, tables in each_graph(graphs, tables=True):
        size = at_most(k, options.SEEDS_TIMED, graph.n)
        for model, bound in product(models.split(","), bounds.split(",")):
            params = Params(
                k=size, epsilon=epsilon, model=model, bound=bound.removesuffix("-fresh"), min_sets=min_sets,
                seed=run.seed, sets=sets, optimism=optimism_of(optimism),
                samples="fresh" if bound.endswith("-fresh") else "grid",
            )  # fmt: skip
            found = measure(graph, params, where, tables=tables, repeat=repeat, bandwidth=record.bandwidth)
            record.add(facts, found | {"peak_memory": peak_memory(where)})
            record.lines[f"{name} {model} {bound}"] = (
                f"{milliseconds(found['algorithm_ms'])}, {found['rr_sets']:,} RR sets"
                f", sampling floor {100 * found['floor_share']:.0f} %"
            )
    record.finish()
