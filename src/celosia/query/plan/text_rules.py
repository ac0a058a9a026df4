"""Typing rules of text functions: of a text a text, of a category the category of the values that come of it.

The other arguments are written out in the query. A pattern has few ``%``, because some engines take time that grows
with a power of the length; a replacement is not longer than what it replaces, because some engines have a longest text.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.query.plan.intervals import Interval, whole_between
from celosia.query.plan.text_functions import ANY, TEXT_FUNCTIONS, pattern_parts
from celosia.query.plan.types import Typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celosia.query.plan.arithmetic import Rule

MOST_WILD: Final = 4
"""Runs of ``%`` in one pattern."""

_FARTHEST = 1_000_000
_LONGEST = 2**31  # no engine holds a longer text


def _function(name: str, *parameters: str) -> Rule:
    """The rule of a function from texts to texts whose parameters are texts or positions."""

    def rule(args: Sequence[Typed]) -> Typed:
        text = _text(name, args)
        given = [_position(name, a, wanted) for a, wanted in zip(args[1:], parameters, strict=False)]
        return _mapped(name, text, given)

    return rule


def _trim(name: str) -> Rule:
    def rule(args: Sequence[Typed]) -> Typed:
        text = _text(name, args)
        given = [_written(name, a) for a in args[1:]]
        if "" in given:
            raise QueryError(f"{name.upper()}(text, characters) needs the characters to remove, such as ' .'.")
        return _mapped(name, text, given)

    return rule


def _replace(args: Sequence[Typed]) -> Typed:
    text = _text("replace", args)
    old, new = (_written("replace", a) for a in args[1:])
    if not old or len(new.encode()) > len(old.encode()):
        raise QueryError(
            "REPLACE(text, old, new) needs an old text that is not empty, and a new one that is no longer in UTF-8: "
            f"not {args[1].label} and {args[2].label}. Map single values with CASE WHEN instead."
        )
    return _mapped("replace", text, [old, new])


def _length(args: Sequence[Typed]) -> Typed:
    text = _text("length", args)
    interval = Interval(low=Fraction(0), high=Fraction(_LONGEST), is_integer=True, open_high=True)
    if text.values is not None:
        lengths = [len(str(value)) for value in text.values]
        interval = whole_between(min(lengths), max(lengths))
    return Typed(family="number", label=f"LENGTH of {text.label}", interval=interval, nullable=text.nullable)


def _like(args: Sequence[Typed]) -> Typed:
    text = _text("like", args)
    pattern, *escape = (_written("like", a) for a in args[1:])
    if escape and len(escape[0]) != 1:
        raise QueryError(f"ESCAPE takes one character, not {args[2].label}.")
    if pattern_parts(pattern, *escape).count(ANY) > MOST_WILD:
        raise QueryError(
            f"A LIKE pattern has at most {MOST_WILD} runs of %, not {args[1].label}: join two patterns with AND."
        )
    matches = TEXT_FUNCTIONS["like"]
    if text.values is not None and not text.literal and not any(matches(v, pattern, *escape) for v in text.values):
        shown = ", ".join(repr(value) for value in text.values[:10])
        raise QueryError(f"{text.label} is never LIKE {args[1].label}: its values are {shown}.")
    return Typed(family="truth", label="the condition", nullable=text.nullable)


def _text(name: str, args: Sequence[Typed]) -> Typed:
    text = args[0]
    if text.family != "text":
        hint = "; its values are compared with = and IN" if text.family == "code" else ""
        raise QueryError(f"{name.upper()} is for texts and categories, not for {text.described}{hint}.")
    return text


def _mapped(name: str, text: Typed, given: Sequence[str | int]) -> Typed:
    function, values, written = TEXT_FUNCTIONS[name], None, None
    if text.values is not None:
        values = tuple(dict.fromkeys(str(function(value, *given)) for value in text.values))
    if isinstance(text.written, str):
        written = str(function(text.written, *given))
    label = f"{name.upper()} of {text.label}"
    return replace(text, label=label, values=values, written=written)


def _written(name: str, a: Typed) -> str:
    if not isinstance(a.written, str):
        raise QueryError(
            f"{name.upper()} needs a text in quotes there, which is the same for all rows, not {a.described}."
        )
    return a.written


def _position(name: str, a: Typed, wanted: str) -> int:
    least = 1 if wanted == "start" else 0
    if type(a.written) is not int or not least <= a.written <= _FARTHEST:
        hint = "; RIGHT(text, length) counts from the end" if wanted == "start" else ""
        raise QueryError(
            f"The {wanted} in {name.upper()} is an integer from {least} to {_FARTHEST:,} that is written out, "
            f"not {a.label}{hint}."
        )
    return a.written


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
"""The rules by the names of the operations."""
