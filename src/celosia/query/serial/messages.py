"""Messages as JSON: code and fields for programs, and the English sentence for people who read the JSON.

A reader whose catalogue does not have the code, because the writer is newer, keeps the sentence.
"""

import math
from typing import Any

from celosia.core.errors import FormatError
from celosia.core.guarantees import Guarantee
from celosia.core.messages.message import Field, Message, find_template, list_gaps
from celosia.query.serial.json_fields import read_fields, read_list, read_text
from celosia.query.serial.records import record_from_json, record_to_json

_MAX_FIELDS = 32
_MAX_DEPTH = 8


def message_to_json(message: Message) -> dict[str, Any]:
    """Return a message as plain values."""
    fields = {name: _field_to_json(value) for name, value in message.fields.items()}
    return {"code": message.code, "fields": fields, "text": str(message)}


def _field_to_json(value: Field) -> Any:
    match value:
        case Message():
            return {"message": message_to_json(value)}
        case Guarantee():
            return {"guarantee": record_to_json(value)}
        case tuple():
            return [_field_to_json(each) for each in value]
        case float() if not math.isfinite(value):  # JSON has none
            return str(value)
        case _:
            return value


def message_from_json(value: object, *, depth: int = 0) -> Message:
    """Read a message back; what is not exactly one raises ``FormatError``."""
    found = read_fields(value, "message", ["code", "fields", "text"])
    code, text, fields = read_text(found["code"], "code"), read_text(found["text"], "text"), found["fields"]
    if not isinstance(fields, dict) or len(fields) > _MAX_FIELDS or depth > _MAX_DEPTH:
        raise FormatError("query.message_fields_invalid", most=_MAX_FIELDS)
    template = find_template(code, "en")
    if template is None:
        return Message(text)
    if list_gaps(template) != fields.keys():
        raise FormatError("query.message_fields_unknown", code=code)
    return Message(code, **{name: _field_from_json(each, depth) for name, each in fields.items()})


def _field_from_json(value: object, depth: int) -> Field:
    match value:
        case dict() if "message" in value:
            return message_from_json(read_fields(value, "field", ["message"])["message"], depth=depth + 1)
        case dict():
            found = read_fields(value, "field", ["guarantee"])
            return record_from_json(Guarantee, found["guarantee"])  # type: ignore[type-abstract] # one of its kinds
        case list():
            return tuple(_field_from_json(each, depth + 1) for each in read_list(value, "field"))
        case None | str() | int() | float():
            return value
        case _:
            raise FormatError("query.message_fields_invalid", most=_MAX_FIELDS)
