"""Events and guarantees as JSON objects inside others."""

import json
from typing import Any, TypeVar

from celosia.core.errors import FormatError
from celosia.core.record import Record

T = TypeVar("T", bound=Record)


def record_to_json(record: Record) -> dict[str, Any]:
    """Return an event or a guarantee as a JSON object inside another."""
    written: dict[str, Any] = json.loads(record.to_json())
    return written


def record_from_json(kind: type[T], value: object) -> T:
    """Read an event or a guarantee back from a JSON object inside another."""
    try:
        return kind.from_json(json.dumps(value, allow_nan=False))
    except (ValueError, TypeError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError("query.record_not_json", kind=kind.__name__) from None
