"""Columns and contribution limits of a relation, derived from the schemas alone.

Public tables add columns but no rows. A private table joins another only on the person, so all rows that a join
multiplies still belong to one person and are bounded afterwards.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from celosia.core.errors import QueryError
from celosia.core.exact import safe_repr
from celosia.data.schema.columns import Category, Integer, Kind, Real
from celosia.query.plan.expressions import kind_of
from celosia.query.plan.nodes import Base, Join, PerPerson, Projection, Relation

if TYPE_CHECKING:
    from celosia.data.table import Table

_MAX_ROWS = 2**62
_MAX_SUMMED_ROWS = 2**14  # rows of one person whose reals are summed without being cut off
_MAX_LIMIT = 2**31
_MAX_REAL = Fraction(10) ** 30  # a Real has no larger bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Privacy unit of a query: its table, and the most groups and rows in each group that one unit has."""

    table: "Table"
    groups: int
    rows: int


def tables_of(relation: Relation) -> Iterator[str]:
    """Yield the names of the tables that a relation reads, from left to right."""
    match relation:
        case Base(table=name):
            yield name
        case Join(left=left, right=right):
            yield from tables_of(left)
            yield from tables_of(right)
        case Projection(relation=inner) | PerPerson(relation=inner):
            yield from tables_of(inner)


def unit_of(relation: Relation, tables: "Mapping[str, Table]") -> Unit:
    """Return the privacy unit of a relation; raise if it mixes units or reads only public tables.

    After a subquery per person, each person has one row in one group by construction.
    """
    private = [_table(name, tables) for name in tables_of(relation) if not _table(name, tables).public]
    if not private:
        raise QueryError("query.only_public_tables")
    first = private[0]
    if any((table.person is None) != (first.person is None) for table in private):
        raise QueryError("query.persons_joined_with_rows")
    groups, rows = (1, 1) if first.person is None else limits_of(relation, tables)
    return Unit(table=first, groups=min(groups, _MAX_LIMIT), rows=min(rows, _MAX_LIMIT))


def counts_all_rows(relation: Relation) -> bool:
    """Return whether every row of a person counts under any limits: each person has one row, made of all rows.

    A join on the person keeps a limited number of rows on either side, so it may leave some out.
    """
    origin = _row_origin(relation)
    return isinstance(origin, PerPerson) and not _joins_persons(origin.relation)


def reads_one_table(relation: Relation) -> bool:
    """Return whether each row is one row of one private table, where the rows beyond the limits can be counted."""
    return isinstance(_row_origin(relation), Base)


def _row_origin(relation: Relation) -> Relation:
    """Return the relation whose rows these are, below projections and joins of public tables by key."""
    match relation:
        case Projection(relation=inner) | Join(left=inner, by="key"):
            return _row_origin(inner)
        case _:
            return relation


def _joins_persons(relation: Relation) -> bool:
    match relation:
        case Join(by="person"):
            return True
        case Join(left=left, right=right):
            return _joins_persons(left) or _joins_persons(right)
        case Projection(relation=inner) | PerPerson(relation=inner):
            return _joins_persons(inner)
        case _:
            return False


def limits_of(relation: Relation, tables: "Mapping[str, Table]") -> tuple[int, int]:
    """Return the most groups of one person, and the most rows in each, that the limits of the tables allow.

    Public joins and row-wise subqueries change neither. In a join on the person each row of one table meets each of the
    other, so limits multiply, in either order.
    """
    match relation:
        case Base(table=name):
            table = _table(name, tables)
            return table.max_groups_per_person or 1, table.max_rows_per_group or 1
        case Projection(relation=inner) | Join(left=inner, by="key"):
            return limits_of(inner, tables)
        case Join(left=left, right=right):
            (groups, rows), (more_groups, more_rows) = limits_of(left, tables), limits_of(right, tables)
            return groups * more_groups, rows * more_rows
        case _:
            return 1, 1  # a subquery per person makes one row


def columns_of(relation: Relation, tables: "Mapping[str, Table]") -> dict[str, Kind]:
    """Return the columns of a relation with their kinds; raise if a join or subquery would lose the person."""
    match relation:
        case Base(table=name):
            return dict(_table(name, tables).schema)
        case Join():
            return _join_columns(relation, tables)
        case Projection(relation=inner, columns=columns):
            kinds = columns_of(inner, tables)
            return {name: kind_of(expression, kinds) for name, expression in columns}
        case PerPerson(relation=inner, columns=made):
            kinds = columns_of(inner, tables)
            if not _has_person(inner, tables):
                raise QueryError("query.per_person_without_person")
            return {
                name: _per_person_kind(function, None if expression is None else kind_of(expression, kinds))
                for name, function, expression in made
            }


def _join_columns(relation: Join, tables: "Mapping[str, Table]") -> dict[str, Kind]:
    left, right = columns_of(relation.left, tables), columns_of(relation.right, tables)
    if relation.by == "key":
        _check_key_join(relation, left, right, tables)
    elif not all(_has_person(side, tables) for side in (relation.left, relation.right)):
        raise QueryError("query.join_without_person")
    both = left.keys() & right.keys()
    names = (_left_table(relation.left), _left_table(relation.right))
    joined = {f"{names[0]}.{name}" if name in both else name: kind for name, kind in left.items()}
    return joined | {f"{names[1]}.{name}" if name in both else name: kind for name, kind in right.items()}


def _check_key_join(
    relation: Join, left: Mapping[str, Kind], right: Mapping[str, Kind], tables: "Mapping[str, Table]"
) -> None:
    if not isinstance(relation.right, Base) or not _table(relation.right.table, tables).public:
        raise QueryError("query.private_join_by_key")
    table = _table(relation.right.table, tables)
    if {column for _, column in relation.on} != set(table.key or ()):
        raise QueryError("query.join_by_whole_key", table=safe_repr(table.name), key=", ".join(table.key or ()))
    for column, other in relation.on:
        if column not in left or other not in right:
            raise QueryError("query.join_column_missing", column=safe_repr(column), other=safe_repr(other))
        # A double can equal two different 64-bit keys: then a row would occur twice.
        if _family(left[column]) != _family(right[other]):
            raise QueryError(
                "query.join_kinds_not_comparable",
                column=safe_repr(column),
                left=repr(left[column]),
                other=safe_repr(other),
                right=repr(right[other]),
            )


def _family(kind: Kind) -> str:
    match kind:
        case Category(values=values):
            return "text" if isinstance(values[0], str) else "integer"
        case _:
            return type(kind).__name__.lower()


def _left_table(relation: Relation) -> str:
    return next(tables_of(relation))


def _has_person(relation: Relation, tables: "Mapping[str, Table]") -> bool:
    """Return whether each row has a person: the left side of a join decides."""
    match relation:
        case Base(table=name):
            return _table(name, tables).person is not None
        case Join(left=inner) | Projection(relation=inner) | PerPerson(relation=inner):
            return _has_person(inner, tables)


def _per_person_kind(function: str, kind: Kind | None) -> Kind:
    if function == "count":
        return Integer(0, _MAX_ROWS)
    axis = None if kind is None else kind.axis
    if kind is None or axis is None:
        raise QueryError("query.per_person_not_numeric", function=function)
    if function in ("min", "max"):
        return kind
    if isinstance(kind, Integer):
        return Integer(0 if kind.low >= 0 else -_MAX_ROWS, _MAX_ROWS)
    low, high = min(axis.low, Fraction(0)), max(axis.high, Fraction(0))
    return Real(max(low * _MAX_SUMMED_ROWS, -_MAX_REAL), min(high * _MAX_SUMMED_ROWS, _MAX_REAL))


def _table(name: str, tables: "Mapping[str, Table]") -> "Table":
    if name not in tables:
        raise QueryError("query.unknown_session_table", name=safe_repr(name), known=", ".join(tables))
    return tables[name]
