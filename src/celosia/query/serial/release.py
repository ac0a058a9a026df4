"""Released tables as JSON: what a ledger keeps, what a guard hands out, and what a client reads back.

Columns carry their types, the event and the guarantee their exact records, and intervals are written down at six
levels. A level between two of them is answered by the next higher one, whose interval is wider and so holds as well.
Nothing is in it that was not in the release, and a release holds nothing that was not noised or public.
"""

import dataclasses
import datetime as dt
import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from celosia.core.errors import FormatError, ParameterError
from celosia.core.events import Event
from celosia.core.exact import safe_repr
from celosia.core.guarantees import Guarantee
from celosia.core.messages.message import Message
from celosia.query.planning.cut_off import CutOff
from celosia.query.release import TableRelease
from celosia.query.serial.json_fields import (
    FORMATS,
    check_limits,
    check_version,
    number_from_json,
    number_to_json,
    read_boolean,
    read_choice,
    read_fields,
    read_integer,
    read_list,
    read_text,
)
from celosia.query.serial.messages import message_from_json, message_to_json
from celosia.query.serial.records import record_from_json, record_to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    Ends = tuple[NDArray[Any], NDArray[Any]]

LEVELS: Final = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
"""The levels at which intervals are written down."""

_MAX_VALUES = 50_000_000
_MAX_DEPTH = 64
_MAX_TEXT_LENGTH = 2**24
_INT64_END = 2**63
_FIELDS: Final = ("columns", "keys", "notes", "event", "guarantee", "seeded", "intervals", "true_intervals", "cut_off")
_OLDER_VERSIONS: Final = (2,)  # notes were texts; ledgers hold answers of that version


def release_to_json(release: TableRelease) -> dict[str, Any]:
    """Return a released table as plain values; strict JSON, without NaN."""
    return {
        "version": FORMATS["release"],
        "columns": [_column(name, release.value[name]) for name in release.value.column_names],
        "keys": list(release.keys),
        "notes": [message_to_json(note) for note in release.notes],
        "event": record_to_json(release.event),
        "guarantee": record_to_json(release.guarantee),
        "seeded": release.seeded,
        "intervals": _all_intervals(release, release.intervals),
        "true_intervals": None if release.true_intervals is None else _all_intervals(release, release.true_intervals),
        "cut_off": None if release.cut_off is None else dataclasses.asdict(release.cut_off),
    }


def release_from_json(value: object) -> TableRelease:
    """Read a released table back; whatever is not exactly one raises ``FormatError``."""
    import pyarrow as pa

    check_limits(value, name="release", most=_MAX_VALUES, deepest=_MAX_DEPTH, longest=_MAX_TEXT_LENGTH)
    found = read_fields(
        check_version(value, "release", FORMATS["release"], *_OLDER_VERSIONS), "release", ["version", *_FIELDS]
    )
    columns = [_read_column(item) for item in read_list(found["columns"], "columns")]
    names = [name for name, _ in columns]
    if not columns or len(set(names)) != len(names) or len({len(column) for _, column in columns}) != 1:
        raise FormatError("query.release_columns_invalid")
    keys = _read_texts(found["keys"], "keys")
    if not set(keys) <= set(names):
        raise FormatError("query.release_keys_unknown")
    rows, true = len(columns[0][1]), found["true_intervals"]
    return TableRelease(
        value=pa.table(dict(columns)),
        event=record_from_json(Event, found["event"]),
        guarantee=record_from_json(Guarantee, found["guarantee"]),  # type: ignore[type-abstract] # one of its kinds
        seeded=read_boolean(found["seeded"], "seeded"),
        keys=keys,
        notes=tuple([_read_note(note) for note in read_list(found["notes"], "notes")]),
        intervals=_read_all_intervals(found["intervals"], names, rows),
        true_intervals=None if true is None else _read_all_intervals(true, names, rows),
        cut_off=None if found["cut_off"] is None else _read_cut_off(found["cut_off"]),
    )


def _read_note(value: object) -> Message:
    return Message(value) if isinstance(value, str) else message_from_json(value)


# ----------------------------------------------------------------------------------------------------------- columns


def _types() -> "dict[str, pa.DataType]":
    import pyarrow as pa

    plain = {
        "null": pa.null(),
        "bool": pa.bool_(),
        "int64": pa.int64(),
        "double": pa.float64(),
        "string": pa.string(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", tz="UTC"),
    }
    return plain | {f"list<{word}>": pa.list_(kind) for word, kind in plain.items()}


def _column(name: str, column: "pa.ChunkedArray") -> dict[str, Any]:
    word = next((word for word, kind in _types().items() if kind == column.type), None)
    if word is None:
        raise FormatError("query.release_type_not_serializable", name=safe_repr(name), type=column.type)
    inner = word.removeprefix("list<").removesuffix(">")
    values: list[Any] = column.to_pylist()
    if word != inner:
        return {
            "name": name,
            "type": word,
            "values": [None if row is None else _write_values(row, inner) for row in values],
        }
    return {"name": name, "type": word, "values": _write_values(values, inner)}


def _write_values(values: "Sequence[Any]", word: str) -> list[Any]:
    if word == "double":
        return [None if value is None else number_to_json(value) for value in values]
    if word in ("date", "timestamp"):
        return [None if value is None else value.isoformat() for value in values]
    return list(values)


def _read_column(value: object) -> "tuple[str, pa.Array]":
    import pyarrow as pa

    found = read_fields(value, "column", ["name", "type", "values"])
    name, types = read_text(found["name"], "name"), _types()
    word = read_choice(found["type"], "query.name_column_type", types)
    inner = word.removeprefix("list<").removesuffix(">")
    values = read_list(found["values"], "values")
    read = _READERS[inner]
    try:
        if word == inner:
            plain = [None if item is None else read(item) for item in values]
        else:
            plain = [
                None if row is None else [None if item is None else read(item) for item in read_list(row, "values")]
                for row in values
            ]
        return name, pa.array(plain, type=types[word])
    except (ValueError, TypeError, OverflowError, pa.ArrowException) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError("query.release_value_wrong_type", name=safe_repr(name), type=word) from None


def _reader_of(kind: type) -> "Callable[[object], Any]":
    def read(value: object) -> object:
        if type(value) is not kind:
            raise FormatError("query.release_item_wrong_type", type=kind.__name__, value=safe_repr(value))
        return value

    return read


def _whole(value: object) -> int:
    if type(value) is not int or not -_INT64_END <= value < _INT64_END:
        raise FormatError("query.release_integer_out_of_range", value=safe_repr(value))
    return value


def _moment(value: object) -> dt.datetime:
    moment = dt.datetime.fromisoformat(read_text(value, "query.name_time"))
    if moment.utcoffset() != dt.timedelta(0):
        raise FormatError("query.release_time_not_utc", value=safe_repr(value))
    return moment


_READERS: "Final[dict[str, Callable[[object], Any]]]" = {
    "null": _reader_of(type(None)),
    "bool": _reader_of(bool),
    "int64": _whole,
    "double": lambda value: number_from_json(value, "A value of a column"),
    "string": _reader_of(str),
    "date": lambda value: dt.date.fromisoformat(read_text(value, "A date")),
    "timestamp": _moment,
}


_ARRAYS: Final = {"int64": np.int64, "double": np.float64, "string": object, "date": object, "timestamp": object}


def _read_texts(value: object, name: str) -> tuple[str, ...]:
    return tuple([read_text(item, name) for item in read_list(value, name)])


# --------------------------------------------------------------------------------------------------------- intervals


def _all_intervals(release: TableRelease, intervals: "Mapping[str, Callable[[float], Ends]]") -> list[dict[str, Any]]:
    return [_intervals(name, interval, release.value[name]) for name, interval in intervals.items()]


def _intervals(name: str, interval: "Callable[[float], Ends]", column: "pa.ChunkedArray") -> dict[str, Any]:
    levels = [(level, *interval(level)) for level in LEVELS]
    kinds = {np.asarray(end).dtype.kind for _, *ends in levels for end in ends}
    word = "int64" if kinds <= {"i", "u"} else "double"
    if "O" in kinds:  # dates, times and categories are of the type of their column
        word = next(word for word, kind in _types().items() if kind == column.type)
    return {
        "column": name,
        "type": word,
        "levels": [{"level": level, "low": _ends(low, word), "high": _ends(high, word)} for level, low, high in levels],
    }


def _ends(end: "NDArray[Any]", word: str) -> list[Any]:
    return _write_values(np.asarray(end).tolist(), word)


def _read_all_intervals(value: object, names: "Sequence[str]", rows: int) -> "dict[str, Callable[[float], Ends]]":
    found = [_read_intervals(item, rows) for item in read_list(value, "intervals")]
    if not {name for name, _ in found} <= set(names) or len(dict(found)) != len(found):
        raise FormatError("query.release_intervals_unknown")
    return dict(found)


def _read_cut_off(value: object) -> CutOff:
    names = [field.name for field in dataclasses.fields(CutOff)]
    *shares, most = read_fields(value, "cut_off", names).items()
    try:
        numbers = {name: number_from_json(share, name) for name, share in shares}
        return CutOff(**numbers, max_rows_per_person=read_integer(most[1], most[0]))
    except ParameterError as error:
        raise FormatError("query.invalid_cut_off", error=error) from None


def _read_intervals(value: object, rows: int) -> "tuple[str, Callable[[float], Ends]]":
    found = read_fields(value, "interval", ["column", "type", "levels"])
    word = read_choice(found["type"], "query.name_interval_type", tuple(_ARRAYS))
    levels = [_read_level(item, word, rows) for item in read_list(found["levels"], "levels")]
    heights = [level for level, _ in levels]
    if not levels or heights != sorted(set(heights)) or not 0 < heights[0] <= heights[-1] < 1:
        raise FormatError("query.interval_levels_not_increasing")
    return read_text(found["column"], "column"), functools.partial(_find_level, tuple(levels))


def _read_level(value: object, word: str, rows: int) -> "tuple[float, Ends]":
    found = read_fields(value, "level", ["level", "low", "high"])
    read, kind = _READERS[word], _ARRAYS[word]
    ends: list[NDArray[Any]] = [
        np.array([read(item) for item in read_list(found[end], end)], dtype=kind) for end in ("low", "high")
    ]
    low, high = ends
    if len(low) != rows or len(high) != rows:
        raise FormatError("query.interval_ends_mismatch")
    return number_from_json(found["level"], "level"), (low, high)


def _find_level(levels: "tuple[tuple[float, Ends], ...]", level: float) -> "Ends":
    """The interval of the next level that was written down: it is wider, so it holds."""
    for known, ends in levels:
        if known >= level:
            return ends
    raise ParameterError("query.level_not_stored", most=levels[-1][0], value=safe_repr(level))
