"""Test whether a graph was made from a given edge list.

Snakemake compares only times, and an unpacked or copied file may be older than the file that it replaces.
"""

import hashlib
import time
from contextlib import suppress
from pathlib import Path

from gpukit.errors import GpukitError
from gpukit.files import state_of, write_text

AGE_NS = 2_000_000_000
"""A file that changed more recently than this might change again without a new modification time."""


def digest_of(edges: Path, stamp: Path) -> str:
    """Return the SHA-256 of an edge list, or an empty text if it cannot be read.

    The file is read again only if its size or a time differs from its stamp.

    Parameters
    ----------
    edges : Path
        The edge list.
    stamp : Path
        A small file with size, times and digest; if it cannot be written, the edge list is read each time.
    """
    try:
        state = state_of(edges)
        known = [str(value) for value in state[2:]]  # device and inode differ between machines
        with suppress(OSError, ValueError):
            *kept, digest = stamp.read_text(encoding="utf-8").split()
            if kept == known:
                return digest
        with edges.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
    # The first graph creates the folder.
    if stamp.parent.is_dir() and time.time_ns() - max(state[3:]) > AGE_NS:
        with suppress(GpukitError):
            write_text(stamp, " ".join([*known, digest]) + "\n")
    return digest


def is_made_of(graph: Path, digest: str) -> bool:
    """Return whether a graph artifact exists and was imported from a file with this SHA-256."""
    from gpukit.artifacts import read_header

    try:
        return read_header(graph, "graph").inputs.get("edges") == digest
    except GpukitError:
        return False
