"""Whoever answers queries, as a query sees it: a session on tables of one's own, or a connection to a guard.

Both begin queries in the same two ways, by the builder and by SQL, and make equal plans of equal questions.
"""

from typing import TYPE_CHECKING, Any, Protocol

from celosia.core.errors import ParameterError, QueryError
from celosia.core.exact import Exact, safe_repr
from celosia.core.html_table import draw_table
from celosia.query.builder import Query
from celosia.query.plan.nodes import Base, Plan, PlanDraft

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from celosia.core.guarantees import Guarantee
    from celosia.data.table import Table
    from celosia.query.planning.preview import Preview
    from celosia.query.release import TableRelease


class QueryBackend(Protocol):
    """What a ``Session`` and a connection to a guard have in common."""

    @property
    def tables(self) -> "Mapping[str, Table]":
        """The tables by name, with their schemas."""

    def preview(self, plan: Plan, *, rows: float | None = None, level: Exact = 0.95, **target: Any) -> "Preview":
        """Tell what a plan would cost and how far off it would be."""

    def release(
        self,
        plan: Plan,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        error: "Exact | Mapping[str, Exact] | None" = None,
        confidence: Exact = 0.95,
        rows: float | None = None,
    ) -> "TableRelease":
        """Pay for a plan and answer."""


def begin(asked: QueryBackend, table: str | None = None) -> Query:
    """Begin a question about a table; the name may be left out if there is only one private table."""
    private = [name for name, known in asked.tables.items() if not known.public]
    if table is None and len(private) != 1:
        raise ParameterError(f"The session has several tables: say which, such as query({private[0]!r}).")
    name: object = private[0] if table is None else table
    if not isinstance(name, str) or name not in asked.tables:
        raise QueryError(f"There is no table {safe_repr(name)}; this session has {', '.join(asked.tables)}.")
    return Query(session=asked, draft=PlanDraft(relation=Base(name)))


def draw_session(title: str, budgets: "Mapping[str, Guarantee]", tables: "Iterable[Table]") -> str:
    """Return what a notebook shows of a session: its budget, and its tables as they were declared."""
    known = draw_table((), [(name, str(guarantee)) for name, guarantee in budgets.items()], title=title)
    return known + "".join(table._repr_html_() for table in tables)
