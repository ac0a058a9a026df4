"""Columns of values as flat arrays, which compiled loops can read: integers, or bytes with offsets.

Lists, NumPy arrays, Arrow arrays and the columns of pandas or Polars all become one of two shapes: 64-bit integers, or
the UTF-8 bytes of texts one after another, as Arrow keeps them (Arrow's own buffers are read where they lie). Floats,
nulls and mixtures raise an error, because they have no unique hash; an error never quotes a value.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from celosia.core.errors import InputError
from celosia.core.messages.message import Message

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

Values: TypeAlias = "Any"
"""Input of ``read_column``: a column, a list, a NumPy or Arrow array, or a Series of pandas or Polars."""

_MAX_INTEGER = 2**63 - 1
_MAX_TEXT_BYTES = 2**31 - 1
_EMPTY = np.empty(0, dtype=np.int64)
_NO_BYTES = np.empty(0, dtype=np.uint8)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Column:
    """Values as ``integers``, or as ``offsets`` into ``data``, the bytes of all values.

    The arrays are read-only. ``text`` is whether the bytes are UTF-8.

    >>> column = read_column(["sun", "rain"])
    >>> len(column), column.offsets.tolist(), column.slice(1, 2).tolist()
    (2, [0, 3, 7], ['rain'])
    """

    integers: "NDArray[np.int64] | None" = None
    offsets: "NDArray[np.int64]"
    data: "NDArray[np.uint8]"
    text: bool = False

    def __post_init__(self) -> None:
        """Freeze the arrays, and reject offsets outside the data, which compiled loops do not check."""
        for name, kind in (("integers", np.int64), ("offsets", np.int64), ("data", np.uint8)):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, _frozen(array, kind))
        if self.integers is not None:
            return
        offsets = self.offsets
        if offsets.size == 0 or offsets[0] < 0 or offsets[-1] > self.data.size or np.any(offsets[1:] < offsets[:-1]):
            raise InputError("sketches.bad_column_offsets")

    def __len__(self) -> int:
        return self.offsets.size - 1 if self.integers is None else self.integers.size

    def slice(self, start: int, stop: int) -> "Column":
        """Return the values from ``start`` up to ``stop``, without copying them.

        >>> read_column([5, 6, 7]).slice(1, 3).tolist()
        [6, 7]
        """
        start, stop, _ = slice(start, stop).indices(len(self))
        stop = max(start, stop)
        if self.integers is not None:
            return Column(integers=self.integers[start:stop], offsets=self.offsets, data=self.data)
        return Column(offsets=self.offsets[start : stop + 1], data=self.data, text=self.text)

    def tolist(self) -> list[int] | list[str] | list[bytes]:
        """Return the values as Python objects.

        >>> read_column(np.array([True, False])).tolist()
        [1, 0]
        """
        if self.integers is not None:
            numbers: list[int] = self.integers.tolist()
            return numbers
        import pyarrow as pa

        buffers = [None, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        kind = pa.large_string() if self.text else pa.large_binary()
        values: list[str] | list[bytes] = pa.Array.from_buffers(kind, len(self), buffers).to_pylist()
        return values


def read_column(values: Values, *, name: str = "values") -> Column:
    """Return integers, strings or bytes as a column; errors refer to it as ``name``.

    >>> read_column([3, 1]).integers.tolist(), read_column([b"ab", b""]).tolist()
    ([3, 1], [b'ab', b''])
    >>> read_column("sun")
    Traceback (most recent call last):
    ...
    celosia.core.errors.InputError: values must be a list, an array or a column, not one str: wrap it in a list.
    """
    if isinstance(values, Column):
        return values
    if isinstance(values, str | bytes | bytearray | int | float | np.generic) or values is None:
        raise InputError("sketches.single_value_given", name=name, type=type(values).__name__)
    if isinstance(values, range):
        values = np.arange(values.start, values.stop, values.step)
    if isinstance(values, np.ndarray):
        return _from_numpy(values, name)
    if isinstance(values, list | tuple):
        return _from_list(values, name)
    return _from_library(values, name)


def _from_list(values: list[Any] | tuple[Any, ...], name: str) -> Column:
    kinds = set(map(type, values))
    if not kinds:
        return _of_integers(_EMPTY)
    import pyarrow as pa

    try:
        if all(issubclass(kind, str) for kind in kinds):
            return _of_buffers(pa.array(values, type=pa.large_string()))
        if all(issubclass(kind, bytes) for kind in kinds):
            return _of_buffers(pa.array(values, type=pa.large_binary()))
        truths = {issubclass(kind, bool | np.bool_) for kind in kinds}
        if len(truths) == 1 and all(issubclass(kind, int | np.integer | np.bool_) for kind in kinds):
            return _of_integers(np.array(values, dtype=np.int64))
    except OverflowError:
        raise _range_error(name) from None
    except (UnicodeError, pa.ArrowException):  # half a surrogate pair
        raise InputError("sketches.texts_not_utf8", name=name) from None
    raise _column_error(name, "sketches.found_mixture")


def _from_numpy(values: "NDArray[Any]", name: str) -> Column:
    if values.ndim != 1:
        raise InputError("sketches.not_one_dimensional", name=name, dimensions=values.ndim)
    if np.ma.isMaskedArray(values):
        raise _column_error(name, "sketches.found_mask")
    if values.dtype.kind in "bi":
        return _of_integers(values)
    if values.dtype.kind == "u":
        if values.size and values.dtype.itemsize == 8 and int(values.max()) > _MAX_INTEGER:
            raise _range_error(name)
        return _of_integers(values)
    if values.dtype.kind == "S":
        return _of_fixed_bytes(values)
    if values.dtype.kind in "UTO":
        if values.size == 0 and values.dtype.kind != "O":
            return Column(offsets=np.zeros(1, dtype=np.int64), data=_NO_BYTES, text=True)
        return _from_list(values.tolist(), name)
    raise _column_error(name, "sketches.found_numpy_array", type=values.dtype)


def _from_library(values: Any, name: str) -> Column:
    import narwhals as nw

    series = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(series, nw.Series) and series.dtype == nw.Object:
        # Arrow would take strings among bytes for bytes, and Polars returns the addresses of objects.
        return _from_list(series.to_list(), name)
    return _from_arrow(_as_arrow(values, name), name)


def _as_arrow(values: Any, name: str) -> "pa.Array":
    import narwhals as nw
    import pyarrow as pa

    try:
        if not isinstance(values, pa.Array | pa.ChunkedArray):
            values = nw.from_native(values, series_only=True).to_arrow()
        if isinstance(values, pa.ChunkedArray):
            values = _one_chunk(values)
        if pa.types.is_dictionary(values.type):
            values = values.dictionary.cast(_large(values.type.value_type)).take(values.indices)
    except Exception:  # noqa: BLE001 - the error of a library may quote values
        raise _column_error(name, "sketches.found_unreadable_type", type=type(values).__name__) from None
    return values


def _one_chunk(values: "pa.ChunkedArray") -> "pa.Array":
    if values.num_chunks == 1:
        return values.chunk(0)
    # Together, strings may be too long for offsets of 32 bits.
    return (values.cast(_large(values.type)) if values.nbytes >= _MAX_TEXT_BYTES else values).combine_chunks()


def _large(kind: "pa.DataType") -> "pa.DataType":
    """Return a type of strings with offsets of 64 bits in place of 32, or of views; another type as it is."""
    import pyarrow as pa

    text, binary = pa.large_string(), pa.large_binary()
    return {"string": text, "string_view": text, "binary": binary, "binary_view": binary}.get(str(kind), kind)


def _from_arrow(array: "pa.Array", name: str) -> Column:
    import pyarrow as pa

    kind = array.type
    if array.null_count:
        raise _column_error(name, "sketches.found_nulls")
    if pa.types.is_null(kind):  # an empty column without a known type
        return _of_integers(_EMPTY)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return _from_numpy(array.to_numpy(zero_copy_only=False), name)
    if str(kind) in {"string_view", "binary_view"} or pa.types.is_fixed_size_binary(kind):
        array = array.cast(pa.large_string() if str(kind) == "string_view" else pa.large_binary())
        kind = array.type
    if kind in {pa.string(), pa.large_string(), pa.binary(), pa.large_binary()}:
        return _of_buffers(array)
    raise _column_error(name, "sketches.found_arrow_column", type=kind)


def _of_integers(values: "NDArray[Any]") -> Column:
    return Column(integers=values.astype(np.int64, copy=False), offsets=_EMPTY, data=_NO_BYTES)


def _of_buffers(array: "pa.Array") -> Column:
    import pyarrow as pa

    _, offsets, data = array.buffers()
    text = array.type in {pa.string(), pa.large_string()}
    if offsets is None or len(array) == 0:
        return Column(offsets=np.zeros(1, dtype=np.int64), data=_NO_BYTES, text=text)
    width = np.dtype(np.int64 if array.type in {pa.large_string(), pa.large_binary()} else np.int32)
    numbers = np.frombuffer(offsets, dtype=width)[array.offset : array.offset + len(array) + 1]
    content = _NO_BYTES if data is None else np.frombuffer(data, dtype=np.uint8)
    return Column(offsets=numbers.astype(np.int64, copy=False), data=content, text=text)


def _of_fixed_bytes(values: "NDArray[np.bytes_]") -> Column:
    lengths = np.char.str_len(values)  # NumPy's bytes end before the NULs that fill them up
    width = values.dtype.itemsize
    if width == 0:
        return Column(offsets=np.zeros(values.size + 1, dtype=np.int64), data=_NO_BYTES)
    cells = np.ascontiguousarray(values).view(np.uint8).reshape(values.size, width)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Column(offsets=offsets, data=cells[np.arange(width) < lengths[:, None]])


def _frozen(array: "NDArray[Any]", kind: type[np.generic]) -> "NDArray[Any]":
    view = np.ascontiguousarray(array, dtype=kind).view()
    view.flags.writeable = False
    return view


def _range_error(name: str) -> InputError:
    return InputError("sketches.integers_too_large", name=name)


def _column_error(name: str, code: str, **fields: object) -> InputError:
    """Return the error of a column that cannot be read; code and fields are those of what was found."""
    return InputError("sketches.unsupported_column", name=name, found=Message(code, **fields))
