"""Artifacts that are changed and sealed again: every checksum is right, as in a file that somebody prepared."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from gpukit.artifacts.layout import KINDS
from gpukit.artifacts.verify import verify
from gpukit.errors import InputError

EDGES = [(0, 1), (1, 2), (2, 0), (3, 1), (4, 1), (5, 1), (0, 5), (1, 5), (2, 5), (3, 5), (4, 5)]
"""Of a graph of 6 vertices that tests write and change."""


def refused(path: Path, word: str, read: Callable[[Path], object] = verify) -> None:
    """Check that a file is refused in one line that has the word."""
    with pytest.raises(InputError, match=word) as caught:
        read(path)
    assert "\n" not in str(caught.value)


def _json(value) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def seal(path: Path) -> None:
    """Compute all checksums of a file anew, as docs/artifacts.md describes them; leave what cannot have one alone."""
    with h5py.File(path, "r+") as file:
        arrays: dict[str, h5py.Dataset] = {}
        file.visititems(lambda name, item: arrays.__setitem__(name, item) if isinstance(item, h5py.Dataset) else None)
        sums = {name: hashlib.sha256(item[()].tobytes()).hexdigest() for name, item in arrays.items()}
        kind = KINDS[file.attrs["gpukit_kind"]]
        rows = {name: kind.array(name) for name in arrays}
        content = {
            name: [item.dtype.str, list(item.shape), sums[name]]
            for name, item in arrays.items()
            if rows[name] is not None and not rows[name].derived
        }
        attributes = json.loads(file.attrs["gpukit_attributes"])
        said = {
            name: value
            for name, value in attributes.items()
            if name not in [row.name for row in kind.attributes if row.derived]
        }
        whole = {"kind": kind.name, "version": int(file.attrs["gpukit_version"]), "attributes": said, "arrays": content}
        file.attrs["gpukit_checksums"] = _json(sums)
        file.attrs["gpukit_payload_sha256"] = hashlib.sha256(_json(whole).encode()).hexdigest()
        seal_header(file)


def seal_header(file: h5py.File) -> None:
    """Compute the checksum of the root attributes anew."""
    kept = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in file.attrs.items()
        if name.startswith("gpukit_") and name != "gpukit_header_sha256"
    }
    file.attrs["gpukit_header_sha256"] = hashlib.sha256(_json(kept).encode()).hexdigest()


def change(path: Path, arrays: dict | None = None, attributes: dict | None = None, root: dict | None = None) -> None:
    """Change arrays, attributes and root attributes of a file (None removes one) and seal it."""
    with h5py.File(path, "r+") as file:
        for name, value in (arrays or {}).items():
            if name in file:
                del file[name]
            if value is not None:
                file.create_dataset(name, data=value)
        known = json.loads(file.attrs["gpukit_attributes"]) | (attributes or {})
        file.attrs["gpukit_attributes"] = _json({name: value for name, value in known.items() if value is not None})
        for name, value in (root or {}).items():
            file.attrs.pop(name, None)
            if value is not None:
                file.attrs[name] = value
    seal(path)


def flip(path: Path, name: str, place: int = 0) -> None:
    """Change one bit of a dataset where it lies."""
    with h5py.File(path) as file:
        at = file[name].id.get_offset() + place
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
