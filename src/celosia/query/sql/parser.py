"""From the text of a SELECT to a plan: the same plan that the builder makes.

A SELECT shows aggregates, and keys that it groups by; never a row. What stands outside the aggregates (arithmetic on
them, HAVING, ORDER BY, LIMIT) works on noisy answers and costs nothing. Everything that is not understood is refused
with a sentence that says what is; nothing is read and nothing is spent before a text has become a plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.core.exact import safe_repr
from celosia.query.plan.expressions import Call, Column, Expression, Literal, kind_of, substituted
from celosia.query.plan.nodes import Aggregate, Key, Order, Plan, default_name
from celosia.query.plan.relations import columns_of
from celosia.query.plan.to_sql import render
from celosia.query.sql.aggregates import AGGREGATE_NAMES, function_of, has_aggregate, is_aggregate
from celosia.query.sql.date_literals import read_date_literals
from celosia.query.sql.expressions import Reader
from celosia.query.sql.from_clause import Catalogue, Scope, ScopeReader, part, same_name, select_item, source_of
from celosia.query.sql.subqueries import condition_of, named_subqueries, subquery_of
from celosia.query.sql.syntax import only, query_tree, unwrapped

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
_LARGEST_LIMIT = 1_000_000
_LONGEST_NAME = 100


def parse_sql(text: str, tables: Mapping[str, Table]) -> Plan:
    """Return the plan of a SELECT over the tables of a session."""
    try:
        return _plan(query_tree(text), Catalogue(tables=tables))
    except RecursionError:  # the caller's own stack was nearly full
        raise QueryError("The text of the query is nested too deeply: use fewer parentheses.") from None


@dataclass(frozen=True, slots=True)
class _Item:
    """One item of the list after SELECT: its node, the name that AS gives it, its expression if it has no aggregate."""

    node: exp.Expr
    alias: str | None
    plain: Expression | None


def _plan(select: exp.Expr, catalogue: Catalogue) -> Plan:
    if select.args.get("distinct") is not None:
        raise QueryError("SELECT DISTINCT would show values as they are: group by them, with COUNT(*) beside.")
    only(select, *_CLAUSES)
    if part(select, "with") is not None:
        catalogue = named_subqueries(select, catalogue)
    scope = source_of(select, catalogue, subquery_of)
    kinds = columns_of(scope.relation, catalogue.tables)
    reader = ScopeReader(scope, kinds)
    condition = None if select.args.get("where") is None else condition_of(select, scope, catalogue)
    items = [_item(node, reader) for node in select.args["expressions"]]
    answers = _AnswerReader(reader, _keys(select.args.get("group"), items, reader))
    outputs = _outputs(items, answers)
    answers.outputs = outputs
    having, order = _having(select.args.get("having"), answers), _order(select.args.get("order"), answers)
    plan = Plan(
        relation=scope.relation,
        filter=condition,
        keys=tuple(answers.keys),
        aggregates=tuple(answers.aggregates),
        outputs=tuple(outputs.items()),
        having=having,
        order=order,
        limit=_limit(select.args.get("limit")),
    )
    for expression in (*(key.expression for key in plan.keys), *(c for a in plan.aggregates for c in a.columns)):
        kind_of(expression, kinds)
    return plan


def _item(node: exp.Expr, reader: ScopeReader) -> _Item:
    inner, alias = select_item(node)
    if inner.key == "star" or (inner.key == "column" and inner.this.key == "star"):
        raise QueryError(f"SELECT * would show rows: select keys and aggregates. There are {AGGREGATE_NAMES}.")
    return _Item(inner, alias, None if has_aggregate(inner) else reader.read(inner))


def _of_rows(node: exp.Expr, reader: ScopeReader) -> Expression:
    if has_aggregate(node):
        raise QueryError("GROUP BY works on rows, before they are aggregated: an aggregate cannot be a key.")
    return reader.read(node)


# -------------------------------------------------------------------------------------------------------------- keys


def _keys(group: exp.Expr | None, items: Sequence[_Item], reader: ScopeReader) -> list[Key]:
    if group is None:
        return []
    only(group, "expressions")
    if not group.args.get("expressions"):
        raise QueryError("GROUP BY needs something to group by.")
    keys: dict[Expression, Key] = {}
    for node in group.args["expressions"]:
        expression = _key(unwrapped(node), items, reader)
        if isinstance(expression, Literal):
            raise QueryError("GROUP BY takes columns, expressions over them, or positions in the list after SELECT.")
        alias = next((item.alias for item in items if item.alias and item.plain == expression), None)
        keys[expression] = Key(name=alias or _called(expression), expression=expression)
    return list(keys.values())


def _key(node: exp.Expr, items: Sequence[_Item], reader: ScopeReader) -> Expression:
    """A position, a column, the name of an item, or an expression."""
    if node.key == "literal" and not node.args.get("is_string"):
        item = _at(node, items)
        return _of_rows(item.node, reader)
    named = _by_name(node, items)
    if named is None or _is_column(node, reader.scope):
        return _of_rows(node, reader)
    return _of_rows(named.node, reader)


def _at(node: exp.Expr, items: Sequence[_Item]) -> _Item:
    text = str(node.this)
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and 1 <= int(text) <= len(items)):
        raise QueryError(f"{safe_repr(text)} is no position in the list after SELECT, which has {len(items)} items.")
    return items[int(text) - 1]


def _by_name(node: exp.Expr, items: Sequence[_Item]) -> _Item | None:
    if node.key != "column" or node.this.key != "identifier" or node.args.get("table") is not None:
        return None
    name, quoted = str(node.this.this), bool(node.this.args.get("quoted"))
    return next((item for item in items if item.alias and same_name(item.alias, name, quoted=quoted)), None)


def _is_column(node: exp.Expr, scope: Scope) -> bool:
    name, quoted = str(node.this.this), bool(node.this.args.get("quoted"))
    return any(same_name(one.name, name, quoted=quoted) for one in scope.visible)


def _called(expression: Expression) -> str:
    """The name of a column of the answer that was given none: what it is, in one short line."""
    if isinstance(expression, Column):
        return expression.name
    text = "".join(letter if letter.isprintable() else " " for letter in render(expression))
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 3]}..."


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
        node = unwrapped(node)
        if is_aggregate(node):
            return self.aggregate(node)
        return self._output(node) or self._key(node) or super().read(node)

    def column(self, table: str | None, name: str, *, quoted: bool) -> Expression:
        self.rows.column(table, name, quoted=quoted)  # unknown names and the person are refused in their own words
        raise QueryError(
            f"{safe_repr(name)} is neither in GROUP BY nor inside an aggregate: rows are not shown, only aggregates."
        )

    def aggregate(self, node: exp.Expr, name: str | None = None) -> Column:
        """Return the name of an aggregate, which is measured once however often it is asked for."""
        function = function_of(node, self.rows)
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
        """What an item of the list after SELECT is, where it is called by its name."""
        if node.key != "column" or node.this.key != "identifier" or node.args.get("table") is not None:
            return None
        name, quoted = str(node.this.this), bool(node.this.args.get("quoted"))
        return next((what for known, what in self.outputs.items() if same_name(known, name, quoted=quoted)), None)

    def _key(self, node: exp.Expr) -> Column | None:
        if not self.keys or has_aggregate(node):
            return None
        try:
            expression = self.rows.read(node)
        except QueryError:  # perhaps it has the name of an output inside; if not, it is refused where it stands
            return None
        return next((Column(key.name) for key in self.keys if key.expression == expression), None)


def _outputs(items: Sequence[_Item], answers: _AnswerReader) -> dict[str, Expression]:
    outputs: dict[str, Expression] = {}
    keys = {key.name: key.expression for key in answers.keys}
    for item in items:
        made = answers.aggregate(item.node, item.alias) if is_aggregate(item.node) else answers.read(item.node)
        name = item.alias or _called(made if isinstance(made, Column) else substituted(made, keys))
        if name in outputs:
            raise QueryError(
                f"Two columns of the answer are called {safe_repr(name)}: give one of them another name with AS."
            )
        outputs[name] = made
    return outputs


def _having(having: exp.Expr | None, answers: _AnswerReader) -> Expression | None:
    if having is None:
        return None
    only(having, "this")
    condition = answers.read(having.this)
    if not isinstance(condition, Call) or condition.name not in _CONDITIONS:
        raise QueryError("HAVING needs a condition on keys and aggregates, such as COUNT(*) > 100.")
    return condition


def _order(order: exp.Expr | None, answers: _AnswerReader) -> tuple[Order, ...]:
    if order is None:
        return ()
    only(order, "expressions")
    made = []
    for ordered in order.args["expressions"]:
        only(ordered, "this", "desc")
        node = unwrapped(ordered.this)
        if node.key == "literal" and not node.args.get("is_string"):
            items = [_Item(node, name, what) for name, what in answers.outputs.items()]
            expression = _at(node, items).plain
        else:
            expression = answers.read(node)
        if expression is None or isinstance(expression, Literal):
            raise QueryError(
                "ORDER BY takes keys, aggregates, expressions over them, or positions in the list after SELECT."
            )
        made.append(Order(expression=expression, descending=bool(ordered.args.get("desc"))))
    return tuple(made)


def _limit(limit: exp.Expr | None) -> int | None:
    if limit is None:
        return None
    only(limit, "expression")
    node = limit.args["expression"]
    text = str(node.this) if node.key == "literal" and not node.args.get("is_string") else ""
    if not (text.isascii() and text.isdigit() and len(text) <= 7 and 1 <= int(text) <= _LARGEST_LIMIT):
        raise QueryError(f"LIMIT takes an integer from 1 to {_LARGEST_LIMIT:,} that is written out.")
    return int(text)
