"""The semantic comparison of two artifacts: by content, so compressed and plain files can be equal."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gpukit.artifacts import store
from gpukit.artifacts.artifact import Artifact
from gpukit.artifacts.labels import NAMING, names_in
from gpukit.artifacts.store import PathLike

COMPARED = ("version", "seed", "params", "inputs", "attributes")
"""Header fields that are compared, besides the kind."""


def diff(first: PathLike, second: PathLike, rtol: float = 0.0) -> list[str]:
    """Return one line for each difference between two artifacts; none if they are equal.

    Kind, layout version, seed, parameters, input digests, content attributes and every array are compared. The
    producer's version and the storage of arrays are not.

    Parameters
    ----------
    first, second : path
        The artifacts.
    rtol : float
        Relative tolerance of floating-point numbers; integers are compared exactly.

    Raises
    ------
    InputError
        If one of them cannot be read or is damaged.
    """
    a, b = store.read(first), store.read(second)
    if a.kind != b.kind:
        return [f"kind: {a.kind} and {b.kind}"]
    said, other = ({name: getattr(one, name) for name in COMPARED} for one in (a, b))
    lines = list(_values("", said, other, rtol))
    for path in sorted(a.arrays.keys() | b.arrays.keys()):
        if path not in a.arrays or path not in b.arrays:
            lines.append(f"dataset {path}: only in the {'first' if path in a.arrays else 'second'}")
        elif line := _arrays(a.arrays[path], b.arrays[path], rtol, [_caller(one, path) for one in (a, b)]):
            lines.append(f"dataset {path}: {line}")
    return lines


def _caller(artifact: Artifact, path: str) -> Callable[[Any], str]:
    """Return an entry of a dataset as text for people: the name of the vertex if the result has names."""
    if path not in NAMING.get(artifact.kind, ()):
        return str
    return lambda number: str(*names_in(artifact, np.array([number])))


def _values(place: str, a: Any, b: Any, rtol: float) -> Iterator[str]:
    """Compare JSON values, recursing into objects."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(a.keys() | b.keys()):
            inner = f"{place}.{key}" if place else key
            if key not in a or key not in b:
                yield f"{inner}: only in the {'first' if key in a else 'second'}"
            else:
                yield from _values(inner, a[key], b[key], rtol)
    elif isinstance(a, float) and isinstance(b, float):
        if not np.isclose(a, b, rtol=rtol, atol=0):
            yield f"{place}: {a!r} and {b!r}"
    elif a != b or isinstance(a, bool) != isinstance(b, bool):
        yield f"{place}: {a!r} and {b!r}"


def _arrays(left: np.ndarray, right: np.ndarray, rtol: float, call: Sequence[Callable[[Any], str]]) -> str:
    if left.dtype != right.dtype:
        return f"type {left.dtype} and {right.dtype}"
    if left.shape != right.shape:
        return f"shape {left.shape} and {right.shape}"
    if left.dtype.kind == "f":
        same = np.isclose(left, right, rtol=rtol, atol=0, equal_nan=True)
    else:
        same = np.asarray(left == right)
    different = int(same.size - np.count_nonzero(same))
    if not different:
        return ""
    place = np.unravel_index(int(np.argmin(same)), same.shape)
    index = ", ".join(str(int(i)) for i in place)
    first = " and ".join(say(array[place]) for say, array in zip(call, (left, right), strict=True))
    return f"{different} of {same.size} entries differ, first at [{index}]: {first}"
