"""Text functions, defined once for all engines: on Unicode code points, with a fixed list of letters.

Engines disagree about upper case outside ASCII, about white space and about escapes. Here UPPER and LOWER exchange the
pairs of :data:`SMALL` and :data:`CAPITALS` and keep every other character: ``ß``, ``ı`` and ``ſ`` have no partner.
Positions and lengths count code points. TRIM removes blanks (U+0020) unless other characters are given. No function
makes a text longer in UTF-8, so none can fail on a long one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_RANGES: Final = (range(0x41, 0x180), range(0x386, 0x3CF), range(0x400, 0x460))  # Latin, Greek and Cyrillic letters


def _is_pair(small: str) -> bool:
    capital = small.upper()
    return (
        capital != small
        and len(capital) == 1
        and capital.lower() == small
        and any(ord(capital) in letters for letters in _RANGES)
        and len(capital.encode()) == len(small.encode())
    )


SMALL: Final = "".join(letter for letters in _RANGES for letter in map(chr, letters) if _is_pair(letter))
"""Small letters with exactly one capital: ASCII, Latin-1, Latin Extended-A, Greek and Cyrillic."""

CAPITALS: Final = "".join(letter.upper() for letter in SMALL)
"""Their capitals, in the same order."""

ANY_CHARACTER: Final = 1
"""The part of a pattern that matches one character."""

ANY_STRING: Final = 2
"""The part of a pattern that matches any number of characters."""

_TO_CAPITALS, _TO_SMALL = str.maketrans(SMALL, CAPITALS), str.maketrans(CAPITALS, SMALL)


def upper(text: str) -> str:
    """Return a text in capitals."""
    return text.translate(_TO_CAPITALS)


def lower(text: str) -> str:
    """Return a text in small letters."""
    return text.translate(_TO_SMALL)


def pattern_parts(pattern: str, escape: str | None = None) -> tuple[str | int, ...]:
    """Return the parts of a LIKE pattern.

    They are characters, ``ANY_CHARACTER`` for each ``_`` and ``ANY_STRING`` for each run of ``%``.
    """
    parts: list[str | int] = []
    letters = iter(pattern)
    for letter in letters:
        if letter == escape:
            escaped = next(letters, "")
            if escaped not in ("%", "_", escape):
                raise QueryError("query.invalid_like_escape", escape=safe_repr(escape), pattern=safe_repr(pattern))
            parts.append(escaped)
        elif letter != "%":
            parts.append(ANY_CHARACTER if letter == "_" else letter)
        elif not parts or parts[-1] != ANY_STRING:
            parts.append(ANY_STRING)
    return tuple(parts)


def write_pattern(parts: Sequence[str | int], special: str) -> str:
    """Return the LIKE pattern of some parts, with a backslash before each ``special`` character."""
    wild = {ANY_CHARACTER: "_", ANY_STRING: "%"}
    return "".join(wild[part] if isinstance(part, int) else "\\" * (part in special) + part for part in parts)


def _like(text: str, pattern: str, escape: str | None = None) -> bool:
    wild = {ANY_CHARACTER: ".", ANY_STRING: ".*"}
    parts = pattern_parts(pattern, escape)
    expression = "".join(re.escape(part) if isinstance(part, str) else wild[part] for part in parts)
    return re.fullmatch(expression, text, re.DOTALL) is not None


def _substring(text: str, start: int, length: int | None = None) -> str:
    return text[start - 1 :] if length is None else text[start - 1 : start - 1 + length]


def _right(text: str, length: int) -> str:
    return text[max(len(text) - length, 0) :]


TEXT_FUNCTIONS: Final[dict[str, Callable[..., str | int | bool]]] = {
    "upper": upper,
    "lower": lower,
    "length": len,
    "trim": lambda text, letters=" ": text.strip(letters),
    "ltrim": lambda text, letters=" ": text.lstrip(letters),
    "rtrim": lambda text, letters=" ": text.rstrip(letters),
    "substring": _substring,
    "right": _right,
    "replace": lambda text, old, new: text.replace(old, new),
    "like": _like,
}
"""The functions by operation; all arguments after the text are literals of the query."""
