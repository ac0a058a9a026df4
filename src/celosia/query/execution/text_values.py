"""Strings parsed as numbers, booleans, dates and timestamps inside the engine.

The grammar is that of ``celosia.data.sources.text_values``. Every text is matched before it is cast, so all engines
accept the same texts, and no cast fails. A text that does not match is null, and follows the null rule of its column.
"""

from typing import TYPE_CHECKING

from celosia.data.sources.text_values import (
    FALSE,
    ISO_DATE,
    MAX_NUMBER_LENGTH,
    TRUE,
    date_patterns,
    date_rewrites,
    number,
)

if TYPE_CHECKING:
    from ibis.expr import types as ir

    from celosia.query.execution.dialect import Dialect


def read_text(text: "ir.Value", wanted: str, dialect: "Dialect") -> "ir.Value":
    """Return a text parsed as ``float64``, ``boolean``, ``date`` or ``timestamp``, null if it is invalid."""
    match wanted:
        case "float64":
            return _number(text, dialect)
        case "boolean":
            return _boolean(text, dialect)
        case "date":
            return dialect.to_date(_iso(text, dialect, timed=False))
        case _:
            return dialect.to_timestamp(_iso(text, dialect, timed=True))


def _number(text: "ir.Value", dialect: "Dialect") -> "ir.Value":
    import ibis

    decimal = dialect.text.decimal
    fits = dialect.matches(text, number(decimal)) & (text.length() <= MAX_NUMBER_LENGTH)
    plain = ibis.cases((fits, text), else_=ibis.literal(None, type="string"))
    if decimal == ".":
        return dialect.prefer_cast(text, dialect.to_number(plain))
    return dialect.to_number(plain.replace(decimal, "."))


def _boolean(text: "ir.Value", dialect: "Dialect") -> "ir.Value":
    import ibis

    true, false = ibis.literal(True), ibis.literal(False)  # noqa: FBT003 - literals
    none = ibis.literal(None, type="boolean")
    return ibis.cases((dialect.matches(text, TRUE), true), (dialect.matches(text, FALSE), false), else_=none)


def _iso(text: "ir.Value", dialect: "Dialect", *, timed: bool) -> "ir.Value":
    """Return the ISO date, or ISO timestamp with a zone, of a text; null if it is invalid."""
    import ibis

    none = ibis.literal(None, type="string")
    if dialect.text.date_format:
        rewrites = [
            (dialect.matches(text, pattern), dialect.rewrite(text, pattern, moment if timed else day))
            for pattern, day, moment in date_rewrites(tuple(dialect.text.date_format))
        ]
        return ibis.cases(*rewrites, else_=none)
    plain, (day, moment, zoned) = dialect.trim(text), date_patterns()
    if timed:
        ends = {zoned: plain, moment: plain + "Z", day: plain + " 00:00:00Z"}
        found = ibis.cases(*((dialect.matches(text, pattern), iso) for pattern, iso in ends.items()), else_=none)
    else:
        found = ibis.cases((dialect.matches(text, ISO_DATE), dialect.first_word(plain)), else_=none)
    return found.replace("/", "-")
