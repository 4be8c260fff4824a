"""The section of the page about a paper: what held of what it claims, and its tables and figures beside ours."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpukit.papers.report.claims import DECIDED, UNDECIDED, count
from gpukit.papers.report.items import ITEMS
from gpukit.papers.report.publications import PUBLICATIONS, SCALES
from gpukit.papers.report.rebuild import name_of, wanted_item
from gpukit.report import page
from gpukit.report.parts import Parts
from gpukit.report.records import Row, of

ASIDE = ("holds on ", "does not hold on ", "not on ", "not measured on ", "on stand-ins of the same size")
"""Notes among the reasons of a verdict that are no reason."""


def section(parts: Parts) -> dict[str, Any]:
    """Return what the template ``paper.html.j2`` shows, out of the tables ``items`` and, if given, ``claims``."""
    rows, claims = parts.rows("items"), parts.tables.get("claims", [])
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
        item["rows"].append(row | {"name": name_of(row["method"])})
    for item in items.values():
        item["methods"] = any(row["name"] for row in item["rows"])
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
        "undecided": by_reason(claims),
    }


def by_reason(claims: list[Row]) -> dict[str, list[Row]]:
    """Return the claims that are not decided by the kind of reason, whatever the graphs; the most frequent first."""
    reasons: dict[str, list[Row]] = {}
    for row in of(claims, verdict=UNDECIDED):
        parts = [part for part in row["why"].split("; ") if not part.startswith(ASIDE)]
        kinds = sorted({part.rpartition(": ")[2] for part in parts})
        reasons.setdefault("; ".join(kinds), []).append(row)
    return dict(sorted(reasons.items(), key=lambda one: -len(one[1])))


def command(configuration: Mapping[str, Any] | None) -> str:
    """Return the command that makes the results of a paper's configuration again; none where it is no paper's."""
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
