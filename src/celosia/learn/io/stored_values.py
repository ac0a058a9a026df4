"""Parameters and learned attributes as JSON, and back: only values, never code.

What JSON has no word for is an object with one field that says what it is: ``{"tuple": [...]}``, ``{"array": ...}``. An
array is Arrow's own stream of bytes in base64, with its shape and type beside it. Reading knows a short list of kinds
and makes each by its constructor; whatever else a file holds is refused, for files come from anywhere.
"""

import base64
import binascii
import json
import math
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import fields
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from celosia.core.adjacency import Adjacency
from celosia.core.errors import CelosiaError, FormatError, ParameterError
from celosia.core.exact import exact_adjacency
from celosia.core.record import Record
from celosia.data.schema.columns import Kind
from celosia.data.schema.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

JSON: TypeAlias = dict[str, Any] | list[Any] | str | int | float | bool | None
"""What JSON can say."""

_MAX_NUMBERS: Final = 2**27  # of one array: a gigabyte of doubles
_MAX_DEPTH: Final = 16
_UNUSUAL: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_TYPES: Final = ("bool", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_TEXTS: Final = ("object", "text")
_LONGEST_FRACTION: Final = 2_000
_RATIO: Final = re.compile(r"-?[0-9]+(/[0-9]+)?")
_WHOLE: Final = 2**64
_RECORD_BATCH: Final = "record batch"


def encode(value: object, name: str) -> JSON:  # noqa: PLR0911 - one for each kind of value
    """Return a value as JSON; raise for anything else, such as a function, with its ``name``."""
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case None | bool() | str():
            return value if not isinstance(value, str) else str.__str__(value)
        case int() if abs(value) < _WHOLE:
            return value
        case float():
            return value if math.isfinite(value) else {"float": _unusual(value)}
        case list():
            return [encode(item, name) for item in value]
        case tuple():
            return {"tuple": [encode(item, name) for item in value]}
        case np.ndarray():
            return _array(value, name)
    return _special(value, name)


def _special(value: object, name: str) -> JSON:  # noqa: PLR0911 - one for each kind of value
    match value:
        case Fraction() | int():
            return {"fraction": str(value)}
        case Decimal() if value.is_finite():
            return {"decimal": str(value)}
        case Adjacency():
            return {"adjacency": value.value}
        case Schema():
            return {"schema": value.to_toml()}
        case Kind():
            return {"kind": Schema({"x": value}).to_toml()}
        case Record():
            return {"record": json.loads(value.to_json())}
        case Mapping() if all(isinstance(key, str) for key in value):
            return {"mapping": {str(key): encode(item, name) for key, item in value.items()}}
    known = _values().get(type(value).__name__)
    if known is not None and type(value) is known:
        given = {field.name: encode(getattr(value, field.name), name) for field in fields(known)}
        return {"value": {"is": known.__name__, "of": given}}
    raise ParameterError("learn.value_not_storable", name=name, kind=type(value).__name__)


def _values() -> dict[str, type[Any]]:
    """The frozen values that a parameter may be, by name."""
    from celosia.learn.optimize.projections import Ball, Box, Simplex

    return {"Ball": Ball, "Box": Box, "Simplex": Simplex}


def _unusual(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def decode(value: Any, name: str, depth: int = 0) -> Any:
    """Return the value that JSON stands for; ``FormatError`` if it is none that ``encode`` writes."""
    if depth > _MAX_DEPTH:
        raise FormatError("learn.nested_too_deeply", name=name)
    if isinstance(value, list):
        return [decode(item, name, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    ((tag, inner),) = value.items() if len(value) == 1 else ((None, None),)
    reader = _READERS.get(tag) if isinstance(tag, str) else None
    if reader is None:
        raise FormatError("learn.unknown_stored_object", name=name)
    try:
        return reader(inner, name, depth)
    except FormatError:
        raise
    except (CelosiaError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise FormatError("learn.stored_value_invalid", name=name, kind=tag) from error


def _read_list(inner: Any, name: str, depth: int) -> tuple[Any, ...]:
    if not isinstance(inner, list):
        raise TypeError
    return tuple(decode(item, name, depth + 1) for item in inner)


def _read_mapping(inner: Any, name: str, depth: int) -> dict[str, Any]:
    return {key: decode(item, name, depth + 1) for key, item in inner.items()}


def _read_float(inner: Any, _name: str, _depth: int) -> float:
    return _UNUSUAL[inner]


def _read_fraction(inner: Any, _name: str, _depth: int) -> Fraction | int:
    if not isinstance(inner, str) or len(inner) > _LONGEST_FRACTION or not _RATIO.fullmatch(inner):
        raise TypeError
    return Fraction(inner)


def _read_decimal(inner: Any, _name: str, _depth: int) -> Decimal:
    if not isinstance(inner, str) or len(inner) > _LONGEST_FRACTION:
        raise TypeError
    try:
        number = Decimal(inner)
    except InvalidOperation as error:
        raise ValueError from error
    if not number.is_finite():
        raise ValueError
    return number


def _read_adjacency(inner: Any, _name: str, _depth: int) -> Adjacency:
    return exact_adjacency(inner)


def _read_schema(inner: Any, _name: str, _depth: int) -> Schema:
    return Schema.from_toml(inner)


def _read_kind(inner: Any, _name: str, _depth: int) -> Kind:
    (kind,) = Schema.from_toml(inner).values()
    return kind


def _read_record(inner: Any, _name: str, _depth: int) -> Record:
    try:
        return Record.from_json(json.dumps(inner))
    except FormatError as error:
        raise ValueError from error


def _read_value(inner: Any, name: str, depth: int) -> Any:
    if not isinstance(inner, dict) or inner.keys() != {"is", "of"}:
        raise TypeError
    known = _values()[inner["is"]]
    given = _read_mapping(inner["of"], name, depth)
    if list(given) != [field.name for field in fields(known)]:
        raise TypeError
    return known(**given)


# --------------------------------------------------------------------------------------------------------------- arrays


def _array(array: "NDArray[Any]", name: str) -> JSON:
    import pyarrow as pa

    texts = array.dtype.kind in "UO" and all(isinstance(item, str) for item in array.ravel().tolist())
    if not texts and array.dtype.name not in _TYPES:
        raise ParameterError("learn.array_not_storable", name=name, dtype=array.dtype)
    flat = np.ascontiguousarray(array).ravel()
    column = pa.array(flat.tolist(), pa.large_string()) if texts else pa.array(flat)
    batch = pa.record_batch({"values": column})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    kind = ("object" if array.dtype.kind == "O" else "text") if texts else array.dtype.name
    data = base64.b64encode(sink.getvalue()).decode()
    return {"array": {"type": kind, "shape": list(array.shape), "arrow": data}}


def _read_array(inner: Any, name: str, _depth: int) -> "NDArray[Any]":
    if not isinstance(inner, dict) or inner.keys() != {"type", "shape", "arrow"}:
        raise TypeError
    kind, shape = inner["type"], inner["shape"]
    if kind not in (*_TYPES, *_TEXTS) or not isinstance(shape, list) or len(shape) > _MAX_DEPTH:
        raise TypeError
    if not all(type(side) is int and 0 <= side <= _MAX_NUMBERS for side in shape) or math.prod(shape) > _MAX_NUMBERS:
        raise FormatError("learn.stored_array_too_large", name=name, most=_MAX_NUMBERS)
    column = _column(inner["arrow"], math.prod(shape), kind)
    if kind in _TEXTS:
        texts = np.array(column.to_pylist(), dtype=object).reshape(shape)
        return texts if kind == "object" else texts.astype(str)
    found: NDArray[Any] = column.to_numpy(zero_copy_only=False).astype(kind).reshape(shape).copy()
    return found


def _column(data: Any, size: int, kind: str) -> "pa.Array":
    """The one column of an Arrow stream that was written here: not compressed, of known type and size, no nulls."""
    import pyarrow as pa

    wanted = pa.large_string() if kind in _TEXTS else pa.from_numpy_dtype(np.dtype(kind))
    try:
        buffer = pa.py_buffer(base64.b64decode(data, validate=True))
        messages = list(_messages(buffer))
        if [message.type for message in messages] != ["schema", _RECORD_BATCH] or _is_compressed(messages[1]):
            raise ValueError
        schema = pa.ipc.read_schema(messages[0])
        if schema != pa.schema({"values": wanted}):
            raise ValueError
        batch = pa.ipc.read_record_batch(messages[1], schema)
        batch.validate(full=True)
    except (pa.ArrowException, OSError, binascii.Error, struct.error) as error:
        raise ValueError from error
    if batch.num_rows != size or batch.column(0).null_count:
        raise ValueError
    return batch.column(0)


def _messages(buffer: "pa.Buffer") -> Any:
    import pyarrow as pa

    reader = pa.ipc.MessageReader.open_stream(buffer)
    for _ in range(3):  # one more than there should be
        try:
            yield reader.read_next_message()
        except StopIteration:
            return


def _is_compressed(message: Any) -> bool:
    """Whether a batch would grow when it is read: a short file could take all memory there is.

    A flat buffer's table begins with the distance to its list of fields: the fourth of a record batch is how its
    buffers are compressed, the third of a message is the record batch.
    """
    data = bytes(message.metadata)
    header = _field(data, struct.unpack_from("<I", data, 0)[0], 2)
    if header is None:
        raise ValueError
    batch = header + struct.unpack_from("<I", data, header)[0]
    return _field(data, batch, 3) is not None


def _field(data: bytes, table: int, number: int) -> int | None:
    """The place of a field in a flat buffer; None if it has none."""
    listed = table - int(struct.unpack_from("<i", data, table)[0])
    if listed < 0:
        raise ValueError
    size = struct.unpack_from("<H", data, listed)[0]
    if size < 4 + 2 * (number + 1):
        return None
    offset = int(struct.unpack_from("<H", data, listed + 4 + 2 * number)[0])
    return table + offset if offset else None


_READERS: Final[dict[str, Callable[[Any, str, int], Any]]] = {
    "adjacency": _read_adjacency,
    "array": _read_array,
    "decimal": _read_decimal,
    "float": _read_float,
    "fraction": _read_fraction,
    "kind": _read_kind,
    "mapping": _read_mapping,
    "record": _read_record,
    "schema": _read_schema,
    "tuple": _read_list,
    "value": _read_value,
}
