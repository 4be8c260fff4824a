"""``gpukit evaluate``: check results by methods that share no code with the systems that computed them."""

import hashlib
import logging
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gpukit.api import needs
from gpukit.api.results import another_graph
from gpukit.api.spread import RUNS, cascades, measure
from gpukit.cli.command import DEVICE, group, with_run
from gpukit.cli.common import Run
from gpukit.cli.options import GraphArgument, MetricsOption, TargetsOption, argument, option
from gpukit.cli.vertices.read import content_of, is_vertex_id, listed_vertices, vertex_list, vertex_weights
from gpukit.errors import ComparisonFailed, InputError, UsageError
from gpukit.files import missing
from gpukit.parameters.option import Option
from gpukit.parameters.spread import ModelParameter
from gpukit.wording import counted, with_error

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph

app = group("Check results by independent methods.")

_log = logging.getLogger("gpukit")


@app.command("spread")
@with_run(*DEVICE, "seed", "explain", writes="metrics", estimate=needs.spread)
def spread(
    run: Run,
    graph_file: GraphArgument,
    seeds_file: Annotated[
        Path | None,
        option("--seeds S.h5|FILE|-", "A seeds artifact; or vertices, one per line, or a table of `export`."),
    ] = None,
    ids: Annotated[str | None, option("--ids A,B,…", "The vertex ids of the seeds.")] = None,
    model: ModelParameter = "ic",
    runs: Annotated[
        int | None, option("--runs N", f"Cascades to simulate, at least 2; {RUNS:,} if there is no --error.")
    ] = None,
    error: Annotated[
        float | None,
        option("--error E", "Simulate until two standard errors are at most this share of the spread, as 0.002."),
    ] = None,
    max_runs: Annotated[int | None, option("--max-runs N", "Most cascades for --error; 4,194,304 by default.")] = None,
    prefixes: Annotated[str | None, option("--prefixes A,B,…", "Also the spread of the first A, B, … seeds.")] = None,
    clip: Annotated[bool, option("--clip", "Leave out prefixes that are longer than the list of seeds.")] = False,
    targets: TargetsOption = None,
    out: MetricsOption = None,
) -> None:
    """Estimate the expected spread of seeds by forward Monte Carlo.

    With seeds of several rounds (multi-round influence) the spread counts vertices activated in any of them.
    """
    sizes = [] if prefixes is None else sorted(set(_numbers(prefixes, "--prefixes")))
    runs = cascades(runs, error, max_runs)
    run.params = {"model": model, "prefixes": sizes}
    run.params |= {"runs": runs} if error is None else {"error": error, "max_runs": max_runs}
    if (seeds_file is None) == (ids is None):
        raise UsageError("give the seeds by either --seeds or --ids")
    asked: dict[str, Any] = {}
    with run.phase("read"):
        graph, _ = run.read_graph(graph_file, transpose=False)
        if seeds_file is not None:
            rounds, run.inputs["seeds"], asked = _read_seeds(seeds_file, graph, run.inputs["graph"])
        elif graph.labels is None:
            run.params["ids"] = _numbers(ids or "", "--ids")
            rounds = [graph.internal(run.params["ids"]).tolist()]
        else:
            rounds = [vertex_list(ids, "--ids", graph)]
            run.params["ids"] = graph.original(rounds[0]).tolist()
        if clip:
            sizes = run.params["prefixes"] = [size for size in sizes if size <= len(rounds[0])]
        weights, decimals = (None, 0) if targets is None else vertex_weights(targets, graph, run.inputs)
    how: dict[str, Any] = {"targets": weights, "decimals": decimals, "error": error, "max_runs": max_runs}
    artifact, points, reached = measure(run, rounds, sizes, model=model, runs=runs, **how)
    if run.out is not None:
        run.put(artifact)
    runs = points[-1]["runs"]
    shown = {f"spread of {counted(p['k'], 'seed')}": with_error(p["spread"], 2 * p["stderr"]) for p in points}
    curve = [{name: one[name] for name in ("k", "spread", "stderr")} for one in points]
    record = {**points[-1], "curve": curve} | ({} if error is None else {"error": reached})
    record |= {"seeds_params": asked} if asked else {}
    run.finish(record, {**shown, "runs": f"{runs:,}; ± is two standard errors"})


@app.command("ppr")
@with_run("threads", "explain", writes="metrics")
def ppr(
    run: Run,
    graph_file: GraphArgument,
    answers_file: Annotated[
        list[Path],
        option("--answers T.h5", "Answers by `kpar query`; repeat it for others to the same queries."),
    ],
    k: Annotated[int | None, option("-k --k K", "Judge the first K places; those of the answers by default.")] = None,
    epsilon: Annotated[
        float | None, option("--epsilon E", "ε of Definition 1; that of the answers by default.")
    ] = None,
    delta: Annotated[float | None, option("--delta D", "δ of Definition 1; 16 / n by default, at most 0.01.")] = None,
    out_record: Annotated[
        list[Path] | None, option("--record FILE", "A file for the record of one --answers, in their order; repeat it.")
    ] = None,
    out: MetricsOption = None,
) -> None:
    """Judge top-k personalised PageRank by the power method: precision, NDCG, and Definition 1 of the kPAR paper.

    If several answers to the same queries are given, the truth is computed once, and each answer has a record file.
    """
    several = len(answers_file) > 1
    if out_record is None and several:
        raise UsageError(f"--answers is given {len(answers_file)} times; name a --record for each")
    if out_record is not None and (len(out_record) != len(answers_file) or out is not None or run.as_json):
        raise UsageError(
            f"--record is given {len(out_record)} times for {len(answers_file)} answers; give one for each, and "
            "neither --out nor --json"
        )
    with run.phase("read"):
        graph, _ = run.read_graph(graph_file, transpose=False)
        every = [_Judged(path, graph, run.inputs["graph"], k, epsilon, delta) for path in answers_file]
    for one in every:
        one.check_same(every[0])
    run.inputs["answers"] = every[0].found.payload
    run.params |= every[0].params()
    threads = run.use_device().threads
    with run.phase("judge"), run.progress("queries") as update:
        from gpukit.evaluate.ppr import Answers, judge_all, power_method

        unit = 2.0**-62
        a, arrays = every[0].found.attributes, every[0].found.arrays
        starts = (arrays["source_offsets"], arrays["sources"], arrays["source_mass"] * unit)
        truths = power_method(
            graph, *starts, a["alpha"], weighted=a.get("weighted", False), threads=threads, progress=update
        )
        answers = [
            Answers(
                one.found.arrays["offsets"], one.found.arrays["internal"], one.found.arrays["scores"] * unit,
                one.k, one.epsilon, one.delta,
            )
            for one in every
        ]  # fmt: skip
        judged = judge_all(truths, answers)
    columns = dict(zip(("precision", "ndcg", "violations"), zip(*judged[0].each, strict=True), strict=True))
    run.save_metrics(columns, {"method": a["method"]})
    records = [{name: value for name, value in vars(quality).items() if name != "each"} for quality in judged]
    shown: dict[str, Any] = {}
    for one, quality in zip(every, judged, strict=True):
        of = f"{one.path}: " if several else ""
        shown[f"{of}precision"] = f"{quality.precision:.4f}"
        shown[f"{of}NDCG"] = f"{quality.ndcg:.6f}"
        shown[f"{of}Definition 1 broken"] = (
            f"{quality.violations} of {quality.positions} positions above {one.delta:.3g}"
        )
    shown["queries"] = str(judged[0].queries)
    for path, one, record in zip(out_record or [], every, records, strict=False):
        run.params |= one.params()
        run.inputs["answers"] = one.found.payload
        run.write_record(path, record)
    run.finish(records[0], shown)


class _Judged:
    """Answers to judge, and the parameters of the judgement; the defaults come from the answers and their graph."""

    def __init__(
        self, path: Path, graph: "Graph", digest: str, k: int | None, epsilon: float | None, delta: float | None
    ) -> None:
        from gpukit.artifacts import read_topk

        self.path, self.found = path, read_topk(path)
        a = self.found.attributes
        if a["graph"] != digest:
            raise another_graph(path, a["graph"], digest)
        if "among" in self.found.inputs:
            raise InputError(f"{path} has the best among some vertices; answers that may name all are judged")
        self.k: int = a["k"] if k is None else k
        self.epsilon: float = a.get("epsilon", 0.5) if epsilon is None else epsilon
        if delta is None:
            from gpukit.kpar.problem import Constants, Params

            delta = float(Constants.of(graph.n, graph.m, Params()).delta_min)
        self.delta = delta
        if not 1 <= self.k <= a["k"]:
            raise UsageError(f"-k is {self.k}; 1 to {a['k']} (the length of the answers) are allowed")
        if not (0 < self.epsilon < 1 and delta >= 0):
            raise UsageError(
                f"epsilon {self.epsilon} and delta {delta}: epsilon in (0, 1) and delta at least 0 are allowed"
            )

    def params(self) -> dict[str, Any]:
        """Return the parameters that determine the judgement."""
        a = self.found.attributes
        asked = {"k": self.k, "epsilon": self.epsilon, "delta": self.delta}
        return asked | {"alpha": a["alpha"], "method": a["method"]}

    def check_same(self, first: "_Judged") -> None:
        """Check that these are answers to the queries of the first file."""
        import numpy as np

        walks = [(one.found.attributes["alpha"], one.found.attributes.get("weighted", False)) for one in (self, first)]
        sources = ("source_offsets", "sources", "source_mass")
        same = all(np.array_equal(self.found.arrays[one], first.found.arrays[one]) for one in sources)
        if walks[0] != walks[1] or not same:
            raise InputError(
                f"{self.path} and {first.path} answer other queries, or with another alpha; judge them apart"
            )


@app.command("diversity")
@with_run("seed", "explain")
def diversity(
    run: Run,
    graph_file: Annotated[Path, argument("G.h5", "The graph; directions of edges are ignored.")],
    answers_file: Annotated[Path, option("--answers D.h5", "The answer by `diversity search`.")],
    sample: Annotated[
        int | None, Option("Check N random vertices outside the answer; all by default.", metavar="N", ge=0)
    ] = None,
) -> None:
    """Check structural diversity from its definitions: scores, circles, order, and that no better vertex was missed.

    Exit code 1 if something is wrong.
    """
    run.params = {"sample": sample}
    with run.phase("read"):
        import numpy as np

        from gpukit.artifacts import read

        graph, _ = run.read_graph(graph_file, transpose=False)
        found = read(answers_file, "diversity")
        a, arrays = found.attributes, found.arrays
        if a["graph"] != run.inputs["graph"]:
            raise another_graph(answers_file, a["graph"], run.inputs["graph"])
        part, parts, *_ = found.params.get("part", (1, 1))
        if parts > 1:
            raise InputError(f"{answers_file} is part {part} of {parts}; join them by `gpukit diversity gather` first")
        members = np.split(graph.of_numbers(arrays["members"]), arrays["offsets"][1:-1])
        contexts = [[part.tolist() for part in members[i:j]] for i, j in pairwise(arrays["first"])]
    run.params |= {"model": a["model"], "k": a["k"]}
    with run.phase("check"), run.progress("ego-networks") as update:
        from gpukit.evaluate.diversity import judge

        others = np.setdiff1d(np.arange(graph.n), arrays["internal"])
        if sample is not None and sample < len(others):
            others = np.random.default_rng(run.seed).choice(others, sample, replace=False)
        answer = (arrays["internal"], arrays["scores"], contexts)
        verdict = judge(graph, a["model"], a["k"], *answer, others, progress=update)
    record: dict[str, Any] = {"listed": verdict.listed, "checked": verdict.checked}
    kinds = ("wrong_scores", "wrong_contexts", "misplaced", "missed")
    record |= {kind: graph.original(getattr(verdict, kind)).tolist() for kind in kinds}
    shown = {kind.replace("_", " "): len(record[kind]) for kind in kinds}
    run.finish(record, {"vertices listed": verdict.listed, "others checked": f"{verdict.checked:,}", **shown})
    if verdict.wrong:
        first = graph.original(verdict.wrong[:1])[0]
        raise ComparisonFailed(f"{answers_file} is wrong about {len(verdict.wrong)} vertices, vertex {first} for one")


def _numbers(text: str, option: str) -> list[int]:
    """Return the whole numbers of a comma-separated list."""
    words = [word.strip() for word in text.split(",")]
    wrong = [word for word in words if not is_vertex_id(word)]
    if wrong:
        raise UsageError(
            f"{option}: {wrong[0][:40]!r} is not a whole number from 0 to 2^63 - 1; give numbers separated by commas"
        )
    return [int(word) for word in words]


def _read_seeds(path: Path, graph: "Graph", graph_digest: str) -> tuple[list[list[int]], str, dict[str, Any]]:
    """Return the seeds of each round as internal ids, the digest of their file, and the spelling of the option."""
    try:
        content = content_of(path)
    except FileNotFoundError:
        raise missing(path, ": there is no such file; --ids takes vertices") from None
    if not content.startswith(b"\x89HDF\r\n\x1a\n"):
        return [listed_vertices(path, content, graph).tolist()], hashlib.sha256(content).hexdigest(), {}
    if str(path) == "-":
        raise UsageError("--seeds - is a text; give an artifact by the name of its file")
    from gpukit.artifacts import read_seeds

    found = read_seeds(path)
    if found.graph != graph_digest:
        _log.warning("%s was made on another graph or with other probabilities; its vertex ids are used", path)
    if (found.labels is None) != (graph.labels is None):
        kinds = ("ids", "names") if found.labels is None else ("names", "ids")
        raise InputError(f"{path} names vertices by {kinds[0]}, the graph by {kinds[1]}; give the graph it was made on")
    if found.labels is not None:
        vertices = graph.internal(found.labels.tolist())
    else:
        vertices = graph.of_numbers(found.seeds)
    of = found.rounds
    rounds = [vertices] if of is None else [vertices[of == t] for t in range(int(of.max()) + 1)]
    return [seeds.tolist() for seeds in rounds], found.digest, dict(found.params)
