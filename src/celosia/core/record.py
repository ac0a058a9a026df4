"""Frozen values that are stored for years, and their JSON.

Guarantees and events are stored in ledgers and must mean the same to a later version. A record is a frozen dataclass
with a ``kind`` (its class name) and a ``version``. Reading calls the constructor, which validates. Unknown kinds,
versions and fields are refused: a reader that guesses would misprice.
"""

import dataclasses
import json
from enum import Enum
from fractions import Fraction
from typing import ClassVar, NoReturn, Self, cast

from celosia.core.errors import CelosiaError, FormatError, ParameterError
from celosia.core.exact import ReprMixin, field_names, safe_repr
from celosia.core.strict_json import read_json

_MAX_RECORD_LENGTH = 5_000_000
_MAX_RECORD_DEPTH = 32


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class Record(ReprMixin):
    """A value with an exact JSON form. Subclasses are frozen dataclasses whose constructor accepts their own JSON.

    >>> from celosia import PureDP
    >>> PureDP.from_json(PureDP(epsilon="0.1").to_json())
    PureDP(epsilon='0.1')
    """

    version: ClassVar[int] = 1
    _kinds: ClassVar[dict[str, type["Record"]]] = {}

    def __init_subclass__(cls, **arguments: object) -> None:
        super(Record, cls).__init_subclass__(**arguments)
        if cls.__name__.startswith("_"):
            return  # shared code, not a kind
        known = Record._kinds.get(cls.__name__, cls)
        if known.__module__ != cls.__module__:
            raise ParameterError("core.record_kind_taken", kind=cls.__name__, module=known.__module__)
        # A slotted dataclass is made twice; the second, final class replaces the first.
        Record._kinds[cls.__name__] = cls

    def to_json(self) -> str:
        """Return the record as canonical JSON: sorted keys, numbers as exact strings.

        >>> from celosia import PureDP
        >>> PureDP(epsilon=1).to_json()
        '{"adjacency": "add-remove", "epsilon": "1", "kind": "PureDP", "unit": "row", "version": 1}'
        """
        return json.dumps(_encode(self), sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Parse a record; raise ``FormatError`` unless the text is exactly the JSON of a ``cls``.

        >>> from celosia import PureDP
        >>> PureDP.from_json('{"kind": "PureDP", "version": 1}')
        Traceback (most recent call last):
        ...
        celosia.core.errors.FormatError: PureDP needs exactly the fields adjacency, epsilon, unit.
        """
        if not isinstance(text, str):
            raise FormatError("core.record_not_a_string")
        record = _decode(
            read_json(text, decimal=_refuse_decimal, max_length=_MAX_RECORD_LENGTH, max_depth=_MAX_RECORD_DEPTH)
        )
        if not isinstance(record, Record):
            raise FormatError("core.json_without_record")
        if not isinstance(record, cls):
            raise FormatError("core.wrong_record_kind", found=type(record).__name__, wanted=cls.__name__)
        return record


def _encode(value: object) -> object:
    if isinstance(value, Record):
        fields = {name: _encode(getattr(value, name)) for name in field_names(type(value))}
        return fields | {"kind": type(value).__name__, "version": value.version}
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    return value


def _refuse_decimal(_digits: str) -> NoReturn:
    raise ValueError("Records write numbers that are not integers as text.")


def _decode(value: object) -> object:
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, object]", value)
    kind, version = fields.get("kind"), fields.get("version")
    known = Record._kinds.get(kind) if isinstance(kind, str) else None  # noqa: SLF001 - our own registry
    if kind is None:
        raise FormatError("core.json_without_record")
    if known is None or version != known.version:
        raise FormatError("core.unknown_record_kind", kind=safe_repr(kind), version=safe_repr(version))
    record = _construct(
        known, {name: _decode(item) for name, item in fields.items() if name not in ("kind", "version")}
    )
    # A constructor takes many types, the JSON form has one: 1 for "1", true for 1, "28" for ["2", "8"] are refused.
    if not _has_types(value, record):
        raise FormatError("core.wrong_field_type", kind=kind)
    return record


def _has_types(written: object, value: object) -> bool:
    """Return whether a JSON value has the types, names and lengths of what ``_encode`` makes of a value."""
    if isinstance(value, Record):
        if not isinstance(written, dict) or type(written.get("kind")) is not str:
            return False
        names = field_names(type(value))
        return (
            type(written.get("version")) is int
            and len(written) == len(names) + 2
            and all(name in written and _has_types(written[name], getattr(value, name)) for name in names)
        )
    if isinstance(value, Fraction):
        return type(written) is str
    if isinstance(value, Enum):
        return type(written) is type(value.value)
    if isinstance(value, tuple):
        return isinstance(written, list) and len(written) == len(value) and all(map(_has_types, written, value))
    return type(written) is type(value)


def _construct(kind: type[Record], fields: dict[str, object]) -> Record:
    expected = field_names(kind)
    if fields.keys() != {*expected}:
        raise FormatError("core.wrong_record_fields", kind=kind.__name__, expected=", ".join(sorted(expected)))
    try:
        return kind(**fields)
    except FormatError:
        raise
    except (CelosiaError, TypeError, ValueError) as error:
        raise FormatError("core.invalid_record_field", kind=kind.__name__, error=error) from error
