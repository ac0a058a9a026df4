"""JSON that came from elsewhere, read narrowly: of bounded size, each field of its type, and none that is not known.

What a guard is sent was perhaps written to harm it. So a text is refused that names a field twice, holds NaN or a very
long number, or is nested without end; a value is measured before anything walks it; and a reader that meets a field it
does not know refuses it, because its writer gave it a meaning. Numbers that JSON has no word for (NaN and the
infinities) are written as texts, so that every JSON reader accepts them.
"""

import math
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from celosia.core.errors import FormatError
from celosia.core.exact import is_unicode, safe_repr
from celosia.core.messages.message import Message

JSON: TypeAlias = dict[str, Any] | list[Any] | str | int | float | bool | None
"""What JSON can say."""

FORMATS: Final = {"plan": 1, "preview": 3, "release": 3}
"""The versions of what a client and a guard send each other."""

_MAX_INTEGER = 2**64
_UNUSUAL: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def check_limits(value: object, *, name: str, most: int, deepest: int, longest: int) -> None:
    """Refuse a value of more than ``most`` parts, deeper than ``deepest``, or with a text longer than ``longest``.

    It is walked without recursion, and no further than it is allowed to go.
    """
    level: list[object] = [value]
    parts = 0
    for depth in range(deepest + 2):
        parts += len(level)
        if parts > most:
            raise FormatError("query.json_too_large", name=name, most=most)
        if not level:
            return
        if depth > deepest:
            break
        level = _inside(level, name, most, longest)
    raise FormatError("query.json_nested_too_deeply", name=name, most=deepest)


def _inside(level: list[object], name: str, most: int, longest: int) -> list[object]:
    """What the values of one level are made of."""
    inner: list[object] = []
    for value in level:
        if isinstance(value, dict):
            for key in value:
                _check_leaf(key if isinstance(key, str) else b"", name, longest)
            inner.extend(value.values())
        elif isinstance(value, list):
            inner.extend(value)
        else:
            _check_leaf(value, name, longest)
        if len(inner) > most:
            break
    return inner


def _check_leaf(value: object, name: str, longest: int) -> None:
    match value:
        case None | bool():
            return
        case str():
            if len(value) <= longest and is_unicode(value):
                return
            problem = Message("query.json_text_too_long", name=name, most=longest)
        case int():
            if abs(value) <= _MAX_INTEGER:
                return
            problem = Message("query.json_integer_too_large", name=name)
        case float():
            if math.isfinite(value):
                return
            problem = Message("query.json_number_not_finite", name=name)
        case _:
            problem = Message("query.json_of_unknown_type", name=name, type=type(value).__name__)
    raise FormatError(problem)


def _write_name(name: str) -> str:
    return Message(name) if name.startswith("query.") else name


def read_fields(value: object, name: str, needed: Iterable[str], optional: Iterable[str] = ()) -> dict[str, Any]:
    """Return the fields of an object; refuse one that lacks a needed field or has an unknown one.

    Here and below, ``name`` is a word of the format, or the code of a name.
    """
    required = list(needed)
    allowed = [*required, *optional]
    if not isinstance(value, dict):
        raise FormatError(
            "query.json_not_an_object", name=_write_name(name), known=", ".join(allowed), value=safe_repr(value)
        )
    missing = [field for field in required if field not in value]
    if missing:
        raise FormatError("query.json_field_missing", name=_write_name(name), field=missing[0])
    unknown = [field for field in value if field not in allowed]
    if unknown:
        raise FormatError(
            "query.unknown_json_field", name=_write_name(name), field=safe_repr(unknown[0]), known=", ".join(allowed)
        )
    return value


def check_version(value: object, name: str, version: int, *older: int) -> dict[str, Any]:
    """Return an object of a version that is read; refuse others before their fields are looked at."""
    given = value.get("version") if isinstance(value, dict) else None
    if not isinstance(value, dict) or type(given) is not int or given not in (version, *older):
        raise FormatError("query.json_version_not_supported", name=name, wanted=version, found=safe_repr(given))
    return value


def read_text(value: object, name: str) -> str:
    """Return a text."""
    if type(value) is not str:  # a guard reads numbers with a point as texts of a kind of their own
        raise FormatError("core.not_a_string", name=_write_name(name), value=safe_repr(value))
    return value


def read_choice(value: object, name: str, words: Iterable[str]) -> str:
    """Return one of several words."""
    known = list(words)
    if not isinstance(value, str) or value not in known:
        raise FormatError("core.unknown_choice", name=_write_name(name), known=", ".join(known), value=safe_repr(value))
    return value


def read_boolean(value: object, name: str) -> bool:
    """Return true or false; 0 and 1 are neither."""
    if not isinstance(value, bool):
        raise FormatError("query.json_not_a_boolean", name=_write_name(name), value=safe_repr(value))
    return value


def read_integer(value: object, name: str) -> int:
    """Return an integer; true is none, and neither is 1.0."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise FormatError("core.not_an_integer", name=_write_name(name), value=safe_repr(value))
    return value


def read_list(value: object, name: str) -> list[Any]:
    """Return a list."""
    if not isinstance(value, list):
        raise FormatError("query.argument_not_a_list", name=name, value=safe_repr(value))
    return value


def number_to_json(value: float) -> float | str:
    """Return a number as JSON can say it: those that are not finite as texts."""
    if math.isfinite(value):
        return float(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def number_from_json(value: object, name: str) -> float:
    """Read a number back."""
    if isinstance(value, str) and value in _UNUSUAL:
        return _UNUSUAL[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormatError("core.not_a_number", name=name, value=safe_repr(value))
    return float(value)
