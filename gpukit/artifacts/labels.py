"""Labels in artifacts: for all vertices in graphs and RR sets, for the named vertices in results."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np

from gpukit.artifacts.artifact import Artifact
from gpukit.artifacts.structure import need
from gpukit.errors import InputError
from gpukit.graph.labels import CONTROL, Labels

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
"""The datasets of each kind of result that name vertices. If the graph has labels, all of them hold internal ids."""


class Texts(Protocol):
    """An object that knows the labels of vertices."""

    def texts(self, vertices) -> np.ndarray:
        """Return the labels of vertices."""


class SomeLabels:
    """The labels of some vertices.

    Parameters
    ----------
    vertices : int32 array
        Internal ids, ascending.
    labels : Labels
        The labels of these vertices, in this order.
    """

    def __init__(self, vertices: np.ndarray, labels: Labels) -> None:
        self.vertices, self.labels = vertices, labels

    def texts(self, vertices) -> np.ndarray:
        """Return the labels of vertices; each must be one of ``vertices``."""
        return self.labels.texts(np.searchsorted(self.vertices, vertices))


def packed(labels: Labels | None) -> dict[str, np.ndarray]:
    """Return the datasets of the labels of all vertices; empty without labels."""
    return {} if labels is None else {"labels/offsets": labels.offsets, "labels/bytes": labels.data}


def packed_of(kind: str, arrays: Mapping[str, np.ndarray], labels: Texts | None) -> dict[str, np.ndarray]:
    """Return the datasets of the labels of the vertices named in a result; empty without labels or such vertices."""
    if labels is None or kind not in NAMING:
        return {}
    vertices = np.unique(np.concatenate([arrays[name] for name in NAMING[kind]])).astype(np.int32)
    return {"labels/vertices": vertices, **packed(Labels.of(labels.texts(vertices)))}


def labels_of(arrays: Mapping[str, np.ndarray]) -> Labels | None:
    """Return the labels of all vertices in an artifact; None if it has none."""
    return Labels(arrays["labels/offsets"], arrays["labels/bytes"]) if "labels/bytes" in arrays else None


def some_labels_of(results: Sequence[Artifact]) -> SomeLabels | None:
    """Return the labels of all vertices that the results name; None if a result has none."""
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
    """Return the external names of these vertices of a result: their labels, or the ids if it has no labels."""
    known = some_labels_of([artifact])
    return (numbers if known is None else known.texts(numbers)).tolist()


def check_labels(artifact: Artifact, meaning: bool) -> None:
    """Check that labels are valid texts, and that every named vertex has one.

    Parameters
    ----------
    artifact : Artifact
    meaning : bool
        Whether to check also the conditions of :class:`gpukit.graph.labels.Labels`.

    Raises
    ------
    InputError
        With a description of the error.
    """
    arrays, naming = artifact.arrays, NAMING.get(artifact.kind, ())
    there = [name for name in SOME if name in arrays]
    whole = tuple(there) == (SOME if naming else WHOLE)
    need(not there or whole, f"labels are incomplete: there are only {', '.join(there)}")
    labels = labels_of(arrays)
    if labels is None:
        return
    need("ids" not in arrays, "there are labels and ids; a graph has only one of them")
    starts = labels.data[labels.offsets[:-1][np.diff(labels.offsets) > 0]]
    need(np.all(starts & 0xC0 != 0x80), "a label begins within a character")
    try:
        labels.data.tobytes().decode()
    except UnicodeDecodeError:
        raise InputError("labels/bytes is not UTF-8") from None
    if naming:
        known = arrays["labels/vertices"]
        for name in naming:
            need(np.isin(arrays[name], known).all(), f"{name} contains a vertex without a label")
        same = np.array_equal(arrays[naming[0]], arrays.get("internal", arrays[naming[0]]))
        need(same, f"{naming[0]} and internal differ, although there are labels")
    if meaning:
        texts = labels.texts(np.arange(len(labels))).tolist()
        need(
            all(low < high for low, high in pairwise(texts)), "labels must be distinct and ascend by their UTF-8 bytes"
        )
        need("" not in texts, "a label is empty")
        need(all(text == text.strip(" ") for text in texts), "a label has blanks around it")
        need(not any(map(CONTROL.search, texts)), "a label contains a control character")
