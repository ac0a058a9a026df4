"""A table that can be asked about: where its rows are, what its columns may hold, and whom it protects.

Nothing is read when a table is made, but the names of its columns; only public tables, which are about nobody, are read
at once. With ``person=`` all rows of one person are protected together, and two limits say how much of them counts: in
how many groups of a query, and how many rows in each. What is beyond them is left out when a query runs.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from celosia.core.adjacency import AddRemove, Adjacency, exact_adjacency
from celosia.core.errors import ParameterError, SchemaError
from celosia.core.exact import exact_integer, safe_repr
from celosia.core.html_table import draw_table
from celosia.data.public import check_key, read_public, schema_of_public
from celosia.data.schema.columns import Kind
from celosia.data.schema.schema import Schema
from celosia.data.sources.classify import Database, DataSource, Frame, classify, suggested_name
from celosia.data.sources.column_types import column_types
from celosia.data.sources.text_format import TextFormat

_LONGEST_NAME = 63  # of PostgreSQL's identifiers
_LARGEST_LIMIT = 2**31
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

    @property
    def unit(self) -> str:
        """What one neighbour has more, less or different: a ``row``, or a ``person`` with all rows."""
        return "row" if self.person is None else "person"

    def describe_unit(self) -> str:
        """Return whom the table protects and how much of them counts, or by what a public one is joined."""
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


def table(  # noqa: PLR0913 - all that has to be said of a table, by name
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
    """Return a table that a session can be opened on.

    Parameters
    ----------
    source
        A path or glob of Parquet or CSV files; a DataFrame of pandas, Polars, Arrow or another library that speaks
        Arrow; an Ibis table; a Spark DataFrame; or ``"postgresql://..."``, with ``name`` the table there.
    schema
        The columns that may be asked about. A public table may leave it out.
    name
        What the table is called in SQL: by default the file's stem, or ``data``.
    person
        The column that says whose row it is, which is then itself not asked about. None: each row is somebody else's.
    max_groups_per_person, max_rows_per_group
        With ``person``: in how many groups of a query one person counts, and with how many rows in each.
    max_rows_per_person
        A public fact, if there is one: no person has more rows in the table. Answers then say what the limits cut off,
        and have intervals for the true value. If it is wrong these are; privacy never depends on it.
    adjacency
        ``AddRemove``, or ``ReplaceOne`` if the number of persons (rows) is public.
    public
        For a table about nobody, to join with.
    key
        Of a public table: the column or columns by which it is joined, different in every row.
    delimiter, encoding
        Of CSV files: one character, by default the one that cuts the header into most names; and such as ``latin-1``,
        ``windows-1252`` or ``utf-16``. Files in another encoding than UTF-8 are converted when a session is opened.
    decimal, date_format, null_values
        How texts write numbers (``"."`` or ``","``), dates (such as ``"%d/%m/%Y"``, or a list of formats; by default
        ISO) and nulls (such as ``["NA", "-"]``). A text that cannot be read so follows its column's null rule.

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
    called = _name(name, source, found)
    if not isinstance(public, bool):
        raise ParameterError(f"public must be True or False, not {safe_repr(public)}.")
    limits = {"max_groups_per_person": max_groups_per_person, "max_rows_per_group": max_rows_per_group}
    if public:
        _refuse_given(person=person, **limits, max_rows_per_person=max_rows_per_person)
        return _public(found, called, schema, key, text)
    if key is not None:
        raise ParameterError("key is for public tables: a private table is joined on its person.")
    declared = _schema(schema)
    _check_person(person, declared, limits)
    if person is None:
        _refuse_given(max_rows_per_person=max_rows_per_person)
    _check_columns(found, tuple(declared), person)
    return Table(
        name=called,
        source=found,
        schema=declared,
        person=person,
        max_groups_per_person=_limit(max_groups_per_person, "max_groups_per_person"),
        max_rows_per_group=_limit(max_rows_per_group, "max_rows_per_group"),
        max_rows_per_person=_limit(max_rows_per_person, "max_rows_per_person"),
        adjacency=exact_adjacency(adjacency),
        text=text,
    )


def _name(name: object, source: object, found: DataSource) -> str:
    if isinstance(found, Database):
        return suggested_name(found)
    if name is None:
        return suggested_name(source)
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise ParameterError(
            f"name must be letters, digits and underscores, such as deaths_2021, not {safe_repr(name)}."
        )
    return name


def _schema(schema: object) -> Schema:
    if isinstance(schema, Schema):
        return schema
    if not isinstance(schema, Mapping):
        raise ParameterError(
            "schema must be a Schema, such as Schema(age=Integer(0, 120)): bounds are never read from the data."
        )
    return Schema(schema)


def _check_person(person: object, schema: Schema, limits: Mapping[str, object]) -> None:
    if person is None:
        _refuse_given(**limits)
        return
    if not isinstance(person, str) or not person:
        raise ParameterError(f"person must be the name of a column, not {safe_repr(person)}.")
    if person in schema:
        raise SchemaError(
            f"person={safe_repr(person)} must not be in the schema: a person's identity cannot be asked about."
        )
    missing = [name for name, value in limits.items() if value is None]
    if missing:
        raise ParameterError(
            f"person={safe_repr(person)} needs {' and '.join(missing)}: in how many groups of a query one person "
            "counts, and with how many rows in each. What is beyond is left out; smaller limits need less noise."
        )


def _refuse_given(**given: object) -> None:
    extra = [name for name, value in given.items() if value is not None]
    if extra:
        raise ParameterError(f"{' and '.join(extra)} can only be given for a private table with person=.")


def _limit(value: Any, name: str) -> int | None:
    if value is None:
        return None
    number = exact_integer(value, name=name)
    if number > _LARGEST_LIMIT:
        raise ParameterError(f"{name} must be at most 2^31, not {safe_repr(value)}.")
    return number


def _check_columns(source: DataSource, wanted: Sequence[str], person: str | None = None) -> None:
    """Refuse columns that are not there, twice there, or of a type that is no value.

    The names that are there are not listed: the first line of a CSV file without a header is a row.
    """
    if isinstance(source, Database):
        return  # it is opened by the engine, which looks for itself
    found = column_types(source)
    names = {column.name for column in found}
    alike = Counter(column.name.casefold() for column in found)  # engines do not tell capitals
    problems = []
    for name in (*wanted, *(() if person is None else (person,))):
        if name not in names or alike[name.casefold()] > 1:
            problem = "does not have" if name not in names else "has twice (capitals do not count)"
            problems.append(
                f"The column {safe_repr(name)} of the schema, or of person=, is one that the source {problem}."
            )
    problems += [
        f"The column {safe_repr(column.name)} is of the type {column.type}, which cannot be asked about."
        for column in found
        if column.name in wanted and column.type is not None and column.kind is None
    ]
    if problems:
        raise SchemaError(" ".join(problems))


def _public(source: DataSource, name: str, schema: object, key: str | Sequence[str] | None, text: TextFormat) -> Table:
    columns = (key,) if isinstance(key, str) else tuple(key or ())
    if not columns or not all(isinstance(column, str) for column in columns):
        raise ParameterError(
            f"key must name the column or columns by which the public table is joined, not {safe_repr(key)}."
        )
    declared = None if schema is None else _schema(schema)
    rows = read_public(source, declared, text)
    if declared is None:
        declared = schema_of_public(rows)
    _check_columns(Frame(rows), tuple(declared))
    absent = [column for column in columns if column not in declared]
    if absent:
        raise SchemaError(f"key names {safe_repr(absent[0])}, which is not in the schema or has no values.")
    check_key(rows, columns, declared)
    return Table(
        name=name, source=Frame(rows.select(list(declared))), schema=declared, public=True, key=columns, text=text
    )
