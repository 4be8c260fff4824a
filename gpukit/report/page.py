"""One self-contained HTML page out of tables and figures: no script, no network, light and dark."""

import math
import platform
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from gpukit import __version__
from gpukit.errors import InputError, UsageError
from gpukit.report.files import read_text, write_text
from gpukit.report.style import METHODS, MODELS, VARIABLES
from gpukit.report.tables import Row

PACKAGES = ("numba", "numpy", "scipy", "h5py", "snakemake")
TEMPLATE = Path(__file__).with_name("page.html.j2")


def write_page(
    path: str,
    *,
    runs: list[Row],
    seeds: list[Row],
    spread: list[Row],
    artifacts: list[Row],
    curves: Sequence[tuple[str, str]],
    runtime: str,
) -> None:
    """Write the page.

    Parameters
    ----------
    path : str
        The HTML file to write.
    runs, seeds, spread, artifacts : list of dict
        The tables of these kinds; see :data:`gpukit.report.tables.COLUMNS`.
    curves : sequence of (label, path)
        The figure of each instance, an SVG file, labelled GRAPH/MODEL.
    runtime : str
        The figure of the run times, an SVG file.

    Raises
    ------
    InputError
        If a figure is missing or no SVG, or the spread of an instance is not in the table.
    UsageError
        If jinja2 is not installed, or a run has no figure.
    """
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ImportError:
        raise UsageError("the page needs the package jinja2; install gpukit[report]") from None
    figures = dict(curves)
    instances = []
    for number, run in enumerate(runs, start=1):
        instance = (run["graph"], run["model"])
        label = "/".join(instance)
        if label not in figures:
            raise UsageError(f"no figure for {label}; add --curve {label}=FILE")
        curve = _curve(spread, *instance)
        instances.append(
            {
                "anchor": f"instance-{number}",
                "run": run,
                "model": MODELS.get(run["model"], run["model"]),
                "curve": curve,
                "seeds": [row["vertex"] for row in seeds if (row["graph"], row["model"]) == instance],
                "figure": Markup(_inline(figures[label], f"c{number}")),
                **_finding(run, curve),
            }
        )
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "count": _count,
        "number": _number,
        "percent": _percent,
        "share": _share,
        "mean": _mean,
        "error": _error,
    }
    text = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        instances=instances,
        graphs=list(dict.fromkeys(run["graph"] for run in runs)),
        devices=sorted({_device(run) for run in runs}),
        artifacts=artifacts,
        runtime=Markup(_inline(runtime, "rt")),
        versions={"gpukit": __version__, "Python": platform.python_version()} | _versions(),
    )
    write_text(path, text)


def _curve(spread: list[Row], graph: str, model: str) -> list[dict[str, Any]]:
    """Return the methods of an instance in the order of the legend, each with its points by rising k; gIM is first."""
    curve: list[dict[str, Any]] = []
    for method, name in METHODS.items():
        points = [row for row in spread if (row["graph"], row["model"], row["method"]) == (graph, model, method)]
        if points:
            curve.append({"method": method, "name": name, "points": sorted(points, key=lambda point: point["k"])})
    if not curve or curve[0]["method"] != "gim":
        raise InputError(f"the table of spreads has no rows of gim on {graph} under {model}")
    for other in curve[1:]:
        if [point["k"] for point in other["points"]] != [point["k"] for point in curve[0]["points"]]:
            raise InputError(
                f"{other['method']} and gim differ in the numbers of seeds evaluated on {graph} under {model}"
            )
    return curve


def _finding(run: Row, curve: list[dict[str, Any]]) -> dict[str, Any]:
    """Compare gIM with the best other method, and its own estimate with the simulation; two standard errors decide."""
    best = curve[0]["points"][-1]
    finding: dict[str, Any] = {"best": best, "share": best["spread_vertices"] / run["n_vertices"], "rival": None}
    if curve[1:]:
        rival = max(curve[1:], key=lambda method: method["points"][-1]["spread_vertices"])
        point = rival["points"][-1]
        gain = best["spread_vertices"] - point["spread_vertices"]
        finding |= {
            "rival": rival["name"],
            "gain": gain / point["spread_vertices"],
            "measurable": abs(gain) > 2 * (best["stderr_vertices"] ** 2 + point["stderr_vertices"] ** 2) ** 0.5,
        }
    if best["k"] == run["k"]:
        finding["deviation"] = run["spread_estimate_vertices"] / best["spread_vertices"] - 1
    else:
        finding["deviation"] = None
    return finding


def _device(run: Row) -> str:
    if run["gpus"]:
        return f"{run['gpus']} × {run['device_name']}"
    return f"{run['device_name']}, {run['threads']} thread{'s' if run['threads'] != 1 else ''}"


def _versions() -> dict[str, str]:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _inline(path: str, prefix: str) -> str:
    """Return an SVG file as an element for the page: own ids, colours as CSS variables, size from the page."""
    text = read_text(path)
    found = re.search(r"<svg\b.*</svg>", text, flags=re.DOTALL)
    if found is None:
        raise InputError(f"{path} is not an SVG file; give one that `gpukit report plot` wrote")
    svg = re.sub(r"<metadata>.*?</metadata>|<style\b.*?</style>", "", found[0], flags=re.DOTALL)
    svg = re.sub(r'(<svg\b[^>]*?) width="[^"]*" height="[^"]*"', r'\1 aria-hidden="true"', svg, count=1)
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\1{prefix}-", svg)
    svg = re.sub(r"\b(font-family:|font: [0-9.]+px) '[^;\"]*", r"\1 var(--sans)", svg)
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    return re.sub(r"\s*\n\s*", "\n", svg)


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _number(value: float) -> str:
    """Format a quantity with three significant digits, whole from 100 on."""
    return f"{value:,.{max(0, min(3, 2 - _magnitude(value)))}f}"


def _mean(point: Row) -> str:
    """Format a spread to the place at which its standard error has two digits."""
    places = max(0, min(3, 1 - _magnitude(2 * point["stderr_vertices"])))
    return f"{point['spread_vertices']:,.{places}f}"


def _error(point: Row) -> str:
    """Format two standard errors of a spread with two digits."""
    error = 2 * point["stderr_vertices"]
    return f"{error:,.{max(0, min(3, 1 - _magnitude(error)))}f}"


def _magnitude(value: float) -> int:
    """Return the decimal exponent of a value; a zero counts as one."""
    return math.floor(math.log10(abs(value))) if value else 0


def _share(value: float) -> str:
    """Format a guarantee; there is none where it is not a number."""
    return "none" if math.isnan(value) else f"{value:.3f}"


def _percent(value: float) -> str:
    """Format a share; small ones keep a digit after the point."""
    return f"{100 * value:.1f} %" if abs(value) < 0.1 else f"{100 * value:.0f} %"
