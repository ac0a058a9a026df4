"""Statements that every query runs: compiled once for each kind of database, then run by the driver itself.

SQLAlchemy writes the SQL. Running it through SQLAlchemy takes ten times as long as the statement itself, and a question
to a server runs some twenty of them.
"""

from collections import namedtuple
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Select
from sqlalchemy.exc import DBAPIError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, Delete, Dialect, Insert, Update

_make_row_type: Final[Callable[[str, list[str]], Any]] = namedtuple  # noqa: PYI024 - the type checker wants literal names


class Statement:
    """A statement on columns of integers, strings and bytes.

    Parameters
    ----------
    clause
        The statement.
    columns
        The columns that an insert or update sets; the names of its parameters.
    """

    __slots__ = ("_clause", "_columns", "_compiled", "_row")

    def __init__(self, clause: "Select[Any] | Insert | Update | Delete", *columns: str) -> None:
        self._clause, self._columns = clause, list(columns)
        self._compiled: dict[str, tuple[str, tuple[str, ...] | None, dict[str, Any]]] = {}
        self._row = _make_row_type("Row", clause.selected_columns.keys() if isinstance(clause, Select) else [])

    def all(self, connection: "Connection", values: "Mapping[str, Any]") -> list[Any]:
        """Return the rows, as named tuples."""
        return list(map(self._row._make, self.fetch(connection, values)))

    def first(self, connection: "Connection", values: "Mapping[str, Any]") -> Any:
        """Return the first row, or None."""
        rows = self.fetch(connection, values)
        return self._row._make(rows[0]) if rows else None

    def fetch(self, connection: "Connection", values: "Mapping[str, Any]") -> "Sequence[tuple[Any, ...]]":
        """Return the rows as the driver makes them; its errors become SQLAlchemy's."""
        return self._run(connection, values, fetches=True)

    def execute(self, connection: "Connection", values: "Mapping[str, Any]") -> None:
        """Run a statement without results."""
        self._run(connection, values, fetches=False)

    def _run(
        self, connection: "Connection", values: "Mapping[str, Any]", *, fetches: bool
    ) -> "Sequence[tuple[Any, ...]]":
        dialect = connection.dialect
        text, order, fixed = self._compiled.get(dialect.name) or self._compile(dialect)
        given = {**fixed, **values}
        cursor = connection.connection.cursor()
        try:
            cursor.execute(text, given if order is None else [given[name] for name in order])
            return cursor.fetchall() if fetches else ()
        except dialect.loaded_dbapi.Error as error:
            raise DBAPIError(None, None, error) from None
        finally:
            cursor.close()

    def _compile(self, dialect: "Dialect") -> "tuple[str, tuple[str, ...] | None, dict[str, Any]]":
        """Return the SQL, the order of parameters if they have no names there, and the values that are fixed."""
        made: Any = self._clause.compile(dialect=dialect, column_keys=self._columns or None)
        fixed = {name: value for name, value in made.params.items() if value is not None}
        order = tuple(made.positiontup) if made.positional else None
        found = self._compiled[dialect.name] = made.string, order, fixed
        return found
