"""The full check of an artifact: structure, every checksum, and the meaning of the numbers."""

from gpukit.artifacts import store
from gpukit.artifacts.artifact import Header
from gpukit.artifacts.store import PathLike


def verify(path: PathLike) -> Header:
    """Check an artifact in full and return its header.

    Raises
    ------
    InputError
        With the first error found.
    """
    return store.read(path, full=True)
