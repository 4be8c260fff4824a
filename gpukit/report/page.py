"""One self-contained HTML page: answers by graph, then evidence, then times and provenance; needs no network."""

import json
import math
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from gpukit import __version__
from gpukit.errors import UsageError
from gpukit.files import write_text
from gpukit.report import diversity, gim, imgpu, kpar, merit
from gpukit.report.parts import Parts
from gpukit.report.records import NA, SEVERAL, Row, device_name
from gpukit.report.text import printable
from gpukit.wording import counted

PACKAGES = ("numba", "numpy", "scipy", "h5py", "snakemake")
TEMPLATES = Path(__file__).with_name("templates")


class Section(NamedTuple):
    """A part of the page: name, required table, function that fills the template, and its texts."""

    name: str
    table: str
    fill: Callable[[Parts], dict[str, Any]]
    label: str
    subtitle: str
    holds: str
    title: str = ""


SECTIONS = (
    Section(
        "gim", "runs", gim.section, "gIM", "Influence maximisation: who to tell",
        "Spread against simple rules, and certificates",
    ),
    Section(
        "imgpu", "imgpu-runs", imgpu.section, "IMGPU", "Greedy choice over simulated worlds: who to tell",
        "Spread and time against other methods, and its worlds",
    ),
    Section(
        "kpar", "kpar-queries", kpar.section, "kPAR", "Top-k personalised PageRank: who is close",
        "Time and quality against the power method, and the index",
    ),
    Section(
        "merit", "merit-campaigns", merit.section, "MERIT", "Minimum-cost seeding in rounds: what it costs",
        "Cost and time against the target",
    ),
    Section(
        "diversity", "diversity-runs", diversity.section, "Structural diversity", "Who spans circles",
        "Scores and checks",
    ),
)  # fmt: skip


def write_page(
    path: str,
    tables: Mapping[str, list[Row]],
    figures: Mapping[str, str],
    configuration: Mapping[str, Any] | None = None,
    lacking: Mapping[str, str] | None = None,
    *,
    sections: Sequence[Section] = SECTIONS,
    templates: Sequence[Path] = (TEMPLATES,),
    repeat: str = "",
) -> None:
    """Write the page: a section for each system with tables, and the provenance.

    Parameters
    ----------
    path : str
        The HTML file to write.
    tables : mapping of str to list of dict
        Rows by the kind of table; see :data:`gpukit.report.tables.KINDS`. ``artifacts`` is always needed.
    figures : mapping of str to str
        Paths of SVG files: ``spread/GRAPH/MODEL`` and ``runtime``; ``imgpu-VIEW/GRAPH`` and
        ``merit-VIEW/GRAPH/MODEL`` with the views of these modules; ``kpar-time/GRAPH``, ``kpar-precision/GRAPH``,
        ``kpar-ndcg/GRAPH`` and ``arrivals``; ``ego/GRAPH/MODEL``, ``scores`` and ``diversity-time``;
        those of further sections.
    configuration : mapping, optional
        The configuration of the results, for the provenance.
    lacking : mapping of str to str, optional
        For each graph with a stand-in: why the real graph was not available.
    sections : sequence of Section
        The sections that the page may have.
    templates : sequence of paths
        The folders of the templates.
    repeat : str
        A command that reproduces the results, shown on the page.

    Raises
    ------
    InputError
        If a figure is missing or no SVG, or tables do not match.
    UsageError
        If jinja2 is not installed, or a table or figure is missing.
    """
    parts = Parts(tables, figures)
    shown = [one._asdict() | {"data": one.fill(parts)} for one in sections if tables.get(one.table)]
    if not shown:
        raise UsageError("there is nothing to show; give at least the tables of one system")
    environment = environment_of(templates)
    # The provenance: measured graphs and devices, from all tables together.
    every = [row for rows in tables.values() for row in rows]
    found = {one["name"]: one["data"] for one in shown}
    text = environment.get_template("page.html.j2").render(
        sections=shown,
        rebuilt=found.get("paper"),
        lacking=lacking or {},
        repeat=repeat,
        results=(configuration or {}).get("results", ""),
        costs_file=(configuration or {}).get("merit", {}).get("costs", "a file"),
        sources=kpar.sources_of(configuration or {}),
        answers={} if "paper" in found else _answers(found),  # a rebuilt paper has its own answers
        graphs=list(dict.fromkeys(row["graph"] for row in every if row.get("graph") and _measured(row))),
        devices=sorted({device_name(row) for row in every if "device_name" in row}),
        artifacts=parts.rows("artifacts"),
        configuration=json.dumps(_given(configuration), indent=2).split("\n") if configuration else [],
        versions={"gpukit": __version__, "Python": platform.python_version()} | _versions(),
    )
    write_text(path, text)


def environment_of(templates: Sequence[Path] = (TEMPLATES,)) -> Any:
    """Return the template environment for some folders; raises UsageError if jinja2 is not installed."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise UsageError("the page needs the package jinja2; install gpukit[report]") from None
    environment = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": _count,
        "counted": counted,
        "number": _number,
        "whole": _whole,
        "percent": _percent,
        "share": _share,
        "mean": _mean,
        "vertices": _vertices,
        "error": _error,
    }
    return environment


ASKED = {"gim": "who to tell", "imgpu": "", "kpar": "who is close", "diversity": "who spans circles"}
ASKED |= {"merit": "what it costs"}


def _answers(found: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the findings of all systems, by graph."""
    answers: dict[str, dict[str, Any]] = {}
    for name, question in ASKED.items():
        data = found.get(name, {})
        for item in data.get("graphs", []) + data.get("instances", []):
            graph = item["name"] if "name" in item else item["run"]["graph"]
            answer = answers.setdefault(graph, dict.fromkeys(ASKED) | {"asked": [], "gim": [], "merit": []})
            if name in ("gim", "merit"):
                answer[name].append(item)
            else:
                answer[name] = item
            question = question or "who to tell"
            if question not in answer["asked"]:
                answer["asked"].append(question)
    return answers


def _shown(value: Any) -> Any:
    """Return a value in printable form for the page; an SVG element stays unchanged."""
    return printable(value) if type(value) is str else value


def _given(part: Any) -> Any:
    """Return a part of a configuration without its empty keys."""
    if isinstance(part, Mapping):
        return {key: _given(value) for key, value in part.items() if value is not None}
    return [_given(value) for value in part] if isinstance(part, list) else part


def _measured(row: Row) -> bool:
    """Return whether a row was measured here, on one graph."""
    return row.get("ours") != NA and row.get("data") != SEVERAL


def _versions() -> dict[str, str]:
    """Return the versions of the installed packages."""
    versions = {}
    for name in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _number(value: float) -> str:
    """Format a quantity with three significant digits; without decimals from 100 on."""
    return f"{value:,.{_places(value, 3)}f}"


def _whole(value: float) -> str:
    """Format a count or a mean of counts: whole numbers have no decimals."""
    return _count(value) if value == int(value) else _number(value)


def _mean(point: Row) -> str:
    """Format a spread to the decimal at which its standard error has two digits; without one, as a quantity."""
    spread, error = point["spread_vertices"], 2 * point["stderr_vertices"]
    return f"{spread:,.{_places(error, 2)}f}" if error else _whole(spread)


def _vertices(point: Row) -> str:
    """Format a spread with its noun."""
    return f"{_mean(point)} {'vertex' if point['spread_vertices'] == 1 else 'vertices'}"


def _error(point: Row) -> str:
    """Format two standard errors of a spread with two digits."""
    error = 2 * point["stderr_vertices"]
    return f"{error:,.{_places(error, 2)}f}" if error else "0"


def _places(value: float, digits: int) -> int:
    """Return the decimals, at most three, that show this many digits of a value; zero counts as one digit."""
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    return max(0, min(3, digits - 1 - magnitude))


def _share(value: float) -> str:
    """Format a guarantee; NaN means that there is none."""
    return "none" if math.isnan(value) else f"{value:.3f}"


def _percent(value: float) -> str:
    """Format a share as a percentage, with one decimal below 10 % and between 90 and 100 %."""
    return f"{100 * value:.1f} %" if abs(value) < 0.1 or 0.9 < abs(value) < 1 else f"{100 * value:.0f} %"
