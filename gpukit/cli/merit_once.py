"""``gpukit merit once``: all seeds at once, to compare a campaign in rounds with."""

from typing import Any

from gpukit.cli.common import JsonOption, OutOption, Run, SeedOption, VerboseOption
from gpukit.cli.merit_options import CostsOption, EtaOption, GraphArgument, Model, ModelOption, read_asked


def once(
    graph_file: GraphArgument,
    out: OutOption,
    eta: EtaOption,
    model: ModelOption = Model.ic,
    costs: CostsOption = "degree",
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Choose seeds before anything is seen that reach η with probability 0.99."""
    settings = {"eta": eta, "model": model.value, "batch": 1}
    run = Run({"eta": eta, "model": model.value, "costs": costs}, seed=seed, out=out, as_json=as_json, verbose=verbose)
    graph, inputs, asked, tables = read_asked(run, graph_file, settings, costs, seed)
    run.use_device(threads=1)
    from gpukit.merit.nonadaptive import choose_once
    from gpukit.merit.problem import check

    with run.phase("select"):
        chosen = choose_once(graph, asked, tables=tables)
    with run.phase("write"):
        from gpukit.artifacts import write_seeds

        original = graph.original(chosen.seeds)
        guarantee: dict[str, Any] = {"probability": 0.99, "reached": chosen.reached, "of": chosen.judges}
        write_seeds(
            out, original, chosen.seeds, n=graph.n, method="merit once", graph=inputs["graph"], inputs=inputs,
            guarantee=guarantee, seed=seed, params=run.params,
        )  # fmt: skip
    record = {
        "seeds": original.tolist(),
        "cost": check(graph, asked).amount(chosen.cost),
        "reached": chosen.reached,
        "judges": chosen.judges,
        "attempts": chosen.attempts,
    }
    run.finish(graph, record)
