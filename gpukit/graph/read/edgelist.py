"""Edges as listed by any source: a file, a library, or columns in memory."""

import importlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gpukit.errors import GpukitError, InputError, UsageError
from gpukit.graph.labels import CONTROL, Interned, Labels
from gpukit.graph.lines import MAX_ID, SEPARATORS, not_a_weight, shown, split
from gpukit.wording import spelled

_WHOLE = re.compile("0|[1-9][0-9]{0,18}")
_ONE_KIND = "all whole numbers or all texts are needed, convert them"


@dataclass(frozen=True)
class ReadOptions:
    """The user's options for a file; None means that the value is detected.

    Attributes
    ----------
    separator : str or None
        ``space``, ``tab``, ``comma``, ``semicolon`` or one character.
    header : bool or None
        Whether the first line names the columns or states sizes.
    columns : str or None
        ``source,target`` or ``source,target,weight``, by name or by number from 1.
    ids : str or None
        ``integer`` or ``text``.
    format : str or None
        A name of :data:`gpukit.graph.read.formats.FORMATS`.
    comment : str or None
        ``none``, or the character that starts a comment.
    skip_bad : int
        Most invalid lines to skip.
    decimal : str or None
        Decimal mark of weights: ``.`` (the default) or ``,``.
    sheet : str or None
        The sheet of a workbook.
    encoding : str or None
        The encoding of a text, by a name that Python knows; UTF-8 by default.
    fold_case, strip : bool
        Whether names that differ only in case, or in runs of blanks, are one.
    suspects_first_line : bool
        Whether the first line may be no edge: it may hold the numbers of vertices and edges, or unknown column names.
    """

    separator: str | None = None
    header: bool | None = None
    columns: str | None = None
    ids: str | None = None
    format: str | None = None
    comment: str | None = None
    skip_bad: int = 0
    decimal: str | None = None
    sheet: str | None = None
    encoding: str | None = None
    fold_case: bool = False
    strip: bool = False
    suspects_first_line: bool = True

    def __post_init__(self) -> None:
        for option, one, words, never in (
            ("sep", self.separator, [*SEPARATORS], '"\n\r#%'),
            ("comment", self.comment, ["none"], '"\n\r'),
        ):
            if one is not None and one not in words and (len(one) != 1 or one.isalnum() or one in never):
                raise UsageError(f"{spelled(option)} is {one[:40]!r}; {', '.join(words)} or one character is allowed")
        if self.columns is not None and len(self.names) not in (2, 3):
            raise UsageError(
                f"{spelled('columns')} is {self.columns[:40]!r}; source,target or source,target,weight is needed"
            )
        try:
            "a".encode(self.encoding or "utf-8")
        except LookupError:
            raise UsageError(
                f"{spelled('encoding')} is {str(self.encoding)[:40]!r}; a name that Python knows is needed, as cp1252"
            ) from None
        if self.skip_bad < 0:
            raise UsageError(f"{spelled('skip_bad')} is {self.skip_bad}; a number of lines is needed, 0 or more")

    @property
    def marks(self) -> tuple[str, ...]:
        """The characters that start a comment."""
        return ("#", "%") if self.comment is None else () if self.comment == "none" else (self.comment,)

    @property
    def names(self) -> list[str]:
        """The column names, one by one."""
        try:
            return split(self.columns or "", ",")
        except ValueError as error:
            raise UsageError(f"{spelled('columns')}: {error}") from None

    @property
    def of_text(self) -> list[str]:
        """The options about texts that the user has given."""
        given = (
            self.separator, self.header, self.columns, self.comment, self.skip_bad or None, self.decimal, self.encoding,
        )  # fmt: skip
        options = ("sep", "header", "columns", "comment", "skip_bad", "decimal", "encoding")
        return [option for option, value in zip(options, given, strict=True) if value is not None]

    def refuse_text(self, name: str, kind: str, allowed: str = "") -> None:
        """Refuse options for texts if the file's format leaves no choice; raises UsageError."""
        given = [option for option in self.of_text if option != allowed]
        if given:
            raise UsageError(
                f"{name} is {kind}, which says how to read it; leave {' and '.join(map(spelled, given))} out"
            )


@dataclass(frozen=True, eq=False)
class EdgeList:
    """Edges in the order of their listing.

    Attributes
    ----------
    u, v : int32 or int64 arrays, shape (lines,)
        Tail and head of each edge: original ids; positions in ``ids`` if that is given; vertices with ``labels`` or
        ``n``. 32 bits if all ids fit.
    w : float64 array, shape (lines,), or None
        Weights, if requested.
    labels : Labels or None
        Names of the vertices.
    ids : int64 array or None
        Ids of all vertices, ascending, if the file lists them.
    n : int or None
        Number of vertices, if they are 0 … n-1.
    undirected : bool or None
        Whether each listed edge is an edge in both directions; None if the file does not say.
    said : dict
        The detected dialect, for people and programs.
    notes : tuple of str
        Further notes for the user, one line each.
    dialect : gpukit.graph.read.dialect.Dialect or None
        The dialect of a text.
    skipped : int
        Lines of a text without an edge: blank lines and comments.
    bad : tuple of str
        Invalid lines of a text that were skipped.
    digest : str or None
        SHA-256 of the stored file, computed from the bytes that the edges came from; None for a pipe.
    share : float
        Fraction of the file that was read, in bytes.
    """

    u: np.ndarray
    v: np.ndarray
    w: np.ndarray | None = None
    labels: Labels | None = None
    ids: np.ndarray | None = None
    n: int | None = None
    undirected: bool | None = None
    said: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    dialect: Any = None
    skipped: int = 0
    bad: tuple[str, ...] = ()
    digest: str | None = None
    share: float = 1.0

    def check_stated(self, name: str, stated: int, where: str) -> None:
        """Check the number of edges that a file states, skipped invalid lines included; raises InputError."""
        if stated != len(self.u) + len(self.bad):
            found = f"{name} has {len(self.u) + len(self.bad):,} edges"
            raise InputError(f"{found}, and {where} states {stated:,}; fetch it again, or remove that line")

    def renamed(self, name: str, options: ReadOptions) -> "EdgeList":
        """Return the edges with names joined by ``--fold-case`` and ``--strip``; raises UsageError for numbers."""
        if not (options.fold_case or options.strip):
            return self
        if self.labels is None:
            raise UsageError(
                f"{name} has numbers, no names; leave {spelled('fold_case', True)} and {spelled('strip', True)} out"
            )
        ends = np.column_stack([self.u, self.v]).ravel()
        labels, vertices = self.labels.merged(ends, fold_case=options.fold_case, strip=options.strip)
        return replace(self, labels=labels, u=vertices[self.u], v=vertices[self.v])

    def within(self, n: int, name: str, **known: Any) -> "EdgeList":
        """Return the edges with vertices 1 … n as ids; raises InputError if an end is outside."""
        ends = np.concatenate([self.u, self.v])
        outside = ends[(ends < 1) | (ends > n)]
        if len(outside):
            raise InputError(f"{name}: vertex id {outside[0]} is outside [1, {n}]")
        return replace(self, u=self.u - 1, v=self.v - 1, n=None, ids=np.arange(1, n + 1), **known)


@contextmanager
def in_one_line(name: str, kind: str) -> Iterator[None]:
    """Convert any error that a library raises for an invalid file to an InputError."""
    try:
        yield
    except (GpukitError, MemoryError):
        raise
    except Exception as error:
        text = " ".join(str(error).split())[:160] or type(error).__name__
        raise InputError(f"{name} cannot be read as {kind} ({text}); make it again, or give a text") from None


def library(name: str, kind: str, module: str, extra: str) -> Any:
    """Return a library that reads a format; raises UsageError if it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise UsageError(f"{name} is {kind}, which the package {package} reads; install gpukit[{extra}]") from None


def edges_of_columns(
    name: str,
    columns: Sequence[np.ndarray],
    options: ReadOptions,
    highest: float,
    titles: Sequence[str] = ("u", "v", "w"),
) -> EdgeList:
    """Return edges from columns: tails and heads as whole numbers or texts, and optionally weights.

    Raises
    ------
    InputError
        If vertices are not all of one kind, or weights are outside [0, highest].
    """
    ends = [of_one_kind(f"{name}, {title}", column) for title, column in zip(titles[:2], columns, strict=False)]
    if len({end.dtype for end in ends}) > 1:
        raise InputError(f"{name}: vertices are of type int and str; {_ONE_KIND}")
    vertices, labels = vertices_of(name, np.concatenate(ends), options)
    w = check_weights(name, highest, numbers_of(f"{name}, {titles[2]}", columns[2])) if len(columns) > 2 else None
    u, v = np.split(vertices, 2)
    return EdgeList(u, v, w, labels)


def named_by(words: Sequence[str], options: ReadOptions) -> np.ndarray:
    """Return words as whole numbers if all of them are, otherwise as names."""
    whole = options.ids != "text" and all(_WHOLE.fullmatch(word) and int(word) <= MAX_ID for word in words)
    return np.array([int(word) for word in words], np.int64) if whole else np.array(words, object)


def both_ways(
    u: np.ndarray, v: np.ndarray, w: np.ndarray | None, both: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, bool]:
    """Return edges, and whether all have both directions; if only some have (``both``), these are listed twice."""
    if both.all():
        return u, v, w, bool(len(both))
    u, v = np.concatenate([u, v[both]]), np.concatenate([v, u[both]])
    return u, v, None if w is None else np.concatenate([w, w[both]]), False


def edges_of_matrix(name: str, kind: str, matrix: Any, highest: float) -> EdgeList:
    """Return the edges in a sparse matrix of SciPy: entry (i, j) is the edge i → j; vertices are 0 … n-1.

    Entries at the same position are added, as in SciPy. ``highest`` is the highest weight, 0 to read none.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        size = " by ".join(map(str, matrix.shape))
        raise InputError(f"{name} is {size}; a graph is a square matrix")
    from scipy.sparse import coo_array

    listed = matrix.tocoo()
    if matrix.format == "bsr":  # its blocks are full of zeros, which older versions of SciPy keep
        listed.eliminate_zeros()
    values = numbers_of(name, np.asarray(listed.data)) if highest else np.ones(len(listed.data))
    total = coo_array((values, (listed.row, listed.col)), matrix.shape).tocsr().tocoo()
    u, v = (np.asarray(part, np.int64) for part in (total.row, total.col))
    w = check_weights(name, highest, total.data) if highest else None
    return EdgeList(u, v, w, n=matrix.shape[0], said={"format": kind, "ids": "integer"})


def of_one_kind(name: str, values: np.ndarray) -> np.ndarray:
    """Return vertices as whole numbers (int64) or as texts (object).

    Raises
    ------
    InputError
        If vertices are missing, out of range, of mixed types, or neither numbers nor texts.
    """
    if values.dtype.kind not in "iu" and len(values):
        from pandas import isna

        if missing := isna(values).sum():
            raise InputError(f"{name}: {missing} rows have no vertex; every row needs two")
        kinds = {_kind_of(one): one for one in values.tolist()}
        if [*kinds] == ["str"]:
            return np.array([str(one) for one in values.tolist()], object)
        types, odd = " and ".join(sorted(kinds)), [one for kind, one in kinds.items() if kind not in ("int", "str")]
        if odd:
            first = f"{shown(str(odd[0]))} is neither a whole number nor a name; convert the column"
            raise InputError(f"{name}: vertices are of type {types}, and {first}")
        if len(kinds) > 1:
            raise InputError(f"{name}: vertices are of type {types}; {_ONE_KIND}")
    outside = [int(one) for one in (values.min(), values.max()) if not 0 <= one <= MAX_ID] if len(values) else []
    if outside:
        raise InputError(f"{name}: vertex id {str(outside[0])[:40]} is outside [0, 2**63 - 1]")
    return values.astype(np.int64)


def _kind_of(value: Any) -> str:
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return "int" if is_whole else "str" if isinstance(value, str) else type(value).__name__


def numbers_of(name: str, values: np.ndarray) -> np.ndarray:
    """Return weights as float64, NaN for missing ones; raises InputError if they are not numbers."""
    is_text = values.dtype == object and any(isinstance(one, str | bytes) for one in values.flat)
    if values.dtype.kind in "biufO" and not is_text:
        try:
            return values.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            pass
    raise InputError(f"{name}: weights are not numbers; give probabilities, or counts with {spelled('scale')}")


def vertices_of(name: str, values: np.ndarray, options: ReadOptions) -> tuple[np.ndarray, Labels | None]:
    """Return the vertices of a column of whole numbers or texts: ids, or indices of labels."""
    if values.dtype != object and options.ids != "text":
        return values, None
    if options.ids == "integer":
        raise InputError(f"{name}: vertices are not whole numbers; leave {spelled('ids', 'integer')} out")
    texts = [str(value).strip() for value in values.tolist()]
    wrong = next((text for text in texts if not text or CONTROL.search(text)), None)
    if wrong is not None:
        raise InputError(f"{name}: {shown(wrong)} is no name; names are not empty and hold no control characters")
    names = Interned()
    numbers = names.numbers(texts)
    labels, vertices = names.ordered()
    return vertices[numbers].astype(np.int64), labels


def check_weights(name: str, highest: float, w: np.ndarray, before: int = 0) -> np.ndarray:
    """Check that weights are in [0, highest] and return them; InputError names the first wrong one by edge number."""
    wrong = ~((w >= 0) & (w <= highest))
    if wrong.any():
        place = int(wrong.argmax())
        raise InputError(f"{name}, edge {before + place + 1}: weight {w[place]} {not_a_weight(highest)}")
    return w
