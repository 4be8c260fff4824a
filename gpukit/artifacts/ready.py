"""What queries of kPAR need, ready to be mapped into memory: a file beside the index, made out of graph and index.

It is no artifact: it can be made again at any time, belongs to one graph and one index by their digests, and is trusted
like an artifact, once its checksums and values were tested (:mod:`gpukit.artifacts.remembered`). It is a sequence of
arrays in NumPy's format, each at a multiple of 64 bytes: first a text (JSON) that says what they are.
"""

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gpukit.artifacts.remembered import is_settled, recall, remember
from gpukit.artifacts.structure import need
from gpukit.artifacts.sums import plain_sums, tree_sums
from gpukit.errors import InputError
from gpukit.files import replacing, state_of

VERSION = 2
_ALIGNED = 64

_log = logging.getLogger("gpukit")

ROWS = {
    "indptr": "indices",
    "in_begin": "in_tails",
    "row_begin": "row_ends",
    "src_begin": "starts",
    "frequent_begin": "frequencies",
}
"""Row starts, and what they are starts in."""
IDS = ("indices", "in_tails", "row_ends", "starts", "by_arrivals")
"""Arrays of vertices."""
OF_VERTICES = ("walks", "arrivals", "by_arrivals", "in_prices")
"""Arrays with a value for each vertex."""


def ready_path(index: Path) -> Path:
    """Return where the file of an index is."""
    return index.with_name(f"{index.name}.ready")


def write_ready(path: Path, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bool:
    """Write arrays (C order) and what they belong to; return whether that was possible."""
    text = json.dumps({**about, "version": VERSION, "arrays": _listed(arrays), "sums": _sums(arrays)}, sort_keys=True)
    try:
        with replacing(path) as temporary, open(temporary, "wb") as file:
            for array in (np.frombuffer(text.encode(), np.uint8), *arrays.values()):
                file.write(b"\0" * (-file.tell() % _ALIGNED))
                np.lib.format.write_array(file, array, allow_pickle=False)
    except InputError as error:
        _log.info("opening will take as long the next time: %s", error)
        return False
    return True


def map_ready(path: Path, about: Mapping[str, Any], n: int) -> dict[str, np.ndarray] | None:
    """Map the arrays of a file into memory.

    Pages are read when they are used, shared with other processes, and copied should one be written to.

    Parameters
    ----------
    path : path
    about : mapping
        What it must belong to.
    n : int
        Number of vertices.

    Returns
    -------
    dict of arrays, or None
        None where there is no such file, or it belongs to something else, or is damaged.
    """
    try:
        with open(path, "rb") as file:
            state = state_of(file.fileno())
            told = json.loads(_mapped(file).tobytes())
            listed = told["arrays"]
            if told["version"] != VERSION or any(told.get(name) != value for name, value in about.items()):
                return None
            arrays = {name: _mapped(file) for name, *_ in listed}
            if not recall(state, ["ready"], ["ready"]):
                need(_listed(arrays) == listed and _sums(arrays) == told["sums"], "a checksum is wrong")
                _check_values(arrays, n)
                if is_settled(state) and state == state_of(file.fileno()):
                    remember(state, ["ready"])
            return arrays
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, InputError) as error:
        _log.warning("%s is damaged (%s), and made again", path, " ".join(str(error).split()))
        return None


def _listed(arrays: Mapping[str, np.ndarray]) -> list[list[Any]]:
    """Return name, type and length of each array, in their order."""
    return [[name, array.dtype.str, len(array)] for name, array in arrays.items()]


def _sums(arrays: Mapping[str, np.ndarray]) -> dict[str, str]:
    trees = tree_sums(arrays)
    return trees | plain_sums({name: array for name, array in arrays.items() if name not in trees})


def _mapped(file: Any) -> np.ndarray:
    """Return the next array of a file, mapped; the file stands behind it then. Raises ValueError if there is none."""
    file.seek(-file.tell() % _ALIGNED, os.SEEK_CUR)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array has another format")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if fortran or len(shape) != 1 or dtype.hasobject:
        raise ValueError("an array has another shape")
    place, size = file.tell(), shape[0] * dtype.itemsize
    if place + size > os.fstat(file.fileno()).st_size:
        raise ValueError("it is cut off")
    # Copied on writing ("c"), not read-only: compiled code is the same as for arrays that were read.
    array = np.asarray(np.memmap(file, dtype, "c", place, shape)) if size else np.empty(shape, dtype)
    file.seek(place + size)
    return array


def _check_values(arrays: Mapping[str, np.ndarray], n: int) -> None:
    """Check that nothing leads out of the arrays."""
    for name in (*ROWS, *OF_VERTICES):
        need(name in arrays, f"{name} is missing")
    for name in OF_VERTICES:
        need(len(arrays[name]) == n, f"{name} has another length than n")
    for name, rows in ROWS.items():
        begin, end = arrays[name], len(arrays[rows])
        need(len(begin) == n + 1 and begin[0] == 0 and begin[-1] == end, f"{name} does not fit {rows}")
        need(bool(np.all(begin[1:] >= begin[:-1])), f"{name} falls")
    need(len(arrays["in_tails"]) == len(arrays["indices"]), "in_tails has another length than m")
    need(len(arrays["row_ends"]) == len(arrays["row_freqs"]), "row_freqs has another length")
    need(bool(np.all(np.diff(arrays["frequent_begin"]) <= np.diff(arrays["src_begin"]))), "frequencies without starts")
    for name in IDS:
        ids = arrays[name]
        need(len(ids) == 0 or (ids.min() >= 0 and ids.max() < n), f"{name} holds values outside [0, {n})")
    if "chances" in arrays:
        need(len(arrays["chances"]) == len(arrays["indices"]), "chances has another length than m")
