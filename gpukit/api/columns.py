"""Columns and tables of other libraries as arrays, read through the interface that each offers; none is imported."""

import importlib
from collections.abc import Callable, Iterable, Mapping, Set, Sized
from typing import TYPE_CHECKING, Any

from gpukit.errors import UsageError, WrongType
from gpukit.parameters.values import type_of

if TYPE_CHECKING:
    import numpy as np


def array_of(name: str, values: Any) -> "np.ndarray":
    """Return a column as a one-dimensional array; masked values become None, texts and mixed values become objects.

    Parameters
    ----------
    name : str
        Its name in messages.
    values : array, Series, tensor on the CPU, array of Arrow, list
        An object with ``to_numpy``, ``__array__``, ``__dlpack__`` or Arrow's C interface (which pyarrow reads), or any
        sized iterable.

    Raises
    ------
    WrongType
        If it is something else, or cannot be read (for example memory of a GPU).
    UsageError
        If it has several axes, or only pyarrow could read it and is not installed.
    """
    import numpy as np

    array = values
    if not isinstance(values, np.ndarray):
        try:
            array = _read(values)
        except UsageError:
            raise
        except Exception as error:  # libraries raise different errors for values that they do not export
            text = " ".join(str(error).split())[:120]
            raise WrongType(f"{name}: {type_of(values)} cannot be read ({text}); give a list or an array") from None
    if array is None:
        raise WrongType(f"{name}: {type_of(values)} is no column; give a list or an array")
    if array.ndim != 1:
        raise UsageError(f"{name}: an array with {array.ndim} axes is no column; give one with one axis")
    if isinstance(array, np.ma.MaskedArray):
        masked, array = np.ma.getmaskarray(array), np.ma.getdata(array)
        if masked.any():
            array = array.astype(object)
            array[masked] = None
    return array.astype(object) if array.dtype.kind in "UT" else array


def _read(values: Any) -> "np.ndarray | None":
    """Return an object as an array; None if it is no column."""
    import numpy as np

    if isinstance(values, str | bytes | Mapping) or (isinstance(values, Set) and not hasattr(values, "__reversed__")):
        return None  # a set has no order
    if isinstance(getattr(values, "null_count", None), int):  # an array of pyarrow
        return np.asarray(values.to_pandas())
    for reader in ("to_numpy", "__array__"):
        if hasattr(values, reader):
            return np.asarray(getattr(values, reader)())
    if hasattr(values, "__dlpack__"):
        return np.from_dlpack(values)
    if hasattr(values, "__arrow_c_stream__"):
        return np.asarray(_arrow(values).chunked_array(values).to_pandas())
    if hasattr(values, "__arrow_c_array__"):
        return np.asarray(_arrow(values).array(values).to_pandas())
    if not isinstance(values, Sized) or not isinstance(values, Iterable):
        return None
    listed = list(values)
    array = np.empty(len(listed), object)
    array[:] = listed
    return array


def table_of(table: Any) -> tuple[list[Any], Callable[[Any], Any]] | None:
    """Return the names of a table's columns, and a function that returns a column by name; None if it is no table.

    Tables are those of pandas, Polars and pyarrow, and objects with Arrow's C interface or ``__dataframe__``, which
    pyarrow reads.
    """
    if not hasattr(table, "column_names") and not (hasattr(table, "columns") and hasattr(table, "to_numpy")):
        if hasattr(table, "__arrow_c_stream__"):
            table = _arrow(table).table(table)
        elif hasattr(table, "__dataframe__"):
            _arrow(table)
            table = importlib.import_module("pyarrow.interchange").from_dataframe(table)
        else:
            return None
    if hasattr(table, "column_names") and hasattr(table, "column"):
        return list(table.column_names), table.column
    return (list(table.columns), table.__getitem__) if hasattr(table, "columns") else None


def _arrow(values: Any) -> Any:
    """Return pyarrow; raises UsageError if it is missing."""
    try:
        return importlib.import_module("pyarrow")
    except ImportError:
        raise UsageError(f"{type_of(values)} is read by the package pyarrow; install gpukit[parquet]") from None
