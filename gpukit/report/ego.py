"""A picture of an ego-network: the neighbours of a vertex, coloured by circle."""

import math
from typing import Any

import numpy as np

from gpukit.errors import InputError
from gpukit.report.figure import draw, legend
from gpukit.report.style import GRID, INK, MARKERS, MUTED, PAPER, SERIES
from gpukit.report.text import label
from gpukit.wording import counted

MOST = 600
"""Most neighbours that are drawn; the caption says if there are more."""

NAMED, LONGEST = 40, 24
"""Most neighbours of a picture that names all of them, and most letters of a name."""

ROUNDS = 400


def plot_ego(egos_file: str, answers_file: str, path: str) -> None:
    """Draw the ego-network of the first vertex of an answer, each context in its own colour.

    Parameters
    ----------
    egos_file : str
        An ``egonets`` artifact with this vertex among its centres.
    answers_file : str
        A ``diversity`` artifact.
    path : str
        The file to write, as :func:`gpukit.report.figure.draw` does.

    Raises
    ------
    InputError
        If a file is damaged, or lacks the ego-network.
    UsageError
        If matplotlib is not installed.
    """
    from gpukit.artifacts import read
    from gpukit.artifacts.labels import names_in

    found, answer = read(egos_file, "egonets"), read(answers_file, "diversity")
    egos, a = found.arrays, answer.arrays
    centre = names_in(answer, a["vertices"][:1])[0]
    at = np.flatnonzero(egos["centres"] == a["vertices"][0])
    if not len(at):
        raise InputError(f"{egos_file} has no ego-network of vertex {centre}; write it with `gpukit diversity egos`")
    rows = slice(int(egos["node_begin"][at[0]]), int(egos["node_begin"][at[0] + 1]))
    nodes, indptr = egos["nodes"][rows], egos["indptr"][rows.start : rows.stop + 1]
    tails = np.repeat(np.arange(len(nodes)), np.diff(indptr))
    edges = np.stack((tails, egos["indices"][indptr[0] : indptr[-1]]), axis=1).astype(np.int64)
    # Map the contexts of the answer to circles of neighbours.
    circle = np.full(len(nodes), -1)
    for number in range(int(a["first"][1])):
        members = a["members"][a["offsets"][number] : a["offsets"][number + 1]]
        places = np.searchsorted(nodes, members)
        if np.any(nodes[np.minimum(places, len(nodes) - 1)] != members):
            raise InputError(
                f"{egos_file} and {answers_file} are of different graphs: vertex {centre} has other friends"
            )
        circle[places] = number
    # If there are too many neighbours, draw those in circles first, then those with most edges.
    kept = np.sort(np.lexsort((np.arange(len(nodes)), -np.diff(indptr), circle < 0))[:MOST])
    place = np.full(len(nodes), -1)
    place[kept] = np.arange(len(kept))
    edges = place[edges[edges[:, 0] < edges[:, 1]]]
    title = f"vertex {label(str(centre))}: {counted(len(nodes), 'friend')}"
    if len(kept) < len(nodes):
        title += f", {len(kept):,} of them drawn"
    names = [label(str(name)) for name in names_in(found, nodes[kept])]
    _draw(edges[(edges >= 0).all(axis=1)], circle[kept], names, title, path)


def lay_out(edges: np.ndarray, circle: np.ndarray) -> np.ndarray:
    """Place the vertices of a graph: edges attract, vertices repel each other, and circles stay together.

    Parameters
    ----------
    edges : int64 array, shape (m, 2)
        The ends of each edge, once.
    circle : int array, shape (n,)
        The circle of each vertex; -1 is none.

    Returns
    -------
    float64 array, shape (n, 2)
        Neighbouring vertices are about one unit apart; centred.
    """
    size = len(circle)
    if not size:
        return np.empty((0, 2))
    # Start with an even layout without randomness: circle by circle around the clock, at varying distances.
    order = np.argsort(np.where(circle < 0, size, circle), kind="stable")
    spot = np.empty(size)
    spot[order] = np.arange(size)
    angle = 2 * math.pi * spot / size
    distance = math.sqrt(size) * (0.6 + 0.08 * (7 * spot % 5))
    position = distance[:, None] * np.stack((np.cos(angle), np.sin(angle)), axis=1)
    members = [np.flatnonzero(circle == number) for number in np.unique(circle[circle >= 0])]
    apart = (circle[:, None] >= 0) & (circle[None, :] >= 0) & (circle[:, None] != circle[None, :])
    push = np.where(apart, 2.0, 1.0)
    tails, heads = edges[:, 0], edges[:, 1]
    strength = np.where((circle[tails] == circle[heads]) & (circle[tails] >= 0), 0.12, 0.06)
    for step in range(ROUNDS):
        force = np.empty_like(position)
        gaps = [column[:, None] - column[None, :] for column in position.T]
        share = push / (gaps[0] ** 2 + gaps[1] ** 2 + 0.01)
        for axis, gap in enumerate(gaps):
            force[:, axis] = (gap * share).sum(axis=1)
        along = position[heads] - position[tails]
        pull = along * (np.sqrt((along**2).sum(axis=1)) * strength)[:, None]
        np.add.at(force, tails, pull)
        np.add.at(force, heads, -pull)
        for part in members:
            force[part] += 0.3 * (position[part].mean(axis=0) - position[part])
        force -= 0.12 * position * np.sqrt((position**2).sum(axis=1, keepdims=True)) / max(math.sqrt(size) / 3, 1.0)
        length = np.sqrt((force**2).sum(axis=1, keepdims=True)) + 1e-12
        position = position + force / length * np.minimum(length, 0.08 * math.sqrt(size) * (1 - step / ROUNDS) + 0.002)
    return np.round(position - position.mean(axis=0), 3)


def _named(edges: np.ndarray, circle: np.ndarray) -> list[int]:
    """Return the neighbours to name: all if they are few, otherwise the one with most edges of each circle."""
    if len(circle) <= NAMED:
        return list(range(len(circle)))
    inside = edges[circle[edges[:, 0]] == circle[edges[:, 1]]]
    ties = np.bincount(inside.ravel(), minlength=len(circle))
    members = (np.flatnonzero(circle == number) for number in np.unique(circle[circle >= 0]))
    return [int(part[np.argmax(ties[part])]) for part in members]


def _draw(edges: np.ndarray, circle: np.ndarray, names: list[str], title: str, path: str) -> None:
    """Draw hulls, then edges, then dots and names, and a numbered legend."""
    position = lay_out(edges, circle)
    dot = float(np.clip(1500 / max(len(circle), 1), 6, 34))
    margin = 0.035 * max(float(np.ptp(position, axis=0).max(initial=1.0)), 1.0)
    with draw(path, title, (4.4, 4.4)) as (figure, axes):
        axes.set_axis_off()
        axes.set_aspect("equal", adjustable="datalim")
        inside = (circle[edges[:, 0]] == circle[edges[:, 1]]) & (circle[edges[:, 0]] >= 0)
        lines(axes, position, edges[~inside], GRID, 1.0)
        loose = circle < 0
        ring: dict[str, Any] = {"color": PAPER, "edgecolors": MUTED, "linewidths": 0.9}
        axes.scatter(*position[loose].T, s=0.6 * dot, zorder=3, **ring)
        for number in np.unique(circle[circle >= 0]):
            colour, marker = SERIES[number % len(SERIES)], MARKERS[number // len(SERIES) % len(MARKERS)]
            points = position[circle == number]
            axes.fill(*_around(points, margin).T, color=colour, alpha=0.15, linewidth=0, zorder=1, clip_on=False)
            lines(axes, position, edges[inside & (circle[edges[:, 0]] == number)], colour, 0.45)
            full: dict[str, Any] = {"color": colour, "marker": marker, "edgecolors": PAPER, "linewidths": 0.6}
            axes.scatter(*points.T, s=dot, zorder=4, **full)
            axes.scatter([], [], s=32, label=f"circle {number + 1}: {counted(len(points), 'friend')}", **full)
        if loose.any():
            axes.scatter([], [], s=24, label=f"in no circle: {loose.sum()}", **ring)
        for one in _named(edges, circle):
            name, centre = names[one], position[circle == circle[one]].mean(axis=0)
            right = position[one][0] >= centre[0] or not len(edges)
            axes.annotate(
                name if len(name) <= LONGEST else name[: LONGEST - 1] + "…", position[one], (4 if right else -4, 3),
                textcoords="offset points", ha="left" if right else "right", fontsize=7, color=INK, zorder=5,
            )  # fmt: skip
        axes.margins(0.16 if len(circle) <= NAMED else 0.06)
        axes.set_title(title, color=INK)
        legend(figure, axes, columns=2, handletextpad=0.3)


def _around(points: np.ndarray, margin: float) -> np.ndarray:
    """Return the outline of the points within ``margin`` of the convex hull, counterclockwise."""
    from scipy.spatial import ConvexHull

    angle = np.linspace(0, 2 * math.pi, 24, endpoint=False)
    circle = margin * np.stack((np.cos(angle), np.sin(angle)), axis=1)
    near = (points[:, None, :] + circle).reshape(-1, 2)
    return near[ConvexHull(near).vertices]


def lines(axes: Any, position: np.ndarray, edges: np.ndarray, colour: str, alpha: float) -> None:
    """Draw edges as one path; its file size is a tenth of that of separate lines."""
    if not len(edges):
        return
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    codes = np.tile([Path.MOVETO, Path.LINETO], len(edges))
    patch = PathPatch(Path(position[edges].reshape(-1, 2), codes), facecolor="none", edgecolor=colour, linewidth=0.8)
    patch.set_alpha(alpha)
    patch.set_zorder(2)
    axes.add_patch(patch)
