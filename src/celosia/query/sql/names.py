"""What the names in a SELECT stand for: the columns of the tables it reads, and the column that says whose row it is.

Names are found as written, or else without regard to case unless they are quoted. The person is no column: it can be
counted, joined on, and grouped by inside a subquery, but never shown, filtered or computed with. It goes by the name of
its column where that is selected, and by PERSON everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from celosia.core.errors import QueryError
from celosia.core.exact import safe_repr
from celosia.query.plan.expressions import Call, Column, Expression
from celosia.query.plan.suggestions import suggested
from celosia.query.sql.date_literals import read_date_literals
from celosia.query.sql.expressions import Reader

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from celosia.data.schema.columns import Kind
    from celosia.query.plan.nodes import Relation


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
