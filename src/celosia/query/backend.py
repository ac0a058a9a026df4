"""Protocol of anything that answers queries: a local session, or a connection to a guard.

Both begin queries with the builder or with SQL, and make equal plans of equal queries.
"""

from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack

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


class QueryOptions(TypedDict, total=False):
    """The privacy target of a query, or the error that it may have, by keyword."""

    epsilon: Exact | None
    delta: Exact | None
    rho: Exact | None
    error: "Exact | Mapping[str, Exact] | None"
    confidence: Exact
    rows: float | None


class QueryBackend(Protocol):
    """Interface of a ``Session`` and of a connection to a guard."""

    @property
    def tables(self) -> "Mapping[str, Table]":
        """The tables by name, with their schemas."""

    def preview(self, plan: Plan, *, rows: float | None = None, level: Exact = 0.95, **target: Any) -> "Preview":
        """Return the cost and the expected error of a plan."""

    def release(self, plan: Plan, **target: Unpack[QueryOptions]) -> "TableRelease":
        """Pay for a plan and return the answer."""


def choose_table(backend: QueryBackend, table: str | None = None) -> str:
    """Return the name of a table; it is optional if there is only one private table."""
    private = [name for name, known in backend.tables.items() if not known.public]
    if table is None and len(private) != 1:
        raise ParameterError("query.table_not_chosen", example=repr(private[0]))
    name: object = private[0] if table is None else table
    if not isinstance(name, str) or name not in backend.tables:
        raise QueryError("query.unknown_session_table", name=safe_repr(name), known=", ".join(backend.tables))
    return name


def begin(backend: QueryBackend, table: str | None = None) -> Query:
    """Begin a query about a table; the name is optional if there is only one private table."""
    return Query(session=backend, draft=PlanDraft(relation=Base(choose_table(backend, table))))


def draw_session(title: str, budgets: "Mapping[str, Guarantee]", tables: "Iterable[Table]") -> str:
    """Return the HTML of a session for a notebook: its budget, and its declared tables."""
    known = draw_table((), [(name, str(guarantee)) for name, guarantee in budgets.items()], title=title)
    return known + "".join(table._repr_html_() for table in tables)
