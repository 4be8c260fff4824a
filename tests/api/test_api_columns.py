"""Columns and tables of other libraries, read by each interface that they offer; and columns that are refused."""

import array
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import gpukit as gk
from gpukit.errors import GpukitError, InputError, UsageError, WrongType

U, V, W = np.array([1, 2, 3]), np.array([2, 3, 4]), np.array([0.5, 0.25, 1.0])
NAMES = (["a", "b", "c"], ["b", "c", "d"])


class Only:
    """An object with only one method of another object, like the wrappers of libraries."""

    def __init__(self, name: str, hidden: Any) -> None:
        self.hidden, self.name = hidden, name

    @classmethod
    def with_method(cls, name: str, hidden: Any, *more: str) -> Any:
        methods = {
            one: lambda self, *given, one=one, **named: getattr(self.hidden, one)(*given, **named)
            for one in (name, *more)
        }
        return type("Foreign", (cls,), methods)(name, hidden)


class LikePolars:
    """A column as Polars has one: its ``null_count`` is a method, and ``to_pandas`` needs pyarrow."""

    def __init__(self, values: list) -> None:
        self.values = values

    def null_count(self) -> int:
        return self.values.count(None)

    def to_pandas(self) -> None:
        raise ModuleNotFoundError("pyarrow")

    def to_numpy(self) -> np.ndarray:
        return np.array(self.values, object if any(isinstance(one, str) for one in self.values) else None)


class FrameLikePolars:
    def __init__(self, columns: dict[str, list]) -> None:
        self.held, self.columns = columns, list(columns)

    def __getitem__(self, name: str) -> LikePolars:
        return LikePolars(self.held[name])

    def to_numpy(self) -> None:
        raise AssertionError


def locked(values: np.ndarray) -> np.ndarray:
    values = values.copy()
    values.setflags(write=False)
    return values


COLUMNS: dict[str, Callable[[np.ndarray], Any]] = {
    "uint8": lambda one: one.astype(np.uint8),
    "uint64": lambda one: one.astype(np.uint64),
    "byte-swapped": lambda one: one.astype(">i4"),
    "locked": locked,
    "strided": lambda one: np.repeat(one, 3)[::3],
    "backwards": lambda one: one[::-1][::-1],
    "a column of a matrix": lambda one: np.stack([one, one], 1)[:, 1],
    "objects": lambda one: one.astype(object),
    "masked, but nothing is": lambda one: np.ma.array(one, mask=False),
    "list": lambda one: one.tolist(),
    "list of NumPy's": list,
    "deque": lambda one: deque(one.tolist()),
    "array": lambda one: array.array("I", one.tolist()),
    "memoryview": memoryview,
    "Series": lambda one: pd.Series(one, index=[7, 7, 9]),
    "Series of Int64": lambda one: pd.Series(one, dtype="UInt16"),
    "Index": pd.Index,
    "__array__": lambda one: Only.with_method("__array__", one),
    "__array__ and a length": lambda one: Only.with_method("__array__", one, "__len__"),
    "DLPack": lambda one: Only.with_method("__dlpack__", one, "__dlpack_device__"),
    "Polars": lambda one: LikePolars(one.tolist()),
}
ARROW = {
    "array": lambda pa, one: pa.array(one),
    "uint64": lambda pa, one: pa.array(one, pa.uint64()),
    "chunks": lambda pa, one: pa.chunked_array([one[:1], one[1:]]),
    "array of others": lambda pa, one: Only.with_method("__arrow_c_array__", pa.array(one)),
    "chunks of others": lambda pa, one: Only.with_method("__arrow_c_stream__", pa.chunked_array([one])),
}  # fmt: skip


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_numbers(kind: str) -> None:
    made = COLUMNS[kind]
    plain = gk.from_edges(U.tolist(), V.tolist())
    assert gk.from_edges(made(U), V) == gk.from_edges(U, made(V)) == gk.from_edges(made(U), made(V)) == plain
    if kind not in ("uint8", "uint64", "byte-swapped", "array", "Series of Int64"):
        assert gk.from_edges(U, V, made(W)) == gk.from_edges(U, V, W.tolist())


@pytest.mark.parametrize("kind", ARROW)
def test_columns_of_arrow(kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    assert gk.from_edges(ARROW[kind](pa, U), ARROW[kind](pa, V)) == gk.from_edges(U, V)


def test_columns_of_names() -> None:
    plain = gk.from_edges(*NAMES)
    for made in (
        np.array, lambda one: np.array(one, object), lambda one: np.array(one, np.dtypes.StringDType()),
        lambda one: pd.Series(one, dtype="string"), lambda one: pd.Series(one, dtype="category"), LikePolars,
    ):  # fmt: skip
        assert gk.from_edges(made(NAMES[0]), made(NAMES[1])) == plain
        assert gk.from_edges(made(NAMES[0]), NAMES[1]) == plain


def test_large_ids_of_several_types_keep_every_digit() -> None:
    """NumPy has no integer type for both int64 and uint64, so their common array would hold floats."""
    ids = [2**60 + 1, 2**60 + 3]
    made = gk.from_edges(np.array(ids[:1], np.uint64), np.array(ids[1:], np.int64))
    assert made.vertices == gk.from_edges([np.uint64(ids[0])], ids[1:]).vertices == ids
    frame = pd.DataFrame({"source": np.array(ids[:1], np.uint64), "target": np.array(ids[1:])})
    assert gk.from_pandas(frame) == made


def test_large_ids_of_a_parquet_file_keep_every_digit(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({"source": pa.array([2**60 + 1], pa.uint64()), "target": pa.array([2**60 + 3], pa.int64())})
    parquet.write_table(table, tmp_path / "e.parquet")
    assert gk.read_edges(tmp_path / "e.parquet").vertices == gk.from_arrow(table).vertices == [2**60 + 1, 2**60 + 3]


def test_tables() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"x": [0.5, 0.25, 1.0], "source": U, "target": V})
    plain, weighted = gk.from_edges(U, V), gk.from_edges(U, V, W)
    for made in (
        lambda: table, lambda: table.to_batches()[0], table.to_reader, table.to_pandas,
        lambda: Only.with_method("__arrow_c_stream__", table), lambda: Only.with_method("__dataframe__", table),
    ):  # fmt: skip
        assert gk.from_arrow(made()) == plain and gk.from_arrow(made(), "source", "target", "x") == weighted
        assert gk.estimate_spread(made(), [1], runs=10) == gk.estimate_spread(plain, [1], runs=10)
    names = pa.array(["a", "b", "c"])
    for kind in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        assert gk.from_arrow(pa.table({"source": names.cast(kind), "target": NAMES[1]})) == gk.from_edges(*NAMES)


def test_frames() -> None:
    held = {"x": W.tolist(), "source": U.tolist(), "target": V.tolist()}
    plain, weighted = gk.from_edges(U, V), gk.from_edges(U, V, W)
    for make in (gk.from_pandas, gk.from_arrow):
        assert make(FrameLikePolars(held)) == plain
        assert make(FrameLikePolars(held), "source", "target", "x") == weighted
    frame = pd.DataFrame(held)
    for one in (
        frame.set_index("source"), frame.set_index(["source", "target"]), frame.set_index(["source", "x"]),
        frame.set_index(pd.Index([4, 4, 4], name="source0")),
    ):  # fmt: skip
        assert gk.from_pandas(one, "source", "target", "x") == weighted


@pytest.mark.parametrize("make", [gk.from_pandas, gk.from_arrow])
def test_polars(make: Callable) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"source": U, "target": V, "x": W})
    assert make(frame) == gk.from_edges(frame["source"], frame["target"]) == gk.from_edges(U, V)
    assert make(frame, "source", "target", "x") == gk.from_edges(U, V, W)
    assert make(polars.DataFrame(dict(zip("ab", NAMES, strict=True)))) == gk.from_edges(*NAMES)
    assert gk.estimate_spread(frame, [1], runs=10) == gk.estimate_spread(gk.from_edges(U, V), [1], runs=10)
    for gone in ([1, None, 3], ["a", None, "c"]):
        with pytest.raises(InputError, match="column 'source': 1 rows have no vertex"):
            make(polars.DataFrame({"source": gone, "target": gone}))


NAN = float("nan")
REFUSED: list[tuple[type, str, Callable[[], object]]] = [
    (InputError, r"^the edges, u: 1 rows have no vertex", lambda: gk.from_edges([1, None], V[:2])),
    (InputError, r"^the edges, v: 2 rows have no vertex", lambda: gk.from_edges(NAMES[0], ["x", None, NAN])),
    (InputError, r"^the edges, v: 1 rows have no vertex", lambda: gk.from_edges(NAMES[0], ["x", "y", pd.NA])),
    (InputError, "^the edges, u: 1 rows have no vertex", lambda: gk.from_edges(np.array([1, NAN]), V[:2])),
    (InputError, "^the edges, u: 1 rows have no vertex", lambda: gk.from_edges(np.ma.array(U, mask=[0, 1, 0]), V)),
    (InputError, "^the edges, u: 1 rows", lambda: gk.from_edges(pd.Series([1, None, 3], dtype="Int64"), V)),
    (InputError, "^the frame, column 'target': 1 rows", lambda: gk.from_pandas(FrameLikePolars(
        {"source": [1, 2], "target": ["a", None]}))),
    (InputError, "v: vertices are of type bool, and 'True' is neither", lambda: gk.from_edges(U[:1], np.array([True]))),
    (InputError, "u: vertices are of type bool", lambda: gk.from_edges(pd.Series([True]), [1])),
    (InputError, "u: vertices are of type float, and '1.0' is neither", lambda: gk.from_edges([1.0], [2])),
    (InputError, "u: vertices are of type bytes", lambda: gk.from_edges(np.array([b"a"]), ["b"])),
    (InputError, "u: vertices are of type date", lambda: gk.from_edges(np.array(["2020-01-01"], "M8[D]"), ["b"])),
    (InputError, "vertices are of type int and str", lambda: gk.from_edges(U[:1], np.array(["a"]))),
    (InputError, "u: vertex id 9223372036854775808 is outside", lambda: gk.from_edges(np.array([2**63], "u8"), U[:1])),
    (InputError, "v: vertex id -1 is outside", lambda: gk.from_edges(U[:1], np.array([-1]))),
    (InputError, "w: weights are not numbers", lambda: gk.from_edges(U, V, ["0.5"] * 3)),
    (InputError, "w: weights are not numbers", lambda: gk.from_edges(U, V, np.array([1j, 1, 1]))),
    (InputError, "w: weights are not numbers", lambda: gk.from_edges(U, V, [[1], [1], [1]])),
    (InputError, "edge 2: weight nan is not a prob", lambda: gk.from_edges(U, V, pd.array([1, None, 1], "Float64"))),
    (InputError, "edge 2: weight nan is not a prob", lambda: gk.from_edges(U, V, [1, None, 1])),
    (InputError, "x: weights are not numbers", lambda: gk.from_networkx(nx.Graph([(1, 2, {"x": "y"})]), weight="x")),
    (InputError, "the matrix: weights are not numbers", lambda: gk.from_scipy(
        sp.coo_array((np.array([1j, 1]), ([0, 1], [1, 2])), shape=(3, 3)), weights="file")),
    (WrongType, "a set is no column", lambda: gk.from_edges({1, 2}, [2, 3])),
    (WrongType, "a dict is no column", lambda: gk.from_edges({1: 2}, [2])),
    (WrongType, "a generator is no column", lambda: gk.from_edges((one for one in U), V)),
    (UsageError, "an array with 2 axes is no column", lambda: gk.from_edges(np.ones((2, 2), int), V)),
    (UsageError, "2 and 3 rows", lambda: gk.from_edges(U[:2], V)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "line", "ask"), REFUSED, ids=[line for _, line, _ in REFUSED])
def test_what_is_no_column_is_refused_in_one_line(kind: type, line: str, ask: Callable[[], object]) -> None:
    with pytest.raises(kind, match=line) as caught:
        ask()
    assert isinstance(caught.value, GpukitError) and "\n" not in str(caught.value)


def test_what_a_library_does_not_hand_out_is_said() -> None:
    class OnGpu:
        def __array__(self, *given: object, **named: object) -> None:
            raise TypeError("can't convert cuda:0 device type tensor to numpy.\nUse Tensor.cpu()")

    with pytest.raises(WrongType, match="an OnGpu cannot be read .can't convert .* Use Tensor.cpu.*; give a list"):
        gk.from_edges(OnGpu(), [1])


def test_pyarrow_is_asked_for_where_nothing_else_can_read(monkeypatch: pytest.MonkeyPatch) -> None:
    pa = pytest.importorskip("pyarrow")
    table = Only.with_method("__arrow_c_stream__", pa.table({"a": [1], "b": [2]}))
    column = Only.with_method("__arrow_c_array__", pa.array([1]))
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    for ask in (lambda: gk.from_arrow(table), lambda: gk.from_edges(column, [1])):
        with pytest.raises(UsageError, match=r"a Foreign is read by the package pyarrow; install gpukit\[parquet\]"):
            ask()


def test_the_option_of_the_command_line_names_the_arguments():
    with pytest.raises(TypeError, match=r"keyword argument 'columns'; name columns by source, target and weight$"):
        gk.read_edges("x.csv", columns="from,to,count")
    with pytest.raises(TypeError, match="keyword argument 'column'$"):
        gk.read_edges("x.csv", column="from")
