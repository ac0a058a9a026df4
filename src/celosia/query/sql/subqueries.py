"""Subqueries that keep the person: row by row, or one row of each person.

Row by row: ``SELECT person_id, 2 * x AS y FROM visits WHERE …``. Per person: ``SELECT person_id, SUM(x) AS total FROM
visits GROUP BY person_id``. What such a subquery makes of the rows of one person depends on nobody else, so the outer
query can still be answered privately.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.core.exact import safe_repr
from celosia.data.schema.columns import Integer, Real
from celosia.query.plan.expressions import Call, Column, Expression, Literal, is_condition, kind_of
from celosia.query.plan.nodes import PER_PERSON, PerPerson, Projected, default_name
from celosia.query.plan.relations import columns_of
from celosia.query.sql.aggregates import Function, function_of, has_aggregate, is_aggregate
from celosia.query.sql.expressions import Reader
from celosia.query.sql.from_clause import (
    Catalogue,
    Scope,
    ScopeReader,
    Visible,
    part,
    same_name,
    select_item,
    source_of,
)
from celosia.query.sql.syntax import only, spelt, unwrapped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlglot import exp

    from celosia.data.schema.columns import Kind

_ROWWISE: Final = "SELECT person, x + y AS z FROM t WHERE …"
_PER_PERSON: Final = "SELECT person, SUM(x) AS total FROM t GROUP BY person"
_NO_SHOWING: Final = {
    "distinct": "SELECT DISTINCT would show values as they are: group by them instead",
    "order": "ORDER BY belongs to the outermost SELECT",
    "limit": "LIMIT belongs to the outermost SELECT: in a subquery it would pick rows by who else is there",
}


def named_subqueries(select: exp.Expr, catalogue: Catalogue) -> Catalogue:
    """Return the catalogue with the subqueries that a WITH names added to it."""
    with_ = part(select, "with")
    if with_ is None:
        return catalogue
    only(with_, "expressions")
    for one in with_.args["expressions"]:
        only(one, "this", "alias")
        only(one.args["alias"], "this")
        name = str(one.args["alias"].this.this)
        if one.this.key != "select" or name in catalogue.named:
            raise QueryError(
                "WITH names subqueries, each of them once: WITH minors AS (SELECT … FROM deaths WHERE age < 18)."
            )
        scope = subquery_of(one.this, catalogue)
        catalogue = Catalogue(tables=catalogue.tables, named={**catalogue.named, name: scope})
    return catalogue


def subquery_of(select: exp.Expr, catalogue: Catalogue) -> Scope:
    """Return the relation that an inner SELECT makes, and the names of its columns."""
    for name, why in _NO_SHOWING.items():
        if select.args.get(name) is not None:
            raise QueryError(f"{why}.")
    only(select, "expressions", "from", "from_", "joins", "where", "group", "having", "with", "with_")
    catalogue = named_subqueries(select, catalogue)
    scope = source_of(select, catalogue, subquery_of)
    condition = condition_of(select, scope, catalogue)
    if select.args.get("group") is None:
        return _row_by_row(select, scope, condition, columns_of(scope.relation, catalogue.tables))
    return _per_person(select, scope, condition, catalogue)


def condition_of(select: exp.Expr, scope: Scope, catalogue: Catalogue) -> Expression | None:
    """Return the condition of a WHERE, if there is one; refuse what is not true or false in each row."""
    where = select.args.get("where")
    if where is None:
        return None
    only(where, "this")
    if has_aggregate(where.this):
        raise QueryError("WHERE works on rows, before they are aggregated: put a condition on aggregates into HAVING.")
    kinds = columns_of(scope.relation, catalogue.tables)
    condition = ScopeReader(scope, kinds).read(where.this)
    if not is_condition(condition, kinds):
        raise QueryError("WHERE needs a condition that is true or false, such as age < 18.")
    return condition


def _row_by_row(select: exp.Expr, scope: Scope, condition: Expression | None, kinds: Mapping[str, Kind]) -> Scope:
    if select.args.get("having") is not None:
        raise QueryError("HAVING goes with GROUP BY: put the condition into WHERE.")
    reader = ScopeReader(scope, kinds)
    columns: dict[str, Expression] = {}
    visible: list[Visible] = []
    for node in select.args["expressions"]:
        for name, expression in _columns(node, scope, reader):
            if name in columns or any(one.name == name for one in visible):
                raise QueryError(
                    f"Two columns of a subquery are called {safe_repr(name)}: give one of them another name with AS."
                )
            if expression is not None:
                columns[name] = expression
            visible.append(Visible("", name, None if expression is None else name))
    if not columns:
        raise QueryError(f"A subquery needs a column beside the person: {_ROWWISE}.")
    relation = Projected(relation=scope.relation, columns=tuple(columns.items()), filter=condition)
    return Scope(relation=relation, visible=_with_person(visible, scope))


def _columns(node: exp.Expr, scope: Scope, reader: ScopeReader) -> list[tuple[str, Expression | None]]:
    """The columns that one item of a subquery's list makes; None stands for the person."""
    item, alias = select_item(node)
    star = item.this if item.key == "column" else item
    if star.key == "star":
        only(star)
        table = item.args.get("table")
        return _all_columns(scope, None if table is None else str(table.this))
    if has_aggregate(item):
        raise QueryError(f"A subquery with aggregates groups by the person: {_PER_PERSON}.")
    found = _plain(item, scope)
    if found is not None and found.column is None:
        return [(alias or found.name, None)]
    if found is None and alias is None:
        raise QueryError(f"A computed column of a subquery needs a name: {_ROWWISE}.")
    return [(alias or (found.name if found is not None else ""), reader.read(item))]


def _all_columns(scope: Scope, table: str | None) -> list[tuple[str, Expression | None]]:
    names = [one.name for one in scope.visible]
    chosen = [one for one in scope.visible if table is None or same_name(one.table, table, quoted=False)]
    made: list[tuple[str, Expression | None]] = [
        (one.name if names.count(one.name) == 1 else one.column, Column(one.column))
        for one in chosen
        if one.column is not None
    ]
    return [*made, *[(one.name, None) for one in chosen if one.column is None][:1]]


def _plain(item: exp.Expr, scope: Scope) -> Visible | None:
    """The column that an item is, if it is nothing more."""
    if item.key != "column" or item.this.key != "identifier":
        return None
    only(item, "this", "table")
    table = item.args.get("table")
    quoted = bool(item.this.args.get("quoted"))
    return scope.find(None if table is None else str(table.this), str(item.this.this), quoted=quoted)


# --------------------------------------------------------------------------------------------------------- per person


class _PersonReader(Reader):
    """Reads expressions over the aggregates of one person's rows, and collects these."""

    def __init__(self, scope: Scope, catalogue: Catalogue) -> None:
        super().__init__()
        self.made: dict[str, tuple[str, Expression | None]] = {}
        self._kinds = columns_of(scope.relation, catalogue.tables)
        self.inner = ScopeReader(scope, self._kinds)

    def read(self, node: exp.Expr) -> Expression:
        node = unwrapped(node)
        return self.aggregate(node) if is_aggregate(node) else super().read(node)

    def column(self, table: str | None, name: str, *, quoted: bool) -> Expression:  # noqa: ARG002 - as Reader says
        raise QueryError(f"{safe_repr(name)} has many values for one person: take SUM, COUNT, AVG, MIN or MAX of it.")

    def aggregate(self, node: exp.Expr, name: str | None = None) -> Expression:
        function = function_of(node, self.inner)
        if function.kind == "mean":
            return self._mean(function.columns[0])
        if function.kind not in PER_PERSON:
            raise QueryError(f"{spelt(node)} cannot be taken of one person's rows: COUNT, SUM, AVG, MIN and MAX can.")
        return self._add(function, name)

    def _add(self, function: Function, name: str | None = None) -> Column:
        argument = function.columns[0] if function.columns else None
        for known, what in self.made.items():
            if what == (function.kind, argument) and name in {None, known}:
                return Column(known)
        made = name or default_name(function.kind, function.columns, (), self.made)
        if made in self.made:
            raise QueryError(
                f"Two columns of a subquery are called {safe_repr(made)}: give one of them another name with AS."
            )
        self.made[made] = (function.kind, argument)
        return Column(made)

    def _mean(self, column: Expression) -> Expression:
        """The mean of one person's values: between their bounds, though neither sum nor count has any."""
        kind = kind_of(column, self._kinds)
        if not isinstance(kind, Integer | Real):
            raise QueryError("AVG of one person's rows needs numbers.")
        sums, counts = (self._add(Function(kind=name, columns=(column,))) for name in ("sum", "count"))
        bounds = [Literal(float(end)) for end in (kind.low, kind.high)]
        return Call("clip", (Call("/", (sums, counts)), *bounds))


def _per_person(select: exp.Expr, scope: Scope, condition: Expression | None, catalogue: Catalogue) -> Scope:
    _check_group(select.args["group"], scope)
    reader = _PersonReader(scope, catalogue)
    outputs: dict[str, Expression] = {}
    visible: list[Visible] = []
    for node in select.args["expressions"]:
        item, alias = select_item(node)
        found = _plain(item, scope)
        if found is not None and found.column is None:
            visible.append(Visible("", alias or found.name, None))
            continue
        expression = reader.aggregate(item, alias) if is_aggregate(item) else reader.read(item)
        name = alias or (expression.name if isinstance(expression, Column) else None)
        if name is None or name in outputs:
            raise QueryError(f"Each column of a subquery needs a name of its own: {_PER_PERSON}.")
        outputs[name] = expression
        visible.append(Visible("", name, name))
    having = select.args.get("having")
    kept = None if having is None else reader.read(having.this)
    if not outputs:
        raise QueryError(f"A subquery needs a column beside the person: {_PER_PERSON}.")
    made = tuple((name, function, argument) for name, (function, argument) in reader.made.items())
    relation: PerPerson | Projected = PerPerson(relation=scope.relation, columns=made, filter=condition)
    plain = [(name, Column(name)) for name in reader.made]
    if kept is not None or list(outputs.items()) != plain:
        relation = Projected(relation=relation, columns=tuple(outputs.items()), filter=kept)
    return Scope(relation=relation, visible=_with_person(visible, scope))


def _with_person(visible: list[Visible], scope: Scope) -> tuple[Visible, ...]:
    """The columns of a subquery; the person stays with the rows, without a name if it was not selected."""
    if not scope.persons or any(one.column is None for one in visible):
        return tuple(visible)
    return (*visible, Visible("", "", None))


def _check_group(group: exp.Expr, scope: Scope) -> None:
    only(group, "expressions")
    items = [unwrapped(item) for item in group.args["expressions"]]
    found = [_plain(item, scope) for item in items]
    if len(found) != 1 or found[0] is None or found[0].column is not None:
        raise QueryError(f"A subquery can be grouped by the person only: {_PER_PERSON}.")
