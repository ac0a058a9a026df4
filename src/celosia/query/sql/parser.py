"""Parses a SELECT into the same plan that the builder makes.

A SELECT shows aggregates and its grouping keys, never a row. Arithmetic on aggregates, HAVING, ORDER BY and LIMIT work
on noisy answers and cost nothing. Everything else raises an error that says what to write; nothing is read or spent
before a text has become a plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.core.exact import safe_repr
from celosia.query.plan.expressions import Call, Column, Expression, Literal, kind_of, substitute
from celosia.query.plan.nodes import Aggregate, Key, Order, Plan, default_name
from celosia.query.plan.relations import columns_of
from celosia.query.plan.to_sql import render
from celosia.query.sql.aggregates import has_aggregate, is_aggregate, list_aggregates, read_aggregate
from celosia.query.sql.date_literals import read_date_literals
from celosia.query.sql.expressions import Reader
from celosia.query.sql.from_clause import Catalogue, Scope, ScopeReader, find_part, is_same_name, read_from, split_alias
from celosia.query.sql.subqueries import read_subquery, read_where, read_with
from celosia.query.sql.syntax import check_parts, is_column, plain_name, query_tree, strip_parentheses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlglot import exp

    from celosia.data.table import Table

_CLAUSES: Final = (
    "expressions",
    "from",
    "from_",
    "joins",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "with",
    "with_",
)
_CONDITIONS: Final = frozenset(
    ["=", "<>", "<", "<=", ">", ">=", "between", "in", "like", "and", "or", "not", "is_null"]
)
_MAX_LIMIT = 1_000_000
_MAX_NAME_LENGTH = 100


def parse_sql(text: str, tables: Mapping[str, Table]) -> Plan:
    """Return the plan of a SELECT over the tables of a session."""
    try:
        return _plan(query_tree(text), Catalogue(tables=tables))
    except RecursionError:  # the caller's own stack was nearly full
        raise QueryError("query.query_nested_too_deeply") from None


@dataclass(frozen=True, slots=True)
class _Item:
    """One item after SELECT: its node, its alias, and its expression if it has no aggregate."""

    node: exp.Expr
    alias: str | None
    plain: Expression | None


def _plan(select: exp.Expr, catalogue: Catalogue) -> Plan:
    if select.args.get("distinct") is not None:
        raise QueryError("query.select_distinct_shows_values")
    check_parts(select, *_CLAUSES)
    if find_part(select, "with") is not None:
        catalogue = read_with(select, catalogue)
    scope = read_from(select, catalogue, read_subquery)
    kinds = columns_of(scope.relation, catalogue.tables)
    reader = ScopeReader(scope, kinds)
    condition = None if select.args.get("where") is None else read_where(select, scope, catalogue)
    items = [_read_item(node, reader) for node in select.args["expressions"]]
    answers = _AnswerReader(reader, _read_keys(select.args.get("group"), items, reader))
    outputs = _read_outputs(items, answers)
    answers.outputs = outputs
    having, order = _read_having(select.args.get("having"), answers), _read_order(select.args.get("order"), answers)
    plan = Plan(
        relation=scope.relation,
        filter=condition,
        keys=tuple(answers.keys),
        aggregates=tuple(answers.aggregates),
        outputs=tuple(outputs.items()),
        having=having,
        order=order,
        limit=_read_limit(select.args.get("limit")),
    )
    for expression in (*(key.expression for key in plan.keys), *(c for a in plan.aggregates for c in a.columns)):
        kind_of(expression, kinds)
    return plan


def _read_item(node: exp.Expr, reader: ScopeReader) -> _Item:
    inner, alias = split_alias(node)
    if inner.key == "star" or (inner.key == "column" and inner.this.key == "star"):
        raise QueryError(list_aggregates("query.select_star_shows_rows"))
    return _Item(inner, alias, None if has_aggregate(inner) else reader.read(inner))


def _read_key(node: exp.Expr, reader: ScopeReader) -> Expression:
    if has_aggregate(node):
        raise QueryError("query.aggregate_as_key")
    return reader.read(node)


# -------------------------------------------------------------------------------------------------------------- keys


def _read_keys(group: exp.Expr | None, items: Sequence[_Item], reader: ScopeReader) -> list[Key]:
    if group is None:
        return []
    check_parts(group, "expressions")
    if not group.args.get("expressions"):
        raise QueryError("query.group_by_empty")
    keys: dict[Expression, Key] = {}
    for node in group.args["expressions"]:
        expression = _find_key(strip_parentheses(node), items, reader)
        if isinstance(expression, Literal):
            raise QueryError("query.invalid_group_by_item")
        alias = next((item.alias for item in items if item.alias and item.plain == expression), None)
        keys[expression] = Key(name=alias or _default_label(expression), expression=expression)
    return list(keys.values())


def _find_key(node: exp.Expr, items: Sequence[_Item], reader: ScopeReader) -> Expression:
    """Return the expression of a position, a column, an item's name, or an expression."""
    if node.key == "literal" and not node.args.get("is_string"):
        item = _find_by_position(node, items)
        return _read_key(item.node, reader)
    named = _find_by_name(node, items)
    if named is None or _has_column(node, reader.scope):
        return _read_key(node, reader)
    return _read_key(named.node, reader)


def _find_by_position(node: exp.Expr, items: Sequence[_Item]) -> _Item:
    text = str(node.this)
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and 1 <= int(text) <= len(items)):
        raise QueryError("query.position_not_in_select", found=safe_repr(text), most=len(items))
    return items[int(text) - 1]


def _find_by_name(node: exp.Expr, items: Sequence[_Item]) -> _Item | None:
    if not is_column(node) or node.args.get("table") is not None:
        return None
    name, quoted = plain_name(node)
    return next((item for item in items if item.alias and is_same_name(item.alias, name, quoted=quoted)), None)


def _has_column(node: exp.Expr, scope: Scope) -> bool:
    name, quoted = plain_name(node)
    return any(is_same_name(one.name, name, quoted=quoted) for one in scope.visible)


def _default_label(expression: Expression) -> str:
    """Return the default name of an output column: its SQL in one short line."""
    if isinstance(expression, Column):
        return expression.name
    text = "".join(letter if letter.isprintable() else " " for letter in render(expression))
    return text if len(text) <= _MAX_NAME_LENGTH else f"{text[: _MAX_NAME_LENGTH - 3]}..."


# ----------------------------------------------------------------------------------------------------------- answers


class _AnswerReader(Reader):
    """Reads expressions over keys and noisy answers, and collects the aggregates that they need."""

    def __init__(self, rows: ScopeReader, keys: Sequence[Key]) -> None:
        super().__init__()
        self.rows = rows
        self.keys = keys
        self.aggregates: list[Aggregate] = []
        self.outputs: Mapping[str, Expression] = {}
        self._kinds = {key.name: kind_of(key.expression, rows.kinds) for key in keys}

    def call(self, name: str, arguments: Sequence[Expression]) -> Expression:
        return read_date_literals(Call(name, tuple(arguments)), self._kinds)

    def read(self, node: exp.Expr) -> Expression:
        node = strip_parentheses(node)
        if is_aggregate(node):
            return self.aggregate(node)
        return self._output(node) or self._key(node) or super().read(node)

    def column(self, table: str | None, name: str, *, quoted: bool) -> Expression:
        self.rows.column(table, name, quoted=quoted)  # raises for unknown names and the person
        raise QueryError("query.column_not_aggregated", name=safe_repr(name))

    def aggregate(self, node: exp.Expr, name: str | None = None) -> Column:
        """Return the name of an aggregate; repeated aggregates are measured once."""
        function = read_aggregate(node, self.rows)
        for known in self.aggregates:
            if (known.kind, known.columns, known.parameters) == (function.kind, function.columns, function.parameters):
                return Column(known.name)
        taken = [key.name for key in self.keys] + [known.name for known in self.aggregates]
        name = name or default_name(function.kind, function.columns, function.parameters, taken)
        self.aggregates.append(
            Aggregate(kind=function.kind, columns=function.columns, name=name, parameters=function.parameters)
        )
        return Column(name)

    def _output(self, node: exp.Expr) -> Expression | None:
        """Return the expression of an item after SELECT that is named."""
        if not is_column(node) or node.args.get("table") is not None:
            return None
        name, quoted = plain_name(node)
        return next((what for known, what in self.outputs.items() if is_same_name(known, name, quoted=quoted)), None)

    def _key(self, node: exp.Expr) -> Column | None:
        if not self.keys or has_aggregate(node):
            return None
        try:
            expression = self.rows.read(node)
        except QueryError:  # it may name an output; if not, it raises where it is read
            return None
        return next((Column(key.name) for key in self.keys if key.expression == expression), None)


def _read_outputs(items: Sequence[_Item], answers: _AnswerReader) -> dict[str, Expression]:
    outputs: dict[str, Expression] = {}
    keys = {key.name: key.expression for key in answers.keys}
    for item in items:
        made = answers.aggregate(item.node, item.alias) if is_aggregate(item.node) else answers.read(item.node)
        name = item.alias or _default_label(made if isinstance(made, Column) else substitute(made, keys))
        if name in outputs:
            raise QueryError("query.duplicate_answer_column", name=safe_repr(name))
        outputs[name] = made
    return outputs


def _read_having(having: exp.Expr | None, answers: _AnswerReader) -> Expression | None:
    if having is None:
        return None
    check_parts(having, "this")
    condition = answers.read(having.this)
    if not isinstance(condition, Call) or condition.name not in _CONDITIONS:
        raise QueryError("query.having_not_a_condition")
    return condition


def _read_order(order: exp.Expr | None, answers: _AnswerReader) -> tuple[Order, ...]:
    if order is None:
        return ()
    check_parts(order, "expressions")
    made = []
    for ordered in order.args["expressions"]:
        check_parts(ordered, "this", "desc")
        node = strip_parentheses(ordered.this)
        if node.key == "literal" and not node.args.get("is_string"):
            items = [_Item(node, name, what) for name, what in answers.outputs.items()]
            expression = _find_by_position(node, items).plain
        else:
            expression = answers.read(node)
        if expression is None or isinstance(expression, Literal):
            raise QueryError("query.invalid_order_by_item")
        made.append(Order(expression=expression, descending=bool(ordered.args.get("desc"))))
    return tuple(made)


def _read_limit(limit: exp.Expr | None) -> int | None:
    if limit is None:
        return None
    check_parts(limit, "expression")
    node = limit.args["expression"]
    text = str(node.this) if node.key == "literal" and not node.args.get("is_string") else ""
    if not (text.isascii() and text.isdigit() and len(text) <= 7 and 1 <= int(text) <= _MAX_LIMIT):
        raise QueryError("query.sql_limit_out_of_range", most=_MAX_LIMIT)
    return int(text)
