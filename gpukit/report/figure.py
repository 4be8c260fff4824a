"""Figures as SVG, PDF or PNG. Equal data give equal bytes: no date, no random ids."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpukit.errors import UsageError
from gpukit.files import replacing, write_text
from gpukit.report.records import Row, of
from gpukit.report.style import GRID, INK, MARKERS, MUTED, PAPER, SERIES
from gpukit.report.text import label, printable

FORMATS: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
"""File formats of figures by suffix, and metadata to leave out so that bytes are equal."""

PNG_DPI = 200


@contextmanager
def draw(path: str, name: str, size: tuple[float, float]) -> Iterator[tuple[Any, Any]]:
    """Yield a figure with one pair of axes; write it to ``path`` afterwards.

    Parameters
    ----------
    path : str
        The file to write; its suffix selects one of :data:`FORMATS`, SVG by default.
    name : str
        The ids in the file are derived from this name.
    size : (float, float)
        Width and height in inches.

    Raises
    ------
    UsageError
        If matplotlib is not installed, or the suffix is unknown.
    """
    kind = Path(path).suffix.lower().removeprefix(".") or "svg"
    if kind not in FORMATS:
        raise UsageError(f"{path}: a figure is written as .svg, .pdf or .png; let the name end in one of them")
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("figures need the package matplotlib; install gpukit[report]") from None
    style: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": printable(name),
        "pdf.fonttype": 42,
        "text.usetex": False,
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
        stream = io.BytesIO()
        figure.savefig(stream, format=kind, metadata=FORMATS[kind], dpi=PNG_DPI)
    if kind != "svg":
        with replacing(path) as temporary:
            Path(temporary).write_bytes(stream.getvalue())
        return
    # matplotlib leaves trailing blanks in path data, which version control would report.
    write_text(path, "\n".join(line.rstrip() for line in stream.getvalue().decode().rstrip("\n").split("\n")) + "\n")


def legend(figure: Any, axes: Any, columns: int = 4, **options: Any) -> None:
    """Put one legend below the axes, which may be a list; ``options`` are passed to matplotlib."""
    entries: dict[str, Any] = {}
    for one in axes if isinstance(axes, list) else [axes]:
        handles, labels = one.get_legend_handles_labels()
        entries |= {text: handle for text, handle in zip(labels, handles, strict=True) if text not in entries}
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns, **options)


def line_style(number: int) -> dict[str, Any]:
    """Return colour, marker and stroke of a line with error bars; the first twelve styles all differ."""
    return {
        "color": SERIES[number % len(SERIES)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": "-" if number < len(SERIES) else "--",
        "markersize": 4.5,
        "linewidth": 1.6,
        "elinewidth": 1.2,
        "capsize": 2.5,
        "zorder": 3 if number == 0 else 2,
    }


def name_axes(axes: Any, x: str, y: str, title: str = "", grid: str = "both") -> None:
    """Set the titles of both axes and of the figure, and draw the grid across ``x``, ``y`` or ``both``."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(label(title))
    axes.grid(True, axis=grid)


def lines_of(rows: Sequence[Row], methods: Mapping[str, str]) -> Iterator[tuple[int, str, list[Row]]]:
    """Yield number, method and points, sorted by k, of each method with points, in the order of the legend."""
    for number, method in enumerate(methods):
        if points := sorted(of(rows, method=method), key=lambda row: row["k"]):
            yield number, method, points


def draw_curves(
    path: str,
    name: str,
    title: str,
    rows: Sequence[Row],
    methods: Mapping[str, str],
    *,
    value: str = "spread_vertices",
    axis: str = "spread, vertices reached",
    error: str = "stderr_vertices",
    columns: int = 2,
) -> None:
    """Draw a quantity of methods, by default the spread, against the number of seeds.

    Parameters
    ----------
    path, name
        As for :func:`draw`.
    title : str
        Title of the figure.
    rows : sequence of dict
        With ``method``, ``k``, and the drawn columns.
    methods : mapping of str to str
        Display names of the methods, in the order of the legend.
    value : str
        The column to draw.
    axis : str
        Name of its axis.
    error : str
        The column of its standard error; two standard errors are drawn. If empty, the axis is logarithmic, and a line
        has few markers, because it has a point for every k.
    columns : int
        Entries in a row of the legend.
    """
    with draw(path, name, (4.4, 3.5)) as (figure, axes):
        for number, method, points in lines_of(rows, methods):
            axes.errorbar(
                [row["k"] for row in points],
                [row[value] for row in points],
                yerr=[2 * row[error] for row in points] if error else None,
                markevery=None if error else max(1, len(points) // 5),
                label=label(methods[method]),
                **line_style(number),
            )
        axes.set_xlim(left=0)
        if error:
            axes.set_ylim(bottom=0)
        else:
            axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:,.0f}" if error else "{x:g}")
        name_axes(axes, "seeds k", axis, title)
        legend(figure, axes, columns)


def draw_bars(
    path: str,
    name: str,
    labels: Sequence[str],
    parts: Sequence[tuple[str, str, Sequence[float]]],
    *,
    axis: str,
    total: str = "",
    columns: int = 3,
) -> None:
    """Draw horizontal bars, each stacked from parts.

    Parameters
    ----------
    path, name
        As for :func:`draw`.
    labels : sequence of str
        Name of each bar, from top to bottom.
    parts : sequence of (title, colour, values)
        The values of a part, one per bar.
    axis : str
        Title of the axis of values.
    total : str
        Format of the sum at the end of a bar; no sum by default.
    columns : int
        Entries in a row of the legend.
    """
    labels = [label(one) for one in labels]
    with draw(path, name, (4.4, 1.1 + 0.36 * len(labels))) as (figure, axes):
        # Each part begins at the end of the previous one.
        left = [0.0] * len(labels)
        for title, colour, values in parts:
            axes.barh(labels, values, left=left, height=0.62, color=colour, label=label(title), zorder=2)
            left = [a + b for a, b in zip(left, values, strict=True)]
        if total:
            for bar, end in zip(labels, left, strict=True):
                text = total.format(end)
                axes.annotate(text, (end, bar), (4, 0), textcoords="offset points", va="center", color=MUTED)
        axes.set_xlim(0, (1.12 if total else 1.0) * max(left) or 1.0)
        axes.invert_yaxis()
        axes.set_xlabel(axis)
        axes.grid(True, axis="x")
        axes.tick_params(axis="y", length=0)
        legend(figure, axes, columns)
