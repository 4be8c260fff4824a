"""The full check of one artifact: structure, every checksum, and what the numbers mean."""

from gpukit.artifacts import store
from gpukit.artifacts.checks import CHECKS, check_descriptors
from gpukit.artifacts.store import Header, PathLike
from gpukit.errors import InputError


def verify(path: PathLike) -> Header:
    """Check an artifact in full and return its header.

    Raises
    ------
    InputError
        With the first thing that is wrong.
    """
    artifact = store.read(path, checksum=True)
    with store.opened(path) as (file, _):
        texts = {
            group: file[f"/{group}"].attrs.get("binsparse", "") for group in ("", "transpose") if f"/{group}" in file
        }
    try:
        check_descriptors(texts, artifact)
        if artifact.kind in CHECKS:
            CHECKS[artifact.kind](artifact)
    except InputError as error:
        raise InputError(f"{path}: {error}; make the file again") from None
    return artifact
