"""What a SELECT reads: tables and joins, as relations that keep track of the person.

A public table is joined by its key, so no row is multiplied; private tables are joined on the person only. Either way
every row still belongs to somebody, and what one of them can contribute is bounded later.

Names are found as written, or else without regard to case unless they are quoted. The person is no column: a query can
count it, join on it, and group by it inside a subquery, but never show, filter or compute with it. It goes by the name
of its column where that is selected, and by PERSON everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.core.exact import safe_repr
from celosia.query.plan.expressions import Call, Column, Expression
from celosia.query.plan.nodes import Base, Joined, Relation
from celosia.query.plan.relations import columns_of
from celosia.query.plan.suggestions import suggested
from celosia.query.sql.date_literals import read_date_literals
from celosia.query.sql.expressions import Reader
from celosia.query.sql.syntax import chain, only, spelt, unwrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sqlglot import exp

    from celosia.data.schema.columns import Kind
    from celosia.data.table import Table

_HOW: Final = "tables are joined by JOIN or LEFT JOIN with USING (key) or ON a.key = b.key"
_MOST_JOINS = 10


@dataclass(frozen=True, slots=True)
class Visible:
    """A column that can be named: after its table, by its own name there, and what the relation calls it now.

    ``column`` is None for the column that says whose row it is.
    """

    table: str
    name: str
    column: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A relation and the names by which its columns go; ``merged`` are names that USING made one of two."""

    relation: Relation
    visible: tuple[Visible, ...]
    merged: frozenset[str] = frozenset()

    def find(self, table: str | None, name: str, *, quoted: bool) -> Visible:
        """Return the column that a name stands for; refuse one that is unknown or stands for two."""
        here = [one for one in self.visible if table is None or same_name(one.table, table, quoted=False)]
        if not here:
            known = dict.fromkeys(one.table for one in self.visible)
            raise QueryError(f"{safe_repr(table)} is none of the tables of this SELECT. {suggested(str(table), known)}")
        found = [one for one in here if one.name == name]
        found = found or [one for one in here if same_name(one.name, name, quoted=quoted)]
        persons = [one for one in found if one.column is None]
        if len(found) == 1 or (found and (len(persons) == len(found) or found[0].name in self.merged)):
            return found[0]
        if not found and same_name("PERSON", name, quoted=False) and any(one.column is None for one in here):
            return next(one for one in here if one.column is None)
        if found:
            choices = " or ".join(f"{one.table}.{one.name}" for one in found)
            raise QueryError(f"{safe_repr(name)} stands for two columns: write {choices}.")
        hint = " A text is written in single quotes." if quoted else ""
        raise QueryError(f"There is no column {safe_repr(name)}. {suggested(name, self._names(here))}{hint}")

    @staticmethod
    def _names(visible: Iterable[Visible]) -> list[str]:
        return list(dict.fromkeys(one.name for one in visible if one.column is not None))

    @property
    def persons(self) -> Sequence[Visible]:
        """The names under which the person can be called."""
        return [one for one in self.visible if one.column is None]


class ScopeReader(Reader):
    """Reads expressions over the columns of a scope; with their ``kinds``, texts beside dates are read as dates."""

    def __init__(self, scope: Scope, kinds: Mapping[str, Kind] | None = None) -> None:
        super().__init__()
        self.scope = scope
        self.kinds = kinds or {}

    def call(self, name: str, arguments: Sequence[Expression]) -> Expression:
        """Return an operation; a text that is compared with a date is one."""
        return read_date_literals(Call(name, tuple(arguments)), self.kinds)

    def column(self, table: str | None, name: str, *, quoted: bool) -> Expression:
        """Return the column of the relation that a name stands for."""
        found = self.scope.find(table, name, quoted=quoted)
        if found.column is None:
            raise QueryError(
                f"{safe_repr(name)} says whose row it is: it can be counted, as in COUNT(DISTINCT {name}), joined "
                "on, and selected and grouped by in a subquery, and not be shown, compared or computed with."
            )
        return Column(found.column)


def same_name(one: str, other: str, *, quoted: bool) -> bool:
    """Return whether two names are the same; case matters if the second is quoted."""
    return one == other or (not quoted and one.lower() == other.lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The tables of a session, and the subqueries that WITH has named so far."""

    tables: Mapping[str, Table]
    named: Mapping[str, Scope] = field(default_factory=dict)

    def find(self, name: str, *, quoted: bool) -> Scope:
        """Return the table or subquery of a name."""
        for scopes in (self.named, self.tables):
            found = [known for known in scopes if known == name]
            found = found or [known for known in scopes if same_name(known, name, quoted=quoted)]
            if len(found) == 1:
                return self.named[found[0]] if scopes is self.named else self._table(found[0])
        raise QueryError(f"There is no table {safe_repr(name)}. {suggested(name, [*self.named, *self.tables])}")

    def _table(self, name: str) -> Scope:
        table = self.tables[name]
        visible = [Visible(name, column, column) for column in table.schema]
        person = [] if table.person is None else [Visible(name, table.person, None)]
        return Scope(relation=Base(name), visible=(*visible, *person))


def part(select: exp.Expr, name: str) -> exp.Expr | None:
    """Return a part of a SELECT; the parser has called some of them ``from`` and ``from_`` in turn."""
    found: exp.Expr | None = select.args.get(name) or select.args.get(f"{name}_")
    return found


def select_item(node: exp.Expr) -> tuple[exp.Expr, str | None]:
    """Return what stands in a list of columns, and the name that AS gives it."""
    if node.key != "alias":
        return unwrapped(node), None
    only(node, "this", "alias")
    return unwrapped(node.this), Column(str(node.args["alias"].name)).name


def source_of(select: exp.Expr, catalogue: Catalogue, subquery: Callable[[exp.Expr, Catalogue], Scope]) -> Scope:
    """Return what FROM and the JOINs of a SELECT read; ``subquery`` turns an inner SELECT into a relation."""
    origin = part(select, "from")
    if origin is None:
        raise QueryError("A SELECT needs a FROM with a table of the session.")
    only(origin, "this")
    joins = select.args.get("joins") or []
    if len(joins) > _MOST_JOINS:
        raise QueryError(f"A SELECT can have at most {_MOST_JOINS} joins, not {len(joins)}.")
    scope = _one(origin.this, catalogue, subquery)
    for join in joins:
        scope = _joined(scope, join, catalogue, subquery)
    return scope


def _one(node: exp.Expr, catalogue: Catalogue, subquery: Callable[[exp.Expr, Catalogue], Scope]) -> Scope:
    """A table or a subquery, under its alias."""
    if node.key == "table":
        if node.args.get("db") is not None or node.args.get("catalog") is not None:
            raise QueryError("A table goes by its plain name here, without a schema or a catalogue before it.")
        if node.this.key != "identifier":
            raise QueryError(f"{spelt(node.this)} is no table of the session: nothing else can be read.")
        only(node, "this", "alias")
        scope = catalogue.find(str(node.this.this), quoted=bool(node.this.args.get("quoted")))
        name = str(node.this.this)
    elif node.key == "subquery" and node.this.key == "select":
        only(node, "this", "alias")
        scope, name = subquery(node.this, catalogue), ""
    else:
        raise QueryError(
            f"{spelt(node)} cannot stand in FROM: a table of the session or a subquery in parentheses can."
        )
    alias = node.args.get("alias")
    if alias is not None:
        only(alias, "this")
        name = str(alias.this.this)
    return replace(scope, visible=tuple(replace(one, table=name) for one in scope.visible))


def _joined(
    left: Scope, join: exp.Expr, catalogue: Catalogue, subquery: Callable[[exp.Expr, Catalogue], Scope]
) -> Scope:
    only(join, "this", "using", "on", "side", "kind")
    side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
    if side not in {"", "LEFT"} or kind not in {"", "INNER", "OUTER"} or (kind == "INNER" and side):
        raise QueryError(f"A join of this kind is not understood: {_HOW}.")
    right = _one(join.this, catalogue, subquery)
    if {one.table.lower() for one in left.visible} & {one.table.lower() for one in right.visible}:
        raise QueryError("Two tables of the FROM have the same name: give one of them another with AS.")
    pairs, merged = _pairs(left, right, join)
    how = "left" if side else "inner"
    relation: Joined
    if all(a.column is None and b.column is None for a, b in pairs):
        relation = Joined(left=left.relation, right=right.relation, by="person", how=how)
    else:
        relation = Joined(left=left.relation, right=right.relation, on=_keys(pairs, left, right), by="key", how=how)
    return _renamed(left, right, relation, merged, catalogue)


def _pairs(left: Scope, right: Scope, join: exp.Expr) -> tuple[list[tuple[Visible, Visible]], frozenset[str]]:
    """What the join compares, and the names that USING makes one of two."""
    using, on = join.args.get("using"), join.args.get("on")
    if using:
        names = [(str(one.name), bool(one.args.get("quoted"))) for one in using]
        found = [(left.find(None, n, quoted=q), right.find(None, n, quoted=q)) for n, q in names]
        return found, frozenset(a.name for a, b in found if a.name == b.name)
    if on is None:
        raise QueryError(f"A join needs a condition, or it would put every row beside every other: {_HOW}.")
    condition = unwrapped(on)
    parts = chain(condition) if condition.key == "and" else [condition]
    return [_pair(left, right, unwrapped(one)) for one in parts], frozenset()


def _pair(left: Scope, right: Scope, equality: exp.Expr) -> tuple[Visible, Visible]:
    sides = [unwrapped(equality.this), unwrapped(equality.expression)] if equality.key == "eq" else []
    if not sides or any(side.key != "column" or side.this.key != "identifier" for side in sides):
        raise QueryError(f"ON compares columns of the two tables by = and AND only: {_HOW}.")
    both = Scope(relation=left.relation, visible=(*left.visible, *right.visible))
    found = []
    for side in sides:
        only(side, "this", "table")
        table = side.args.get("table")
        name, quoted = str(side.this.this), bool(side.this.args.get("quoted"))
        found.append(both.find(None if table is None else str(table.this), name, quoted=quoted))
    a, b = found if found[0] in left.visible else found[::-1]
    if a not in left.visible or b not in right.visible:
        raise QueryError("ON must compare a column of the one table with a column of the other.")
    return a, b


def _keys(pairs: list[tuple[Visible, Visible]], left: Scope, right: Scope) -> tuple[tuple[str, str], ...]:
    keys = tuple((a.column, b.column) for a, b in pairs if a.column is not None and b.column is not None)
    if len(keys) == len(pairs) and right.persons and not left.persons:
        raise QueryError("The private table comes first: FROM private JOIN public ON private.column = public.key.")
    if len(keys) != len(pairs) or right.persons:
        raise QueryError(
            "Private tables are joined on the person, and on nothing else: "
            "JOIN t USING (person), or ON a.person = b.person, with the columns that say whose row it is."
        )
    return keys


def _renamed(left: Scope, right: Scope, relation: Relation, merged: frozenset[str], catalogue: Catalogue) -> Scope:
    """The scope of a join: columns keep their order, and those that both sides have go by new names."""
    before = [one for scope in (left, right) for one in scope.visible if one.column is not None]
    after = list(columns_of(relation, catalogue.tables))
    if len(before) != len(after):
        raise QueryError("A table cannot be joined with itself.")
    columns = [replace(one, column=name) for one, name in zip(before, after, strict=True)]
    return Scope(
        relation=relation, visible=(*columns, *left.persons, *right.persons), merged=left.merged | right.merged | merged
    )
