"""The SHA-256 of earlier downloads: one small file each, in the user's data folder."""

import hashlib
import logging
import os
import re
from pathlib import Path

from gpukit.errors import InputError
from gpukit.files import read_text, write_text

_log = logging.getLogger("gpukit")


class ChangedFile(InputError):
    """A download differs from the first one."""


def is_known(name: str, url: str, digest: str) -> bool:
    """Return whether a data set was downloaded before with this SHA-256.

    Raises
    ------
    ChangedFile
        If its SHA-256 was another one.
    InputError
        If the record cannot be read.
    """
    record = _record(name, url)
    if record is None or not record.exists():
        return False
    before = read_text(record).strip()
    if not re.fullmatch("[0-9a-f]{64}", before):
        raise InputError(f"{record} holds no SHA-256; remove it, and the next download will be recorded anew")
    if before != digest:
        raise ChangedFile(
            f"{url} has SHA-256 {digest}, but had {before} when it was first fetched; if the new file is right, remove "
            f"{record} and fetch again"
        )
    return True


def remember(name: str, url: str, digest: str) -> None:
    """Record the SHA-256 of a first download; log a warning if this is impossible."""
    record = _record(name, url)
    try:
        if record is None:
            raise InputError("there is no home folder; set XDG_DATA_HOME")
        record.parent.mkdir(parents=True, exist_ok=True)
        write_text(record, f"{digest}\n")
    except (OSError, InputError) as error:
        _log.warning("the SHA-256 is not recorded, and the next download not compared with it: %s", error)


def _record(name: str, url: str) -> Path | None:
    """Return the path of the record of a SHA-256; None without a home folder."""
    folder = os.environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(folder):
        try:
            folder = str(Path.home() / ".local/share")
        except RuntimeError:
            return None
    return Path(folder, "gpukit/fetched", f"{name}-{hashlib.sha256(url.encode()).hexdigest()[:16]}.sha256")
