"""Arrow strings that every engine can read: valid UTF-8, in a layout that every Arrow kernel knows.

Arrow does not check that a string is UTF-8. Engines disagree on those that are not, so one string stands for all of
them. In a column of person ids they become null, because two persons must not become one.
"""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

UNREADABLE: Final = "\ufffd"
"""Replacement for a string that is not UTF-8: Unicode's replacement character."""

_UTF_8: Final = (  # RFC 3629, section 4, over bytes
    r"\A(?:[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}"
    r"|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})*\z"
)


def cast_views(table: "pa.Table") -> "pa.Table":
    """Return a table whose ``string_view`` and ``binary_view`` columns have offsets: many Arrow kernels lack views."""
    for place, field in enumerate(table.schema):
        wanted = _replace_views(field.type)
        if wanted != field.type:
            chunks = [_cast_chunk(chunk, wanted) for chunk in table.column(place).chunks]
            table = table.set_column(place, field.name, _make_chunked(chunks, wanted))
    return table


def sanitize_strings(table: "pa.Table", person: str | None = None) -> "pa.Table":
    """Return a table in which every string is UTF-8; valid columns are not copied."""
    table = cast_views(table)
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        if is_string(column.type) and not has_valid_strings(column):
            table = table.set_column(place, name, replace_invalid(column, person=name == person))
    return table


def replace_invalid(column: "pa.ChunkedArray", *, person: bool) -> "pa.ChunkedArray":
    """Replace the strings that are not UTF-8 with ``UNREADABLE``, or with null in a column of person ids."""
    import pyarrow as pa
    import pyarrow.compute as pc

    raw = decode_dictionary(column).cast(pa.large_binary())
    instead = pa.scalar(None if person else UNREADABLE.encode(), pa.large_binary())
    return pc.if_else(pc.match_substring_regex(raw, _UTF_8), raw, instead).cast(pa.large_string())


def has_valid_strings(column: "pa.ChunkedArray") -> bool:
    """Return whether all strings, or bytes, are UTF-8. Arrow checks fast, but does not report which one is not."""
    import pyarrow as pa

    try:
        for chunk in column.chunks:
            values = chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk
            values.cast(pa.large_binary()).cast(pa.large_string())
    except pa.ArrowInvalid:
        return False
    return True


def decode_dictionary(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """Return a column without a dictionary."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column
    return _make_chunked([chunk.dictionary_decode() for chunk in column.chunks], column.type.value_type)


def is_string(type_: "pa.DataType") -> bool:
    """Return whether strings are read from a type; DuckDB reads them from bytes that a file calls an enumeration."""
    from pyarrow import types

    value = type_.value_type if types.is_dictionary(type_) else type_
    tests = (types.is_string, types.is_large_string, types.is_string_view, types.is_binary, types.is_large_binary)
    return any(test(value) for test in tests)


def _replace_views(type_: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(type_):
        return pa.dictionary(type_.index_type, _replace_views(type_.value_type), type_.ordered)
    if pa.types.is_string_view(type_):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary_view(type_) else type_


def _cast_chunk(chunk: Any, wanted: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(wanted):  # kernels that cast a dictionary lack views too
        values = _cast_chunk(chunk.dictionary, wanted.value_type)
        return pa.DictionaryArray.from_arrays(chunk.indices, values, ordered=wanted.ordered)
    binary = chunk.cast(pa.large_binary())  # not checked yet: it may not be UTF-8
    return pa.Array.from_buffers(wanted, len(binary), binary.buffers(), binary.null_count, binary.offset)


def _make_chunked(chunks: list[Any], type_: Any) -> "pa.ChunkedArray":
    import pyarrow as pa

    return pa.chunked_array(chunks, type_)
