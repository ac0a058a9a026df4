"""JSON as it arrives from strangers: read narrowly, and numbers as they were written.

Two readers that disagree about one text are a way in, so what they disagree about is refused: a key given twice, NaN
and Infinity, texts that are no Unicode, anything but UTF-8. A number with a point is kept as its text, because 0.1 is
one tenth and no double is. How deep a text nests is counted before anything walks it.
"""

import itertools
import json
import re
from typing import Final, NoReturn

from celosia.core.errors import FormatError

_DEEPEST: Final = 300
_LONGEST_NUMBER: Final = 400
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_STEP: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


class Number(str):
    """A number that is not whole, by the text that was sent."""

    __slots__ = ()


def read_json(body: bytes) -> object:
    """Return what a JSON text says, or refuse it."""
    if _depth(body) > _DEEPEST:
        _refuse(f"it is nested deeper than {_DEEPEST} levels")
    try:
        value: object = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_int=_integer,
            parse_float=_number,
            parse_constant=lambda _word: _refuse("NaN and Infinity are no numbers"),
        )
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeError:
        _refuse("it is not UTF-8, or holds half a character")
    except (json.JSONDecodeError, RecursionError):
        _refuse("it cannot be parsed")
    return value


def _depth(body: bytes) -> int:
    steps = (_STEP.get(byte, 0) for byte in _STRING.sub(b"", body))
    return max(itertools.accumulate(steps), default=0)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    return fields if len(fields) == len(pairs) else _refuse("it gives a field twice")


def _integer(digits: str) -> int:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else _refuse("it holds a number that is too long")


def _number(text: str) -> Number:
    return Number(text) if len(text) <= _LONGEST_NUMBER else _refuse("it holds a number that is too long")


def _refuse(reason: str) -> NoReturn:
    raise FormatError(f"The body is no JSON that is read here: {reason}.")
