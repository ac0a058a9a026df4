"""Errors of requests: what does not exist or may not be seen, and fields that are not what is expected.

A caller without access must not learn from an error that a data set exists. The messages name only what the caller
passed.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from celosia.core.errors import CelosiaError, FormatError, QueryError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message, join_messages

_REASONS: Final = {  # by the validator's type of error: the code, and the limit of the field
    "bool_parsing": ("serving.field_not_boolean", None),
    "bool_type": ("serving.field_not_boolean", None),
    "dict_type": ("serving.field_not_object", None),
    "extra_forbidden": ("serving.field_unknown", None),
    "greater_than_equal": ("serving.field_below_least", "ge"),
    "int_from_float": ("serving.field_not_integer", None),
    "int_parsing": ("serving.field_not_integer", None),
    "int_type": ("serving.field_not_integer", None),
    "is_instance_of": ("serving.field_not_list", None),
    "less_than_equal": ("serving.field_above_most", "le"),
    "list_type": ("serving.field_not_list", None),
    "literal_error": ("serving.field_not_one_of", "expected"),
    "missing": ("serving.field_missing", None),
    "model_attributes_type": ("serving.field_not_object", None),
    "model_type": ("serving.field_not_object", None),
    "sequence_str": ("serving.field_not_list", None),
    "string_pattern_mismatch": ("serving.field_without_pattern", "pattern"),
    "string_too_long": ("serving.field_too_long", "max_length"),
    "string_too_short": ("serving.field_too_short", "min_length"),
    "string_type": ("serving.field_not_string", None),
}


class NotFoundError(QueryError):
    """The object does not exist, or the caller may not see it. Over HTTP it is a 404 with the name of its parent."""

    def __init__(self, code: str, /, name: object) -> None:
        super().__init__(code, name=safe_repr(name))


def find_problem(errors: Iterable[Any]) -> CelosiaError:
    """Return the first error of our own checks, or a summary of the validator's, without repeating values."""
    found = list(errors)
    for one in found:
        cause = one.get("ctx", {}).get("error")
        if isinstance(cause, CelosiaError):
            return cause
    return FormatError("serving.request_not_expected", problems=join_messages([_describe(one) for one in found[:3]]))


def _describe(error: Mapping[str, Any]) -> Message:
    """Return what is wrong with a field."""
    name = ".".join(str(part)[:60] for part in error["loc"] if "[" not in str(part))
    code, limit = _REASONS.get(error["type"], ("serving.field_not_valid", None))
    if limit is None:
        return Message(code, name=name)
    stated = error["ctx"][limit]
    # The validator lists values in English.
    return Message(code, name=name, limit=stated.replace(" or ", ", ") if limit == "expected" else stated)
