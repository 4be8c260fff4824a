"""A long Parquet table, made in batches that stay: a run that was killed goes on where it stopped.

The batches of ``P.parquet`` lie in the folder ``P.parquet.batches`` beside it, each in a file that is whole or not
there, with a note of what they are batches of. In the end they are joined, a row group each, and the folder goes. The
table is made of the files alone, so that it has the same bytes however often the run began.
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
"""Of the metadata of a table: what it is made of, as JSON."""

_NOTE = "run.json"


def check_parquet() -> None:
    """Raise UsageError where there is no package that writes Parquet."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise UsageError("Parquet needs the package pyarrow; install gpukit[parquet]") from None


def check_called_parquet(path: Path) -> None:
    """Refuse a name that does not say what is written; raises UsageError."""
    if path.suffix.lower() != ".parquet":
        raise UsageError(f"{spelled('out')} {path}: Parquet is written; give a name that ends in .parquet")


def kind_of(path: "str | os.PathLike[str]") -> str | None:
    """Return the kind of table that gpukit wrote, as its metadata say; None of any other file."""
    import pyarrow
    from pyarrow import parquet

    try:
        return json.loads((parquet.read_schema(path).metadata or {})[KEY])["kind"]
    except (pyarrow.ArrowException, OSError, ValueError, KeyError, TypeError):
        return None


def check_table_replaced(path: "str | os.PathLike[str]", kind: str, title: str) -> None:
    """Refuse to replace what is no table of a kind, which is called ``title``; raises UsageError."""
    if first_bytes(path) and kind_of(path) != kind:
        raise would_lose(path, f"is no table of {title}, which is to be written")


class Batches:
    """The batches of a table; made by :func:`in_batches`.

    Attributes
    ----------
    folder : Path
    count : int
        How many there are to be.
    """

    def __init__(self, out: Path, about: Mapping[str, Any], count: int) -> None:
        self.out, self.folder = out, out.with_name(f"{out.name}.batches")
        self.count = count
        self._about = json.dumps(about, sort_keys=True)
        self._open()

    def _open(self) -> None:
        """Make the folder, or see that it holds the beginning of the same table."""
        note = self.folder / _NOTE
        if not os.path.lexists(self.folder):
            try:
                self.folder.mkdir()
            except OSError as error:
                raise InputError(f"cannot make the folder {self.folder}: {reason(error)}") from None
        elif not self.folder.is_dir() or self.folder.is_symlink():
            raise UsageError(
                f"{self.folder} is there, and no folder of batches; remove it, or name another {spelled('out')}"
            )
        if not note.exists() and any(not name.startswith(".") for name in os.listdir(self.folder)):
            raise UsageError(
                f"{self.folder} holds other things than batches; empty it, or name another {spelled('out')}"
            )
        if note.exists() and (kept := read_text(note).strip()) != self._about:
            differ = ", ".join(_differences(kept, self._about))
            raise UsageError(
                f"{self.folder} holds batches of another run ({differ}); run that to its end, or remove the folder"
            )
        write_text(note, f"{self._about}\n")

    def path(self, number: int) -> Path:
        """Return the file of a batch."""
        return self.folder / f"{number:08}.parquet"

    def missing(self) -> list[int]:
        """Return the numbers of the batches that are not there, ascending."""
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
    """Write tables as a file, a row group each."""
    from pyarrow import parquet

    options: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True}
    with parquet.ParquetWriter(path, schema, **options) as writer:
        for table in tables:
            writer.write_table(table, row_group_size=max(len(table), 1))


def _differences(kept: str, wanted: str) -> Iterator[str]:
    """Yield in words what two notes differ in."""
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
    """Let this process alone make a table in batches.

    Parameters
    ----------
    out : path
        The Parquet file.
    about : mapping
        What decides the table: its ``kind``, ``params`` and ``inputs`` (digests) and what else does; plain values.
    count : int
        Number of batches, at least 1.

    Raises
    ------
    UsageError
        If there are batches of another table.
    InputError
        If another process works on it, or the folder cannot be written.
    """
    with only_writer(out):
        yield Batches(out, about, count)
