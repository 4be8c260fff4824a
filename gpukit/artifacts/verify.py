"""The full check of one artifact: structure, every checksum, and what the numbers mean."""

from gpukit.artifacts import store
from gpukit.artifacts.artifact import Header
from gpukit.artifacts.store import PathLike


def verify(path: PathLike) -> Header:
    """Check an artifact in full and return its header.

    Raises
    ------
    InputError
        With the first thing that is wrong.
    """
    return store.read(path, full=True)
