"""``gpukit evaluate``: check results by methods that share no code with what made them."""

import hashlib
import logging
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpukit.cli.common import (
    DeviceChoice,
    DeviceOption,
    GpusOption,
    JsonOption,
    Run,
    SeedOption,
    ThreadsOption,
    VerboseOption,
)
from gpukit.cli.vertices import columns_of, is_vertex_id, once_each, vertex_id
from gpukit.errors import ComparisonFailed, InputError, UsageError

if TYPE_CHECKING:
    from gpukit.evaluate import SpreadEstimate
    from gpukit.graph.csr import Graph

app = typer.Typer(help="Check results by independent methods.", no_args_is_help=True, add_completion=False)

_log = logging.getLogger("gpukit")


class Model(StrEnum):
    """Values of ``--model``."""

    ic = "ic"
    lt = "lt"


@app.command("spread")
def spread(
    graph_file: Annotated[Path, typer.Argument(metavar="G.h5", help="The graph.")],
    seeds_file: Annotated[
        Path | None,
        typer.Option("--seeds", metavar="S.h5|FILE", help="A seeds artifact, or a text file, one vertex id a line."),
    ] = None,
    ids: Annotated[str | None, typer.Option("--ids", metavar="A,B,…", help="The vertex ids of the seeds.")] = None,
    model: Annotated[Model, typer.Option("--model", help="Independent cascade or linear threshold.")] = Model.ic,
    runs: Annotated[int, typer.Option("--runs", metavar="N", help="Cascades to simulate, at least 2.")] = 20_000,
    prefixes: Annotated[
        str | None, typer.Option("--prefixes", metavar="A,B,…", help="Also the spread of the first A, B, … seeds.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="M.h5", help="A metrics artifact to write.")] = None,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Estimate the expected spread of seeds by forward Monte Carlo.

    With seeds of several rounds (multi-round influence) the spread counts vertices activated in any of them.
    """
    sizes = [] if prefixes is None else sorted(set(_numbers(prefixes, "--prefixes")))
    params = {"model": model.value, "runs": runs, "prefixes": sizes}
    run = Run(params, seed=seed, out=out, as_json=as_json, verbose=verbose)
    if (seeds_file is None) == (ids is None):
        raise UsageError("give the seeds by either --seeds or --ids")
    with run.phase("read"):
        from gpukit.artifacts import read_graph_file

        graph, source, _ = read_graph_file(graph_file, transpose=False)
        inputs = {"graph": source}
        if seeds_file is not None:
            stages, inputs["seeds"] = _read_seeds(seeds_file, inputs["graph"])
        else:
            stages = [run.params.setdefault("ids", _numbers(ids or "", "--ids"))]
        rounds = [graph.internal(stage).tolist() for stage in stages]
    if len(rounds) > 1 and sizes:
        raise UsageError("--prefixes is for seeds of one round; these have several")
    chosen = run.use_device(device.value, gpus, threads, work=0.1 * runs * graph.m)
    with run.phase("simulate"), run.progress("cascades") as update:
        from gpukit.evaluate import forward_curve, forward_rounds

        settings: dict[str, Any] = {"model": model.value, "runs": runs, "seed": seed, "device": chosen}
        settings["progress"] = update
        if len(rounds) > 1:
            sizes = [sum(len(vertices) for vertices in rounds)]
            curve = [forward_rounds(graph, rounds, **settings)]
        else:
            sizes = sorted({*sizes, len(rounds[0])})
            curve = forward_curve(graph, rounds[0], sizes, **settings)
    if out is not None:
        with run.phase("write"):
            from gpukit.artifacts import write_metrics

            columns = {"k": sizes, "spread": [one.spread for one in curve], "stderr": [one.stderr for one in curve]}
            columns |= {"runs": [runs] * len(sizes)}
            attributes = {"model": model.value, "rounds": len(rounds)}
            write_metrics(out, columns, attributes, params=run.params, seed=seed, inputs=inputs)
    _report(run, graph, sizes, curve)


@app.command("ppr")
def ppr(
    graph_file: Annotated[Path, typer.Argument(metavar="G.h5", help="The graph.")],
    answers_file: Annotated[Path, typer.Option("--answers", metavar="T.h5", help="Answers by `kpar query`.")],
    k: Annotated[
        int | None, typer.Option("-k", metavar="K", help="Judge the first K places; those of the answers by default.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", metavar="E", help="Of Definition 1; that of the answers by default.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option("--delta", metavar="D", help="Of Definition 1; 16 / n by default, at most 0.01.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="M.h5", help="A metrics artifact to write.")] = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Judge top-k personalised PageRank by the power method: precision, NDCG, and Definition 1 of the kPAR paper."""
    run = Run(out=out, as_json=as_json, verbose=verbose)
    with run.phase("read"):
        from gpukit.artifacts import read_graph_file, read_topk

        graph, source, _ = read_graph_file(graph_file, transpose=False)
        found = read_topk(answers_file)
    a, arrays = found.attributes, found.arrays
    inputs = {"graph": source, "answers": found.payload}
    if a["graph"] != inputs["graph"]:
        raise InputError(f"{answers_file} answers queries on another graph; give the graph it was made on")
    k = a["k"] if k is None else k
    epsilon = a.get("epsilon", 0.5) if epsilon is None else epsilon
    if delta is None:
        from gpukit.kpar.problem import Constants, Params

        delta = float(Constants.of(graph.n, graph.m, Params()).delta_min)
    if not 1 <= k <= a["k"]:
        raise UsageError(f"-k is {k}; 1 to {a['k']} (the length of the answers) are allowed")
    if not (0 < epsilon < 1 and delta >= 0):
        raise UsageError(f"epsilon {epsilon} and delta {delta}: epsilon in (0, 1) and delta at least 0 are allowed")
    run.params |= {"k": k, "epsilon": epsilon, "delta": delta, "alpha": a["alpha"], "method": a["method"]}
    with run.phase("judge"), run.progress("queries") as update:
        from gpukit.evaluate.ppr import judge, power_method

        unit = 2.0**-62
        starts = (arrays["source_offsets"], arrays["sources"], arrays["source_mass"] * unit)
        truths = power_method(graph, *starts, a["alpha"], weighted=a.get("weighted", False), progress=update)
        answers = (arrays["offsets"], arrays["internal"], arrays["scores"] * unit)
        quality = judge(truths, *answers, k, epsilon=epsilon, delta=delta)
    if out is not None:
        with run.phase("write"):
            from gpukit.artifacts import write_metrics

            columns = dict(zip(("precision", "ndcg", "violations"), zip(*quality.each, strict=True), strict=True))
            write_metrics(out, columns, {"method": a["method"]}, params=run.params, inputs=inputs)
    record = {name: value for name, value in vars(quality).items() if name != "each"}
    shown = {"precision": f"{quality.precision:.4f}", "NDCG": f"{quality.ndcg:.6f}"}
    shown["Definition 1 broken"] = f"{quality.violations} of {quality.positions} positions above {delta:.3g}"
    shown["queries"] = str(quality.queries)
    run.finish(graph, record, shown)


@app.command("diversity")
def diversity(
    graph_file: Annotated[Path, typer.Argument(metavar="G.h5", help="The graph; directions of edges are ignored.")],
    answers_file: Annotated[Path, typer.Option("--answers", metavar="D.h5", help="The answer by `diversity search`.")],
    sample: Annotated[
        int | None,
        typer.Option("--sample", metavar="N", help="Look into N random vertices beside the answer; all by default."),
    ] = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Check structural diversity from its definitions: scores, contexts, order, and that no better vertex was missed.

    Exit code 1 if something is wrong.
    """
    run = Run({"sample": sample}, seed=seed, as_json=as_json, verbose=verbose)
    if sample is not None and sample < 0:
        raise UsageError(f"--sample is {sample}; at least 0 is needed")
    with run.phase("read"):
        import numpy as np

        from gpukit.artifacts import read, read_graph_file

        graph, source, _ = read_graph_file(graph_file, transpose=False)
        found = read(answers_file, "diversity")
        a, arrays = found.attributes, found.arrays
        if a["graph"] != source:
            raise InputError(f"{answers_file} was found on another graph; give the graph it was made on")
        part, parts, *_ = found.params.get("part", (1, 1))
        if parts > 1:
            raise InputError(f"{answers_file} is part {part} of {parts}; join them by `gpukit diversity gather` first")
        members = np.split(graph.internal(arrays["members"]), arrays["offsets"][1:-1])
        contexts = [[part.tolist() for part in members[i:j]] for i, j in pairwise(arrays["first"])]
    run.params |= {"model": a["model"], "k": a["k"]}
    with run.phase("check"), run.progress("ego-networks") as update:
        from gpukit.evaluate.diversity import judge

        others = np.setdiff1d(np.arange(graph.n), arrays["internal"])
        if sample is not None and sample < len(others):
            others = np.random.default_rng(seed).choice(others, sample, replace=False)
        answer = (arrays["internal"], arrays["scores"], contexts)
        verdict = judge(graph, a["model"], a["k"], *answer, others, progress=update)
    record: dict[str, Any] = {"listed": verdict.listed, "checked": verdict.checked}
    kinds = ("wrong_scores", "wrong_contexts", "misplaced", "missed")
    record |= {kind: graph.original(getattr(verdict, kind)).tolist() for kind in kinds}
    shown = {kind.replace("_", " "): len(record[kind]) for kind in kinds}
    run.finish(graph, record, {"vertices listed": verdict.listed, "others checked": f"{verdict.checked:,}", **shown})
    if verdict.wrong:
        first = graph.original(verdict.wrong[:1])[0]
        raise ComparisonFailed(f"{answers_file} is wrong about {len(verdict.wrong)} vertices, vertex {first} for one")


def _report(run: Run, graph: "Graph", sizes: list[int], curve: "list[SpreadEstimate]") -> None:
    """Print the record of a spread evaluation."""
    last = curve[-1]
    points = [{"k": k, "spread": one.spread, "stderr": one.stderr} for k, one in zip(sizes, curve, strict=True)]
    record = {"k": sizes[-1], "spread": last.spread, "stderr": last.stderr, "runs": last.runs, "curve": points}
    summary = {f"spread of {p['k']} seeds": f"{p['spread']:.2f} ± {p['stderr']:.2f}" for p in points}
    run.finish(graph, record, {**summary, "runs": f"{last.runs:,}"})


def _numbers(text: str, option: str) -> list[int]:
    """Return the whole numbers of a comma-separated list."""
    words = [word.strip() for word in text.split(",")]
    wrong = [word for word in words if not is_vertex_id(word)]
    if wrong:
        raise UsageError(
            f"{option}: {wrong[0][:40]!r} is not a whole number from 0 to 2^63 - 1; give numbers separated by commas"
        )
    return [int(word) for word in words]


def _read_seeds(path: Path, graph_digest: str) -> tuple[list[list[int]], str]:
    """Return the seeds of each round as original ids, and the digest of their file."""
    content = path.read_bytes()
    if not content.startswith(b"\x89HDF\r\n\x1a\n"):
        return [_listed(path, content)], hashlib.sha256(content).hexdigest()
    from gpukit.artifacts import read_seeds

    found = read_seeds(path)
    if found.graph != graph_digest:
        _log.warning("%s was made on another graph or with other probabilities; its vertex ids are used", path)
    if found.rounds is None:
        return [found.seeds.tolist()], found.digest
    return [found.seeds[found.rounds == t].tolist() for t in range(int(found.rounds.max()) + 1)], found.digest


def _listed(path: Path, content: bytes) -> list[int]:
    """Return the vertex ids of a text file, one a line and each once; ``#`` starts a comment."""
    rows = columns_of(path, content, 1)
    lines, ids = [line for line, _ in rows], [vertex_id(word, path, line) for line, (word,) in rows]
    once_each(path, lines, ids)
    return ids
