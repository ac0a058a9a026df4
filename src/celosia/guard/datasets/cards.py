"""Make the public descriptions of a data set: tables, kinds and bounds of columns, privacy units.

A card contains only what the owner declared: no number of rows, no path, no address and no undeclared value. So every
analyst of the data set may see it.
"""

import datetime as dt
from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from celosia.core.exact import format_exact
from celosia.data.schema.schema import KINDS
from celosia.guard.schema.replies import ColumnCard, TableCard

if TYPE_CHECKING:
    from celosia.data.schema.columns import Kind
    from celosia.data.table import Table

_OTHERS: Final = ("adjacency", "columns", "schema_toml")  # the other fields of a card are those of its table


def make_table_card(table: "Table") -> TableCard:
    """Return the card of a table."""
    return TableCard(
        **{name: getattr(table, name) for name in TableCard.model_fields if name not in _OTHERS},
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
