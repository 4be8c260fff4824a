"""Figures as SVG: spread against the number of seeds, and where the time of the runs went.

Equal tables give equal bytes: no date, no random ids.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpukit.errors import InputError, UsageError
from gpukit.report.files import write_text
from gpukit.report.style import GRID, INK, METHODS, MODELS, MUTED, PAPER, SERIES
from gpukit.report.tables import Row

_MARKERS = ("o", "s", "^", "D")


def plot_spread(rows: list[Row], graph: str, model: str, path: str) -> None:
    """Draw the spread of each method against the number of seeds.

    Parameters
    ----------
    rows : list of dict
        A table of kind ``spread``.
    graph, model : str
        The instance to draw.
    path : str
        The SVG file to write.

    Raises
    ------
    UsageError
        If the table has no such instance, or matplotlib is not installed.
    """
    chosen = [row for row in rows if (row["graph"], row["model"]) == (graph, model)]
    if not chosen:
        raise UsageError(f"the table has no row of graph {graph!r} under model {model!r}")
    with _figure(path, f"spread-{graph}-{model}", (5.2, 3.5)) as (figure, axes):
        for method, colour, marker in zip(METHODS, SERIES, _MARKERS, strict=True):
            points = sorted((row for row in chosen if row["method"] == method), key=lambda row: row["k"])
            if points:
                axes.errorbar(
                    [row["k"] for row in points],
                    [row["spread_vertices"] for row in points],
                    yerr=[2 * row["stderr_vertices"] for row in points],
                    label=METHODS[method],
                    color=colour,
                    marker=marker,
                    markersize=4.5,
                    linewidth=1.6,
                    elinewidth=1.2,
                    capsize=2.5,
                    zorder=3 if method == "gim" else 2,
                )
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("seeds k")
        axes.set_ylabel("spread, vertices reached")
        axes.set_title(f"{graph}, {MODELS.get(model, model)}")
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.grid(True)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4)


def plot_runtime(rows: list[Row], path: str) -> None:
    """Draw the seconds each run spent on sampling, selection and the rest as stacked bars.

    Parameters
    ----------
    rows : list of dict
        A table of kind ``runs``.
    path : str
        The SVG file to write.

    Raises
    ------
    InputError
        If the table has no rows.
    UsageError
        If matplotlib is not installed.
    """
    if not rows:
        raise InputError("the table of runs has no rows; there is nothing to draw")
    labels = [f"{row['graph']} {row['model'].upper()}" for row in rows]
    with _figure(path, "runtime", (5.2, 0.9 + 0.36 * len(rows))) as (figure, axes):
        left = [0.0] * len(rows)
        shown = (("sampling", SERIES[0]), ("selection", SERIES[1]), ("load", GRID), ("other", MUTED))
        for phase, colour in shown:
            seconds = [row[f"time_{phase}_s"] for row in rows]
            axes.barh(labels, seconds, left=left, height=0.62, color=colour, label=phase, zorder=2)
            left = [a + b for a, b in zip(left, seconds, strict=True)]
        for label, end in zip(labels, left, strict=True):
            axes.annotate(f"{end:.2f} s", (end, label), (4, 0), textcoords="offset points", va="center", color=MUTED)
        axes.set_xlim(0, 1.12 * max(left) or 1.0)
        axes.invert_yaxis()
        axes.set_xlabel("seconds")
        axes.grid(True, axis="x")
        axes.tick_params(axis="y", length=0)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4)


@contextmanager
def _figure(path: str, name: str, size: tuple[float, float]) -> Iterator[tuple[Any, Any]]:
    """Yield a figure with one pair of axes; write it to ``path`` afterwards. Sizes in inches."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("figures need the package matplotlib; install gpukit[report]") from None
    style: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "font.size": 9.5,
        "text.color": INK,
        "axes.edgecolor": MUTED,
        "axes.labelcolor": INK,
        "axes.titlesize": 10.5,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.facecolor": "none",
        "figure.facecolor": PAPER,
        "savefig.facecolor": PAPER,
        "grid.color": GRID,
        "grid.linewidth": 0.7,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "legend.frameon": False,
        "legend.fontsize": 9.5,
        "legend.handlelength": 1.6,
        "legend.columnspacing": 1.4,
    }
    with matplotlib.rc_context(style):
        figure = Figure(figsize=size, layout="constrained")
        yield figure, figure.add_subplot()
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    # The trailing blanks that matplotlib leaves in path data would trip up version control.
    write_text(path, "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n")
