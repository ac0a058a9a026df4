"""Read JSON from an untrusted writer: one strict reader with bounds, for the whole project.

Two readers that disagree about one text are an attack surface. The reader therefore refuses what JSON readers disagree
about: a field given twice, NaN and Infinity, half a surrogate pair, and every encoding but UTF-8. It bounds the length
of the text and of each number, and the depth of nesting, before it parses. Callers choose how a decimal is read: as the
text that was sent (0.1 is one tenth, and no double is), as a finite double, or not at all.
"""

import itertools
import json
import math
import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Final, NoReturn, TypeAlias

from celosia.core.errors import FormatError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message

MAX_NUMBER_LENGTH: Final = 400
"""Characters of a number."""

_MAX_LENGTH: Final = 2**30  # characters of a text: those of the longest stored answers
_MAX_DEPTH: Final = 300
_STRINGS_AND_VALUES: Final = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[^][{}"]++', re.DOTALL)  # linear in time
_STEP: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_Refuse: TypeAlias = Callable[..., NoReturn]
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


class DecimalText(str):
    """A number with a point or an exponent, as the text that was sent."""

    __slots__ = ()


def finite_float(digits: str) -> float:
    """Return the double nearest to a decimal; raise ``ValueError`` if it is infinite."""
    if not math.isfinite(number := float(digits)):
        raise ValueError("infinite")
    return number


def read_json(
    data: object,
    *,
    name: str = "core.the_text",
    decimal: Callable[[str], Any] = finite_float,
    max_length: int = _MAX_LENGTH,
    max_depth: int = _MAX_DEPTH,
) -> Any:
    """Return the value of a JSON text; ``FormatError`` says what is wrong with it.

    Parameters
    ----------
    data
        The text, or its UTF-8 bytes.
    name
        The code of the error message's subject.
    decimal
        Converts a number that is not an integer; a ``ValueError`` refuses it.
    max_length, max_depth
        Narrower bounds than those of all texts: characters of the text, levels of nesting.

    Examples
    --------
    >>> read_json(b'{"epsilon": 0.1}', decimal=DecimalText)
    {'epsilon': '0.1'}
    >>> read_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    celosia.core.errors.FormatError: The text is not strict JSON: it gives a field twice.
    """
    decoder, refuse = _make_decoder(name, decimal)
    if not isinstance(data, str | bytes) or len(data) > max_length:
        refuse("core.json_too_long", most=max_length)
    try:
        body = data.encode() if isinstance(data, str) else data
        if _exceeds_depth(body, max_depth):
            refuse("core.json_too_deep", most=max_depth)
        value = decoder.decode(body.decode("utf-8"))
        if _SURROGATE.search(body):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeError:
        refuse("core.json_not_utf8")
    except (json.JSONDecodeError, RecursionError):
        refuse("core.json_not_parsed")
    return value


@lru_cache(64)
def _make_decoder(name: str, decimal: Callable[[str], Any]) -> tuple[json.JSONDecoder, _Refuse]:
    """Return a decoder, and what refuses a text; making them takes longer than reading a short text."""
    refuse = partial(_refuse, name)
    number = partial(_read_number, refuse)
    decoder = json.JSONDecoder(
        object_pairs_hook=partial(_read_object, refuse),
        parse_int=partial(number, int),
        parse_float=partial(number, decimal),
        parse_constant=lambda _word: refuse("core.json_with_infinity"),
    )
    return decoder, refuse


def _exceeds_depth(body: bytes, max_depth: int) -> bool:
    if body.count(b"[") + body.count(b"{") <= max_depth:
        return False
    steps = map(_STEP.__getitem__, filter(_STEP.__contains__, _STRINGS_AND_VALUES.sub(b"", body)))
    return max(itertools.accumulate(steps), default=0) > max_depth


def _read_object(refuse: _Refuse, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return fields if len(fields := dict(pairs)) == len(pairs) else refuse("core.json_field_twice")


def _read_number(refuse: _Refuse, convert: Callable[[str], Any], digits: str) -> Any:
    if len(digits) > MAX_NUMBER_LENGTH:
        refuse("core.json_number_too_long")
    try:
        return convert(digits)
    except ValueError:
        refuse("core.json_number_not_allowed", number=safe_repr(digits))


def _refuse(name: str, code: str, /, **fields: object) -> NoReturn:
    raise FormatError("core.not_strict_json", name=Message(name), reason=Message(code, **fields))
