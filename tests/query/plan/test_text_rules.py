"""A text function of a text is a text, of a category the category of what comes of its values."""

from __future__ import annotations

import pytest

from celosia.core.errors import QueryError
from celosia.data.schema.columns import Boolean, Category, Integer, Kind, Text
from celosia.query.plan.expressions import kind_of
from celosia.query.sql.expressions import parse_expression

KINDS: dict[str, Kind] = {
    "sex": Category("F", "M", "f "),
    "level": Category("low", "high", ordered=True, null="low"),
    "city": Text(),
    "note": Text(null="none"),
    "code": Category(1, 2),
    "age": Integer(0, 120),
}


def test_results() -> None:
    cases: list[tuple[str, Kind]] = [
        ("UPPER(sex)", Category("F", "M", "F ")),
        ("TRIM(UPPER(sex))", Category("F", "M")),
        ("LEFT(level, 1)", Category("l", "h", null="l")),
        ("REPLACE(sex, 'F', 'W')", Category("W", "M", "f ")),
        ("UPPER(city)", Text()),
        ("TRIM(note)", Text(null="")),
        ("LENGTH(level)", Integer(3, 4, null=3)),
        ("CLIP(LENGTH(city), 0, 10)", Integer(0, 10)),
        ("city LIKE 'a%'", Boolean()),
        ("level LIKE '%w'", Boolean(null=False)),
        ("UPPER(sex) IN (UPPER('f'), 'M')", Boolean()),
    ]
    for text, kind in cases:
        assert kind_of(parse_expression(text), KINDS) == kind


def test_refusals() -> None:
    cases: list[tuple[str, str]] = [
        ("UPPER(age)", r"for texts and categories, not for age \(a number\)"),
        ("TRIM(code)", "compared with = and IN"),
        ("LENGTH(age)", "for texts and categories"),
        ("LENGTH(city)", r"wrap it in CLIP"),
        ("SUBSTRING(city, 0)", "from 1 to 1,000,000"),
        ("SUBSTRING(city, -2)", r"RIGHT\(text, length\) counts from the end"),
        ("SUBSTRING(city, age)", "1,000,000, not age"),
        ("SUBSTRING(city, 1.5)", "integer"),
        ("LEFT(city, -1)", "from 0 to"),
        ("RIGHT(city, TRUE)", "integer"),
        ("TRIM(city, '')", "needs the characters to remove"),
        ("TRIM(city, note)", "needs a text literal"),
        ("REPLACE(city, '', 'a')", "not empty"),
        ("REPLACE(city, 'n', 'ñ')", "no longer in UTF-8"),
        ("REPLACE(city, note, 'a')", "needs a text literal"),
        ("city LIKE note", "needs a text literal"),
        ("city LIKE 3", "needs a text literal"),
        ("city LIKE 'a' ESCAPE '!!'", "one character"),
        ("city LIKE 'a!' ESCAPE '!'", "may follow it"),
        ("city LIKE '%a%b%c%d%'", "at most 4 runs of %"),
        ("sex LIKE 'm%'", r"sex is never LIKE 'm%': its values are 'F', 'M'"),
        ("UPPER(sex) = 'f'", "UPPER of sex is never 'f'"),
        ("ROUND(age)", r"write FLOOR\(x \+ 0.5\)"),
    ]
    for text, sentence in cases:
        with pytest.raises(QueryError, match=sentence):
            kind_of(parse_expression(text), KINDS)
