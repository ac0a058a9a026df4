"""Frames in and out: any library's frame becomes Arrow, and Arrow becomes pandas or Polars where they are installed.

A column's Arrow type follows from the *type* that its library gives it, never from its values. A pandas column of
Python objects has no type, so the schema decides (``objects``): one odd value changes neither how the others are read
nor raises an error that quotes it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import CelosiaError, InputError
from celosia.core.extras import require
from celosia.data.schema.columns import Kind
from celosia.data.sources.objects import read_ids, read_objects, read_strings
from celosia.data.sources.strings import cast_views
from celosia.data.sources.text_format import TextFormat

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

_PLAIN: Final = TextFormat()


def to_arrow(
    frame: object,
    columns: Sequence[str] | None = None,
    *,
    kinds: Mapping[str, Kind] | None = None,
    person: str | None = None,
    text: TextFormat = _PLAIN,
) -> "pa.Table":
    """Return a frame of any library as an Arrow table, with only some ``columns`` if they are given.

    ``kinds`` and ``person`` declare columns of Python objects, ``text`` how strings among them are written. Without
    ``kinds`` the values decide the type, which is for public frames only.
    """
    try:
        return cast_views(_to_arrow(frame, columns, kinds, person, text))
    except CelosiaError:
        raise
    except Exception:  # noqa: BLE001 - whatever a library raises here may quote values
        kind = type(frame)
        raise InputError(
            "data.frame_not_readable", library=kind.__module__.partition(".")[0], kind=kind.__name__
        ) from None


def _to_arrow(
    frame: Any,
    columns: Sequence[str] | None,
    kinds: Mapping[str, Kind] | None,
    person: str | None,
    text: TextFormat,
) -> "pa.Table":
    import narwhals as nw
    import pyarrow as pa
    from narwhals.dependencies import is_pandas_dataframe

    if is_pandas_dataframe(frame):
        return _from_pandas(frame, list(frame.columns) if columns is None else columns, kinds, person, text)
    if isinstance(frame, pa.Table):
        return frame if columns is None else frame.select(list(columns))
    try:
        native = nw.from_native(frame)
    except TypeError:  # not one of Narwhals', but it has Arrow's own protocol
        table = pa.table(frame)
        return table if columns is None else table.select(list(columns))
    chosen = native if columns is None else native.select(*columns)
    whole = chosen.collect(backend="pyarrow") if isinstance(chosen, nw.LazyFrame) else chosen
    return whole.to_arrow()


def _from_pandas(
    frame: "pd.DataFrame",
    columns: Sequence[str],
    kinds: Mapping[str, Kind] | None,
    person: str | None,
    text: TextFormat,
) -> "pa.Table":
    import pandas as pd
    import pyarrow as pa

    arrays = {}
    for name in columns:
        column = frame[name]
        if isinstance(column.dtype, pd.CategoricalDtype) and column.cat.categories.dtype == object:
            column = column.astype(object)
        if column.dtype == object and name == person:
            arrays[name] = read_ids(column, name)
        elif column.dtype == object:
            kind = None if kinds is None else kinds.get(name)
            arrays[name] = read_objects(column, kind, infer=kinds is None, text=text)
        elif isinstance(column.dtype, pd.StringDtype) and column.dtype.storage == "python":
            arrays[name] = read_strings(column, person=name == person)
        else:
            arrays[name] = pa.array(column, from_pandas=True)
    return pa.table(arrays)


def to_pandas(table: "pa.Table") -> "pd.DataFrame":
    """Return an Arrow table as a pandas DataFrame."""
    require("pandas", extra="frames")
    frame: pd.DataFrame = table.to_pandas()
    return frame


def to_polars(table: "pa.Table") -> "pl.DataFrame":
    """Return an Arrow table as a Polars DataFrame."""
    return require("polars", extra="frames").from_arrow(table)  # type: ignore[no-any-return]
