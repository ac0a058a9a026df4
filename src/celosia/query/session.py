"""A session: tables, a budget, and the one place where a question is paid for before the data are read.

The order is fixed. A query is understood and planned from schemas alone; what is wrong with it costs nothing. Its event
is then reserved by a filter, which refuses what does not fit into the budget. Only then are the data read; whatever
happens from there on, the event stays spent, because a failure may itself have told something.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, overload

from celosia.accounting import BasicAccountant, Filter, PureAccountant, ZCDPAccountant
from celosia.core.adjacency import AddRemove, ReplaceOne
from celosia.core.errors import BudgetExceeded, CelosiaError, EngineError, ParameterError, QueryError
from celosia.core.exact import Exact, exact_positive, quote
from celosia.core.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from celosia.data.table import Table
from celosia.noise.source import source_or_system
from celosia.query.answering import answer
from celosia.query.builder import Query
from celosia.query.calibration import strategy_within
from celosia.query.plan import Base, Plan
from celosia.query.preview import Preview, preview_of
from celosia.query.progress import Bar
from celosia.query.question import question_of
from celosia.query.render import render
from celosia.query.sql import parse_sql
from celosia.query.strategy import Strategy, strategy_for
from celosia.query.summaries import open_engine
from celosia.query.target import Target

if TYPE_CHECKING:
    from celosia.core import Event, Source
    from celosia.query.engine import Engine
    from celosia.query.release import TableRelease

__all__ = ["Entry", "Session"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of a session's history: the question, what was paid, and whether it was answered.

    ``state`` is ``"answered"``, or ``"failed"`` if the data could not be read: the price stays paid.

    >>> import celosia as cl
    >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
    >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
    >>> release = session.sql("SELECT COUNT(*) FROM deaths WHERE age < 18", epsilon="0.1")
    >>> session.history[0].question, session.history[0].cost, session.history[0].state
    ('SELECT COUNT(*) FROM deaths WHERE age < 18', PureDP(epsilon='0.1'), 'answered')
    """

    question: str
    event: "Event"
    cost: Guarantee
    state: str


class Session:
    """Ask questions about tables within a budget.

    Parameters
    ----------
    tables
        One table or several, made by ``celosia.table``; public ones can be joined.
    budget
        All that may be spent: ``ApproxDP``, ``PureDP`` or ``ZCDP``. Unless it says otherwise it is read for the
        tables' own neighbours and unit.
    source
        Where the noise comes from; a seeded source is for tests, and shows in every release.
    progress
        Told which share of the files is read; by default a bar on the terminal, for what takes long.

    Examples
    --------
    >>> import celosia as cl
    >>> schema = cl.Schema(age=cl.Integer(0, 120), sex=cl.Category("F", "M"))
    >>> deaths = cl.table(cl.data.deaths(), schema=schema, name="deaths")
    >>> session = cl.Session(deaths, budget=cl.ApproxDP(epsilon=3, delta=1e-6))
    >>> release = session.query().where("age < 18").group_by("sex").count().release(epsilon="0.5")
    >>> release.to_arrow().num_rows
    2
    >>> release = session.sql("SELECT sex, AVG(age) FROM deaths GROUP BY sex", epsilon="0.5")
    >>> session.spent.epsilon, len(session.history)
    (Fraction(1, 1), 2)
    """

    def __init__(
        self,
        tables: "Table | Sequence[Table]",
        *,
        budget: Guarantee,
        source: "Source | None" = None,
        progress: "Callable[[float], None] | None" = None,
    ) -> None:
        self._tables = _by_name(tables)
        first = next(table for table in self._tables.values() if not table.public)
        unit = "row" if first.person is None else "person"
        self._budget = _scoped(budget, first, unit)
        self._filter = Filter(_accountant(self._budget), self._budget)
        self._source = source_or_system(source)
        # The order in which a person's surplus rows are left out follows from a secret, drawn once.
        self._secret = tuple(int(word) for word in self._source.words(4))
        self._progress = Bar() if progress is None else progress
        self._history: list[Entry] = []
        self._engine: Engine | None = None
        self._lock = threading.RLock()

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables by name."""
        from types import MappingProxyType

        return MappingProxyType(self._tables)

    @property
    def budget(self) -> Guarantee:
        """What the whole session promises, whatever is asked."""
        return self._budget

    @property
    def spent(self) -> Guarantee:
        """What was paid so far."""
        return self._filter.spent

    @property
    def remaining(self) -> Guarantee:
        """What may still be paid."""
        return self._filter.remaining

    @property
    def history(self) -> tuple[Entry, ...]:
        """The questions so far, with what each cost."""
        return tuple(self._history)

    def query(self, table: str | None = None) -> Query:
        """Begin a question about a table; the name may be left out if there is only one private table.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> cl.Session(deaths, budget=cl.PureDP(epsilon=1)).query().mean("age")
        <Query SELECT AVG(age) FROM deaths>
        """
        private = [name for name, known in self._tables.items() if not known.public]
        if table is None and len(private) != 1:
            message = f"The session has several tables: say which, such as query({private[0]!r})."
            raise ParameterError(message)
        name: object = private[0] if table is None else table
        if not isinstance(name, str) or name not in self._tables:
            message = f"There is no table {quote(name)}; this session has {', '.join(self._tables)}."
            raise QueryError(message)
        return Query(session=self, relation=Base(name))

    @overload
    def sql(self, text: str) -> Query: ...
    @overload
    def sql(
        self,
        text: str,
        *,
        epsilon: Exact | None = ...,
        delta: Exact | None = ...,
        rho: Exact | None = ...,
        error: "Exact | Mapping[str, Exact] | None" = ...,
        confidence: Exact = ...,
        rows: float | None = ...,
    ) -> "TableRelease": ...
    def sql(self, text: str, **target: Any) -> "Query | TableRelease":
        """Ask in SQL. With a target the answer is released; without one a query is returned, to preview or release.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
        >>> session.sql("SELECT AVG(age) FROM deaths").plan == session.query().mean("age").plan
        True
        """
        query = Query.of_plan(self, parse_sql(text, self._tables))
        return query.release(**target) if target else query

    def preview(self, plan: Plan, *, rows: float | None = None, level: Exact = 0.95, **target: Any) -> Preview:  # noqa: ANN401 - as in release
        """Tell what a plan would cost and how far off it would be. Spends nothing and reads nothing private.

        ``rows`` is a public guess of how many rows a cell has: the error of a mean depends on it.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
        >>> print(session.query().mean("age").preview(epsilon="0.5", rows=200_000))
        Cost PureDP(epsilon=0.5): fits into the remaining PureDP(epsilon=1); 1 cell.
          mean_age: Laplace noise of scale 2 times what a row can add, 100% of the cost; within ±0.003595 ...
        """
        rows = _guess(rows)
        strategy = self._strategy(plan, rows=rows, **target)
        return preview_of(
            strategy,
            self._cost(strategy),
            self.remaining,
            affordable=self._filter.admits(strategy.event),
            rows=rows,
            level=level,
        )

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
        """Pay for a plan, read the data once, and answer.

        Instead of an ``epsilon`` an ``error`` can be given: the smallest epsilon with which every number is off by no
        more than that with probability ``confidence`` is then spent, if the budget allows. For means this needs
        ``rows``, a public guess of how many rows a cell has.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
        >>> release = session.query().count().release(error=50, confidence=0.95)
        >>> release.guarantee
        PureDP(epsilon='0.0594')
        """
        strategy = self._strategy(
            plan, epsilon=epsilon, delta=delta, rho=rho, error=error, confidence=confidence, rows=_guess(rows)
        )
        promise = self._cost(strategy)
        with self._lock:
            engine = self._opened()  # looks at the types of columns, which are public
            engine.check(strategy.question.plan)
            if not self._filter.admits(strategy.event):
                message = f"The query costs {promise}, and {self.remaining} is left: {_advice(self.remaining)}."
                raise BudgetExceeded(message)
            self._filter.spend(strategy.event)
            place = len(self._history)
            self._history.append(
                Entry(question=render(strategy.question.plan), event=strategy.event, cost=promise, state="failed")
            )
        released: TableRelease | None = None
        try:
            released = answer(strategy, engine, self._secret, self._source, promise)
        except CelosiaError:
            raise
        except Exception:  # noqa: BLE001, S110 - it could quote the data: raised below, where it is no longer attached
            pass
        if released is None:
            message = "The query could not be answered. It stays paid for, because data may have been read."
            raise EngineError(message)
        with self._lock:
            self._history[place] = replace(self._history[place], state="answered")
        return released

    def _strategy(
        self,
        plan: Plan,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        error: "Exact | Mapping[str, Exact] | None" = None,
        confidence: Exact = 0.95,
        rows: float | None = None,
    ) -> Strategy:
        question = question_of(plan, self._tables)
        if error is None:
            return strategy_for(question, Target.of(self._budget, epsilon=epsilon, delta=delta, rho=rho))
        if epsilon is not None or rho is not None:
            message = "Give epsilon= (or rho=) or error=, not both: the error says how much is spent."
            raise ParameterError(message)
        return strategy_within(question, self._budget, error, delta=delta, confidence=confidence, rows=rows)

    def _opened(self) -> "Engine":
        if self._engine is None:
            self._engine = open_engine(self._tables, progress=self._progress)
        return self._engine

    def _cost(self, strategy: Strategy) -> Guarantee:
        """What one query promises, in the kind of the budget."""
        single = _accountant(self._budget).spend(strategy.event).guarantee()
        return replace(single, adjacency=self._budget.adjacency, unit=self._budget.unit)

    def close(self) -> None:
        """Let go of files and connections; the next question opens them again.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> with cl.Session(deaths, budget=cl.PureDP(epsilon=1)) as session:
        ...     release = session.query().count().release(epsilon="0.1")
        """
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Session on {', '.join(self._tables)}: {self.remaining} of {self._budget} left>"


def _guess(rows: object) -> float | None:
    """A public guess of a number of rows, from a caller who may pass anything."""
    return None if rows is None else float(exact_positive(rows, name="rows"))  # type: ignore[arg-type] # looks for itself


def _by_name(tables: object) -> dict[str, Table]:
    given = [tables] if isinstance(tables, Table) else list(tables) if isinstance(tables, Sequence) else []
    if not given or not all(isinstance(table, Table) for table in given):
        message = f"tables must be a table or a list of tables made by celosia.table(...), not {quote(tables)}."
        raise ParameterError(message)
    named = {table.name: table for table in given}
    if len(named) != len(given):
        message = "Two tables have the same name: give one of them another (name=)."
        raise ParameterError(message)
    private = [table for table in given if not table.public]
    if not private:
        message = "All tables are public: there is nobody to protect."
        raise ParameterError(message)
    if len({(table.adjacency, table.person is None) for table in private}) != 1:
        message = "The private tables of a session must protect the same unit (row or person) and adjacency."
        raise ParameterError(message)
    return named


def _scoped(budget: object, table: Table, unit: str) -> Guarantee:
    if not isinstance(budget, PureDP | ApproxDP | ZCDP):
        message = f"budget must be a PureDP, an ApproxDP or a ZCDP, such as PureDP(epsilon=1), not {quote(budget)}."
        raise ParameterError(message)
    if budget.adjacency is ReplaceOne and table.adjacency is AddRemove:
        message = "The budget is for ReplaceOne, the table for AddRemove: say table(..., adjacency=ReplaceOne)."
        raise ParameterError(message)
    if budget.unit not in ("row", unit):
        message = f"The budget protects a {quote(budget.unit)}, the table a {unit}."
        raise ParameterError(message)
    return replace(budget, adjacency=table.adjacency, unit=unit)


def _accountant(budget: Guarantee) -> "BasicAccountant | PureAccountant | ZCDPAccountant":
    if isinstance(budget, ZCDP):
        return ZCDPAccountant()
    return PureAccountant() if isinstance(budget, PureDP) else BasicAccountant()


def _advice(remaining: Guarantee) -> str:
    left = remaining.rho if isinstance(remaining, ZCDP) else getattr(remaining, "epsilon", None)
    if not left:
        return "the budget is used up"
    return f"give it a smaller {'rho' if isinstance(remaining, ZCDP) else 'epsilon'}"
