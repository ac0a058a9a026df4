"""A table with its schema and privacy unit: where its rows are, what its columns hold, and whom it protects.

Making a table reads only the names of its columns; public tables, which are not about people, are read at once. With
``person=`` all rows of one person are protected together, and two limits bound their contribution: in how many groups
of a query, and how many rows in each. Rows beyond the limits are left out when a query runs.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import ParameterError, SchemaError
from celosia.core.exact import exact_adjacency, exact_integer, safe_repr
from celosia.core.html_table import draw_table
from celosia.core.messages.message import Message, join_messages, join_names
from celosia.data.public import check_key, infer_public_schema, read_public
from celosia.data.schema.columns import Kind
from celosia.data.schema.schema import Schema
from celosia.data.sources.classify import Database, DataSource, Frame, SparkPath, SparkTable, classify, suggest_name
from celosia.data.sources.column_types import column_types
from celosia.data.sources.text_format import TextFormat

_MAX_NAME_LENGTH = 63  # of PostgreSQL's identifiers
_MAX_LIMIT = 2**31
_NAME: Final = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Table:
    """A table with its schema and its privacy unit. Made by ``table``.

    >>> import pyarrow as pa
    >>> from celosia.data.schema.columns import Integer
    >>> table(pa.table({"age": [34, 71]}), schema=Schema(age=Integer(0, 120)), name="deaths")
    <Table deaths(age), unit row>
    """

    name: str
    source: DataSource
    schema: Schema
    person: str | None = None
    max_groups_per_person: int | None = None
    max_rows_per_group: int | None = None
    max_rows_per_person: int | None = None
    adjacency: Adjacency = AddRemove
    public: bool = False
    key: tuple[str, ...] = ()
    text: TextFormat = field(default_factory=TextFormat)
    unit: str = field(init=False)
    """The privacy unit: a ``row``, or a ``person`` with all their rows."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", "row" if self.person is None else "person")

    def describe_unit(self) -> str:
        """Return the privacy unit and its limits in words, or the key of a public table."""
        if self.public:
            return f"public by {', '.join(self.key)}"
        limits = f": {self.person}, {self.max_groups_per_person} groups, {self.max_rows_per_group} rows in each"
        if self.max_rows_per_person is not None:
            limits += f", {self.max_rows_per_person} in all"
        adjacency = "" if self.adjacency is AddRemove else f", {self.adjacency!r}"
        return f"unit {self.unit}{'' if self.person is None else limits}{adjacency}"

    def __repr__(self) -> str:
        return f"<Table {self.name}({', '.join(self.schema)}), {self.describe_unit()}>"

    def _repr_html_(self) -> str:
        rows = [(name, repr(kind)) for name, kind in self.schema.items()]
        return draw_table(("column", "kind"), rows, title=f"{self.name}, {self.describe_unit()}", most=len(rows))


def table(  # noqa: PLR0913 - the options of a table, by name
    source: object,
    *,
    schema: Mapping[str, Kind] | None = None,
    name: str | None = None,
    person: str | None = None,
    max_groups_per_person: int | None = None,
    max_rows_per_group: int | None = None,
    max_rows_per_person: int | None = None,
    adjacency: Adjacency = AddRemove,
    public: bool = False,
    key: str | Sequence[str] | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
    date_format: str | Sequence[str] = (),
    null_values: str | Sequence[str] = (),
) -> Table:
    """Return a table for a session.

    Parameters
    ----------
    source
        A path or glob of Parquet or CSV files; a DataFrame of pandas, Polars, Arrow or another library that supports
        Arrow; an Ibis table; a Spark DataFrame; ``"postgresql://..."``, with ``name`` the table there; or what Spark
        reads: ``"spark:"`` before a path or glob of Parquet files (``"spark:hdfs://..."``), or alone, with ``name`` a
        table of its catalogue.
    schema
        The columns that queries may use. A public table may leave it out.
    name
        The table's name in SQL: by default the file's stem, or ``data``.
    person
        The column that identifies the person of a row; queries cannot use it. None: each row is a person of its own.
    max_groups_per_person, max_rows_per_group
        With ``person``: in how many groups of a query one person counts, and with how many rows in each.
    max_rows_per_person
        A public fact, if there is one: no person has more rows in the table. Answers then report what the limits cut
        off, and have intervals for the true value. These rely on it; privacy never does.
    adjacency
        ``AddRemove``, or ``ReplaceOne`` if the number of persons (rows) is public.
    public
        Whether the table is not about people, and serves for joins.
    key
        The key of a public table: the column or columns by which it is joined, unique in every row.
    delimiter, encoding
        Of CSV files: one character, by default the one that splits the header into most names; and such as ``latin-1``,
        ``windows-1252`` or ``utf-16``. Files in another encoding than UTF-8 are converted when a session is opened.
    decimal, date_format, null_values
        How strings write numbers (``"."`` or ``","``), dates (such as ``"%d/%m/%Y"``, or a list of formats; by default
        ISO) and nulls (such as ``["NA", "-"]``). Any other string follows its column's null rule.

    Examples
    --------
    >>> from celosia.data import deaths
    >>> from celosia.data.schema.columns import Category, Integer
    >>> table(deaths(), schema=Schema(age=Integer(0, 120), sex=Category("F", "M")), name="deaths")
    <Table deaths(age, sex), unit row>
    """
    text = TextFormat(
        delimiter=delimiter, encoding=encoding, decimal=decimal, date_format=date_format, null_values=null_values
    )
    found = classify(source, name=name, text=text)
    called = _choose_name(name, source, found)
    if not isinstance(public, bool):
        raise ParameterError("data.public_not_boolean", public=safe_repr(public))
    limits = {"max_groups_per_person": max_groups_per_person, "max_rows_per_group": max_rows_per_group}
    if public:
        _refuse_given(person=person, **limits, max_rows_per_person=max_rows_per_person)
        return _make_public_table(found, called, schema, key, text)
    if key is not None:
        raise ParameterError("data.key_of_private_table")
    declared = _check_schema(schema)
    _check_person(person, declared, limits)
    if person is None:
        _refuse_given(max_rows_per_person=max_rows_per_person)
    _check_columns(found, tuple(declared), person)
    return Table(
        name=called,
        source=found,
        schema=declared,
        person=person,
        max_groups_per_person=_check_limit(max_groups_per_person, "max_groups_per_person"),
        max_rows_per_group=_check_limit(max_rows_per_group, "max_rows_per_group"),
        max_rows_per_person=_check_limit(max_rows_per_person, "max_rows_per_person"),
        adjacency=exact_adjacency(adjacency),
        text=text,
    )


def _choose_name(name: object, source: object, found: DataSource) -> str:
    if isinstance(found, Database | SparkTable):
        return suggest_name(found)
    if name is None:
        return suggest_name(source)
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > _MAX_NAME_LENGTH:
        raise ParameterError("core.name_not_an_identifier", name=safe_repr(name))
    return name


def _check_schema(schema: object) -> Schema:
    if isinstance(schema, Schema):
        return schema
    if not isinstance(schema, Mapping):
        raise ParameterError("data.not_a_schema")
    return Schema(schema)


def _check_person(person: object, schema: Schema, limits: Mapping[str, object]) -> None:
    if person is None:
        _refuse_given(**limits)
        return
    if not isinstance(person, str) or not person:
        raise ParameterError("data.person_not_a_column", person=safe_repr(person))
    if person in schema:
        raise SchemaError("data.person_in_schema", person=safe_repr(person))
    missing = [name for name, value in limits.items() if value is None]
    if missing:
        raise ParameterError("data.missing_person_limits", person=safe_repr(person), missing=join_names(missing))


def _refuse_given(**given: object) -> None:
    extra = [name for name, value in given.items() if value is not None]
    if extra:
        raise ParameterError("data.limits_without_person", names=join_names(extra))


def _check_limit(value: Any, name: str) -> int | None:
    if value is None:
        return None
    number = exact_integer(value, name=name)
    if number > _MAX_LIMIT:
        raise ParameterError("data.limit_too_large", name=name, value=safe_repr(value))
    return number


def _check_columns(source: DataSource, wanted: Sequence[str], person: str | None = None) -> None:
    """Refuse columns that are missing, duplicated, or of an unsupported type.

    The error does not list the existing names: the first line of a CSV file without a header is a row.
    """
    if isinstance(source, Database | SparkPath | SparkTable):
        return  # the engine opens it and checks the columns
    found = column_types(source)
    names = {column.name for column in found}
    alike = Counter(column.name.casefold() for column in found)  # engines ignore case
    problems = []
    for name in (*wanted, *(() if person is None else (person,))):
        if name not in names or alike[name.casefold()] > 1:
            code = "data.column_missing" if name not in names else "data.column_twice"
            problems.append(Message(code, column=safe_repr(name)))
    problems += [
        Message("data.column_of_unsupported_type", column=safe_repr(column.name), type=column.type)
        for column in found
        if column.name in wanted and column.type is not None and column.kind is None
    ]
    if problems:
        raise SchemaError(join_messages(problems))


def _make_public_table(
    source: DataSource, name: str, schema: object, key: str | Sequence[str] | None, text: TextFormat
) -> Table:
    columns = (key,) if isinstance(key, str) else tuple(key or ())
    if not columns or not all(isinstance(column, str) for column in columns):
        raise ParameterError("data.key_not_column_names", key=safe_repr(key))
    declared = None if schema is None else _check_schema(schema)
    rows = read_public(source, declared, text)
    if declared is None:
        declared = infer_public_schema(rows)
    _check_columns(Frame(rows), tuple(declared))
    absent = [column for column in columns if column not in declared]
    if absent:
        raise SchemaError("data.key_not_in_schema", column=safe_repr(absent[0]))
    check_key(rows, columns, declared)
    return Table(
        name=name, source=Frame(rows.select(list(declared))), schema=declared, public=True, key=columns, text=text
    )
