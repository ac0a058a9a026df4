"""Subqueries that keep the person: row by row, or one row for each person.

Row by row: ``SELECT person_id, 2 * x AS y FROM visits WHERE …``. Per person: ``SELECT person_id, SUM(x) AS total FROM
visits GROUP BY person_id``. The result for one person depends on that person's rows only, so the outer query can still
be answered privately.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.core.exact import safe_repr
from celosia.data.schema.columns import Integer, Real
from celosia.query.plan.expressions import Call, Column, Expression, Literal, is_condition, kind_of
from celosia.query.plan.nodes import PER_PERSON, PerPerson, Projection, default_name
from celosia.query.plan.relations import columns_of
from celosia.query.sql.aggregates import AggregateCall, has_aggregate, is_aggregate, read_aggregate
from celosia.query.sql.expressions import Reader
from celosia.query.sql.from_clause import (
    Catalogue,
    Scope,
    ScopeReader,
    VisibleColumn,
    find_part,
    is_same_name,
    read_from,
    split_alias,
)
from celosia.query.sql.syntax import check_parts, is_column, sql_name, strip_parentheses

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlglot import exp

    from celosia.data.schema.columns import Kind

_ROWWISE_FORM: Final = "SELECT person, x + y AS z FROM t WHERE …"
_PER_PERSON_FORM: Final = "SELECT person, SUM(x) AS total FROM t GROUP BY person"
_REFUSED_CLAUSES: Final = {
    "distinct": "query.distinct_in_subquery",
    "order": "query.order_in_subquery",
    "limit": "query.limit_in_subquery",
}


def read_with(select: exp.Expr, catalogue: Catalogue) -> Catalogue:
    """Return the catalogue with the subqueries of a WITH added."""
    with_ = find_part(select, "with")
    if with_ is None:
        return catalogue
    check_parts(with_, "expressions")
    for one in with_.args["expressions"]:
        check_parts(one, "this", "alias")
        check_parts(one.args["alias"], "this")
        name = str(one.args["alias"].this.this)
        if one.this.key != "select" or name in catalogue.named:
            raise QueryError("query.invalid_with_clause")
        scope = read_subquery(one.this, catalogue)
        catalogue = Catalogue(tables=catalogue.tables, named={**catalogue.named, name: scope})
    return catalogue


def read_subquery(select: exp.Expr, catalogue: Catalogue) -> Scope:
    """Return the relation of an inner SELECT, and the names of its columns."""
    for name, code in _REFUSED_CLAUSES.items():
        if select.args.get(name) is not None:
            raise QueryError(code)
    check_parts(select, "expressions", "from", "from_", "joins", "where", "group", "having", "with", "with_")
    catalogue = read_with(select, catalogue)
    scope = read_from(select, catalogue, read_subquery)
    condition = read_where(select, scope, catalogue)
    if select.args.get("group") is None:
        return _read_rowwise(select, scope, condition, columns_of(scope.relation, catalogue.tables))
    return _read_per_person(select, scope, condition, catalogue)


def read_where(select: exp.Expr, scope: Scope, catalogue: Catalogue) -> Expression | None:
    """Return the condition of a WHERE, or None; raise if it is not a boolean in each row."""
    where = select.args.get("where")
    if where is None:
        return None
    check_parts(where, "this")
    if has_aggregate(where.this):
        raise QueryError("query.aggregate_in_where")
    kinds = columns_of(scope.relation, catalogue.tables)
    condition = ScopeReader(scope, kinds).read(where.this)
    if not is_condition(condition, kinds):
        raise QueryError("query.where_not_a_condition")
    return condition


def _read_rowwise(select: exp.Expr, scope: Scope, condition: Expression | None, kinds: Mapping[str, Kind]) -> Scope:
    if select.args.get("having") is not None:
        raise QueryError("query.having_without_group_by")
    reader = ScopeReader(scope, kinds)
    columns: dict[str, Expression] = {}
    visible: list[VisibleColumn] = []
    for node in select.args["expressions"]:
        for name, expression in _columns(node, scope, reader):
            if name in columns or any(one.name == name for one in visible):
                raise QueryError("query.duplicate_subquery_column", name=safe_repr(name))
            if expression is not None:
                columns[name] = expression
            visible.append(VisibleColumn("", name, None if expression is None else name))
    if not columns:
        raise QueryError("query.subquery_without_columns", example=_ROWWISE_FORM)
    relation = Projection(relation=scope.relation, columns=tuple(columns.items()), filter=condition)
    return Scope(relation=relation, visible=_with_person(visible, scope))


def _columns(node: exp.Expr, scope: Scope, reader: ScopeReader) -> list[tuple[str, Expression | None]]:
    """Return the columns of one item of a subquery; None stands for the person."""
    item, alias = split_alias(node)
    star = item.this if item.key == "column" else item
    if star.key == "star":
        check_parts(star)
        table = item.args.get("table")
        return _all_columns(scope, None if table is None else str(table.this))
    if has_aggregate(item):
        raise QueryError("query.subquery_not_by_person", example=_PER_PERSON_FORM)
    found = _find_column(item, scope)
    if found is not None and found.column is None:
        return [(alias or found.name, None)]
    if found is None and alias is None:
        raise QueryError("query.computed_column_unnamed", example=_ROWWISE_FORM)
    return [(alias or (found.name if found is not None else ""), reader.read(item))]


def _all_columns(scope: Scope, table: str | None) -> list[tuple[str, Expression | None]]:
    names = [one.name for one in scope.visible]
    chosen = [one for one in scope.visible if table is None or is_same_name(one.table, table, quoted=False)]
    made: list[tuple[str, Expression | None]] = [
        (one.name if names.count(one.name) == 1 else one.column, Column(one.column))
        for one in chosen
        if one.column is not None
    ]
    return [*made, *[(one.name, None) for one in chosen if one.column is None][:1]]


def _find_column(item: exp.Expr, scope: Scope) -> VisibleColumn | None:
    """Return the column of an item that is a plain name, else None."""
    return scope.find_node(item) if is_column(item) else None


# --------------------------------------------------------------------------------------------------------- per person


class _PersonReader(Reader):
    """Reads expressions over aggregates of one person's rows, and collects these aggregates."""

    def __init__(self, scope: Scope, catalogue: Catalogue) -> None:
        super().__init__()
        self.made: dict[str, tuple[str, Expression | None]] = {}
        self._kinds = columns_of(scope.relation, catalogue.tables)
        self.inner = ScopeReader(scope, self._kinds)

    def read(self, node: exp.Expr) -> Expression:
        node = strip_parentheses(node)
        return self.aggregate(node) if is_aggregate(node) else super().read(node)

    def column(self, table: str | None, name: str, *, quoted: bool) -> Expression:  # noqa: ARG002 - the signature of Reader
        raise QueryError("query.column_varies_within_person", name=safe_repr(name))

    def aggregate(self, node: exp.Expr, name: str | None = None) -> Expression:
        function = read_aggregate(node, self.inner)
        if function.kind == "mean":
            return self._mean(function.columns[0])
        if function.kind not in PER_PERSON:
            raise QueryError("query.aggregate_not_per_person", name=sql_name(node))
        return self._add(function, name)

    def _add(self, function: AggregateCall, name: str | None = None) -> Column:
        argument = function.columns[0] if function.columns else None
        for known, what in self.made.items():
            if what == (function.kind, argument) and name in {None, known}:
                return Column(known)
        made = name or default_name(function.kind, function.columns, (), self.made)
        if made in self.made:
            raise QueryError("query.duplicate_subquery_column", name=safe_repr(made))
        self.made[made] = (function.kind, argument)
        return Column(made)

    def _mean(self, column: Expression) -> Expression:
        """Return the mean of one person's values, clipped to their bounds: neither sum nor count has any."""
        kind = kind_of(column, self._kinds)
        if not isinstance(kind, Integer | Real):
            raise QueryError("query.per_person_avg_not_numeric")
        sums, counts = (self._add(AggregateCall(kind=name, columns=(column,))) for name in ("sum", "count"))
        bounds = [Literal(float(end)) for end in (kind.low, kind.high)]
        return Call("clip", (Call("/", (sums, counts)), *bounds))


def _read_per_person(select: exp.Expr, scope: Scope, condition: Expression | None, catalogue: Catalogue) -> Scope:
    _check_group(select.args["group"], scope)
    reader = _PersonReader(scope, catalogue)
    outputs: dict[str, Expression] = {}
    visible: list[VisibleColumn] = []
    for node in select.args["expressions"]:
        item, alias = split_alias(node)
        found = _find_column(item, scope)
        if found is not None and found.column is None:
            visible.append(VisibleColumn("", alias or found.name, None))
            continue
        expression = reader.aggregate(item, alias) if is_aggregate(item) else reader.read(item)
        name = alias or (expression.name if isinstance(expression, Column) else None)
        if name is None or name in outputs:
            raise QueryError("query.subquery_column_unnamed", example=_PER_PERSON_FORM)
        outputs[name] = expression
        visible.append(VisibleColumn("", name, name))
    having = select.args.get("having")
    kept = None if having is None else reader.read(having.this)
    if not outputs:
        raise QueryError("query.subquery_without_columns", example=_PER_PERSON_FORM)
    made = tuple((name, function, argument) for name, (function, argument) in reader.made.items())
    relation: PerPerson | Projection = PerPerson(relation=scope.relation, columns=made, filter=condition)
    plain = [(name, Column(name)) for name in reader.made]
    if kept is not None or list(outputs.items()) != plain:
        relation = Projection(relation=relation, columns=tuple(outputs.items()), filter=kept)
    return Scope(relation=relation, visible=_with_person(visible, scope))


def _with_person(visible: list[VisibleColumn], scope: Scope) -> tuple[VisibleColumn, ...]:
    """Return the columns of a subquery with the person, unnamed if it was not selected."""
    if not scope.persons or any(one.column is None for one in visible):
        return tuple(visible)
    return (*visible, VisibleColumn("", "", None))


def _check_group(group: exp.Expr, scope: Scope) -> None:
    check_parts(group, "expressions")
    items = [strip_parentheses(item) for item in group.args["expressions"]]
    found = [_find_column(item, scope) for item in items]
    if len(found) != 1 or found[0] is None or found[0].column is not None:
        raise QueryError("query.subquery_grouped_otherwise", example=_PER_PERSON_FORM)
