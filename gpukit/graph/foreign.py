"""Edge lists in the formats of other libraries, which read them: SciPy, GraphML, GEXF, GML, Pajek.

Tables of Parquet and Arrow are for :mod:`.columns`.
"""

import importlib
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpukit.errors import GpukitError, InputError, UsageError
from gpukit.graph.dialect import Asked
from gpukit.graph.labels import CONTROL, Interned, Labels
from gpukit.graph.parsing import MAX_ID, PROBABILITIES, not_a_weight, shown

TABLES = {b"PAR1": "Parquet", b"ARROW1": "Arrow"}
BY_NAME = {
    ".npz": "SciPy", ".graphml": "GraphML", ".gexf": "GEXF", ".gml": "GML",
    ".net": "Pajek", ".paj": "Pajek", ".pajek": "Pajek",
}  # fmt: skip
_READERS = {"GraphML": "read_graphml", "GEXF": "read_gexf", "GML": "read_gml", "Pajek": "read_pajek"}
_PACKED = re.compile(r"\.(gz|bz2|xz|zst)$")
_WHOLE = re.compile("0|[1-9][0-9]{0,18}")
_ONE_KIND = "all whole numbers or all texts are needed, convert them"


@dataclass(frozen=True, eq=False)
class Found:
    """What another library has read.

    Attributes
    ----------
    u, v : int64 or int32 arrays, shape (edges,)
        Original ids; with ``labels`` or ``n`` vertices.
    w : float64 array, or None
        Weights, where they were asked for.
    ids : int64 array or None
        Ids of all vertices, ascending, where the file lists them; ``u`` and ``v`` are positions in it.
    labels : Labels or None
        Names of the vertices.
    n : int or None
        Number of vertices, where these are 0 … n-1.
    undirected : bool
        Whether an edge stands for both directions.
    said : dict
        ``format``, ``columns`` where there are any, and the kind of ``ids``.
    """

    u: np.ndarray
    v: np.ndarray
    w: np.ndarray | None
    said: dict[str, Any]
    ids: np.ndarray | None = None
    labels: Labels | None = None
    n: int | None = None
    undirected: bool = False


def kind_of(name: str, stream: Any, packed: bool) -> str | None:
    """Return the format of a file, by its first bytes or its name; None if it is a text.

    A text that begins with a number is an edge list, whatever its name is. ``stream`` has ``peek``, and is unpacked.
    """
    plain = _PACKED.sub("", name.lower())
    named = next((kind for suffix, kind in BY_NAME.items() if plain.endswith(suffix)), None)
    if named is None and packed:
        return None  # not to be looked into before its reader does, who says what is wrong with it
    try:
        head = stream.peek(8)[:8]
    except Exception:  # of whatever unpacks it
        return None
    found = next((kind for magic, kind in TABLES.items() if head.startswith(magic)), None)
    return found or (None if head[:1].isdigit() else named)


def read_foreign(name: str, kind: str, stream: Any, asked: Asked, weights: float) -> Found:
    """Read a file of another library's format, but for tables.

    Parameters
    ----------
    name : str
        The file, for messages.
    kind : str
        As :func:`kind_of` returns it.
    stream : binary file
        Its content, unpacked.
    asked : Asked
        ``ids``.
    weights : float
        The highest weight, 0 to read none: of the values of a matrix, or of the attribute ``weight`` of edges.

    Raises
    ------
    InputError
        If it cannot be read, or is no graph.
    UsageError
        If a package is missing, or what is said does not fit.
    """
    if asked.separator is not None or asked.header is not None or asked.columns is not None:
        raise UsageError(f"{name} is {kind}, which says how to read it; leave --sep, --header and --columns out")
    read: Callable[..., Found] = _matrix if kind == "SciPy" else _network
    with told_in_a_line(name, kind):
        return read(name, kind, io.BytesIO(stream.read()), asked, weights)


@contextmanager
def told_in_a_line(name: str, kind: str) -> Iterator[None]:
    """Make an InputError of whatever a library raises where a file is wrong."""
    try:
        yield
    except (GpukitError, MemoryError):
        raise
    except Exception as error:
        text = " ".join(str(error).split())[:160] or type(error).__name__
        raise InputError(f"{name} cannot be read as {kind} ({text}); make it again, or give a text") from None


def library(name: str, kind: str, module: str, extra: str) -> Any:
    """Return a library that reads a format; raises UsageError where it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise UsageError(f"{name} is {kind}, which the package {package} reads; install gpukit[{extra}]") from None


def found_in_arrays(
    name: str,
    columns: Sequence[np.ndarray],
    asked: Asked,
    highest: float = PROBABILITIES,
    titles: Sequence[str] = ("u", "v", "w"),
) -> Found:
    """Return edges of columns: two of ends, whole numbers or texts, and where there is a third, weights."""
    ends = [of_one_kind(f"{name}, {title}", column) for title, column in zip(titles[:2], columns, strict=False)]
    kinds = {"str" if end.dtype == object else "int" for end in ends if len(end)}
    if len(kinds) > 1:
        raise InputError(f"{name}: vertices are of type int and str; {_ONE_KIND}")
    found = _vertices(name, np.concatenate(ends), asked)
    half = len(ends[0])
    w = check_weights(name, highest, numbers_of(f"{name}, {titles[2]}", columns[2])) if len(columns) > 2 else None
    return Found(found.u[:half], found.u[half:], w, {}, labels=found.labels)


def highest_id(name: str, values: np.ndarray) -> int:
    """Return the highest of some whole numbers; raises InputError where one is no vertex id."""
    ends = int(values.min()), int(values.max())
    odd = [one for one in ends if not 0 <= one <= MAX_ID]
    if odd:
        raise InputError(f"{name}: vertex id {odd[0]} is outside [0, 2**63 - 1]")
    return ends[1]


def of_one_kind(name: str, values: np.ndarray) -> np.ndarray:
    """Return vertices as whole numbers (int64), or as texts (object).

    Raises
    ------
    InputError
        If some are missing, a number is no vertex id, or they are of other types or of several.
    """
    if not len(values):
        return np.zeros(0, np.int64)
    if values.dtype.kind in "iu":
        highest_id(name, values)
        return values.astype(np.int64)
    listed = values.tolist()
    kinds = {type(one) for one in listed}
    if all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        try:
            return of_one_kind(name, np.array(listed, np.int64))
        except OverflowError:
            raise InputError(f"{name}: a vertex id is outside [0, 2**63 - 1]") from None
    if all(issubclass(kind, str) for kind in kinds):
        return np.array([str(one) for one in listed], object)
    if missing := sum(map(_is_missing, listed)):
        raise InputError(f"{name}: {missing} rows have no vertex; every row needs two")
    told = " and ".join(sorted({kind.__name__ for kind in kinds}))
    neither = [one for one in listed if not isinstance(one, str | int | np.integer) or isinstance(one, bool)]
    if neither:
        first = shown(str(neither[0]))
        raise InputError(
            f"{name}: vertices are of type {told}, and {first} is neither a whole number nor a name; convert the column"
        )
    raise InputError(f"{name}: vertices are of type {told}; {_ONE_KIND}")


def numbers_of(name: str, values: np.ndarray) -> np.ndarray:
    """Return weights as float64, not a number where one is missing; raises InputError where they are no numbers."""
    kind = values.dtype.kind
    listed = values.tolist() if kind == "O" else []
    if kind not in "biufO" or any(isinstance(one, str | bytes) for one in listed):
        raise InputError(f"{name}: weights are not numbers; give probabilities, or counts with --scale")
    if kind != "O":
        return values.astype(np.float64)
    try:
        return np.array([np.nan if _is_missing(one) else float(one) for one in listed], np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name}: weights are not numbers; give probabilities, or counts with --scale") from None


def _is_missing(value: Any) -> bool:
    """Say whether a value stands for none: of Python, NumPy or pandas."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (value != value) is True


def _matrix(name: str, kind: str, content: io.BytesIO, asked: Asked, weights: float) -> Found:
    """Read a sparse matrix: entry (i, j) is the edge i → j, vertices are 0 … n-1."""
    from scipy.sparse import load_npz

    if asked.ids == "text":
        raise UsageError(f"{name} is a matrix, and the vertices of one are numbers; leave --ids text out")
    return found_in_matrix(name, kind, load_npz(content), weights)


def found_in_matrix(name: str, kind: str, matrix: Any, highest: float) -> Found:
    """Return the edges in a sparse matrix of SciPy; ``highest``: the highest weight, 0 to read none."""
    matrix = matrix.tocoo()
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        size = " by ".join(map(str, matrix.shape))
        raise InputError(f"{name} is {size}; a graph is a square matrix")
    w = check_weights(name, highest, numbers_of(name, np.asarray(matrix.data))) if highest else None
    u, v = (np.asarray(part, np.int64) for part in (matrix.row, matrix.col))
    return Found(u, v, w, {"format": kind, "ids": "integer"}, n=matrix.shape[0])


def _network(name: str, kind: str, content: io.BytesIO, asked: Asked, weights: float) -> Found:
    """Read a graph by NetworkX; a vertex is called by its id there, of GML and Pajek by its label."""
    networkx = library(name, kind, "networkx", "networkx")
    graph = getattr(networkx, _READERS[kind])(content)
    nodes = [str(node) for node in graph]
    whole = asked.ids != "text" and all(_WHOLE.fullmatch(node) and int(node) <= MAX_ID for node in nodes)
    values = np.array([int(node) for node in nodes], np.int64) if whole else np.array(nodes, object)
    return found_in_network(name, kind, graph, values, "weight" if weights else None, asked, weights)


def found_in_network(
    name: str,
    kind: str,
    graph: Any,
    values: np.ndarray,
    weight: str | None,
    asked: Asked,
    highest: float = PROBABILITIES,
) -> Found:
    """Return the edges of a graph of NetworkX.

    Parameters
    ----------
    name, kind : str
        For messages, and for what is said.
    graph : networkx.Graph
    values : array
        What each of its nodes is called, in their order: whole numbers or texts.
    weight : str or None
        The attribute of edges that is their weight.
    asked : Asked
    highest : float
        The highest weight.
    """
    edges = list(graph.edges(data=weight)) if weight else list(graph.edges())
    w = None
    if weight:
        missing = next((edge for edge in edges if edge[2] is None), None)
        if missing is not None:
            raise InputError(
                f"{name}: edge {shown(f'{missing[0]} {missing[1]}')} has no {weight}; --weights file needs all"
            )
        given = np.empty(len(edges), object)
        given[:] = [edge[2] for edge in edges]
        w = check_weights(name, highest, numbers_of(f"{name}, {weight}", given))
    place = {node: i for i, node in enumerate(graph)}
    u, v = (np.array([place[edge[side]] for edge in edges], np.int64) for side in (0, 1))
    found = _vertices(name, values, asked)
    whole = found.labels is None
    said = {"format": kind, "ids": "integer" if whole else "text"}
    if whole:
        ids = np.unique(found.u)
        positions = np.searchsorted(ids, found.u)
        usual = len(ids) > 0 and ids[-1] == len(ids) - 1
        listed: dict[str, Any] = {"n": len(ids)} if usual else {"ids": ids}
        return Found(positions[u], positions[v], w, said, **listed, undirected=not graph.is_directed())
    if len(found.labels or ()) != len(values):
        raise InputError(f"{name} has two vertices of one name, but for blanks around it; rename one")
    return Found(found.u[u], found.u[v], w, said, labels=found.labels, undirected=not graph.is_directed())


@dataclass(frozen=True, eq=False)
class _Vertices:
    """Ids, or vertices with their labels."""

    u: np.ndarray
    labels: Labels | None = None


def _vertices(name: str, values: np.ndarray, asked: Asked) -> _Vertices:
    """Return the vertices of a column, which holds whole numbers or texts."""
    if values.dtype.kind in "iu":
        if asked.ids == "text":
            values = np.array([str(value) for value in values.tolist()], object)
        else:
            if len(values):
                highest_id(name, values)
            return _Vertices(values.astype(np.int64))
    elif asked.ids == "integer":
        raise InputError(f"{name}: vertices are not whole numbers; leave --ids integer out")
    return _texts(name, values.tolist())


def _texts(name: str, values: Sequence[Any]) -> _Vertices:
    names = Interned()
    odd = next((value for value in values if not isinstance(value, str)), None)
    if odd is not None:
        raise InputError(f"{name}: {shown(str(odd))} is neither a whole number nor a name; convert the column")
    texts = [value.strip() for value in values]
    wrong = next((text for text in texts if not text or CONTROL.search(text)), None)
    if wrong is not None:
        raise InputError(f"{name}: {shown(wrong)} is no name; names are not empty and hold no control characters")
    numbers = names.numbers(texts)
    labels, vertices = names.ordered()
    return _Vertices(vertices[numbers].astype(np.int64), labels)


def check_weights(name: str, highest: float, w: np.ndarray, before: int = 0) -> np.ndarray:
    """Return weights that are in [0, highest]; InputError names the first that is not, after ``before`` others."""
    wrong = ~((w >= 0) & (w <= highest))
    if wrong.any():
        place = int(wrong.argmax())
        raise InputError(f"{name}, edge {before + place + 1}: weight {w[place]} {not_a_weight(highest)}")
    return w
