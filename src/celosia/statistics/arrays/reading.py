"""Read columns: NumPy arrays, lists, and the columns of pandas, Polars and Arrow.

The type of a column decides how it is read, never its values: an array of integers stays one, a list is read item by
item as real numbers, whatever its items are. So no row affects how another is read, and no row can raise an error.
Items without a value (None, NaN, an infinity, a string that is no number) are missing.
"""

import math
import numbers
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_INTEGER = 2**62
_MAX_DOUBLE = sys.float_info.max


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Column:
    """Values and which are present; ``nullable`` if the type allows missing ones, ``texts`` if all are strings."""

    values: NDArray[Any]
    present: NDArray[np.bool_]
    nullable: bool
    texts: bool = False

    @property
    def integral(self) -> bool:
        """Whether the type holds integers only."""
        return self.values.dtype.kind == "i"


def read_column(array: object, *, name: str = "array") -> Column:
    """Return a column of any values: numbers, texts, times."""
    if isinstance(array, np.ndarray):
        return _from_numpy(array, name)
    framed = _from_frame(array, name)
    if framed is not None:
        return framed
    if isinstance(array, str | bytes) or not isinstance(array, Sequence) or hasattr(array, "dtype"):
        raise InputError("statistics.not_a_column", name=name, type=type(array).__name__)
    items = np.empty(len(array), dtype=object)
    items[:] = list(array)
    return _from_objects(items)


def read_numbers(array: object, *, name: str = "array") -> Column:
    """Return a column of numbers: integers if that is the type, else doubles; strings are parsed as numbers."""
    if isinstance(array, list | tuple):
        quick = _read_plain_numbers(array)
        if quick is not None:
            return _make_reals(quick)
    column = read_column(array, name=name)
    if column.texts:
        raise InputError("statistics.texts_instead_of_numbers", name=name)
    if column.values.dtype.kind in "if":
        return column
    if column.values.dtype.kind != "O":
        raise InputError("statistics.column_not_numeric", name=name, dtype=column.values.dtype.name)
    return _make_reals(np.array([_to_double(item) for item in column.values], dtype=np.float64))


def _read_plain_numbers(items: Sequence[object]) -> "NDArray[np.float64] | None":
    """Return a list of plain numbers as doubles; None if it has other items."""
    try:
        array = np.asarray(items)
    except (ValueError, TypeError, OverflowError):
        return None
    return array.astype(np.float64) if array.ndim == 1 and array.dtype.kind in "biuf" else None


def _make_reals(values: NDArray[np.float64]) -> Column:
    return Column(values=values, present=np.isfinite(values), nullable=True)


def _from_numpy(array: NDArray[Any], name: str) -> Column:
    if array.ndim != 1:
        raise InputError("statistics.not_one_dimensional", name=name, dimensions=array.ndim)
    masked = isinstance(array, np.ma.MaskedArray)
    mask = np.ma.getmaskarray(array) if masked else np.zeros(array.shape, dtype=bool)
    plain = np.asarray(np.ma.getdata(array))
    match plain.dtype.kind:
        case "b" | "i" | "u":
            return Column(values=_to_int64(plain), present=~mask, nullable=masked)
        case "f":
            with np.errstate(over="ignore"):
                values = plain.astype(np.float64)
            return Column(values=values, present=np.isfinite(values) & ~mask, nullable=True)
        case "M" | "m":
            return Column(values=plain, present=~np.isnat(plain) & ~mask, nullable=True)
        case "O" | "U" | "S" | "T":
            column = _from_objects(plain.astype(object))
            texts = plain.dtype.kind != "O"
            return Column(values=column.values, present=column.present & ~mask, nullable=True, texts=texts)
        case _:
            raise InputError("statistics.unsupported_column_type", name=name, kind=plain.dtype.name)


def _to_int64(array: NDArray[Any]) -> NDArray[np.int64]:
    """Return integers of any width, clipped at 2^62: bounds are never beyond."""
    if array.dtype.kind == "u" and array.dtype.itemsize == 8:
        array = np.minimum(array, np.uint64(_MAX_INTEGER))
    values: NDArray[np.int64] = array.astype(np.int64)
    return np.clip(values, -_MAX_INTEGER, _MAX_INTEGER)


def _from_objects(items: NDArray[np.object_]) -> Column:
    present = np.fromiter((_is_value(item) for item in items), dtype=bool, count=len(items))
    return Column(values=items, present=present, nullable=True)


def _is_value(item: object) -> bool:
    """Return whether an object is a string, a number or a time, and not a null."""
    if isinstance(item, str | bytes):
        return True
    if isinstance(item, numbers.Number | Decimal | np.generic):
        return not isinstance(item, complex | np.complexfloating) and math.isfinite(_to_double(item))
    return hasattr(item, "isoformat") and item == item  # noqa: PLR0124 - pandas' NaT is unlike itself


def _to_double(item: Any) -> float:
    """Return a number, or a string parsed as one, as a double; NaN for anything else."""
    try:
        return float(item)
    except OverflowError:  # an integer beyond the doubles, and beyond any bounds
        return math.copysign(_MAX_DOUBLE, 1 if item > 0 else -1)
    except (TypeError, ValueError):
        return math.nan


# ------------------------------------------------------------------------------------------------------------ frames


def _from_frame(array: object, name: str) -> Column | None:
    """Return a column of pandas, Polars or Arrow; None for anything else."""
    if isinstance(array, list | tuple | range):
        return None
    from narwhals.dependencies import is_pandas_series, is_polars_series

    try:
        if is_pandas_series(array):
            if array.dtype == object:
                return _from_objects(array.to_numpy())
            arrow = _combine_chunks(_to_arrow(array))
        else:
            arrow = _combine_chunks(array.to_arrow() if is_polars_series(array) else array)
    except Exception:  # noqa: BLE001 - whatever a library raises here may quote values
        raise InputError("statistics.unreadable_column", name=name, type=type(array).__name__) from None
    return None if arrow is None else _from_arrow(arrow, name)


def _to_arrow(series: Any) -> "pa.Array":
    import pyarrow as pa

    return pa.array(series, from_pandas=True)


def _combine_chunks(array: object) -> "pa.Array | None":
    if type(array).__module__.partition(".")[0] != "pyarrow":
        return None
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # none, or several where one cannot hold all texts
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], type=array.type)
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    return array if isinstance(array, pa.Array) else None


def _from_arrow(array: "pa.Array", name: str) -> Column:
    import pyarrow as pa

    kind = array.type
    present = array.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        whole = (array.cast(pa.int8()) if pa.types.is_boolean(kind) else array).fill_null(0).to_numpy()
        return Column(values=_to_int64(whole), present=present, nullable=True)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _make_reals(array.cast(pa.float64()).to_numpy(zero_copy_only=False))
    if pa.types.is_temporal(kind):
        moments = array.cast(pa.int64() if array.type.bit_width == 64 else pa.int32()).fill_null(0)
        values = moments.to_numpy(zero_copy_only=False).astype("datetime64[s]")
        return Column(values=values, present=present, nullable=True)
    if pa.types.is_null(kind):
        return _make_reals(np.full(len(array), math.nan))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return Column(values=array.to_numpy(zero_copy_only=False), present=present, nullable=True, texts=True)
    raise InputError("statistics.unsupported_column_type", name=name, kind=kind)
