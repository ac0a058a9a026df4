"""Previews as JSON, for replies of a guard; reading one back gives an equal preview."""

from fractions import Fraction
from typing import Any

from celosia.core.errors import CelosiaError, FormatError
from celosia.core.exact import exact_level, exact_probability
from celosia.core.guarantees import Guarantee
from celosia.query.planning.preview import Line, Preview
from celosia.query.serial.json_fields import (
    FORMATS,
    check_limits,
    check_version,
    number_from_json,
    number_to_json,
    read_boolean,
    read_choice,
    read_fields,
    read_integer,
    read_list,
    read_text,
)
from celosia.query.serial.messages import message_from_json, message_to_json
from celosia.query.serial.records import record_from_json, record_to_json

_MAX_VALUES = 1_000_000
_MAX_DEPTH = 32
_MAX_TEXT_LENGTH = 2**20
_FIELDS = ("cost", "remaining", "affordable", "cells", "complexity", "level", "aggregates", "bounds", "notes")


def preview_to_json(preview: Preview) -> dict[str, Any]:
    """Return a preview as plain values, with its cost and what remains as records."""
    return {
        "version": FORMATS["preview"],
        "cost": record_to_json(preview.cost),
        "remaining": record_to_json(preview.remaining),
        "affordable": preview.affordable,
        "cells": preview.cells,
        "complexity": preview.complexity,
        "level": preview.level,
        "aggregates": [
            {
                "name": line.name,
                "mechanism": message_to_json(line.mechanism),
                "share": str(line.share),
                "error": None if line.error is None else number_to_json(line.error),
                "unit": line.unit,
            }
            for line in preview.lines
        ],
        "bounds": [{"expression": expression, "kind": kind} for expression, kind in preview.bounds],
        "notes": [message_to_json(note) for note in preview.notes],
    }


def preview_from_json(value: object) -> Preview:
    """Read a preview back; whatever is not exactly one raises ``FormatError``."""
    check_limits(value, name="preview", most=_MAX_VALUES, deepest=_MAX_DEPTH, longest=_MAX_TEXT_LENGTH)
    found = read_fields(check_version(value, "preview", FORMATS["preview"]), "preview", ["version", *_FIELDS])
    return Preview(
        cost=record_from_json(Guarantee, found["cost"]),  # type: ignore[type-abstract] # one of its kinds
        remaining=record_from_json(Guarantee, found["remaining"]),  # type: ignore[type-abstract] # likewise
        affordable=read_boolean(found["affordable"], "affordable"),
        cells=None if found["cells"] is None else read_integer(found["cells"], "cells"),
        complexity=read_integer(found["complexity"], "complexity"),
        level=_level(found["level"]),
        lines=tuple([_line(item) for item in read_list(found["aggregates"], "aggregates")]),
        bounds=tuple([_bound(item) for item in read_list(found["bounds"], "bounds")]),
        notes=tuple([message_from_json(note) for note in read_list(found["notes"], "notes")]),
    )


def _level(value: object) -> float:
    try:
        return exact_level(number_from_json(value, "level"))
    except CelosiaError as error:
        raise FormatError(error.message) from None


def _line(value: object) -> Line:
    found = read_fields(value, "query.name_preview_line", ["name", "mechanism", "share", "error", "unit"])
    return Line(
        name=read_text(found["name"], "name"),
        mechanism=message_from_json(found["mechanism"]),
        share=_share(found["share"]),
        error=None if found["error"] is None else number_from_json(found["error"], "error"),
        unit=read_choice(found["unit"], "unit", ("value", "rank")),
    )


def _share(value: object) -> Fraction:
    try:
        return exact_probability(read_text(value, "share"), name="share")
    except CelosiaError as error:
        raise FormatError(error.message) from None


def _bound(value: object) -> tuple[str, str]:
    found = read_fields(value, "bound", ["expression", "kind"])
    return read_text(found["expression"], "expression"), read_text(found["kind"], "kind")
