"""Rows as the bytes of a CSV file, in the text format that its table declares: what is written here is read back.

A timestamp is cut to the parts that the declared dates have.
"""

import codecs
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from celosia.data.sources.text_format import TextFormat

if TYPE_CHECKING:
    import pyarrow as pa


def encode_csv(batches: "Iterable[pa.RecordBatch]", text: TextFormat | None = None) -> Iterator[bytes]:
    """Yield the parts of a CSV file, one for each batch; nulls are empty cells."""
    import pyarrow as pa
    from pyarrow import csv

    text = text or TextFormat()
    encoder = codecs.getincrementalencoder(text.encoding)("replace")  # which marks the beginning of UTF-16 once
    options = csv.WriteOptions(delimiter=text.delimiter or ",")
    for batch in batches:
        sink = pa.BufferOutputStream()
        columns = [_write_column(column, text) for column in batch.columns]
        csv.write_csv(pa.RecordBatch.from_arrays(columns, names=batch.schema.names), sink, options)
        options.include_header = False
        part = sink.getvalue()
        yield part.to_pybytes() if text.encoding == "utf-8" else encoder.encode(str(part, "utf-8"))


def _write_column(column: "pa.Array", text: TextFormat) -> "pa.Array":
    """Return a column as the writer shall write it: a decimal comma, or dates in a declared format."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type) and text.decimal != ".":
        return pc.replace_substring(column.cast(pa.string()), ".", text.decimal)
    if pa.types.is_temporal(column.type) and text.date_format:
        timed = [one for one in text.date_format if "%H" in one and pa.types.is_timestamp(column.type)]
        return pc.strftime(column.cast(pa.timestamp("s")), format=[*timed, *text.date_format][0])
    return column
