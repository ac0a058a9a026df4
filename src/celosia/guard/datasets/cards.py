"""Public descriptions of a data set: tables, kinds and bounds of columns, privacy units.

A card contains only what the owner declared: no number of rows, no path, no address and no undeclared value. So every
analyst of the data set may see it.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from celosia.core.exact import format_exact
from celosia.data.schema.schema import KINDS

if TYPE_CHECKING:
    from celosia.data.schema.columns import Kind
    from celosia.data.table import Table

_SAME: Final = (  # fields that a card takes from its table as they are
    "name",
    "unit",
    "person",
    "max_groups_per_person",
    "max_rows_per_group",
    "max_rows_per_person",
    "public",
    "key",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnCard:
    """A column: its kind as in schema files, its declared fields, and its null rule.

    Bounds that are not integers are strings, and so are dates and times.

    >>> ColumnCard(name="age", kind="integer", fields={"low": 0, "high": 120}, null="drop").fields["high"]
    120
    """

    name: str
    kind: str
    fields: Mapping[str, Any]
    null: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCard:
    """A table: its privacy unit, its contribution bounds, and the join key of a public table.

    ``Schema.from_toml`` reads ``schema_toml`` as the same schema.

    >>> make_table_card(_deaths()).unit
    'row'
    """

    name: str
    unit: str
    person: str | None
    max_groups_per_person: int | None
    max_rows_per_group: int | None
    max_rows_per_person: int | None
    adjacency: str
    public: bool
    key: tuple[str, ...]
    columns: tuple[ColumnCard, ...]
    schema_toml: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetCard:
    """A data set: its private table, then the public tables that can be joined with it.

    The owner declares the ``version`` of the data: the same query of the same version has one answer.

    >>> DatasetCard(name="deaths", title="", version="1", tables=(make_table_card(_deaths()),)).tables[0].name
    'deaths'
    """

    name: str
    title: str
    version: str
    tables: tuple[TableCard, ...]
    retired: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the card as a JSON object.

        >>> card = DatasetCard(name="deaths", title="", version="1", tables=(make_table_card(_deaths()),))
        >>> card.to_json()["tables"][0]["columns"][0]
        {'name': 'age', 'kind': 'integer', 'fields': {'low': 0, 'high': 120}, 'null': 'drop'}
        """
        return {
            "name": self.name,
            "title": self.title,
            "version": self.version,
            "retired": self.retired,
            "tables": [_table_to_json(table) for table in self.tables],
        }


def make_table_card(table: "Table") -> TableCard:
    """Return the card of a table."""
    return TableCard(
        **{name: getattr(table, name) for name in _SAME},
        adjacency=table.adjacency.value,
        columns=tuple(make_column_card(name, kind) for name, kind in table.schema.items()),
        schema_toml=table.schema.to_toml(),
    )


def make_column_card(name: str, kind: "Kind") -> ColumnCard:
    """Return the card of a column."""
    word = next(word for word, known in KINDS.items() if type(kind) is known)
    declared = {
        field.name: _to_json(getattr(kind, field.name))
        for field in fields(kind)  # type: ignore[arg-type]  # every kind is a dataclass
        if field.name not in ("null", "_axis") and getattr(kind, field.name) is not None
    }
    return ColumnCard(name=name, kind=word, fields=declared, null=_to_json(kind.null))


def _to_json(value: object) -> Any:
    match value:
        case Fraction():
            return value.numerator if value.denominator == 1 else format_exact(value).strip("'")
        case dt.datetime():
            return value.replace(tzinfo=None).isoformat(sep=" ")
        case dt.date():
            return value.isoformat()
        case tuple():
            return list(value)
    return value


def _table_to_json(table: TableCard) -> dict[str, Any]:
    return asdict(table) | {"key": list(table.key), "columns": [asdict(column) for column in table.columns]}


def _deaths() -> "Table":
    """Return a table for the examples above."""
    from celosia.data import Category, Integer, Schema, Table
    from celosia.data.sources.classify import Frame

    return Table(name="deaths", source=Frame(None), schema=Schema(age=Integer(0, 120), sex=Category("F", "M")))
