"""Relations as tables of the engine: raw columns at the bottom, clean ones above every join and subquery.

A column of a table is cleaned where it is used, so the common query reads raw columns in one pass. Columns of a
subquery are clean, with reals rounded to their grid, as the bounds of the outer query assume. The person stays beside
the columns all the way up. Columns have short names of their own here, because names of the schema may be any text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Protocol

from celosia.core.errors import QueryError, SchemaError
from celosia.data.schema.axis import Axis
from celosia.data.schema.columns import DROP, Boolean, Category, Kind, Real, Text
from celosia.query.execution.clean import (
    clean,
    clean_integer,
    clip_integer,
    coarsen_step,
    impute,
    nullify,
    raw_number,
    step_on_axis,
    step_to_double,
)
from celosia.query.execution.compile import Parameter, compile_expression, range_ends
from celosia.query.execution.dialect import Dialect, double_literal, integer_literal, null_literal
from celosia.query.execution.raw_ranges import RawRange
from celosia.query.plan.expressions import Call, Column, Expression, Literal, kind_of
from celosia.query.plan.nodes import Base, Join, PerPerson, Projection, Relation
from celosia.query.plan.relations import columns_of, limits_of

if TYPE_CHECKING:
    from ibis.expr import types as ir

    from celosia.data.table import Table

PERSON = "person"
"""The name of the person column."""

_MAX_JOINED_ROWS: Final = 256  # rows of one person that meet those of another table
_MAX_EXACT_DOUBLE = 2.0**53


class Tables(Protocol):
    """The tables of a session, as raw tables of an engine."""

    tables: "Mapping[str, Table]"

    def read(self, name: str) -> "ir.Table":
        """Return a table, in which the engine may have parsed texts as their kinds."""
        ...

    def unfit(self, name: str) -> "Mapping[str, str]":
        """Return the columns whose type cannot hold their kind, each with the reason."""
        ...

    def dialect_of(self, name: str) -> Dialect:
        """Return the dialect for the columns of a table."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows of a relation, with access to clean columns.

    ``single``: each person has one row, by construction. ``unfit``: columns whose type their kind cannot be read from,
    with the error message for queries that use them.
    """

    table: "ir.Table"
    kinds: Mapping[str, Kind]
    names: Mapping[str, str]
    dialect: Dialect
    raw: bool
    persons: bool
    single: bool = False
    unfit: Mapping[str, str] = field(default_factory=dict)
    _clean: "dict[str, ir.Value]" = field(default_factory=dict, init=False, repr=False, compare=False)

    def column(self, name: str) -> "ir.Value":
        """Return the clean value of a column."""
        if not self.raw:
            return self._stored_column(name)
        if name not in self._clean:  # a query uses a column several times
            self._clean[name] = clean(self._stored_column(name), self.kinds[name], self.dialect)
        return self._clean[name]

    def _stored_column(self, name: str) -> "ir.Value":
        if name in self.unfit:
            raise SchemaError(self.unfit[name])
        return self.table[self.names[name]]

    def value(self, expression: Expression) -> "ir.Value":
        """Return the value of an expression."""
        if isinstance(expression, Column):
            return self.column(expression.name)
        return compile_expression(expression, self.column, self.kinds, self.dialect)

    def number(self, expression: Expression) -> "ir.Value":
        """Return a numeric expression as a 64-bit integer: itself, days, seconds, or steps of a real."""
        kind = kind_of(expression, self.kinds)
        if self.raw and isinstance(expression, Column):
            return clean_integer(self._stored_column(expression.name), kind, self.dialect)
        return clip_integer(self.value(expression), kind, self.dialect)

    def step(self, expression: Expression, axis: Axis) -> "ir.Value":
        """Return the step of a numeric expression on an axis, counted from its lower end."""
        kind = kind_of(expression, self.kinds)
        if isinstance(kind, Category):
            places = Axis(0, max(len(kind.values) - 1, 1), Fraction(1))
            return coarsen_step(self._position(expression, kind), places, axis)
        if kind.axis is None:
            raise QueryError("query.kind_not_numeric", kind=type(kind).__name__)
        return coarsen_step(step_on_axis(self.number(expression), kind), kind.axis, axis)

    def label(self, expression: Expression) -> "ir.Value":
        """Return the lookup label of a value: a text, or a 64-bit integer.

        A text outside the category may remain: no list contains it.
        """
        kind = kind_of(expression, self.kinds)
        if kind.axis is not None:
            return self.number(expression)
        plain = self._plain_category(expression)
        return self.value(expression) if plain is None else plain

    def where(self, condition: Expression | None) -> "Rows":
        """Return the rows in which a condition is true."""
        return self if condition is None else replace(self, table=self.table.filter(self._condition(condition)))

    def _condition(self, condition: Expression) -> "ir.Value":
        """Return a condition of which only true counts, in a form that hides it from the scan of a file.

        An unknown category is null, but testing for it takes time. In an equality that is not negated, false gives the
        same rows.
        """
        import ibis

        match condition:
            case Call(name="and" | "or" as name, arguments=arguments):
                parts = [self._condition(argument) for argument in arguments]
                return ibis.and_(*parts) if name == "and" else ibis.or_(*parts)
            case RawRange(name=name):
                raw = raw_number(self._stored_column(name), self.kinds[name], self.dialect)
                return self.dialect.hide_number(raw).between(*range_ends(condition))
            case Call(name="=" | "in", arguments=(Column() as column, *others)):
                plain = self._plain_category(column)
                written = [
                    self.value(other) if isinstance(other, Parameter) else other.value
                    for other in others
                    if isinstance(other, Literal)
                ]
                if plain is not None and len(written) == len(others):
                    return self.dialect.hide_condition(plain.isin(written))
        return self.dialect.hide_condition(self.value(condition))

    def _plain_category(self, expression: Expression) -> "ir.Value | None":
        """Return the raw column of a category that drops unknown values, as texts or 64-bit integers."""
        if not (self.raw and isinstance(expression, Column)):
            return None
        kind, raw = self.kinds[expression.name], self._stored_column(expression.name)
        if not (isinstance(kind, Category) and kind.null == DROP):
            return None
        type_ = raw.type()
        if isinstance(kind.values[0], str):
            return raw if type_.is_string() else None
        # Half of the unsigned 64-bit integers do not fit int64.
        fits = type_.is_integer() and not (type_.is_unsigned_integer() and type_.nbytes == 8)
        return raw.cast("int64") if fits else None

    def _position(self, expression: Expression, kind: Category) -> "ir.Value":
        """Return the position of an ordered category in its list."""
        import ibis

        label = self.value(expression)
        cases = [(label == value, integer_literal(place)) for place, value in enumerate(kind.values)]
        return ibis.cases(*cases, else_=null_literal("int64"))


def rows_of(relation: Relation, engine: Tables) -> Rows:
    """Return the rows of a relation in an engine."""
    match relation:
        case Base(table=name):
            return _base_rows(name, engine)
        case Projection(relation=inner, columns=columns, filter=condition):
            rows = rows_of(inner, engine).where(condition)
            kinds = columns_of(relation, engine.tables)
            values = {name: _subquery_value(rows, expression, kinds[name]) for name, expression in columns}
            return _clean_rows(rows, kinds, values)
        case PerPerson():
            return _per_person(relation, engine)
        case Join():
            return _join(relation, engine)


def _base_rows(name: str, engine: Tables) -> Rows:
    table, read = engine.tables[name], engine.read(name)
    dialect = engine.dialect_of(name).with_format(table.text)
    names = {column: f"c{place}" for place, column in enumerate(table.schema)}
    columns = {alias: compare_by_bytes(read[column], dialect) for column, alias in names.items()}
    if table.person is None:
        kept = read.select(**columns)
    else:
        kept = read.select(**{PERSON: _identity(read[table.person], dialect)}, **columns)
        kept = kept.filter(kept[PERSON].notnull())
    return Rows(
        table=kept,
        kinds=dict(table.schema),
        names=names,
        dialect=dialect,
        raw=True,
        persons=table.person is not None,
        unfit=engine.unfit(name),
    )


def compare_by_bytes(raw: "ir.Value", dialect: Dialect) -> "ir.Value":
    """Return a raw column; texts are compared byte by byte, without the padding of a fixed length."""
    return nullify(dialect.remove_collation(raw), dialect.text) if raw.type().is_string() else raw


def _identity(raw: "ir.Value", dialect: Dialect) -> "ir.Value":
    """Return the person of a row, as int64 or text; distinct persons stay distinct, and one stays one."""
    import ibis

    type_ = raw.type()
    if type_.is_floating():  # integers with missing values, in frames without integer nulls
        number = raw.cast("float64")
        inside = ibis.cases(
            (number == number.floor().cast("float64"), number.floor().cast("int64")), else_=null_literal("int64")
        )
        return ibis.cases((number.abs() <= double_literal(_MAX_EXACT_DOUBLE), inside), else_=null_literal("int64"))
    if type_.is_integer() and not (type_.is_unsigned_integer() and type_.nbytes == 8):
        return raw.cast("int64")
    return compare_by_bytes(raw, dialect) if type_.is_string() else raw.cast("string")


def _subquery_value(rows: Rows, expression: Expression, kind: Kind) -> "ir.Value":
    """Return a value of a subquery; a real is rounded to the grid of its new kind."""
    return step_to_double(rows.number(expression), kind) if isinstance(kind, Real) else rows.value(expression)


def _clean_rows(
    rows: Rows, kinds: Mapping[str, Kind], values: "Mapping[str, ir.Value]", *, single: bool | None = None
) -> Rows:
    names = {column: f"c{place}" for place, column in enumerate(values)}
    person = {PERSON: rows.table[PERSON]} if rows.persons else {}
    table = rows.table.select(**person, **{names[column]: value for column, value in values.items()})
    return Rows(
        table=table,
        kinds=kinds,
        names=names,
        dialect=rows.dialect,
        raw=False,
        persons=rows.persons,
        single=rows.single if single is None else single,
    )


def _per_person(relation: PerPerson, engine: Tables) -> Rows:
    rows = rows_of(relation.relation, engine).where(relation.filter)
    kinds = columns_of(relation, engine.tables)
    inputs = {
        f"a{place}": integer_literal(1) if expression is None else _countable(rows, function, expression)
        for place, (_, function, expression) in enumerate(relation.columns)
    }
    table = rows.table.select(rows.table[PERSON], **inputs)
    made = {
        f"c{place}": _aggregate(function, table[f"a{place}"], rows.dialect)
        for place, (_, function, _) in enumerate(relation.columns)
    }
    grouped = table.group_by(PERSON).aggregate(**made)
    values = {}
    for place, (name, _, expression) in enumerate(relation.columns):
        inner = None if expression is None else kind_of(expression, rows.kinds)
        values[name] = _restore_kind(grouped[f"c{place}"], inner, kinds[name], rows.dialect)
    return _clean_rows(replace(rows, table=grouped), kinds, values, single=True)


def _countable(rows: Rows, function: str, expression: Expression) -> "ir.Value":
    return rows.value(expression) if function == "count" else rows.number(expression)


def _aggregate(function: str, column: "ir.Value", dialect: Dialect) -> "ir.Value":
    match function:
        case "count":
            return column.count()
        case "sum":
            return dialect.total(column)
        case "min":
            return column.min()
        case _:
            return column.max()


def _restore_kind(number: "ir.Value", inner: Kind | None, kind: Kind, dialect: Dialect) -> "ir.Value":
    """Return a result of integer arithmetic as a value of the new column's kind."""
    if isinstance(kind, Boolean):
        return number == integer_literal(1)
    if isinstance(kind, Real):
        axis = None if inner is None else inner.axis
        grid = axis.grid if isinstance(inner, Real) and axis is not None else 1
        return step_to_double(clip_integer(number.cast("float64") * double_literal(float(grid)), kind, dialect), kind)
    return clip_integer(number, kind, dialect)


def _join(relation: Join, engine: Tables) -> Rows:
    left, right = (
        _clean_side(rows_of(side, engine), mark) for side, mark in ((relation.left, "l"), (relation.right, "r"))
    )
    kinds = columns_of(relation, engine.tables)
    old = [*left.names.values(), *right.names.values()]
    if len(kinds) != len(old):
        raise QueryError("query.self_join_ambiguous")
    if relation.by == "key":
        pairs = [(left.column(a), right.column(b)) for a, b in relation.on]
    else:
        left = _cap_rows(left, PERSON, limits_of(relation.left, engine.tables))
        right = _cap_rows(right, f"r{PERSON}", limits_of(relation.right, engine.tables))
        pairs = [(left.table[PERSON], right.table[f"r{PERSON}"])]
    table = left.table.join(right.table, [_equal_values(a, b) for a, b in pairs], how=relation.how)
    values = dict(zip(kinds, (table[name] for name in old), strict=True))
    if relation.how == "left":
        values |= {name: impute(values[name], kinds[name]) for name in list(kinds)[len(left.names) :]}
    rows = replace(left, table=table, persons=left.persons)
    found = _clean_rows(rows, kinds, values, single=left.single and relation.by == "key")
    reasons = [side.unfit.get(name) for side in (left, right) for name in side.names]
    return replace(found, unfit={name: why for name, why in zip(kinds, reasons, strict=True) if why is not None})


def _clean_side(rows: Rows, mark: str) -> Rows:
    """Return the rows with clean columns only, whose names begin with a mark."""
    values = {
        f"{mark}{alias}": _null_column(rows.kinds[name])
        if name in rows.unfit
        else _subquery_value(rows, Column(name), rows.kinds[name])
        for name, alias in rows.names.items()
    }
    person = {(PERSON if mark == "l" else f"{mark}{PERSON}"): rows.table[PERSON]} if rows.persons else {}
    names = {name: f"{mark}{alias}" for name, alias in rows.names.items()}
    return replace(rows, table=rows.table.select(**person, **values), names=names, raw=False)


def _null_column(kind: Kind) -> "ir.Value":
    """Return a null in place of an unreadable column."""
    value = kind.domain()[0] if isinstance(kind, Category) else ""
    is_text = isinstance(kind, Category | Text) and isinstance(value, str)
    return null_literal(
        "string"
        if is_text
        else "boolean"
        if isinstance(kind, Boolean)
        else "float64"
        if isinstance(kind, Real)
        else "int64"
    )


def _cap_rows(rows: Rows, person: str, limits: tuple[int, int]) -> Rows:
    """Return few enough rows of each person that a join stays small.

    Declared limits are never cut. Without a cap each row of a person would meet each row of the other table, and the
    duration of repeated joins would reveal whether one person has one row or two.
    """
    import ibis

    if rows.single:
        return rows
    most, table = max(_MAX_JOINED_ROWS, limits[0] * limits[1]), rows.table
    others = [name for name in table.columns if name != person]
    placed = table.mutate(place=ibis.row_number().over(group_by=person, order_by=others or [person]))
    return replace(rows, table=placed.filter(placed.place < most).drop("place"))


def _equal_values(a: "ir.Value", b: "ir.Value") -> "ir.Value":
    if a.type().is_string() != b.type().is_string():
        return a.cast("string") == b.cast("string")
    return a == b
