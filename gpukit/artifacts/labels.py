"""Labels in artifacts: of every vertex in a graph and in RR sets, of the vertices that it names in a result."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from gpukit.artifacts.artifact import Artifact
from gpukit.artifacts.structure import need
from gpukit.graph.labels import Labels

WHOLE = ("labels/offsets", "labels/bytes")
SOME = ("labels/vertices", *WHOLE)

NAMING: dict[str, tuple[str, ...]] = {
    "seeds": ("seeds", "internal"),
    "topk": ("nodes", "internal", "sources"),
    "campaign": ("seeds", "activated"),
    "diversity": ("vertices", "internal", "members"),
    "egonets": ("centres", "nodes"),
    "decomposition": ("tails", "heads"),
}
"""The datasets of each kind of result that name vertices; of a graph with labels all of them by internal ids."""


class Texts(Protocol):
    """What knows the labels of vertices."""

    def texts(self, vertices) -> np.ndarray:
        """Return the labels of vertices."""


class SomeLabels:
    """The labels of some vertices.

    Parameters
    ----------
    vertices : int32 array
        Internal ids, ascending.
    labels : Labels
        Theirs, in this order.
    """

    def __init__(self, vertices: np.ndarray, labels: Labels) -> None:
        self.vertices, self.labels = vertices, labels

    def texts(self, vertices) -> np.ndarray:
        """Return the labels of vertices; each must be one of those that have one here."""
        return self.labels.texts(np.searchsorted(self.vertices, vertices))


def packed(labels: Labels) -> dict[str, np.ndarray]:
    """Return the datasets of the labels of all vertices."""
    return {"labels/offsets": labels.offsets, "labels/bytes": labels.data}


def packed_of(kind: str, arrays: Mapping[str, np.ndarray], labels: Texts | None) -> dict[str, np.ndarray]:
    """Return the datasets of the labels of the vertices that a result names; none without labels or such names."""
    if labels is None or kind not in NAMING:
        return {}
    vertices = np.unique(np.concatenate([arrays[name] for name in NAMING[kind]])).astype(np.int32)
    return {"labels/vertices": vertices, **packed(Labels.of(labels.texts(vertices)))}


def labels_of(arrays: Mapping[str, np.ndarray]) -> Labels | None:
    """Return the labels of all vertices that an artifact holds; None without."""
    return Labels(arrays["labels/offsets"], arrays["labels/bytes"]) if "labels/bytes" in arrays else None


def some_labels_of(results: Sequence[Artifact]) -> SomeLabels | None:
    """Return the labels of the vertices that results name, all together; None without."""
    if any("labels/vertices" not in one.arrays for one in results):
        return None
    known: dict[int, str] = {}
    for one in results:
        labels, vertices = labels_of(one.arrays), one.arrays["labels/vertices"]
        assert labels is not None
        known |= dict(zip(vertices.tolist(), labels.texts(np.arange(len(labels))).tolist(), strict=True))
    there = sorted(known)
    return SomeLabels(np.array(there, np.int32), Labels.of(known[vertex] for vertex in there))


def names_in(artifact: Artifact, numbers: np.ndarray) -> list:
    """Return what people call the vertices that a result names by these ids: ids, or labels where it has them."""
    known = some_labels_of([artifact])
    return (numbers if known is None else known.texts(numbers)).tolist()


def check_labels(artifact: Artifact) -> None:
    """Check that labels are what :class:`gpukit.graph.labels.Labels` says, and of all vertices that are named.

    Raises
    ------
    InputError
        With what is wrong.
    """
    arrays, kind = artifact.arrays, artifact.kind
    parts = SOME if kind in NAMING else WHOLE
    there = [name for name in SOME if name in arrays]
    need(not there or set(there) == set(parts), f"of the labels there are {', '.join(there)} alone")
    if not there:
        return
    need("ids" not in arrays, "there are labels and ids; a graph has one of them")
    _check_texts(arrays["labels/offsets"], arrays["labels/bytes"])
    if kind in NAMING:
        known = arrays["labels/vertices"]
        need(np.all(known[1:] > known[:-1]), "labels/vertices must ascend")
        for name in NAMING[kind]:
            need(np.isin(arrays[name], known).all(), f"{name} holds a vertex without a label")
        if "internal" in arrays:
            same = np.array_equal(arrays[NAMING[kind][0]], arrays["internal"])
            need(same, f"{NAMING[kind][0]} and internal differ, though there are labels")


def _check_texts(offsets: np.ndarray, data: np.ndarray) -> None:
    """Check that labels are UTF-8, not empty, without control characters or blanks around them, and ascend."""
    lengths = np.diff(offsets)
    need(np.all(lengths > 0), "a label is empty")
    try:
        data.tobytes().decode("utf-8")
    except UnicodeDecodeError:
        need(False, "labels/bytes is not UTF-8")
    if not len(lengths):
        return
    starts, ends = data[offsets[:-1]], data[offsets[1:] - 1]
    need(np.all(starts & 0xC0 != 0x80), "a label begins within a character")
    control = (data < 32) | (data == 127)
    control[1:] |= (data[:-1] == 0xC2) & (data[1:] < 0xA0)
    need(not control.any(), "a label holds a control character")
    need(not np.any((starts == 32) | (ends == 32)), "there are blanks around a label")
    _check_order(offsets, data)


def _check_order(offsets: np.ndarray, data: np.ndarray) -> None:
    """Check that labels ascend by their bytes, no two equal: all pairs at once, eight bytes at a time.

    Labels hold no zero bytes, so what is filled up with them has the order of the labels.
    """
    windows = np.lib.stride_tricks.sliding_window_view(np.concatenate([data, np.zeros(8, np.uint8)]), 8)
    pairs = np.arange(len(offsets) - 2)
    at = 0
    while len(pairs):
        lower, upper = (_words(windows, offsets, pairs + side, at) for side in (0, 1))
        equal = lower == upper
        need(np.all(lower <= upper), "labels must ascend by their UTF-8 bytes")
        need(np.all(upper[equal] & np.uint64(255)), "two labels are equal")
        pairs = pairs[equal]
        at += 8


def _words(windows: np.ndarray, offsets: np.ndarray, vertices: np.ndarray, at: int) -> np.ndarray:
    """Return eight bytes of each label from place ``at`` on as a number (uint64), zeros behind its end."""
    start, end = offsets[vertices] + at, offsets[vertices + 1]
    words = windows[np.minimum(start, len(windows) - 1)].view(">u8").ravel().astype(np.uint64)
    missing = np.clip(8 - (end - start), 0, 8).astype(np.uint64)
    return np.where(missing < 8, words >> (missing * 8) << (missing * 8), 0) if len(words) else words
