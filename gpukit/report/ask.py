"""The page of ``gpukit ask``: answers to the four questions about a graph, in words, tables and pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpukit import __version__
from gpukit.files import write_text
from gpukit.report.ego import plot_ego
from gpukit.report.network import around, draw_network
from gpukit.report.page import environment_of
from gpukit.report.parts import Parts
from gpukit.report.words import assumption, compared, reached_by
from gpukit.wording import counted, mean_of, reaches_as_many, tied, with_error

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph

ROWS = 25
"""Most rows in a table of the page; the files have all rows."""


@dataclass(frozen=True)
class Answers:
    """The findings about a graph.

    Attributes
    ----------
    name : str
        Name of the input of the graph.
    facts : mapping
        The record of ``graph import``, or of ``graph info``.
    eta : int
        Target of the campaign, in vertices.
    costs : str
        The costs of seeds, in words.
    excluded : bool
        Whether some vertices were excluded as seeds.
    records : mapping
        The records of the commands, under ``seeds``, ``spread``, ``near``, ``campaign`` and ``circles``.
    lines : sequence of str
        The commands.
    folder : Path
        The folder of their files.
    once : bool
        Whether repeated rows of a table count once.
    """

    name: str
    facts: Mapping[str, Any]
    eta: int
    costs: str
    excluded: bool
    records: Mapping[str, Any]
    lines: Sequence[str]
    folder: Path
    once: bool = False

    @property
    def close(self) -> list[tuple[Any, float, bool]]:
        """Vertices close to the source, except itself: name, score, and whether the place is certain."""
        (found,) = self.records["near"]["results"]
        sure = found.get("certain") or [False] * len(found["nodes"])
        rows = zip(found["nodes"], found["scores"], sure, strict=True)
        return [row for row in rows if row[0] != found["source"]]

    @property
    def start(self) -> Any:
        """The name of the source."""
        return self.records["near"]["results"][0]["source"]


def _second(record: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the spread of the seeds under other edge probabilities, next to that of the best seeds for these."""
    if record is None:
        return None
    seeds, others = record["sweep"]
    errors = (seeds["stderr"][1], others["stderr"][1])
    spreads = (seeds["reached"][1], others["reached"][1])
    return {
        "assumption": assumption(others["weights"]),
        "seeds": with_error(spreads[0], 2 * errors[0]),
        "others": with_error(spreads[1], 2 * errors[1]),
        "as_many": reaches_as_many(spreads[0], errors[0], spreads[1], errors[1]),
        "common": seeds["common"][1],
    }


def draw_answers(answers: Answers, graph: "Graph", folder: Path) -> dict[str, str]:
    """Draw the pictures into a folder; return their paths by name. A picture without content is left out."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    seeds = graph.internal(answers.records["seeds"]["seeds"])
    shown = around(graph, seeds)
    sizes = np.sqrt(np.diff(graph.indptr)[shown])
    title = f"{counted(len(seeds), 'seed')}, and whom they reach at once"
    words = ("seeds", f"beside them, {len(shown) - len(seeds)} shown")
    draw_network(str(folder / "seeds.svg"), title, graph, shown, sizes, len(seeds), words)
    if close := answers.close[:ROWS]:
        shown = graph.internal([answers.start, *(one for one, _, _ in close)])
        scores = np.array([close[0][1], *(score for _, score, _ in close)])
        words = ("where walks start", "the larger, the closer")
        title = f"Who is close to {answers.start}"
        draw_network(str(folder / "near.svg"), title, graph, shown, scores, 1, words)
    if answers.records["circles"]["top"][0]["score"]:
        egos, found = (str(answers.folder / f"{name}.h5") for name in ("friends", "circles"))
        plot_ego(egos, found, str(folder / "circles.svg"))
    return {one.stem: str(one) for one in sorted(folder.glob("*.svg"))}


def write_answers(
    path: Path, answers: Answers, graph: "Graph", pictures: Mapping[str, str], meanings: Mapping[str, str]
) -> None:
    """Write the page.

    Parameters
    ----------
    path : Path
        The HTML file.
    answers : Answers
    graph : Graph
    pictures : mapping of str to str
        Paths of SVG files, by :func:`draw_answers`.
    meanings : mapping of str to str
        Explanations of words on the page.

    Raises
    ------
    UsageError
        If jinja2 is not installed.
    """
    records = answers.records
    seeds, curve, parts = records["seeds"]["seeds"], records["spread"]["curve"], Parts({}, pictures)
    reached = [with_error(point["spread"], 2 * point["stderr"]) for point in curve]
    degrees = np.diff(graph.indptr)[graph.internal(seeds)].tolist()
    top = records["circles"]["top"]
    several = [one for one in top if one["score"] > 1]
    listed, ones = several[:ROWS], sum(one["score"] == 1 for one in top)
    more = top[-1]["score"] == 1 and len(top) < answers.facts["n"]
    spread, error = reached_by(records)
    by_list = [one["list_cost"] for one in records["campaign"]["campaigns"] if "list_cost" in one]
    rules = {name: text for name, text in compared(records["seeds"]).items() if name != records["seeds"]["chosen_by"]}
    text = environment_of().get_template("ask.html.j2").render(
        answers=answers,
        n=answers.facts["n"],
        m=answers.facts["m"] // (2 if answers.facts["undirected"] else 1),
        skipped=[fault.partition("; ")[0] for fault in answers.facts.get("skipped", [])],
        seeds=[*zip(seeds, degrees, reached, strict=True)],
        reached=with_error(spread, error),
        share=spread / answers.facts["n"],
        rules=rules,
        assumption=assumption(answers.facts["weights"]),
        second=_second(records.get("others")),
        mean_cost=mean_of([one["cost"] for one in records["campaign"]["campaigns"]]),
        list_cost=mean_of(by_list) if by_list else "",  # none in a folder by an older version
        ones=f"{'at least ' * more}{ones:,}" if ones else "",
        close=answers.close[:ROWS],
        circles=[(one["vertex"], one["score"], [len(part) for part in one["contexts"]]) for one in listed],
        equal=tied([one["score"] for one in top], len(listed), answers.facts["n"], "circle") if listed else "",
        figures={name: parts.figure(name) for name in pictures},
        meanings=meanings,
        version=__version__,
    )  # fmt: skip
    write_text(path, text)
