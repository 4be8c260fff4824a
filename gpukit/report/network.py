"""Pictures of a few vertices of a large graph: a vertex and its surroundings, or seeds and their neighbours."""

from typing import TYPE_CHECKING, Any

import numpy as np

from gpukit.report.ego import LONGEST, NAMED, lay_out, lines
from gpukit.report.figure import draw, legend
from gpukit.report.style import INK, MUTED, PAPER, SERIES
from gpukit.report.text import label

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph

BESIDE, MOST = 3, 120
"""Neighbours drawn per seed, those of lowest degree first; and most vertices of a picture besides the seeds."""

SMALLEST, LARGEST = 8.0, 90.0
"""Areas of dots, in square points."""


def around(graph: "Graph", vertices: np.ndarray) -> np.ndarray:
    """Return vertices (internal ids), followed by some of their neighbours."""
    degrees = np.diff(graph.indptr)
    found = dict.fromkeys(vertices.tolist())
    for vertex in vertices:
        row = graph.indices[graph.indptr[vertex] : graph.indptr[vertex + 1]]
        row = row[~np.isin(row, vertices)]
        found |= dict.fromkeys(row[np.argsort(degrees[row], kind="stable")[:BESIDE]].tolist())
    return np.array([*found][: len(vertices) + MOST])


def edges_among(graph: "Graph", vertices: np.ndarray) -> np.ndarray:
    """Return the edges among vertices, without direction and once each, as indices into ``vertices`` (shape (m, 2))."""
    from scipy.sparse import csr_array

    every = csr_array((np.ones(graph.m, bool), graph.indices, graph.indptr), shape=(graph.n, graph.n))
    return np.unique(np.sort(np.argwhere(every[vertices][:, vertices].toarray()), axis=1), axis=0)


def draw_network(
    path: str, title: str, graph: "Graph", vertices: np.ndarray, sizes: np.ndarray, marked: int, words: tuple[str, str]
) -> None:
    """Draw some vertices with names: all names if they are few, otherwise those of the marked vertices.

    With several marked vertices only edges between a marked and an unmarked vertex are drawn: edges among hubs would
    hide everything.

    Parameters
    ----------
    path : str
        The file to write, as :func:`gpukit.report.figure.draw` does.
    title : str
        Title of the picture.
    graph : Graph
        Its edges among the vertices are drawn, too.
    vertices : int array, shape (n,)
        Internal ids.
    sizes : float array, shape (n,)
        Relative sizes of the dots.
    marked : int
        The first ``marked`` vertices are highlighted.
    words : (str, str)
        Names of the marked and of the unmarked vertices in the legend.
    """
    names, edges = [*map(str, graph.original(vertices).tolist())], edges_among(graph, vertices)
    if marked > 1:
        edges = edges[(edges < marked).sum(axis=1) == 1]
    position = lay_out(edges, np.full(len(names), -1))
    area = SMALLEST + (LARGEST - SMALLEST) * sizes / max(float(sizes.max(initial=0)), 1e-300)
    with draw(path, title, (7.2, 6.0)) as (figure, axes):
        axes.set_axis_off()
        axes.set_aspect("equal", adjustable="datalim")
        lines(axes, position, edges, MUTED, 0.35)
        parts = ((slice(marked, None), SERIES[0], "o", words[1]), (slice(marked), SERIES[1], "s", words[0]))
        for part, colour, marker, word in parts:
            how: dict[str, Any] = {"color": colour, "marker": marker, "edgecolors": PAPER, "linewidths": 0.6}
            axes.scatter(*position[part].T, s=area[part], zorder=4, **how)
            axes.scatter([], [], s=32, label=label(word), **how)
        named = len(names) if len(names) <= NAMED else marked
        for place, name in enumerate(names[:named]):
            text = label(name if len(name) <= LONGEST else name[: LONGEST - 1] + "…")
            right = position[place][0] >= 0
            axes.annotate(
                text, position[place], (5 if right else -5, 3), textcoords="offset points",
                ha="left" if right else "right", fontsize=8 if place < marked else 7, zorder=5, color=INK,
                fontweight="bold" if place < marked else "normal",
            )  # fmt: skip
        axes.margins(0.14)
        axes.set_title(label(title), color=INK)
        legend(figure, axes, columns=2, handletextpad=0.3)
