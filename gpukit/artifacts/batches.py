"""A long Parquet table, written in batches: a killed run resumes after its last complete batch.

The batches of ``P.parquet`` are in the folder ``P.parquet.batches`` next to it. Each batch has its own file, which is
complete or absent; a note describes the table. At the end the batches are joined, one row group per batch, and the
folder is removed. The table depends only on these files, so its bytes do not depend on the number of restarts.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpukit.artifacts.kept import first_bytes, would_lose
from gpukit.artifacts.lock import only_writer
from gpukit.errors import InputError, UsageError
from gpukit.files import read_text, reason, replacing, write_text
from gpukit.wording import spelled

if TYPE_CHECKING:
    import pyarrow

KEY = b"gpukit"
"""Metadata key of a table: the inputs it was made from, as JSON."""

_NOTE = "run.json"


def check_parquet() -> None:
    """Raise UsageError if no package for writing Parquet is installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise UsageError("Parquet needs the package pyarrow; install gpukit[parquet]") from None


def check_called_parquet(path: Path) -> None:
    """Refuse a file name that does not end in ``.parquet``; raises UsageError."""
    if path.suffix.lower() != ".parquet":
        raise UsageError(f"{spelled('out')} {path}: Parquet is written; give a name that ends in .parquet")


def kind_of(path: "str | os.PathLike[str]") -> str | None:
    """Return the kind of a table that gpukit wrote, read from its metadata; None for any other file."""
    import pyarrow
    from pyarrow import parquet

    try:
        return json.loads((parquet.read_schema(path).metadata or {})[KEY])["kind"]
    except (pyarrow.ArrowException, OSError, ValueError, KeyError, TypeError):
        return None


def check_table_replaced(path: "str | os.PathLike[str]", kind: str, title: str) -> None:
    """Refuse to replace a file that is no table of this kind, called ``title`` in the message; raises UsageError."""
    if first_bytes(path) and kind_of(path) != kind:
        raise would_lose(path, f"is no table of {title}, which would be written")


class Batches:
    """The batches of a table; made by :func:`in_batches`.

    Attributes
    ----------
    folder : Path
    count : int
        Total number of batches.
    """

    def __init__(self, out: Path, about: Mapping[str, Any], count: int) -> None:
        self.out, self.folder = out, out.with_name(f"{out.name}.batches")
        self.count = count
        self._about = json.dumps(about, sort_keys=True)
        self._open()

    def _open(self) -> None:
        """Make the folder, or check that it holds batches of the same table."""
        note = self.folder / _NOTE
        if not os.path.lexists(self.folder):
            try:
                self.folder.mkdir()
            except OSError as error:
                raise InputError(f"cannot make the folder {self.folder}: {reason(error)}") from None
        elif not self.folder.is_dir() or self.folder.is_symlink():
            raise UsageError(
                f"{self.folder} exists and is no folder of batches; remove it, or choose another {spelled('out')}"
            )
        if not note.exists() and any(not name.startswith(".") for name in os.listdir(self.folder)):
            raise UsageError(
                f"{self.folder} contains other files than batches; empty it, or choose another {spelled('out')}"
            )
        if note.exists() and (kept := read_text(note).strip()) != self._about:
            differ = ", ".join(_differences(kept, self._about))
            raise UsageError(
                f"{self.folder} contains batches of another run ({differ}); finish that run, or remove the folder"
            )
        write_text(note, f"{self._about}\n")

    def path(self, number: int) -> Path:
        """Return the file of a batch."""
        return self.folder / f"{number:08}.parquet"

    def missing(self) -> list[int]:
        """Return the numbers of the missing batches, ascending."""
        there = set(os.listdir(self.folder))
        return [number for number in range(self.count) if self.path(number).name not in there]

    def put(self, number: int, table: "pyarrow.Table") -> None:
        """Write a batch."""
        with replacing(self.path(number)) as temporary:
            _write(temporary, table.schema, iter([table]))

    def join(self, progress: Callable[[int, int], None]) -> int:
        """Write the table, remove the batches, and return the number of rows.

        Raises
        ------
        InputError
            If a batch is damaged.
        """
        schema = self._read(0).schema.with_metadata({KEY: self._about.encode()})
        rows = 0

        def tables() -> "Iterator[pyarrow.Table]":
            nonlocal rows
            for number in range(self.count):
                table = self._read(number)
                rows += len(table)
                yield table.cast(schema)
                progress(number + 1, self.count)

        with replacing(self.out) as temporary:
            _write(temporary, schema, tables())
        shutil.rmtree(self.folder, ignore_errors=True)
        return rows

    def _read(self, number: int) -> "pyarrow.Table":
        import pyarrow
        from pyarrow import parquet

        path = self.path(number)
        try:
            return parquet.read_table(path, page_checksum_verification=True)
        except (pyarrow.ArrowException, OSError):
            raise InputError(f"{path} is damaged; remove it, and run the same command again") from None


def _write(path: str, schema: "pyarrow.Schema", tables: "Iterator[pyarrow.Table]") -> None:
    """Write tables to a file, one row group per table."""
    from pyarrow import parquet

    options: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True}
    with parquet.ParquetWriter(path, schema, **options) as writer:
        for table in tables:
            writer.write_table(table, row_group_size=max(len(table), 1))


def _differences(kept: str, wanted: str) -> Iterator[str]:
    """Yield the differences between two notes, in words."""
    try:
        old, new = (_flat(json.loads(text)) for text in (kept, wanted))
    except (ValueError, KeyError, TypeError, AttributeError):
        yield "whose note is damaged"
        return
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            yield f"{name} {old.get(name)}, not {new.get(name)}"


def _flat(about: dict[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in about.items() if name not in ("params", "inputs")}
    return {**rest, **about["params"], **{name: digest[:12] for name, digest in about["inputs"].items()}}


@contextmanager
def in_batches(out: Path, about: Mapping[str, Any], count: int) -> Iterator[Batches]:
    """Open the batches of a table and lock them: no other process may write them.

    Parameters
    ----------
    out : path
        The Parquet file.
    about : mapping
        Everything that determines the table: its ``kind``, ``params``, ``inputs`` (digests) and so on; plain values.
    count : int
        Number of batches, at least 1.

    Raises
    ------
    UsageError
        If there are batches of another table.
    InputError
        If another process works on the table, or the folder cannot be written.
    """
    with only_writer(out):
        yield Batches(out, about, count)
