"""A file object under HDF5 that lives through a full disk."""

import io
from typing import Any

from gpukit.files import PathLike


class Patient(io.FileIO):
    """A new file that takes every write and keeps the first error for :meth:`check`.

    HDF5 writes much of a file when it is closed, and if that fails, on a full disk say, it tries again at the end of
    the process and crashes.
    """

    def __init__(self, path: PathLike) -> None:
        super().__init__(path, "w+")
        self.error: OSError | None = None

    def write(self, data: Any) -> int:
        """Write all bytes, or none after an error."""
        view = memoryview(data).cast("B")
        size = len(view)
        try:
            while self.error is None and view:
                view = view[super().write(view) :]
        except OSError as error:
            self.error = error
        return size

    def readinto(self, data: Any) -> int:
        """Read what was written; zeros where that failed."""
        view = memoryview(data).cast("B")
        read = super().readinto(view) or 0
        if self.error is not None:
            view[read:] = bytes(len(view) - read)
            read = len(view)
        return read

    def truncate(self, size: int | None = None) -> int:
        """Set the length; an error is kept."""
        try:
            return super().truncate(size)
        except OSError as error:
            self.error = self.error or error
            return size or 0

    def check(self) -> None:
        """Raise the first error there was."""
        if self.error is not None:
            raise self.error
