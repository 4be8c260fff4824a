"""An artifact in memory: its header and its arrays."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Header:
    """The root attributes of an artifact.

    Attributes
    ----------
    kind, version : str, int
        Kind, and version of its layout.
    producer : str
        Name and version of the program that wrote it.
    params : dict
        Parameters of the command that made it.
    seed : int or None
        The user's seed in [0, 2**64), if there is one.
    inputs : dict of str to str
        Role and SHA-256 of each input: the payload digest of an artifact, the file digest of anything else.
    attributes : dict
        Content attributes, described in the layout table.
    payload : str
        SHA-256 of kind, version, content attributes and arrays, without derived ones; hexadecimal.
    checksums : dict of str to str
        SHA-256 of the bytes of each dataset, by path.
    trees : dict of str to str
        Tree sum of each dataset of 64 MiB or more; empty for older files.
    """

    kind: str
    version: int
    producer: str
    params: dict[str, Any]
    seed: int | None
    inputs: dict[str, str]
    attributes: dict[str, Any]
    payload: str
    checksums: dict[str, str]
    trees: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Artifact(Header):
    """A header with the arrays that were read, by their path in the file."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries whose value is not None."""
    return {name: value for name, value in values.items() if value is not None}


def canonical_json(value: Any) -> str:
    """Return the canonical JSON text of a value: sorted keys, no spaces, NumPy scalars as numbers, no NaN."""

    def plain(item: Any) -> Any:
        if isinstance(item, np.generic | np.ndarray):
            return item.tolist()
        if isinstance(item, os.PathLike):
            raise TypeError("an artifact must not contain a path")
        raise TypeError(f"{type(item).__name__} cannot be written as JSON")

    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=plain)
