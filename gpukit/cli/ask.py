"""``gpukit ask``: answer the four questions about a table or a graph in one command, and write a page of the answers.

Each question is a command of gpukit. The page shows these commands, so that users can repeat one with other options.
"""

import importlib.util
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gpukit import __version__
from gpukit.api.session import Session
from gpukit.cli.command import DEVICE, with_run
from gpukit.cli.common import Run
from gpukit.cli.files.export import write_book, write_table
from gpukit.cli.graph.commands import FormatOption
from gpukit.cli.meanings import explained
from gpukit.cli.merit.common import read_costs
from gpukit.cli.options import Queries, argument, option
from gpukit.cli.vertices.read import read_sources, vertex_list
from gpukit.cli.workflow.steps import Steps
from gpukit.errors import InputError, UsageError
from gpukit.files import missing, write_text
from gpukit.graph.lines import quoted
from gpukit.parameters.graph import Import, Text
from gpukit.parameters.option import Parameters, declared
from gpukit.report.words import assumption, reached_by
from gpukit.wording import counted, mean_of, spelled, with_error

if TYPE_CHECKING:
    from gpukit.artifacts.tables import Table

_log = logging.getLogger("gpukit")

TABLES = {"seeds": "whom to tell", "near": "who is close", "campaign": "at least cost", "circles": "circles"}
"""The names of the files of the answers, and the titles of their sheets."""

WORDS = ("±", "reached", "guarantee", "simple rules", "wc", "certain", "cost", "rounds", "circles", "equal")
"""Words that the page explains."""

CLOSE, PLACES = 50, 100
"""Lengths of the answers about closeness and about circles, if the graph has as many vertices."""

FEW, LEAST = 10, 10
"""The default target of a campaign is the spread of ``FEW`` seeds, and at least ``LEAST`` vertices in a graph of twice
as many."""

SECOND = {"wc": "const:0.05"}
"""Edge probabilities to compare with, by those of the graph. Constant probabilities are compared with ``wc``, others
with none."""

MOST_COST = 2000.0
"""A cost close to the highest that is allowed: a campaign buys such a seed only if it has no other choice."""


@dataclass(frozen=True)
class Questions:
    """The options of the questions; numbers that are not given fit the graph."""

    source: Annotated[
        str | None, option("--source NAME", "Who is close to this vertex? By default to the first of the seeds.")
    ] = None
    exclude: Annotated[str | None, option("--exclude A,B,…|FILE", "Vertices that cannot be seeds.")] = None
    k: Annotated[
        int | None, option("-k --k K", "Number of seeds; by default a tenth of all vertices, at most 20.", min=1)
    ] = None
    eta: Annotated[
        int | None, option("--eta N", "Vertices to reach at least cost; by default the spread of ten seeds.", min=1)
    ] = None
    costs: Annotated[
        str, option("--costs uniform|degree|FILE", "Cost of a seed: 1, 0.01 + 0.01 · d_out, or from lines `id cost`.")
    ] = "uniform"
    worlds: Annotated[int, option("--worlds W", "Simulated worlds in which the campaign is run.", min=1)] = 5


@with_run(*DEVICE, "seed", "explain")
def ask(
    run: Run,
    file: Annotated[Path, argument("FILE|G.h5", "A table of edges, as `gpukit graph import` reads it, or its graph.")],
    folder: Annotated[Path, option("--out DIR", "The folder for the answers; an earlier run there is continued.")],
    *,
    questions: Questions,
    asked: Annotated[Import, "undirected", "weights", "parallel_edges", "scale"],
    text: Text,
    format: FormatOption = None,
) -> None:
    """Ask whom to tell, who is close, what a campaign costs, and who joins circles: one page, with tables.

    With --scale the probabilities of edges are made of the counts in the file.
    """
    found = answer(run, file, folder, questions, replace(asked, text=replace(text, format=format)))
    run.finish(found.record(), found.summary())


def answer(run: Run, file: Path, folder: Path, asked: Questions, imported: Import) -> "Answered":
    """Answer the questions in a folder.

    Raises
    ------
    UsageError
        If a package for the page is not installed, the folder has other files, or an option does not fit.
    InputError
        If a file cannot be read.
    """
    for package in ("jinja2", "matplotlib"):
        if importlib.util.find_spec(package) is None:
            raise UsageError(f"the page needs the package {package}; install gpukit[report]")
    if not file.is_file():
        raise missing(file, " is no file; name a table of edges, or a graph of gpukit")
    said = words_of(imported) + words_of(imported.text)
    from gpukit.artifacts.kept import first_bytes

    is_graph = first_bytes(file).startswith(b"\x89HDF")
    if is_graph and said:
        raise UsageError(f"{file} is a graph, and {said[0]} is said of a table; leave it out")
    if imported.scale is not None and imported.weights == Import.weights:
        said += ["--weights", "file"]
    said += ["--seed", str(run.seed)] * bool(run.seed and not is_graph)
    from gpukit.cli.graph.common import graph_facts

    known = graph_facts(file) if is_graph else {}
    second = second_of(known["weights"] if is_graph else "file" if imported.scale is not None else imported.weights)
    steps = Steps(folder, run, 8 - is_graph + (asked.exclude is not None) + (second is not None))
    if is_graph:
        facts, path = known, str(file)
    else:
        line, path = ["graph", "import", str(file), *said], str(steps.files / "graph.h5")
        facts = steps.command(f"read {file}", "graph.h5", line, [str(file)], device=False)
    steps.base = facts["digest"]
    once = not is_graph and imported.scale is None and imported.parallel_edges is None and imported.weights != "file"
    return Answered(steps, str(file), path, facts, asked, once=once)


def second_of(weights: str) -> str | None:
    """Return the edge probabilities with which ``weights`` are compared; None if there are none."""
    return "wc" if weights.startswith("const") else SECOND.get(weights)


def _others(near: "Table") -> "Table":
    """Return the places of the vertices close to a source, without the source itself."""
    import pandas as pd

    from gpukit.artifacts.tables import whole

    rows = pd.DataFrame(near.take(0, near.rows))
    rows = rows[rows["vertex"] != rows["source"]]
    return whole({name: column.to_numpy() for name, column in rows.assign(place=range(1, len(rows) + 1)).items()})


def words_of(params: Parameters) -> list[str]:
    """Return the command-line options for the parameters that differ from their defaults."""
    words: list[str] = []
    for name, one in declared(type(params)).items():
        if getattr(params, name) != one.default:
            words += spelled(name, getattr(params, name)).split(" ", 1)
    return words


class Answered:
    """The answers to all questions about a graph.

    Parameters
    ----------
    steps : Steps
    name, path : str
        The input of the graph, and the path of the graph.
    facts : mapping
        Facts about the graph.
    asked : Questions
    once : bool
        Whether repeated rows of a table count once.
    """

    def __init__(
        self, steps: Steps, name: str, path: str, facts: Mapping[str, Any], asked: Questions, *, once: bool
    ) -> None:
        self.steps, self.name, self.path, self.facts, self.asked, self.once = steps, name, path, facts, asked, once
        n, second = int(facts["n"]), second_of(facts["weights"])
        k = asked.k or max(1, min(20, n // 10))
        self.words: dict[str, Any] = {
            "graph": path, "files": steps.files, "seed": steps.run.seed or 0, "k": k,
            "both": f"{facts['weights']},{second}", "worlds": asked.worlds,
            "exclude": asked.exclude, "sizes": ",".join(map(str, range(1, k + 1))),
            "close": min(CLOSE, n), "places": min(PLACES, n),
        }  # fmt: skip
        self._check_names()
        without = " --exclude {exclude}" * (asked.exclude is not None)
        seeds = self._step("whom to tell first", "seeds", f"gim run {{graph}} -k {{k}}{without} --seed {{seed}}")
        line = "evaluate spread {graph} --seeds {files}/seeds.h5 --prefixes {sizes} --error 0.01 --seed {seed}"
        spread = self._step("how many they reach", "spread", line)
        line = f"gim run {{graph}} -k {{k}}{without} --weights {{both}} --seed {{seed}}"
        others = self._step(f"how many they reach under {second}", "others", line) if second is not None else None
        few = int(spread["curve"][min(k, FEW) - 1]["spread"])
        self.eta = self.words["eta"] = asked.eta or max(1, few, min(LEAST, n // 2))
        self.source = self.words["source"] = asked.source or quoted(seeds["seeds"][0])
        line = "kpar query {graph} --source {source} -k {close} --seed {seed}"
        near = self._step(f"who is close to {self.source}", "near", line)
        campaign = self._campaign()
        line = "diversity search {graph} --model truss -k 3 -t {places} --undirected"
        circles = self._step("who joins circles", "circles", line)
        self.words["first"] = quoted(circles["top"][0]["vertex"])
        line = "diversity egos {graph} --vertices {first} --undirected"
        self._step("the neighbours of the first of them", "friends", line)
        self.records = {"seeds": seeds, "spread": spread, "near": near, "campaign": campaign, "circles": circles}
        self.records |= {} if others is None else {"others": others}
        self.page = steps.folder / "answers.html"
        self.book = steps.folder / "answers.xlsx" if importlib.util.find_spec("openpyxl") is not None else None
        files = [self.page, *(steps.folder / f"{one}.csv" for one in TABLES), *filter(None, [self.book])]
        about = [steps.lines, self.source, self.eta, asked.costs, dict(facts)]
        steps.step("tables, pictures and the page", "page", about, files, self._write)

    def _check_names(self) -> None:
        """Look up all given names, and the costs of seeds, before any step that takes time."""
        from gpukit.artifacts import read_graph

        asked = self.asked
        if asked.source is None and asked.exclude is None and asked.costs in ("uniform", "degree"):
            return
        graph = read_graph(self.path, transpose=False)
        if asked.source is not None:
            read_sources(graph, Queries(source=asked.source), 0, {})
        vertex_list(asked.exclude, "--exclude", graph)
        read_costs(Session(), graph, asked.costs)

    def _step(self, title: str, name: str, line: str) -> dict[str, Any]:
        """Return the record of a command; names in braces in its line are replaced by :attr:`words`."""
        words = [one.format_map(self.words) for one in line.split()]
        return self.steps.command(title, f"{name}.h5", words, [self.asked.exclude, self.asked.costs])

    def _campaign(self) -> dict[str, Any]:
        """Return the record of the campaign, which does not buy excluded vertices."""
        steps, asked = self.steps, self.asked
        self.words["costs"] = asked.costs
        if asked.exclude is not None:
            priced = self.words["costs"] = steps.files / "costs.txt"
            named = (asked.exclude, asked.costs)
            about = [*named, *steps.digests(named)]
            steps.step("what seeds cost", "costs", about, [priced], lambda: self._price(priced))
        line = "merit run {graph} --eta {eta} --costs {costs} --worlds {worlds} --seed {seed}"
        found = self._step(f"reach {self.eta:,} at least cost", "campaign", line)
        if asked.exclude is not None:
            from gpukit.artifacts import read, read_graph

            graph = read_graph(self.path, transpose=False)
            bought = read(steps.files / "campaign.h5", "campaign").arrays["seeds"].tolist()
            if {*graph.numbers(vertex_list(asked.exclude, "--exclude", graph)).tolist()} & {*bought}:
                raise InputError(
                    f"a campaign does not reach {counted(self.eta, 'vertex')} without those that --exclude names; "
                    "lower --eta, or exclude fewer"
                )
        return found

    def _price(self, path: Path) -> None:
        """Write the costs of seeds; excluded vertices cost so much that a campaign avoids them."""
        from gpukit.artifacts import read_graph

        graph = read_graph(self.path, transpose=False)
        costs = read_costs(Session(), graph, self.asked.costs)
        amounts = [costs.amount(units) for units in costs.values.tolist()]
        for vertex in vertex_list(self.asked.exclude, "--exclude", graph):
            amounts[vertex] = MOST_COST
        names = map(quoted, graph.original(range(graph.n)).tolist())
        write_text(path, "".join(f"{name} {amount:.6f}\n" for name, amount in zip(names, amounts, strict=True)))

    def _write(self) -> None:
        """Write the tables, the workbook, the pictures and the page."""
        from gpukit.artifacts import read, read_graph
        from gpukit.artifacts.tables import table_of
        from gpukit.report.ask import Answers, draw_answers, write_answers

        steps, graph = self.steps, read_graph(self.path, transpose=False)
        made = {name: table_of(read(steps.files / f"{name}.h5"), graph) for name in TABLES}
        tables = {**made, "near": _others(made["near"]), "campaign": self._campaigns(made["campaign"])}
        for name, table in tables.items():
            write_table(str(steps.folder / f"{name}.csv"), name, table)
        if self.book is None:
            _log.info("no answers.xlsx: it needs the package openpyxl, which gpukit[excel] brings")
        else:
            write_book(str(self.book), {TABLES[name]: table for name, table in tables.items()}, self._about())
        answers = Answers(
            self.name, self.facts, self.eta, self.asked.costs, self.asked.exclude is not None, self.records,
            steps.lines, steps.files, self.once,
        )  # fmt: skip
        pictures = draw_answers(answers, graph, steps.folder / "pictures")
        write_answers(self.page, answers, graph, pictures, explained(WORDS))

    def _campaigns(self, bought: "Table") -> "Table":
        """Return a row for each campaign; worlds count from 1."""
        import pandas as pd

        from gpukit.artifacts.tables import whole

        rows = pd.DataFrame(bought.take(0, bought.rows))
        rows = rows[rows["order"].notna()]
        seeds = [",".join(map(quoted, own)) for _, own in rows.groupby("campaign")["vertex"]]
        columns: dict[str, list[Any]] = {name: [] for name in ("world", "cost", "seeds", "rounds", "activated")}
        for one in self.records["campaign"]["campaigns"]:
            for name, values in columns.items():
                values.append(one[name] + (name == "world"))
        return whole(columns | {"bought": seeds})

    def _about(self) -> dict[str, Any]:
        """Return the content of the first sheet."""
        facts = self.facts
        return {
            "made": f"{date.today()} by gpukit {__version__}",
            "of": self.name,
            "vertices": facts["n"],
            "edges, each with its direction": facts["m"],
            "assumption": assumption(facts["weights"]),
            "costs": "every seed costs 1" if self.asked.costs == "uniform" else self.asked.costs,
            "to reach": self.eta,
            "source": self.source,
            "random seed": self.words["seed"],
        }

    def record(self) -> dict[str, Any]:
        """Return the keys of ``--json``."""
        steps, found = self.steps, self.records
        return {
            "folder": str(steps.folder),
            "page": str(self.page),
            "made": steps.made,
            "kept": steps.kept,
            "commands": steps.lines,
            "seeds": found["seeds"]["seeds"],
            "spread": {name: found["spread"][name] for name in ("spread", "stderr", "runs")},
            "near": found["near"]["results"][0],
            "mean_cost": found["campaign"]["mean_cost"],
            "eta": self.eta,
            "top": found["circles"]["top"],
        }

    def summary(self) -> dict[str, Any]:
        """Return the summary."""
        found = self.records
        near, first = found["near"]["results"][0], found["circles"]["top"][0]
        cost = mean_of([one["cost"] for one in found["campaign"]["campaigns"]])
        cost += f" on average of {counted(self.asked.worlds, 'campaign')}"
        cost += "; every seed costs 1" * (self.asked.costs == "uniform")
        return {
            "seeds": found["seeds"]["seeds"],
            "reached": f"{with_error(*reached_by(found))} of {self.facts['n']:,}",
            "if": assumption(self.facts["weights"]),
            f"close to {self.source}": [one for one in near["nodes"] if one != near["source"]],
            f"cost of {self.eta:,}": cost,
            "most circles": f"{quoted(first['vertex'])}, {counted(first['score'], 'circle')}",
            "page": self.page,
        }
