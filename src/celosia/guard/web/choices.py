"""Turn the choices of a form into SQL: an aggregate, a column, groups, a condition.

The SQL is shown, can be copied into the SQL tab, and is checked like every other query: nothing is permitted here.
Names and strings are quoted and numbers parsed, so that a choice cannot inject SQL.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    from celosia.guard.schema.replies import ColumnCard, TableCard

AGGREGATES: Final[dict[str, str]] = {
    "count": "COUNT(*)",
    "mean": "AVG({})",
    "sum": "SUM({})",
    "median": "MEDIAN({})",
    "std": "STDDEV({})",
    "variance": "VARIANCE({})",
    "min": "MIN({})",
    "max": "MAX({})",
    "distinct": "COUNT(DISTINCT {})",
    "mode": "MODE({})",
}
"""The aggregates of the form, with their SQL."""

OPERATORS: Final = ("=", "<>", "<", "<=", ">", ">=")
"""The comparisons of the form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """The choices of a form; empty strings for absent ones."""

    aggregate: str = "count"
    column: str = ""
    group: str = ""
    group2: str = ""
    where: str = ""
    operator: str = "="
    value: str = ""

    @classmethod
    def of(cls, form: Mapping[str, str]) -> "Choices":
        """Return the choices in a form."""
        given = {field.name: form.get(field.name, "").strip() for field in fields(cls)}
        return cls(**{name: text for name, text in given.items() if text})

    def sql(self, table: "TableCard") -> str:
        """Return the SQL; raise ``QueryError`` if a choice is missing or unknown."""
        columns = {column.name: column for column in table.columns}
        groups = [_find_column(name, columns).name for name in dict.fromkeys((self.group, self.group2)) if name]
        names = [_quote_name(group) for group in groups]
        parts = [f"SELECT {', '.join([*names, self._aggregate(columns)])} FROM {_quote_name(table.name)}"]  # noqa: S608 - names are quoted; the parser decides
        if self.where:
            parts.append(f"WHERE {self._condition(columns)}")
        if names:
            parts.append(f"GROUP BY {', '.join(names)}")
        return " ".join(parts)

    def _aggregate(self, columns: "Mapping[str, ColumnCard]") -> str:
        if self.aggregate not in AGGREGATES:
            raise QueryError("guard.unknown_form_aggregate", aggregate=safe_repr(self.aggregate))
        pattern = AGGREGATES[self.aggregate]
        if "{}" not in pattern:
            return pattern
        if not self.column:
            raise QueryError("guard.missing_aggregate_column")
        return pattern.format(_quote_name(_find_column(self.column, columns).name))

    def _condition(self, columns: "Mapping[str, ColumnCard]") -> str:
        column = _find_column(self.where, columns)
        if self.operator not in OPERATORS:
            raise QueryError("guard.unknown_form_comparison", operator=safe_repr(self.operator))
        return f"{_quote_name(column.name)} {self.operator} {_format_literal(self.value, column)}"


def _find_column(name: str, columns: "Mapping[str, ColumnCard]") -> "ColumnCard":
    if name not in columns:
        raise QueryError("guard.unknown_column", name=safe_repr(name))
    return columns[name]


def _quote_name(name: str) -> str:
    from celosia.query.plan.expressions import Column
    from celosia.query.plan.to_sql import render

    return render(Column(name))


def _format_literal(value: str, column: "ColumnCard") -> str:
    text = "'{}'".format(value.replace("'", "''"))
    match column.kind:
        case "boolean":
            return _parse_boolean(value)
        case "date":
            return f"DATE {text}"
        case "timestamp":
            return f"TIMESTAMP {text}"
        case "integer" | "real":
            return _parse_number(value)
        case "category" if value not in column.fields.get("values", ()):
            numbers = {str(known) for known in column.fields.get("values", ()) if not isinstance(known, str)}
            return value if value in numbers else text
    return text


def _parse_boolean(value: str) -> str:
    if value.lower() not in ("true", "false"):
        raise QueryError("guard.value_not_boolean", value=safe_repr(value))
    return value.upper()


def _parse_number(value: str) -> str:
    try:
        number = Decimal(value.replace(",", "."))
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or len(value) > 60 or abs(number.adjusted()) > 40:
        raise QueryError("guard.value_not_a_number", value=safe_repr(value))
    return f"{number:f}"
