"""What is written in a declared text format is read back by it, cell by cell."""

from __future__ import annotations

import csv
import datetime as dt
import io
from typing import Any

import pyarrow as pa
import pyarrow.csv

import celosia as cl
from celosia.data import TextFormat, draw_dummy_rows
from celosia.data.sources.csv_encoding import encode_csv
from celosia.data.sources.text_values import parse_text

SCHEMA = cl.Schema(
    {
        "peso, kg": cl.Real(-300, 300, grid="0.1"),
        "edad": cl.Integer(0, 120),
        "ciudad": cl.Category("León; centro", 'A "Coruña"', "Ávila\nsur"),
        "código": cl.Category(7, 8),
        "alta": cl.Date("2001-01-01", "2021-12-31"),
        "hora": cl.Timestamp("2001-01-01", "2021-12-31 23:59:00"),
        "sano": cl.Boolean(),
        "nota": cl.Text(),
    }
)
WANTED = {
    "peso, kg": "float64",
    "edad": "float64",
    "código": "float64",
    "alta": "date",
    "hora": "timestamp",
    "sano": "boolean",
}
FORMATS: list[dict[str, Any]] = [
    {},
    {"delimiter": ";", "decimal": ",", "encoding": "latin-1", "date_format": "%d/%m/%Y"},
    {"delimiter": "\t", "encoding": "utf-16", "date_format": ["%y.%m.%d", "%d.%m.%Y %H:%M:%S"], "null_values": "NA"},
    {"decimal": ",", "encoding": "utf-16-be", "date_format": "%Y%m%d"},
]


def expected(value: Any, options: dict[str, Any]) -> Any:
    """A cell as it is read back: a time in UTC, or its first second if the format has no hours."""
    if not isinstance(value, dt.datetime):
        return value
    timed = "%H" in str(options.get("date_format", "%H"))
    return (value if timed else value.replace(hour=0, minute=0, second=0)).replace(tzinfo=dt.UTC)


def test_every_cell_is_read_back() -> None:
    rows = draw_dummy_rows(SCHEMA, rows=200)
    for options in FORMATS:
        form = TextFormat(**options)
        written = b"".join(encode_csv(rows.to_batches(max_chunksize=90), form)).decode(form.encoding)
        names, *cells = csv.reader(io.StringIO(written, newline=""), delimiter=form.delimiter or ",")
        assert (names, len(cells)) == (list(SCHEMA), 200)
        for name, texts in zip(names, zip(*cells, strict=True), strict=True):
            wanted, drawn = WANTED.get(name), rows[name].to_pylist()
            found = [text or None if wanted is None else parse_text(text, wanted, form) for text in texts]
            assert found == [expected(value, options) for value in drawn], (name, options)


def test_the_default_is_what_arrow_writes() -> None:
    rows = draw_dummy_rows(SCHEMA, rows=50)
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(rows, sink)
    assert b"".join(encode_csv(rows.to_batches(max_chunksize=7))) == bytes(sink.getvalue())
    assert list(encode_csv([])) == []


def test_a_letter_that_an_encoding_lacks_is_replaced() -> None:
    rows = pa.table({"x": ["a\N{GREEK SMALL LETTER PI}", None]})
    assert b"".join(encode_csv(rows.to_batches(), TextFormat(encoding="latin-1"))) == b'"x"\n"a?"\n\n'
