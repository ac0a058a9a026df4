"""Reads FROM and JOIN as relations that keep track of the person, and resolves names.

A public table is joined by its key, so no row is multiplied; private tables are joined on the person only. Every row
still belongs to one person, whose contribution is bounded later.

Names match exactly, or else without regard to case unless they are quoted. The person is not an ordinary column: it can
be counted, joined on, and grouped by inside a subquery, but never shown, filtered or computed with. Its name is that of
its column where that is selected, and PERSON everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message
from celosia.query.plan.expressions import Call, Column, Expression
from celosia.query.plan.nodes import Base, Join, Relation
from celosia.query.plan.relations import columns_of
from celosia.query.plan.suggestions import list_items, suggest
from celosia.query.sql.date_literals import read_date_literals
from celosia.query.sql.expressions import Reader
from celosia.query.sql.syntax import check_parts, flatten_chain, is_column, plain_name, sql_name, strip_parentheses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sqlglot import exp

    from celosia.data.schema.columns import Kind
    from celosia.data.table import Table

_JOIN_FORMS: Final = "query.hint_join"
_MAX_JOINS = 10


@dataclass(frozen=True, slots=True)
class VisibleColumn:
    """A column that can be named: its table, its name there, and its name in the relation.

    ``column`` is None for the person column.
    """

    table: str
    name: str
    column: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A relation and the names of its columns; ``merged`` are the names that USING merged."""

    relation: Relation
    visible: tuple[VisibleColumn, ...]
    merged: frozenset[str] = frozenset()

    def find(self, table: str | None, name: str, *, quoted: bool) -> VisibleColumn:
        """Return the column of a name; raise if it is unknown or ambiguous."""
        here = [one for one in self.visible if table is None or is_same_name(one.table, table, quoted=False)]
        if not here:
            known = dict.fromkeys(one.table for one in self.visible)
            raise QueryError("query.table_not_in_select", table=safe_repr(table), hint=suggest(str(table), known))
        found = [one for one in here if one.name == name]
        found = found or [one for one in here if is_same_name(one.name, name, quoted=quoted)]
        persons = [one for one in found if one.column is None]
        if len(found) == 1 or (found and (len(persons) == len(found) or found[0].name in self.merged)):
            return found[0]
        if not found and is_same_name("PERSON", name, quoted=False) and any(one.column is None for one in here):
            return next(one for one in here if one.column is None)
        if found:
            choices = list_items([f"{one.table}.{one.name}" for one in found], "query.or_item")
            raise QueryError("query.ambiguous_column", name=safe_repr(name), choices=choices)
        code = "query.unknown_quoted_column" if quoted else "query.unknown_sql_column"
        raise QueryError(code, name=safe_repr(name), suggestion=suggest(name, self._names(here)))

    @staticmethod
    def _names(visible: Iterable[VisibleColumn]) -> list[str]:
        return list(dict.fromkeys(one.name for one in visible if one.column is not None))

    def find_node(self, node: exp.Expr) -> VisibleColumn:
        """Return the column of a node; raise as ``find`` does."""
        check_parts(node, "this", "table")
        table, (name, quoted) = node.args.get("table"), plain_name(node)
        return self.find(None if table is None else str(table.this), name, quoted=quoted)

    @property
    def persons(self) -> Sequence[VisibleColumn]:
        """The names of the person column."""
        return [one for one in self.visible if one.column is None]


class ScopeReader(Reader):
    """Reads expressions over the columns of a scope; given their ``kinds``, texts beside dates become dates."""

    def __init__(self, scope: Scope, kinds: Mapping[str, Kind] | None = None) -> None:
        super().__init__()
        self.scope = scope
        self.kinds = kinds or {}

    def call(self, name: str, arguments: Sequence[Expression]) -> Expression:
        """Return an operation; a text compared with a date becomes one."""
        return read_date_literals(Call(name, tuple(arguments)), self.kinds)

    def column(self, table: str | None, name: str, *, quoted: bool) -> Expression:
        """Return the relation's column for a name."""
        found = self.scope.find(table, name, quoted=quoted)
        if found.column is None:
            raise QueryError("query.person_column_not_shown", name=safe_repr(name), plain_name=name)
        return Column(found.column)


def is_same_name(one: str, other: str, *, quoted: bool) -> bool:
    """Return whether two names are the same; case matters if the second is quoted."""
    return one == other or (not quoted and one.lower() == other.lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The tables of a session, and the subqueries that WITH has named so far."""

    tables: Mapping[str, Table]
    named: Mapping[str, Scope] = field(default_factory=dict)

    def find(self, name: str, *, quoted: bool) -> Scope:
        """Return the scope of a table or subquery by its name."""
        for scopes in (self.named, self.tables):
            found = [known for known in scopes if known == name]
            found = found or [known for known in scopes if is_same_name(known, name, quoted=quoted)]
            if len(found) == 1:
                return self.named[found[0]] if scopes is self.named else self._table(found[0])
        raise QueryError(
            "query.unknown_sql_table", name=safe_repr(name), hint=suggest(name, [*self.named, *self.tables])
        )

    def _table(self, name: str) -> Scope:
        table = self.tables[name]
        visible = [VisibleColumn(name, column, column) for column in table.schema]
        person = [] if table.person is None else [VisibleColumn(name, table.person, None)]
        return Scope(relation=Base(name), visible=(*visible, *person))


def find_part(select: exp.Expr, name: str) -> exp.Expr | None:
    """Return a part of a SELECT; versions of the parser call some of them ``from`` or ``from_``."""
    found: exp.Expr | None = select.args.get(name) or select.args.get(f"{name}_")
    return found


def split_alias(node: exp.Expr) -> tuple[exp.Expr, str | None]:
    """Return the node of an item and the name that AS gives it."""
    if node.key != "alias":
        return strip_parentheses(node), None
    check_parts(node, "this", "alias")
    return strip_parentheses(node.this), Column(str(node.args["alias"].name)).name


def read_from(select: exp.Expr, catalogue: Catalogue, subquery: Callable[[exp.Expr, Catalogue], Scope]) -> Scope:
    """Return the scope that FROM and the JOINs of a SELECT make; ``subquery`` reads an inner SELECT."""
    origin = find_part(select, "from")
    if origin is None:
        raise QueryError("query.select_without_from")
    check_parts(origin, "this")
    joins = select.args.get("joins") or []
    if len(joins) > _MAX_JOINS:
        raise QueryError("query.too_many_joins", most=_MAX_JOINS, found=len(joins))
    scope = _read_source(origin.this, catalogue, subquery)
    for join in joins:
        scope = _join(scope, join, catalogue, subquery)
    return scope


def _read_source(node: exp.Expr, catalogue: Catalogue, subquery: Callable[[exp.Expr, Catalogue], Scope]) -> Scope:
    """Return the scope of a table or a subquery, under its alias."""
    if node.key == "table":
        if node.args.get("db") is not None or node.args.get("catalog") is not None:
            raise QueryError("query.table_name_qualified")
        if node.this.key != "identifier":
            raise QueryError("query.not_a_session_table", found=sql_name(node.this))
        check_parts(node, "this", "alias")
        name, quoted = plain_name(node)
        scope = catalogue.find(name, quoted=quoted)
    elif node.key == "subquery" and node.this.key == "select":
        check_parts(node, "this", "alias")
        scope, name = subquery(node.this, catalogue), ""
    else:
        raise QueryError("query.not_allowed_in_from", found=sql_name(node))
    alias = node.args.get("alias")
    if alias is not None:
        check_parts(alias, "this")
        name = str(alias.this.this)
    return replace(scope, visible=tuple(replace(one, table=name) for one in scope.visible))


def _join(left: Scope, join: exp.Expr, catalogue: Catalogue, subquery: Callable[[exp.Expr, Catalogue], Scope]) -> Scope:
    check_parts(join, "this", "using", "on", "side", "kind")
    side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
    if side not in {"", "LEFT"} or kind not in {"", "INNER", "OUTER"} or (kind == "INNER" and side):
        raise QueryError("query.join_kind_not_supported", hint=Message(_JOIN_FORMS))
    right = _read_source(join.this, catalogue, subquery)
    if {one.table.lower() for one in left.visible} & {one.table.lower() for one in right.visible}:
        raise QueryError("query.duplicate_from_table")
    pairs, merged = _pairs(left, right, join)
    how = "left" if side else "inner"
    relation: Join
    if all(a.column is None and b.column is None for a, b in pairs):
        relation = Join(left=left.relation, right=right.relation, by="person", how=how)
    else:
        relation = Join(left=left.relation, right=right.relation, on=_keys(pairs, left, right), by="key", how=how)
    return _rename_columns(left, right, relation, merged, catalogue)


def _pairs(
    left: Scope, right: Scope, join: exp.Expr
) -> tuple[list[tuple[VisibleColumn, VisibleColumn]], frozenset[str]]:
    """Return the pairs of columns that a join compares, and the names that USING merges."""
    using, on = join.args.get("using"), join.args.get("on")
    if using:
        names = [(str(one.name), bool(one.args.get("quoted"))) for one in using]
        found = [(left.find(None, n, quoted=q), right.find(None, n, quoted=q)) for n, q in names]
        return found, frozenset(a.name for a, b in found if a.name == b.name)
    if on is None:
        raise QueryError("query.join_without_condition", hint=Message(_JOIN_FORMS))
    condition = strip_parentheses(on)
    parts = flatten_chain(condition) if condition.key == "and" else [condition]
    return [_pair(left, right, strip_parentheses(one)) for one in parts], frozenset()


def _pair(left: Scope, right: Scope, equality: exp.Expr) -> tuple[VisibleColumn, VisibleColumn]:
    sides = [strip_parentheses(equality.this), strip_parentheses(equality.expression)] if equality.key == "eq" else []
    if not sides or not all(map(is_column, sides)):
        raise QueryError("query.join_condition_not_equality", hint=Message(_JOIN_FORMS))
    both = Scope(relation=left.relation, visible=(*left.visible, *right.visible))
    found = [both.find_node(side) for side in sides]
    a, b = found if found[0] in left.visible else found[::-1]
    if a not in left.visible or b not in right.visible:
        raise QueryError("query.join_compares_one_table")
    return a, b


def _keys(pairs: list[tuple[VisibleColumn, VisibleColumn]], left: Scope, right: Scope) -> tuple[tuple[str, str], ...]:
    keys = tuple((a.column, b.column) for a, b in pairs if a.column is not None and b.column is not None)
    if len(keys) == len(pairs) and right.persons and not left.persons:
        raise QueryError("query.private_table_not_first")
    if len(keys) != len(pairs) or right.persons:
        raise QueryError("query.private_join_not_on_person")
    return keys


def _rename_columns(
    left: Scope, right: Scope, relation: Relation, merged: frozenset[str], catalogue: Catalogue
) -> Scope:
    """Return the scope of a join: columns keep their order, and names that both sides have change."""
    before = [one for scope in (left, right) for one in scope.visible if one.column is not None]
    after = list(columns_of(relation, catalogue.tables))
    if len(before) != len(after):
        raise QueryError("query.table_joined_with_itself")
    columns = [replace(one, column=name) for one, name in zip(before, after, strict=True)]
    return Scope(
        relation=relation, visible=(*columns, *left.persons, *right.persons), merged=left.merged | right.merged | merged
    )
