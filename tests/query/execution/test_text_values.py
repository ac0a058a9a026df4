"""Texts are parsed by the grammar exactly, and no content raises an error."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from celosia.data.sources.text_format import TextFormat
from celosia.data.sources.text_values import parse_text
from celosia.query.engines.duckdb import DuckDBDialect
from celosia.query.execution.clean import nullify
from celosia.query.execution.text_values import read_text
from tests.query.computed import all_computed, computed

if TYPE_CHECKING:
    from celosia.query.execution.dialect import Dialect

RNG = np.random.default_rng(1811)
FORMATS = (
    TextFormat(),
    TextFormat(decimal=",", date_format="%d/%m/%Y"),
    TextFormat(date_format=["%d.%m.%y %H:%M", "%d.%m.%y", "%Y%m%d"]),
    TextFormat(date_format="%Y-%m-%dT%H:%M:%S"),
)
LAST = 253_402_300_799  # second of Python's calendar; an engine may go on
WANTED = ("float64", "boolean", "date", "timestamp")
NUMBERS = ["7", " 7 ", "-1.5", "+.5", "1.", ".", "1e3", "1E-3", "1e400", "1e999", "1_000", "1,5", "1.234,5", "1,234.5"]
NUMBERS += ["nan", "inf", "0x10", "1e", "e5", "7\n", "\t7", "٣", "12abc", "1 2", "--1", "", " ", "9" * 99, "9" * 101]
WORDS = ["yes", "No", " TRUE ", "f", "Y", "n", "1", "0", "on", "2", "sí", "yes\n", "truee",
         "Si", "SÍ ", "sÍ", "si\u0301", "S", "s\u0301i", "sì", "sis", "Verdadero", "V", "FALSO", "ní"]  # fmt: skip
DATES = ["2021-12-31", "2021/12/31", "2021-1-5", "2021-12/31", "2021-02-30", "2020-02-29", "31/12/2021", "31/12/21"]
DATES += ["1/2/2021", "30/02/2021", "32/01/2021", "31.12.69", "31.12.68", "1.2.21 9:05", "20211231", "2021131"]
DATES += ["infinity", "epoch", "0000-01-01", "0021-12-31", "12021-01-01", "9999-12-31", "1000-01-01", "2021-12-31\n"]
CLOCKS = ["10:30", "1:02", "23:59:59", "24:00", "10:60", "10:30:59.5", "10:30:59.123456789", "10"]
ZONES = ["", "Z", "+01:00", "-05", "+1400", "+14:00", "+15:00", " UTC", "z"]


def samples() -> list[str]:
    times = [f"{day}{mark}{clock}{zone}" for day in ("2021-12-31", "1969-12-31", "9999-12-31", "2021-2-29")
             for mark, clock, zone in itertools.product((" ", "T"), CLOCKS, ZONES)]  # fmt: skip
    letters = list("0123456789+-.,eE_ :/TZtrueFALSEnyn\n'\\%ñ")
    noise = ["".join(RNG.choice(letters, RNG.integers(0, 12))) for _ in range(1500)]
    return [*NUMBERS, *WORDS, *DATES, *times, *noise]


def assert_read_alike(dialect: Dialect, form: TextFormat) -> None:
    texts = samples()
    reading = dialect.with_format(form)

    def make(table: Any) -> dict[str, Any]:
        found = {wanted: read_text(table.x, wanted, reading) for wanted in ("float64", "boolean")}
        found["date"] = reading.days(read_text(table.x, "date", reading))
        found["timestamp"] = reading.seconds(read_text(table.x, "timestamp", reading))
        return found

    rows = all_computed(pa.table({"x": [*texts, None]}), make).to_pydict()
    for wanted in WANTED:
        expected = [counted(parse_text(text, wanted, form), wanted) for text in texts]
        found = [min(value, LAST) if wanted == "timestamp" and value else value for value in rows[wanted]]
        assert [trio for trio in zip(texts, found, expected, strict=False) if trio[1] != trio[2]] == []
        assert rows[wanted][-1] is None


def counted(value: Any, wanted: str) -> Any:
    """Days and seconds as engines count them."""
    if value is None:
        return None
    if wanted == "date":
        return (value - dt.date(1970, 1, 1)).days
    if wanted == "timestamp":
        return (value - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(seconds=1)
    return value


@pytest.mark.parametrize("form", FORMATS)
def test_duckdb_reads_what_the_grammar_says(form: TextFormat) -> None:
    assert_read_alike(DuckDBDialect(), form)


def test_duckdb_casts_numbers_and_nothing_else() -> None:
    """Its cast reads more than numbers: all short texts of critical characters agree with the pattern."""
    signs = "07+-._eE \t\n\v\r\x1fniafNIx,:/ \u0663\u00a0"
    texts = ["".join(letters) for size in (1, 2, 3) for letters in itertools.product(signs, repeat=size)]
    texts += ["".join(letters) for letters in itertools.product("1-._e \n", repeat=6)]
    dialect = DuckDBDialect().with_format(TextFormat())
    found = computed(pa.table({"x": texts}), lambda table: read_text(table.x, "float64", dialect)).to_pylist()
    expected = [parse_text(text, "float64", TextFormat()) for text in texts]
    assert [trio for trio in zip(texts, found, expected, strict=True) if trio[1] != trio[2]] == []


def test_without_its_pattern_duckdb_reads_more() -> None:
    """What the patterns are for: the cast alone takes other texts than the grammar does."""

    class Lax(DuckDBDialect):
        def matches(self, text: Any, pattern: str) -> Any:  # noqa: ARG002 - of Ibis
            return text.notnull()

    with pytest.raises(AssertionError):
        assert_read_alike(Lax(), TextFormat())


def test_declared_nulls_are_null() -> None:
    rows = pa.table({"x": ["NA", "-", "na", "", "F", None]})
    found = computed(rows, lambda table: nullify(table.x, TextFormat(null_values=["NA", "-"])))
    assert found.to_pylist() == [None, None, "na", "", "F", None]
    assert computed(rows, lambda table: nullify(table.x, TextFormat())).to_pylist()[:2] == ["NA", "-"]
