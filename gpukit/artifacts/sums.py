"""Checksums of arrays: one SHA-256 an array, and for large arrays a tree of them that all cores share.

The tree sum of an array is the SHA-256 of the SHA-256s of its pieces of 4 MiB, end to end. It stands beside the plain
sum, which the payload digest is made of, and finds damage as surely; that both are of the same bytes is for ``gpukit
verify`` to tell.
"""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from gpukit.artifacts.cores import on_all_cores

PIECE = 4 << 20
TREE_FROM = 64 << 20
"""Bytes of an array that gets a tree sum; hashing less in one go takes 45 ms at most."""


def plain_sums(arrays: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Return the SHA-256 of the little-endian bytes of each array in C order, hexadecimal."""
    found = _hashed([_bytes(array) for array in arrays.values()])
    return {name: digest.hex() for name, digest in zip(arrays, found, strict=True)}


def has_tree(array: np.ndarray) -> bool:
    """Return whether an array gets a tree sum."""
    return array.nbytes >= TREE_FROM


def tree_sums(arrays: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Return the tree sum of each array that is large enough for one."""
    pieces: dict[str, list[memoryview]] = {}
    for name, array in arrays.items():
        if has_tree(array):
            whole = _bytes(array)
            pieces[name] = [whole[start : start + PIECE] for start in range(0, len(whole), PIECE)]
    found = iter(_hashed([piece for listed in pieces.values() for piece in listed]))
    return {name: hashlib.sha256(b"".join(next(found) for _ in listed)).hexdigest() for name, listed in pieces.items()}


def _bytes(array: np.ndarray) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _hashed(parts: Sequence[memoryview]) -> list[bytes]:
    """Return the SHA-256 of each part; the longest are begun first."""
    order = sorted(range(len(parts)), key=lambda i: len(parts[i]))
    size = sum(len(part) for part in parts)
    found = on_all_cores(lambda i: hashlib.sha256(parts[i]).digest(), order, size // PIECE)
    return [digest for _, digest in sorted(zip(order, found, strict=True))]
