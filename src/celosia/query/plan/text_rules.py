"""Typing rules of text functions: a text gives a text, a category gives the category of the mapped values.

The other arguments are literals. A pattern has few ``%``, because some engines need time that grows with a power of the
length. A replacement is not longer than the text it replaces, because some engines bound the length of a text.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.query.plan.intervals import Interval, integers_between
from celosia.query.plan.text_functions import ANY_STRING, TEXT_FUNCTIONS, pattern_parts
from celosia.query.plan.types import Derivation, ValueType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celosia.query.plan.arithmetic import Rule

MAX_WILDCARDS: Final = 4
"""Runs of ``%`` in one pattern."""

_MAX_POSITION = 1_000_000
_MAX_TEXT_LENGTH = 2**31  # no engine holds a longer text


def _function(name: str, *parameters: str) -> Rule:
    """Return the rule of a function from texts to texts whose parameters are positions."""

    def rule(args: Sequence[ValueType]) -> ValueType:
        text = _check_text(name, args)
        given = [_written_position(name, a, wanted) for a, wanted in zip(args[1:], parameters, strict=False)]
        return _map_values(name, text, given)

    return rule


def _trim(name: str) -> Rule:
    def rule(args: Sequence[ValueType]) -> ValueType:
        text = _check_text(name, args)
        given = [_written_text(name, a) for a in args[1:]]
        if "" in given:
            raise QueryError("query.trim_without_characters", name=name.upper())
        return _map_values(name, text, given)

    return rule


def _replace(args: Sequence[ValueType]) -> ValueType:
    text = _check_text("replace", args)
    old, new = (_written_text("replace", a) for a in args[1:])
    if not old or len(new.encode()) > len(old.encode()):
        raise QueryError("query.invalid_replace_texts", old=args[1].label, new=args[2].label)
    return _map_values("replace", text, [old, new])


def _length(args: Sequence[ValueType]) -> ValueType:
    text = _check_text("length", args)
    interval = Interval(low=Fraction(0), high=Fraction(_MAX_TEXT_LENGTH), is_integer=True, open_high=True)
    if text.values is not None:
        lengths = [len(str(value)) for value in text.values]
        interval = integers_between(min(lengths), max(lengths))
    source = Derivation("query.label_function_of", "LENGTH", text.source)
    return ValueType(family="number", source=source, interval=interval, nullable=text.nullable)


def _like(args: Sequence[ValueType]) -> ValueType:
    text = _check_text("like", args)
    pattern, *escape = (_written_text("like", a) for a in args[1:])
    if escape and len(escape[0]) != 1:
        raise QueryError("query.escape_not_one_character", found=args[2].label)
    if pattern_parts(pattern, *escape).count(ANY_STRING) > MAX_WILDCARDS:
        raise QueryError("query.too_many_like_wildcards", most=MAX_WILDCARDS, found=args[1].label)
    matches = TEXT_FUNCTIONS["like"]
    if text.values is not None and not text.is_literal and not any(matches(v, pattern, *escape) for v in text.values):
        shown = ", ".join(repr(value) for value in text.values[:10])
        raise QueryError("query.like_matches_no_category", operand=text.label, pattern=args[1].label, known=shown)
    return ValueType(family="truth", source=Derivation("query.label_condition"), nullable=text.nullable)


def _check_text(name: str, args: Sequence[ValueType]) -> ValueType:
    text = args[0]
    if text.family != "text":
        code = "query.code_not_a_text" if text.family == "code" else "query.operand_not_a_text"
        raise QueryError(code, name=name.upper(), found=text.description)
    return text


def _map_values(name: str, text: ValueType, given: Sequence[str | int]) -> ValueType:
    function, values, written = TEXT_FUNCTIONS[name], None, None
    if text.values is not None:
        values = tuple(dict.fromkeys(str(function(value, *given)) for value in text.values))
    if isinstance(text.literal_value, str):
        written = str(function(text.literal_value, *given))
    source = Derivation("query.label_function_of", name.upper(), text.source)
    return replace(text, source=source, values=values, literal_value=written)


def _written_text(name: str, a: ValueType) -> str:
    if not isinstance(a.literal_value, str):
        raise QueryError("query.argument_not_text_literal", name=name.upper(), found=a.description)
    return a.literal_value


def _written_position(name: str, a: ValueType, wanted: str) -> int:
    least = 1 if wanted == "start" else 0
    if type(a.literal_value) is not int or not least <= a.literal_value <= _MAX_POSITION:
        code = "query.start_not_integer_literal" if wanted == "start" else "query.length_not_integer_literal"
        raise QueryError(code, name=name.upper(), most=_MAX_POSITION, found=a.label)
    return a.literal_value


TEXT_RULES: Final[dict[str, Rule]] = {
    "upper": _function("upper"),
    "lower": _function("lower"),
    "length": _length,
    "trim": _trim("trim"),
    "ltrim": _trim("ltrim"),
    "rtrim": _trim("rtrim"),
    "substring": _function("substring", "start", "length"),
    "right": _function("right", "length"),
    "replace": _replace,
    "like": _like,
}
"""The rules by operation."""
