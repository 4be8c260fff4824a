"""Files that were checked in full once, kept in the user's cache: they need not be checked again.

What is kept is one empty file an entry in ``$XDG_CACHE_HOME/gpukit/checked`` (``~/.cache`` by default), and its name is
the whole entry: a SHA-256 over device, inode, size, times of change (of data and of inode, in nanoseconds), the arrays
that were read, and the rules they were checked by. Nothing in it can be damaged, and processes need no lock. No program
can set the time of change of an inode, so a file that was written to is another file here.
"""

import hashlib
import os
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from gpukit import pending
from gpukit.files import State, cache_folder

FROM = 4 << 20
"""Bytes of arrays from which a file is remembered; less is checked in milliseconds."""

LIMIT = 4096
"""Most entries; the oldest go first."""

AGE_NS = 2_000_000_000
"""A file changed this short a time ago might change again without a new time; it is not remembered."""


def is_settled(state: State) -> bool:
    """Return whether a file was last changed long enough ago for a later change to show in its times."""
    return time.time_ns() - max(state[3:]) > AGE_NS


def recall(state: State, arrays: Iterable[str], whole: Iterable[str]) -> bool:
    """Return whether these arrays of a file, or the whole of it, were checked in full before."""
    folder = None if pending.again else cache_folder("checked")
    if folder is None:
        return False
    for names in (arrays, whole):
        try:
            os.utime(folder / _entry(state, names))  # the time of its last use
            return True
        except OSError:
            continue
    return False


def remember(state: State, arrays: Iterable[str]) -> None:
    """Keep that these arrays of a file are right; without a cache that only its owner can write to, do nothing."""
    folder = cache_folder("checked", make=True)
    if folder is None:
        return
    try:
        (folder / _entry(state, arrays)).touch(mode=0o600)
        entries = sorted(os.scandir(folder), key=lambda entry: entry.stat().st_mtime_ns)
        for entry in entries[:-LIMIT]:
            os.unlink(entry.path)
    except OSError:
        return  # a full disk, or another process that tidies up, too


def _entry(state: State, arrays: Iterable[str]) -> str:
    return hashlib.sha256(repr((state, sorted(arrays), _rules())).encode()).hexdigest()


@cache
def _rules() -> str:
    """Return a digest of the code that checks: what was checked by other rules is checked again."""
    here = Path(__file__).parent
    sources = [*sorted(here.glob("*.py")), here.parent / "worlds" / "tables.py"]
    return hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in sources)).hexdigest()
