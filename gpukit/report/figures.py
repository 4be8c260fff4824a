"""All figures of the page, drawn from its tables in one process: starting a process costs more than a figure."""

from collections.abc import Callable, Mapping

from gpukit.errors import UsageError
from gpukit.report import diversity, ego, gim, imgpu, kpar, merit
from gpukit.report.parts import Parts

WHOLE: dict[str, tuple[str, Callable[..., None]]] = {
    "runtime": ("runs", gim.plot_runtime),
    "arrivals": ("kpar-arrivals", kpar.plot_arrivals),
    "scores": ("diversity-top", diversity.plot_scores),
    "diversity-time": ("diversity-runs", diversity.plot_time),
}
"""Figures of a whole table: the kind of table, and the drawing function."""


def draw_figures(parts: Parts, egos: Mapping[str, str], answers: Mapping[str, str]) -> None:
    """Draw every figure named in the parts, into its file.

    Parameters
    ----------
    parts : Parts
        The tables, and paths of figures by the names in :func:`gpukit.report.page.write_page`.
    egos, answers : mapping of str to str
        Artifacts of kind ``egonets`` and ``diversity`` by GRAPH/MODEL, for the figures ``ego/GRAPH/MODEL``.

    Raises
    ------
    InputError
        If a file is damaged.
    UsageError
        If a figure is unknown, lacks its table or artifact, or matplotlib is not installed.
    """
    for name, path in parts.figures.items():
        kind, _, place = name.partition("/")
        system, _, view = kind.partition("-")
        try:
            if name in WHOLE:
                table, plot = WHOLE[name]
                plot(parts.rows(table), path)
            elif kind == "spread":
                graph, _, model = place.partition("/")
                gim.plot_spread(parts.rows("spread"), graph, model, path)
            elif kind == "ego":
                ego.plot_ego(egos[place], answers[place], path)
            elif system == "imgpu":
                imgpu.plot(parts.rows(imgpu.VIEWS[view]), place, view, path)
            elif system == "merit":
                graph, _, model = place.partition("/")
                merit.plot(parts.rows("merit-campaigns"), graph, model, view, path)
            else:
                kpar.plot_curve(parts.rows({"kpar": kpar.QUANTITIES}[system][view][0]), place, view, path)
        except KeyError:
            raise UsageError(f"--figure {name}: there is no such figure, or its artifacts were not given") from None
