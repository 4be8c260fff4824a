"""The data of kPAR queries, ready to be mapped into memory: a file next to the index, derived from graph and index.

It is no artifact: it can be derived again at any time, and it belongs to one graph and one index, named by their
digests. Its first line (JSON) lists the position of each array in the file; positions are multiples of 64.
"""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gpukit.artifacts.store import digests
from gpukit.artifacts.structure import need
from gpukit.errors import InputError
from gpukit.files import replacing

VERSION = 3
_ALIGNED = 64

_log = logging.getLogger("gpukit")

ROWS = {
    "indptr": "indices",
    "in_begin": "in_tails",
    "row_begin": "row_ends",
    "src_begin": "starts",
    "frequent_begin": "frequencies",
}
"""Arrays of row starts, and the arrays that hold the rows."""
IDS = ("indices", "in_tails", "row_ends", "starts", "by_arrivals")
"""Arrays of vertex ids."""
OF_VERTICES = ("walks", "arrivals", "by_arrivals", "in_prices")
"""Arrays with one value per vertex."""
ALIKE = {"in_tails": "indices", "row_freqs": "row_ends", "chances": "indices"}
"""Arrays, some of them optional, and arrays of equal length."""


def ready_path(index: Path) -> Path:
    """Return the path of the derived file of an index."""
    return index.with_name(f"{index.name}.ready")


def write_ready(path: Path, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bool:
    """Write arrays (C order), and the digests of the graph and the index; return whether this was possible."""
    listed, start = {}, 0
    for name, array in arrays.items():
        listed[name] = [array.dtype.str, start, array.nbytes]
        start += array.nbytes + -array.nbytes % _ALIGNED
    manifest = {**about, "version": VERSION, "arrays": listed, "sums": digests(arrays)}
    text = json.dumps(manifest, sort_keys=True).encode()
    try:
        with replacing(path) as temporary, open(temporary, "wb") as file:
            file.write(text + b" " * (-(len(text) + 1) % _ALIGNED) + b"\n")
            for array in arrays.values():
                file.write(b"\0" * (-file.tell() % _ALIGNED))
                file.write(array.data)
    except InputError as error:
        _log.info("the next opening will take as long: %s", error)
        return False
    return True


def map_ready(path: Path, about: Mapping[str, Any], n: int) -> dict[str, np.ndarray] | None:
    """Map the arrays of a file into memory.

    Pages are shared with other processes; a page is copied when written to.

    Parameters
    ----------
    path : path
    about : mapping
        The digests that the file must have.
    n : int
        Number of vertices.

    Returns
    -------
    dict of arrays, or None
        None if the file is missing, has other digests, or is damaged.
    """
    try:
        with open(path, "rb") as file:
            text = file.readline()
            manifest = json.loads(text)
            if manifest["version"] != VERSION or any(manifest.get(name) != value for name, value in about.items()):
                return None
            # Copy on write ("c") instead of read-only: compiled code is then the same as for arrays in memory.
            data = np.asarray(np.memmap(file, np.uint8, "c", len(text)))
        places = manifest["arrays"].items()
        arrays = {name: data[start : start + size].view(kind) for name, (kind, start, size) in places}
        need(digests(arrays) == manifest["sums"], "a checksum is wrong")
        _check_values(arrays, n)
        return arrays
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, InputError) as error:
        _log.warning("%s is damaged (%s) and is made again", path, " ".join(str(error).split()))
        return None


def _check_values(arrays: Mapping[str, np.ndarray], n: int) -> None:
    """Check that all values stay within the arrays they point into."""
    sizes = {**dict.fromkeys(ROWS, n + 1), **dict.fromkeys(OF_VERTICES, n)}
    sizes |= {name: len(arrays[other]) for name, other in ALIKE.items() if name in arrays}
    for name, size in sizes.items():
        need(len(arrays[name]) == size, f"{name} has another length than {size}")
    for name, rows in ROWS.items():
        begin = arrays[name]
        rises = begin[0] == 0 and begin[-1] == len(arrays[rows]) and np.all(begin[1:] >= begin[:-1])
        need(rises, f"{name} does not rise to the end of {rows}")
    need(np.all(np.diff(arrays["frequent_begin"]) <= np.diff(arrays["src_begin"])), "frequencies without starts")
    for name in IDS:
        ids = arrays[name]
        need(not len(ids) or (ids.min() >= 0 and ids.max() < n), f"{name} holds values outside [0, {n})")
