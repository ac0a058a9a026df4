"""What a table says beside its values, and a released one must not.

A column of categories lists them all, also those of records that were dropped. Metadata of the file and of its fields
may name an author, a path, an index or a person. A table of a statistical package labels values that nobody has any
more. None of these is seen in the rows, and each would undo what was suppressed.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def strip_table(table: "pa.Table") -> "pa.Table":
    """Return a table with the same values, without metadata and without categories that no record has.

    >>> import pyarrow as pa
    >>> column = pa.array(["a", "b", "a"]).dictionary_encode()
    >>> strip_table(pa.table({"letter": column.take(pa.array([0, 2]))}))["letter"].chunk(0).dictionary.to_pylist()
    ['a']
    """
    import pyarrow as pa

    return pa.table([_drop_unused(column) for column in table.columns], names=table.column_names)


def _drop_unused(column: "pa.ChunkedArray") -> "pa.ChunkedArray | pa.Array":
    """Return a column of categories with those that occur: in their declared order, or else sorted.

    The order of categories that have none is often that of the records where each occurs first.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if not pa.types.is_dictionary(kind):
        return column.cast(_flatten(kind)) if pa.types.is_nested(kind) else column
    if not column.num_chunks:
        return column
    whole = pa.concat_arrays(column.unify_dictionaries().chunks)
    used = pc.unique(whole.indices.drop_null())
    labels = whole.dictionary.take(used.take(pc.sort_indices(used)))
    if not kind.ordered:
        try:
            labels = labels.take(pc.sort_indices(labels))
        except (pa.ArrowNotImplementedError, pa.ArrowTypeError):
            return column.cast(kind.value_type)
    codes = pc.index_in(whole.cast(kind.value_type), value_set=labels, skip_nulls=True).cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(codes, labels, ordered=kind.ordered)


def _flatten(kind: "pa.DataType") -> "pa.DataType":
    """Return the type of lists and structures without categories and without metadata in them."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _flatten(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(one.name, _flatten(one.type)) for one in kind.fields])
    if pa.types.is_list(kind):
        return pa.list_(_flatten(kind.value_type))
    return pa.large_list(_flatten(kind.value_type)) if pa.types.is_large_list(kind) else kind


def keep_used_labels(column: "pa.ChunkedArray", values: Mapping[Any, str]) -> dict[Any, str]:
    """Return the labels of values that some record has.

    >>> import pyarrow as pa
    >>> keep_used_labels(pa.chunked_array([[1, 2]]), {1.0: "employee", 9.0: "mayor"})
    {1.0: 'employee'}
    """
    used = set(column.unique().to_pylist())
    return {value: label for value, label in values.items() if value in used}
