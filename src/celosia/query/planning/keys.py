"""Keys looked up in an Arrow column of whatever type the engine has given it.

The keys are public values, the column is private: so nothing here may fail because of what a row holds, and a key that
the column's type cannot hold is simply never found. A text is never a number, and 1 is never true.
"""

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.data.schema.columns import Value

_MIDNIGHT = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_MAX_INTEGER = 2**63


def indices(column: "pa.Array | pa.ChunkedArray", values: "Sequence[Value]") -> "NDArray[np.int64]":
    """Return the index in ``values`` of each item of a column; -1 where it is none of them, or null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_decimal(array.type):
        return _by_value(array, values)
    comparable, reader = _comparable(array)
    if comparable is None:
        return np.full(len(array), -1, dtype=np.int64)
    read = [reader(value) for value in values]
    known = [place for place, value in enumerate(read) if value is not None]
    table = pa.array([read[place] for place in known], type=comparable.type)
    found = pc.index_in(comparable, value_set=table, skip_nulls=True).fill_null(-1)
    places = np.array([*known, -1], dtype=np.int64)  # the last is what is looked up at -1
    rows: NDArray[np.int64] = found.to_numpy(zero_copy_only=False)
    return places[rows]


def _comparable(array: "pa.Array") -> "tuple[pa.Array | None, Callable[[Any], Any]]":
    """Return the array in a type in which it is compared, and what brings a key to that type, or to None."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    kind = array.type
    found: tuple[pa.Array | None, Callable[[Any], Any]] = (None, _text)
    if types.is_integer(kind):
        found = array, _whole_reader(kind)
    elif types.is_string(kind) or types.is_large_string(kind):
        found = array, _text
    elif types.is_string_view(kind):
        found = array.cast(pa.large_string()), _text
    elif types.is_boolean(kind):
        found = array, _truth
    elif types.is_date(kind):
        found = array.cast(pa.date32(), safe=False), _date
    elif types.is_timestamp(kind):
        found = array.view(pa.int64()), _moment_reader(_PER_SECOND[kind.unit])
    elif types.is_floating(kind):
        found = pc.add(array.cast(pa.float64()), 0.0), _double  # no negative zero
    return found


def _whole_reader(kind: "pa.DataType") -> "Callable[[Any], int | None]":
    bits = kind.bit_width
    signed = str(kind).startswith("int")
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)

    def read(value: object) -> int | None:
        number = value if type(value) is int else _whole(value)
        return number if number is not None and least <= number <= most else None

    return read


def _number(value: object) -> Fraction | None:
    match value:
        case bool():
            return None
        case int() | Fraction():
            return Fraction(value)
        case float():
            return Fraction(value) if math.isfinite(value) else None
        case Decimal():
            return Fraction(value) if value.is_finite() else None
        case _:
            return None


def _whole(value: object) -> int | None:
    number = _number(value)
    return number.numerator if number is not None and number.denominator == 1 else None


def _double(value: object) -> float | None:
    number = _number(value)
    try:
        return None if number is None else float(number)
    except OverflowError:
        return None


def _truth(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _text(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        value.encode()
    except UnicodeEncodeError:  # half a surrogate pair is in no column
        return None
    return str.__str__(value)


def _date(value: object) -> dt.date | None:
    return value if isinstance(value, dt.date) and not isinstance(value, dt.datetime) else None


def _moment_reader(per_second: int) -> "Callable[[Any], int | None]":
    """How a time is counted in units since 1970, if it is an integer number of them; without a zone it is in UTC."""

    def read(value: object) -> int | None:
        if not isinstance(value, dt.datetime):
            return None
        moment = value.replace(tzinfo=dt.UTC) if value.utcoffset() is None else value
        units = Fraction((moment - _MIDNIGHT) // dt.timedelta(microseconds=1), 10**6) * per_second
        return units.numerator if units.denominator == 1 and abs(units) < _MAX_INTEGER else None

    return read


def _by_value(array: "pa.Array", values: "Sequence[Value]") -> "NDArray[np.int64]":
    """Decimals are compared exactly, whatever their digits; each different one is looked up once."""
    places = {_number(value): place for place, value in enumerate(values)}
    places[None] = -1
    encoded = array.dictionary_encode()
    found = [places.get(Fraction(item), -1) for item in encoded.dictionary.to_pylist()]
    rows: NDArray[np.int64] = encoded.indices.fill_null(len(found)).to_numpy(zero_copy_only=False)
    return np.array([*found, -1], dtype=np.int64)[rows]
