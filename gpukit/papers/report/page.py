"""The section of the page about a paper: verdicts on its claims, and its tables and figures compared with ours."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpukit.papers.report.claims import DECIDED, OPEN, count
from gpukit.papers.report.items import ITEMS
from gpukit.papers.report.publications import PUBLICATIONS, SCALES
from gpukit.papers.report.rebuild import name_of, wanted_item
from gpukit.report import page
from gpukit.report.parts import Parts
from gpukit.report.records import Row, of

ASIDE = (
    "holds on ",
    "does not hold on ",
    "not on ",
    "not measured on ",
    "on stand-ins of the same size",
    "lower bounds, ",
)
"""Notes among the reasons of a verdict that are not reasons."""
ALIKE = 0.1
"""Relative difference up to which a value counts as equal to the printed one."""
MORE_IS_BETTER = ("speed-up", "throughput", "precision", "ndcg", "spread")
LESS_IS_BETTER = ("time", "preprocessing", "cost", "slowdown")
SPEEDS = ("speed-up", "throughput", "time", "preprocessing", "slowdown")
"""Beginnings of the names of quantities for which more, or less, is better; for others a difference has no
direction."""


def section(parts: Parts) -> dict[str, Any]:
    """Return the data of the template ``paper.html.j2``, from the tables ``items`` and, if given, ``claims``."""
    rows, claims = parts.rows("items"), parts.tables.get("claims", [])
    speeds = not claims or claims[0]["scale"] != "smoke"
    items: dict[str, dict[str, Any]] = {}
    for row in rows:
        wanted = wanted_item(row["publication"], row["item"])
        item = items.setdefault(
            row["item"],
            {
                "key": row["item"],
                "name": row["item"].replace("-", " "),
                "anchor": f"item-{row['item']}",
                "title": wanted.title,
                "axis": wanted.axis,
                "figure": parts.figure(f"item/{row['item']}"),
                "claims": [claim for claim in of(claims, item=row["item"]) if claim["kind"] != "missing"],
                "rows": [],
            },
        )
        item["rows"].append(row | {"name": name_of(row["method"])} | beside_print(row, speeds))
    for item in items.values():
        item["ratios"] = any(row["ratio"] is not None for row in item["rows"])
        item["methods"] = any(row["name"] for row in item["rows"])
        item["shapes"] = [] if item["axis"] else shapes(item["rows"])
        item["settings"] = any(row["setting"] for row in item["rows"])
        item["stand_ins"] = {row["graph"]: row["data"] for row in item["rows"] if row["data"].startswith("stand-in")}
    settings = {row["setting"] for row in rows if row["ours"] != "NA"}
    paper = rows[0]["publication"]
    return {
        "items": list(items.values()),
        "not_made": [name for name in ITEMS[rows[0]["publication"]] if name not in items],
        "devices": sorted({setting.rpartition("; ")[2] for setting in settings if "; " in setting}),
        "paper": paper,
        "publication": PUBLICATIONS[paper],
        "scale": claims[0]["scale"] if claims else "",
        "scale_is": SCALES[claims[0]["scale"]] if claims else "",
        "counts": count(claims),
        "decided": {verdict: of(claims, verdict=verdict) for verdict in DECIDED},
        "open": {verdict: (common, by_reason(claims, verdict)) for verdict, common in OPEN.items()},
    }


def shapes(rows: list[Row]) -> list[dict[str, Any]]:
    """Return the rows of a table as papers print them: one table of graphs by methods for each quantity.

    Quantities without a method are the columns of one table. If several rows belong to a cell, it has the first. A
    table with a single cell is left out.
    """
    tables: dict[str, dict[str, dict[str, Row]]] = {}
    for row in rows:
        unit = f"{row['quantity']}{', ' + row['unit'] if row['unit'] != '1' else ''}"
        title, column = (unit, row["name"]) if row["name"] else ("", unit)
        tables.setdefault(title, {}).setdefault(column, {}).setdefault(row["graph"], row)
    graphs = dict.fromkeys(row["graph"] for row in rows)
    found = []
    for title, columns in tables.items():
        named = [graph for graph in graphs if any(graph in column for column in columns.values())]
        if len(named) > 1 or len(columns) > 1:
            found.append({"title": title, "graphs": named, "columns": columns})
    return found


def beside_print(row: Row, speeds: bool = True) -> dict[str, Any]:
    """Return the ratio of our value to the printed one, and ``better``, ``worse``, ``other`` or ``as printed``.

    If a value is missing, or the printed one is 0, ``ratio`` is None and the meaning is empty. The meaning is also
    empty for the speed of a single run, and for all speeds if ``speeds`` is false.
    """
    if "NA" in (row["ours"], row["paper"]) or not float(row["paper"]):
        return {"ratio": None, "beside": ""}
    ratio = float(row["ours"]) / float(row["paper"])
    quantity = row["quantity"].removeprefix("largest ").removeprefix("mean ")
    if quantity.startswith(SPEEDS) and not (speeds and int(row["repeats"]) > 1):
        return {"ratio": ratio, "beside": ""}
    if abs(ratio - 1) <= ALIKE:
        return {"ratio": ratio, "beside": "as printed"}
    if quantity.startswith(MORE_IS_BETTER):
        return {"ratio": ratio, "beside": "better" if ratio > 1 else "worse"}
    if quantity.startswith(LESS_IS_BETTER) and not quantity.startswith("time relative"):
        return {"ratio": ratio, "beside": "better" if ratio < 1 else "worse"}
    return {"ratio": ratio, "beside": "other"}


def by_reason(claims: list[Row], verdict: str) -> dict[str, list[Row]]:
    """Return the claims with an open verdict by the kind of reason, whatever the graphs; the most frequent first."""
    reasons: dict[str, list[Row]] = {}
    for row in of(claims, verdict=verdict):
        parts = [part for part in row["why"].split("; ") if not part.startswith(ASIDE)]
        kinds = sorted({part.rpartition(": ")[2] for part in parts})
        reasons.setdefault("; ".join(kinds), []).append(row)
    return dict(sorted(reasons.items(), key=lambda one: -len(one[1])))


def command(configuration: Mapping[str, Any] | None) -> str:
    """Return the command that repeats the results of a paper's configuration; empty if it is not that of a paper."""
    if not (configuration and configuration.get("paper")):
        return ""
    paper, scale = configuration["paper"], configuration["scale"]
    real = " data=real" if configuration.get("data") == "real" else ""
    return f"snakemake --cores all --configfile config/paper/{paper}.yaml --config scale={scale}{real}"


PAPER = page.Section(
    "paper", "items", section, "", "Its claims, then its tables and figures beside ours", "",
    "What held of what the paper claims?",
)  # fmt: skip


def write_page(
    path: str,
    tables: Mapping[str, list[Row]],
    figures: Mapping[str, str],
    configuration: Mapping[str, Any] | None = None,
    lacking: Mapping[str, str] | None = None,
) -> None:
    """Write the page of a rebuilt paper.

    Parameters are those of :func:`gpukit.report.page.write_page`; ``items`` is among the tables, ``item/ITEM`` among
    the figures.
    """
    page.write_page(
        path, tables, figures, configuration, lacking,
        sections=(PAPER, *page.SECTIONS),
        templates=(page.TEMPLATES, Path(__file__).with_name("templates")),
        repeat=command(configuration),
    )  # fmt: skip
