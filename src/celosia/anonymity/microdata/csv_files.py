"""CSV files of records: codes, decimal commas and empty cells as statistics offices write them.

A file with semicolons may have decimal commas, as spreadsheets write it where a comma is the decimal sign. A code such
as 08 keeps its zero. An empty cell is a null. What cannot be read is an error that names the line or the column.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import ParameterError, SchemaError
from celosia.core.exact import safe_repr
from celosia.data.sources.files import Files, read_csv_header

if TYPE_CHECKING:
    import pyarrow as pa

_CODE: Final = r"^0\d"
_REPLACED: Final = "\N{REPLACEMENT CHARACTER}"  # how the header shows bytes that are not UTF-8
_COMMA_NUMBER: Final = r"^[+-]?\d+(,\d+)?$"
_NOT_A_THOUSAND: Final = r"^[+-]?(\d{4,}|0\d*),\d+$|,(\d{1,2}|\d{4,})$"  # 1,234 may be a thousand; 1,5 and 1234,567 not


def read_csv(source: Files) -> "pa.Table":
    """Return the table in CSV files; their strings must be UTF-8, and their lines of one length."""
    import pyarrow as pa

    tables = [_read_one(path, source.delimiter) for path in source.paths]
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")


def _read_one(path: str, delimiter: str) -> "pa.Table":
    import pyarrow as pa
    from pyarrow import csv

    _, names = read_csv_header(path)
    check_names(names)
    if any(_REPLACED in name for name in names):
        raise SchemaError("anonymity.text_not_utf8", path=safe_repr(Path(path).name))
    parse = csv.ParseOptions(
        delimiter=delimiter,
        newlines_in_values=True,
        ignore_empty_lines=len(names) > 1,  # in a file of one column, an empty line is a null
    )
    try:
        table = _restore_codes(csv.read_csv(path, parse_options=parse), path, parse)
    except pa.ArrowInvalid:
        raise _explain(path, delimiter) from None
    except (OSError, UnicodeError):
        raise ParameterError("anonymity.file_not_readable", path=safe_repr(path)) from None
    for place, name in enumerate(names):
        column = table.column(place)
        if pa.types.is_binary(column.type):  # how Arrow reads strings that are not UTF-8
            raise SchemaError("anonymity.text_not_utf8", path=safe_repr(Path(path).name))
        if pa.types.is_string(column.type):
            table = table.set_column(place, name, _clean_strings(column, decimal_comma=delimiter == ";"))
    return table


def _restore_codes(table: "pa.Table", path: str, parse: Any) -> "pa.Table":
    """Return the table with strings in columns of digits that begin with a zero: as numbers they would lose it."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    whole = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    if not whole:
        return table
    convert = csv.ConvertOptions(include_columns=whole, column_types=dict.fromkeys(whole, pa.string()))
    texts = csv.read_csv(path, parse_options=parse, convert_options=convert)
    for name in whole:
        if pc.any(pc.match_substring_regex(texts[name], _CODE)).as_py():
            table = table.set_column(table.column_names.index(name), name, texts[name])
    return table


def check_names(names: "tuple[Any, ...]") -> None:
    """Raise unless the names of columns are strings, and different."""
    for name in names:
        if not isinstance(name, str):
            raise SchemaError("anonymity.column_name_not_text", name=safe_repr(name))
        if names.count(name) > 1:
            raise SchemaError("anonymity.column_repeated", name=safe_repr(name))


def _clean_strings(column: "pa.ChunkedArray", *, decimal_comma: bool) -> "pa.ChunkedArray":
    """Return strings with nulls for empty cells, or the numbers that they write with a decimal comma."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pc.if_else(pc.equal(column, ""), None, column)
    if not decimal_comma or known.null_count == len(known):
        return known
    numbers = pc.all(pc.match_substring_regex(known, _COMMA_NUMBER)).as_py()
    if numbers and pc.any(pc.match_substring_regex(known, _NOT_A_THOUSAND)).as_py():
        return pc.replace_substring(known, ",", ".").cast(pa.float64())
    return known


def _explain(path: str, delimiter: str) -> SchemaError:
    """Return the error of a file that Arrow cannot parse: the first line of another length, or of another encoding."""
    import pyarrow as pa
    from pyarrow import csv

    found: list[tuple[int, int, int]] = []

    def note(row: Any) -> str:
        found.append((row.number, row.actual_columns, row.expected_columns))
        return "skip"

    try:
        csv.read_csv(
            path,
            read_options=csv.ReadOptions(use_threads=False),
            parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note),
        )
    except (pa.ArrowInvalid, UnicodeError):
        return SchemaError("anonymity.text_not_utf8", path=safe_repr(Path(path).name))
    if not found:
        return SchemaError("anonymity.file_not_readable", path=safe_repr(Path(path).name))
    line, actual, expected = found[0]
    return SchemaError(
        "anonymity.line_of_other_length",
        path=safe_repr(Path(path).name),
        line=line,
        actual=actual,
        expected=expected,
        delimiter=safe_repr(delimiter),
    )
