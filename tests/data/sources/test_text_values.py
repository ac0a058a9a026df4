"""The grammar of texts: what is read, what is not, and that two readings of one text cannot be told apart by chance."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from celosia.data.sources.text_format import TextFormat
from celosia.data.sources.text_values import FALSE, ISO_DATE, TRUE, date_patterns, date_rewrites, number, parse_text

SPANISH = TextFormat(decimal=",", date_format=["%d/%m/%Y", "%d/%m/%Y %H:%M"], null_values=["NA", "7"])
SHORT = TextFormat(date_format=["%d%m%y", "%H:%M:%S %d.%m.%Y"])


def at(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=dt.UTC)  # type: ignore[misc, arg-type] # the parts of a time


def test_what_a_text_says() -> None:
    cases: list[tuple[str, str, TextFormat, Any]] = [
        ("-1.5e2", "float64", TextFormat(), -150.0),
        ("1,5", "float64", TextFormat(), None),
        ("1,5", "float64", SPANISH, 1.5),
        ("1.5", "float64", SPANISH, None),
        ("1.234,5", "float64", SPANISH, None),  # never taken for thousands
        ("7", "float64", SPANISH, None),
        (" 8 ", "float64", SPANISH, 8.0),
        ("8\n", "float64", SPANISH, None),
        ("Yes", "boolean", TextFormat(), True),
        (" n", "boolean", TextFormat(), False),
        ("NA", "boolean", SPANISH, None),
        *((text, "boolean", TextFormat(), True) for text in ("sí", "Si", "SÍ", "si\u0301", " s ", "VERDADERO", "v")),
        *((text, "boolean", TextFormat(), False) for text in ("No", "n", "FALSO")),
        *((text, "boolean", TextFormat(), None) for text in ("sì", "sis", "ní", "sí\n", "s\u0301i")),
        ("31/12/2021", "date", SPANISH, dt.date(2021, 12, 31)),
        ("1/2/2021 9:05", "date", SPANISH, dt.date(2021, 2, 1)),
        ("1/2/2021 9:05", "timestamp", SPANISH, at(2021, 2, 1, 9, 5)),
        ("31/12/2021", "timestamp", SPANISH, at(2021, 12, 31)),
        ("31/02/2021", "date", SPANISH, None),
        ("31/12/21", "date", SPANISH, None),  # not the year 21
        ("2021-12-31", "date", SPANISH, None),
        ("311269", "date", SHORT, dt.date(1969, 12, 31)),
        ("311268", "date", SHORT, dt.date(2068, 12, 31)),
        ("1122021", "date", SHORT, None),  # the first or the eleventh
        ("01:02:03 4.5.2021", "timestamp", SHORT, at(2021, 5, 4, 1, 2, 3)),
        ("2021-12-31T10:30:59.9", "timestamp", TextFormat(), at(2021, 12, 31, 10, 30, 59)),
        ("2021-12-31 23:30-05", "timestamp", TextFormat(), at(2022, 1, 1, 4, 30)),
        ("2021-12-31 23:30-05", "date", TextFormat(), dt.date(2021, 12, 31)),
        ("9999-12-31 23:30-05", "timestamp", TextFormat(), at(9999, 12, 31, 23, 59, 59)),
        ("0999-12-31", "date", TextFormat(), None),
    ]
    for text, wanted, form, found in cases:
        assert parse_text(text, wanted, form) == found


def test_patterns_mean_the_same_to_every_engine() -> None:
    """No backslash, which SQL literals treat differently; no word that one of the dialects lacks; both ends tied."""
    rewrites = date_rewrites(("%d/%m/%Y", "%d%m%y", "%d.%m.%Y %H:%M:%S"))
    patterns = [
        TRUE,
        FALSE,
        ISO_DATE,
        number("."),
        number(","),
        *date_patterns(),
        *(pattern for pattern, *_ in rewrites),
    ]
    for pattern in patterns:
        assert "\\" not in pattern
        assert pattern[0] == "^"
        assert pattern[-1] == "$"
        assert pattern.count("$") == 1
        assert "#" not in pattern
        assert not re.search(r"[*+?}][?+]", pattern)
