"""Sessions: tables with a budget, and the only place that pays for a query before data are read.

The order is fixed. A query is analyzed and planned from schemas alone, so an invalid query costs nothing. The account
then reserves its event, or refuses it if the budget does not suffice. Only then are the data read. From there on the
event stays spent, also after a failure, because a failure can reveal something about the data.
"""

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, cast, overload

from celosia.core.closing import Closing
from celosia.core.errors import EngineError, NotPricedError, ParameterError, QueryError
from celosia.core.exact import Exact, exact_positive
from celosia.core.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from celosia.core.release import Release
from celosia.core.strict_json import read_json
from celosia.data.table import Table
from celosia.ledger.budget_account import InMemoryBudget, settle
from celosia.ledger.non_copyable import NonCopyable
from celosia.noise.source import source_or_system
from celosia.query.answering.fitting import Fitting, check_own, plan_fitting
from celosia.query.answering.limits import MOST_ROWS, LimitsPlan, plan_limits
from celosia.query.answering.release_table import answer
from celosia.query.backend import QueryOptions, begin, draw_session
from celosia.query.batch import BatchLine, BatchPlan, BatchPreview, plan_batch, read_queries
from celosia.query.builder import Query
from celosia.query.context import SessionContext
from celosia.query.history import Entry, PreparedQuery, QueryResult, make_entry
from celosia.query.interruption import interrupt_when
from celosia.query.opening import open_account, tables_by_name
from celosia.query.plan.nodes import Plan
from celosia.query.plan.to_sql import render
from celosia.query.planning.analysis import analyze_plan
from celosia.query.planning.calibration import strategy_within
from celosia.query.planning.preview import Preview, preview_of
from celosia.query.planning.strategy import PRIVATE_KEYS, Strategy, best_of, check_noise, read_target, strategies_for
from celosia.query.serial.release import release_from_json, release_to_json
from celosia.query.sql.parser import parse_sql

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from celosia.core import Source
    from celosia.core.events import Event
    from celosia.ledger.account import Account
    from celosia.ledger.budget_account import BudgetAccount, Payment
    from celosia.ledger.budgets.release_kind import ReleaseKind
    from celosia.ledger.ledger import Ledger
    from celosia.ledger.reservations.reservation import Request, Reservation
    from celosia.query.answering.limit_suggestion import LimitSuggestion
    from celosia.query.builder import Scalar
    from celosia.query.engines.base import Engine
    from celosia.query.release import TableRelease

L = TypeVar("L")
T = TypeVar("T")

_MAX_QUESTION_LENGTH = 10_000
_FAILED = "query.query_failed_but_paid"


class Session(Closing, NonCopyable):
    """Answer queries about tables within a privacy budget.

    Parameters
    ----------
    tables
        One table or several, made by ``celosia.table``; public tables can be joined. The session checks files and
        frames row by row when it opens, so that no later query fails or slows down because of one row.
    budget
        The whole budget: ``ApproxDP``, ``PureDP`` or ``ZCDP``. By default it has the adjacency and the unit of the
        tables. A ledger may have a budget already: then leave it out, or give the same one.
    ledger
        The ledger that stores the budget, opened by ``celosia.open_ledger``. All sessions on the data set share it. It
        records what is spent, and returns the stored answer to a repeated query.
    analyst
        With a ledger: the analyst. The ledger's limits for the analyst hold beside those of the data set.
    dataset
        With a ledger: the name of the data set; by default the name of the only private table.
    version
        With a ledger: the owner's name for the current state of the data. Files also have the time of their last
        change. Without either, the ledger treats every query as new.
    source
        Source of the noise. A seeded source is for tests: every release shows it, and a ledger refuses it.
    engine
        An open engine that reads the tables; ``close`` closes it. By default the session opens the one that fits them.
    progress
        Function that receives the share of the files read so far; by default a progress bar on the terminal. False for
        none.
    pace
        Context manager entered while data are read and left before the commit. A server uses it to fix the time at
        which a result becomes visible.
    time_limit
        Seconds that the reading of data may take. A query that takes longer is interrupted; its cost stays spent.
    is_cancelled
        Function that receives the id of a reservation while its data are read, about twice a second, and returns
        whether to interrupt it.

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

    def __init__(  # noqa: PLR0913 - the options of a session, by name
        self,
        tables: "Table | Sequence[Table]",
        *,
        budget: Guarantee | None = None,
        ledger: "Ledger | None" = None,
        analyst: str | None = None,
        dataset: str | None = None,
        version: str | None = None,
        source: "Source | None" = None,
        engine: "Engine | None" = None,
        progress: "Callable[[float], None] | Literal[False] | None" = None,
        pace: "Callable[[], AbstractContextManager[object]] | None" = None,
        time_limit: float | None = None,
        is_cancelled: "Callable[[str], bool] | None" = None,
    ) -> None:
        named, noise_source = tables_by_name(tables), source_or_system(source)
        if version is not None and ledger is None:
            raise ParameterError("query.version_needs_ledger")
        if noise_source.seeded and ledger is not None:
            raise ParameterError("query.ledger_refuses_seeded_noise")
        # First the tables: unreadable ones must leave no budget in the ledger.
        limit = None if time_limit is None else float(exact_positive(time_limit, name="time_limit"))
        self._context = SessionContext(
            named, noise_source, engine=engine, version=version, progress=progress, time_limit=limit
        )
        self._account = open_account(named, budget=budget, ledger=ledger, analyst=analyst, dataset=dataset)
        self._pace: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext if pace is None else pace
        self._is_cancelled = is_cancelled
        self._costs: dict[str, Guarantee] = {}

    def for_analyst(self, name: str | None) -> "Session":
        """Return a session for another analyst, with the same tables and engine; this needs a ledger.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1), ledger=cl.open_ledger("memory://"))
        >>> release = session.for_analyst("ana").query().count().release(epsilon="0.1")
        >>> session.spent
        PureDP(epsilon='0.1')
        """
        if isinstance(self._account, InMemoryBudget):
            raise ParameterError("query.analysts_need_ledger")
        other = object.__new__(type(self))  # a copy would be this object
        other.__dict__ |= self.__dict__ | {"_costs": {}, "_account": cast("Account", self._account).for_analyst(name)}
        return other

    def duplicate(self) -> "Session":
        """Return a session with the same tables and account, whose engine can read at the same time as this one's.

        Without a ledger, the budget in memory is shared too.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
        >>> release = session.duplicate().query().count().release(epsilon="0.1")
        >>> session.spent
        PureDP(epsilon='0.1')
        """
        other = object.__new__(type(self))
        other.__dict__ |= self.__dict__ | {"_context": self._context.duplicate(), "_costs": {}}
        return other

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables by name."""
        from types import MappingProxyType

        return MappingProxyType(self._context.tables)

    def is_current(self) -> bool:
        """Return whether the files are unchanged since the session opened; if not, queries raise ``EngineError``.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> cl.Session(deaths, budget=cl.PureDP(epsilon=1)).is_current()
        True
        """
        return self._context.is_current()

    @property
    def account(self) -> "BudgetAccount":
        """The budget account: one in memory, or one of the ledger."""
        return self._account

    @property
    def budget(self) -> Guarantee:
        """The guarantee of the whole session, whatever the queries."""
        return self._account.budget

    @property
    def spent(self) -> Guarantee:
        """The budget spent so far."""
        return self._account.spent

    @property
    def remaining(self) -> Guarantee:
        """The budget left."""
        return self._account.remaining

    @property
    def history(self) -> tuple[Entry, ...]:
        """The queries so far, with their costs."""
        return tuple([make_entry(reservation, self._cost_of(reservation)) for reservation in self._account.history])

    def query(self, table: str | None = None) -> Query:
        """Begin a query about a table; the name is optional if there is only one private table.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> cl.Session(deaths, budget=cl.PureDP(epsilon=1)).query().mean("age")
        <Query SELECT AVG(age) FROM deaths>
        """
        return begin(self, table)

    @overload
    def sql(self, text: str) -> Query: ...
    @overload
    def sql(self, text: str, **target: Unpack[QueryOptions]) -> "TableRelease": ...
    def sql(self, text: str, **target: Any) -> "Query | TableRelease":
        """Parse SQL. With a target release the answer; without one return a query, to preview or release.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
        >>> session.sql("SELECT AVG(age) FROM deaths").plan == session.query().mean("age").plan
        True
        """
        query = Query(session=self, draft=parse_sql(text, self._context.tables))
        return query.release(**target) if target else query

    def preview(self, plan: Plan, *, rows: float | None = None, level: Exact = 0.95, **target: Any) -> Preview:
        """Return the cost and the expected error of a plan. Spends nothing and reads nothing private.

        ``rows`` is a public guess of the number of rows in a cell: the error of a mean depends on it.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
        >>> print(session.query().mean("age").preview(epsilon="0.5", rows=200_000))
        Cost PureDP(epsilon=0.5): fits into the remaining PureDP(epsilon=1); 1 cell.
          mean_age: Laplace noise of scale 2 times what a row can add, 100% of the cost; within ±0.003595 ...
        """
        rows = _parse_rows(rows)
        return self._preview(self._strategy(plan, rows=rows, **target), rows, level)

    def _preview(self, strategy: Strategy, rows: float | None, level: Exact) -> Preview:
        return preview_of(
            strategy,
            self._price(strategy.event, strategy),
            self.remaining,
            charge=self._account.charge(strategy.event),
            affordable=self._account.admits(strategy.event),
            rows=rows,
            level=level,
        )

    def release(  # noqa: PLR0913 - the options of a query, by name
        self,
        plan: Plan,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        error: "Exact | Mapping[str, Exact] | None" = None,
        confidence: Exact = 0.95,
        rows: float | None = None,
        request: "Request | None" = None,
    ) -> "TableRelease":
        """Pay for a plan, read the data once, and return the answer.

        With a ledger, a repeated query returns its stored answer without reading data; a repeated ``request``, by its
        key, returns its first answer and is not charged again.

        ``error`` replaces ``epsilon``: the session spends the smallest epsilon for which every number is off by at
        most that much with probability ``confidence``. Means also need ``rows``, a public guess of the rows in a cell.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
        >>> release = session.query().count().release(error=50, confidence=0.95)
        >>> release.guarantee
        PureDP(epsilon='0.0594')
        """
        target: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho, "error": error}
        result = self._ask(self.prepare(plan, confidence=confidence, rows=rows, **target), request)
        if result.release is None:
            failed = result.reservation.state == "failed"
            raise EngineError("query.request_failed_before" if failed else "query.request_not_answered")
        return result.release

    def ask(
        self, plan: Plan, *, request: "Request | None" = None, rows: float | None = None, **target: Any
    ) -> QueryResult:
        """Release a plan like ``release``, and return the reservation beside the answer.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> ledger = cl.open_ledger("memory://")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1), ledger=ledger, version="2021")
        >>> count = session.query().count().plan
        >>> session.ask(count, epsilon="0.1").reservation.state, session.ask(count, epsilon="0.1").reservation.state
        ('committed', 'repeated')
        """
        return self._ask(self.prepare(plan, rows=rows, **target), request)

    def _ask(self, prepared: PreparedQuery, request: "Request | None") -> QueryResult:
        reservation, released = self._answer(prepared, request)
        return QueryResult(
            reservation=reservation, release=_parse_stored(reservation.answer) if released is None else released
        )

    def prepare(self, plan: Plan, *, rows: float | None = None, **target: Any) -> PreparedQuery:
        """Analyze and price a plan for a target of ``release``. Spends nothing and reads nothing private.

        A prepared query can be asked again, by any analyst, while the budget of the data set stays as it is.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1), ledger=cl.open_ledger("memory://"), version="1")
        >>> prepared = session.prepare(session.query().count().plan, epsilon="0.1")
        >>> prepared.question, prepared.guarantee
        ('SELECT COUNT(*) FROM deaths', PureDP(epsilon='0.1'))
        >>> [session.ask_prepared(prepared).state for _ in range(2)]
        ['committed', 'repeated']
        """
        strategy = self._strategy(plan, rows=_parse_rows(rows), **target)
        guarantee, analyzed = self._price(strategy.event, strategy), strategy.analyzed.plan
        fingerprint = self._context.fingerprint(analyzed, strategy.event, guarantee) if self._account.caches else None
        question = _shorten(render(analyzed))
        return PreparedQuery(strategy=strategy, guarantee=guarantee, fingerprint=fingerprint, question=question)

    def ask_prepared(self, prepared: PreparedQuery, *, request: "Request | None" = None) -> "Reservation":
        """Release a prepared query like ``ask``, and return the reservation with the text of the answer.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
        >>> session.ask_prepared(session.prepare(session.query().count().plan, epsilon="0.1")).state
        'committed'
        """
        return self._answer(prepared, request)[0]

    def _answer(self, prepared: PreparedQuery, request: "Request | None") -> "tuple[Reservation, TableRelease | None]":
        """Pay for a query and read the data; a stored answer has no release beside its reservation."""
        strategy, guarantee = prepared.strategy, prepared.guarantee
        engine = self._context.check(strategy.analyzed.plan)
        reservation = self._account.reserve(
            strategy.event, question=prepared.question, fingerprint=prepared.fingerprint, request=request
        )
        if not reservation.fresh:
            return reservation, None
        self._costs[reservation.id] = guarantee
        with self._settle(reservation) as payment:
            released = answer(strategy, engine, self._context.secret, self._context.source, guarantee)
            text = _write_release(released) if self._account.caches else None
            payment.deliver(released, text)
        return replace(reservation, state="committed", answer=text), released

    def batch(
        self,
        queries: "Sequence[Query | str]",
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        weights: "Sequence[Exact] | None" = None,
    ) -> "tuple[TableRelease, ...]":
        """Answer several queries, as objects or SQL, for one target that is divided among them.

        The division minimizes the weighted sum of squared expected errors, in rows (``preview_batch`` shows them). One
        event pays for all queries before data are read; if one of them is invalid, nothing is paid. A ledger does not
        store the answers of a batch.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
        >>> count, median = session.batch(["SELECT COUNT(*) FROM deaths", session.query().median("age")], epsilon="0.5")
        >>> session.spent, len(session.history)
        (PureDP(epsilon=0.5), 1)
        """
        plan = self._plan_batch(queries, {"epsilon": epsilon, "delta": delta, "rho": rho}, weights)
        engines = [self._context.check(strategy.analyzed.plan) for strategy in plan.strategies]
        guarantees = [self._price(strategy.event, strategy) for strategy in plan.strategies]
        secret, source = self._context.secret, self._context.source

        def read() -> "tuple[TableRelease, ...]":
            parts = zip(plan.strategies, engines, guarantees, strict=True)
            return tuple(answer(strategy, engine, secret, source, guarantee) for strategy, engine, guarantee in parts)

        return self._pay(plan.event, plan.text, read)

    def preview_batch(
        self,
        queries: "Sequence[Query | str]",
        *,
        weights: "Sequence[Exact] | None" = None,
        rows: float | None = None,
        level: Exact = 0.95,
        **target: Any,
    ) -> BatchPreview:
        """Return the cost of ``batch``, and the share and expected error of each query. Spends nothing.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
        >>> few, many = "SELECT COUNT(*) FROM deaths", "SELECT AVG(age) FROM deaths"
        >>> [round(float(line.share), 2) for line in session.preview_batch([few, many], epsilon=1).lines]
        [0.44, 0.56]
        """
        plan, expected_rows = self._plan_batch(queries, target, weights), _parse_rows(rows)
        lines = tuple(
            BatchLine(
                question=render(strategy.analyzed.plan),
                share=share,
                error=error,
                preview=self._preview(strategy, expected_rows, level),
            )
            for strategy, share, error in zip(plan.strategies, plan.shares, plan.errors, strict=True)
        )
        return BatchPreview(
            cost=self._price(plan.event),
            remaining=self.remaining,
            affordable=self._account.admits(plan.event),
            lines=lines,
        )

    def _plan_batch(
        self, queries: "Sequence[Query | str]", target: Mapping[str, Any], weights: "Sequence[Exact] | None"
    ) -> BatchPlan:
        plans = read_queries(self, queries)
        return plan_batch(plans, read_target(self._limit, **target), self._strategy, weights=weights)

    def fit(
        self,
        estimator: L,
        features: Sequence[str],
        target: str | None = None,
        *,
        table: str | None = None,
        where: "Scalar | None" = None,
    ) -> L:
        """Fit an estimator of ``celosia.learn`` inside the engine, which computes the sums: no row leaves it.

        ``features`` and ``target`` are columns of the table, with the bounds of its schema; ``where`` filters rows, as
        in a query. Rows without a value in one of the columns are dropped if the schema declares that. The estimator
        has the privacy target, and the session pays. Returns the fitted estimator.

        >>> import celosia as cl
        >>> from celosia.learn import StandardScaler
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
        >>> scaler = session.fit(StandardScaler(epsilon=1), features=["age"], where="age >= 18")
        >>> session.spent, session.history[0].question
        (PureDP(epsilon=1), 'StandardScaler().fit(age) FROM deaths WHERE age >= 18')
        """
        fitting = self.plan_fit(estimator, features, target, table=table, where=where)
        release = self._measure(fitting.plan, fitting.request.event, fitting.question, fitting.measure, kind="model")
        fitted: L = fitting.finish(release.value, seeded=release.seeded)
        return fitted

    def plan_fit(
        self,
        estimator: object,
        features: Sequence[str],
        target: str | None = None,
        *,
        table: str | None = None,
        where: "Scalar | None" = None,
    ) -> Fitting:
        """Plan a fit from the schema alone, with the parameters of ``fit``. Spends nothing.

        >>> import celosia as cl
        >>> from celosia.learn import StandardScaler
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
        >>> session.plan_fit(StandardScaler(epsilon="0.5"), features=["age"]).request.guarantee
        PureDP(epsilon=0.5)
        """
        rows = begin(self, table)
        fitting = plan_fitting(estimator, rows if where is None else rows.where(where), features, target)
        check_own(estimator, self)
        return fitting

    def preview_fit(self, fitting: Fitting) -> Preview:
        """Return the cost of a planned fit, and whether the budget admits it; a model has no expected error.

        >>> import celosia as cl
        >>> from celosia.learn import StandardScaler
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
        >>> print(session.preview_fit(session.plan_fit(StandardScaler(epsilon="0.5"), features=["age"])))
        Cost PureDP(epsilon=0.5): fits into the remaining PureDP(epsilon=1); 1 cell.
        """
        event = fitting.request.event
        return Preview(
            cost=self._price(event),
            remaining=self.remaining,
            affordable=self._account.admits(event),
            cells=len(fitting.cells),
            lines=(),
            bounds=(),
            notes=(),
            level=0.95,
            complexity=fitting.request.sum_count,
        )

    def ask_fit(
        self, fitting: Fitting, write: "Callable[[Any], str]", *, specification: str, request: "Request | None" = None
    ) -> "Reservation":
        """Pay for a planned fit, and store the model as the answer; this needs a ledger.

        ``write`` returns the text of the fitted estimator. A fit that was made before, with the same ``specification``
        of its estimator, returns its stored answer, as a repeated query does; so does a repeated ``request``.

        >>> import celosia as cl
        >>> from celosia.learn import StandardScaler
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> ledger = cl.open_ledger("memory://")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1), ledger=ledger, version="2021")
        >>> fitting = session.plan_fit(StandardScaler(epsilon="0.5"), features=["age"])
        >>> [session.ask_fit(fitting, repr, specification="scaler").state for _ in range(2)]
        ['committed', 'repeated']
        """
        if not self._account.caches:
            raise ParameterError("query.stored_fits_need_ledger")
        event = fitting.request.event
        guarantee, engine, source = self._price(event), self._context.check(fitting.plan), self._context.source
        model = json.dumps([specification, fitting.question])
        fingerprint = self._context.fingerprint(fitting.plan, event, guarantee, model)
        question = _shorten(fitting.question)
        reservation = self._account.reserve(
            event, question=question, fingerprint=fingerprint, request=request, kind="model"
        )
        if not reservation.fresh:
            return reservation
        self._costs[reservation.id] = guarantee
        with self._settle(reservation) as payment:
            noisy = fitting.measure(engine, self._context.secret, source)
            text = write(fitting.finish(noisy, seeded=source.seeded))
            payment.deliver(Release(value=noisy, event=event, guarantee=guarantee, seeded=source.seeded), text)
        return replace(reservation, state="committed", answer=text)

    def suggest_limits(
        self,
        *group_by: "Scalar",
        keys: Sequence[Any] | None = None,
        where: "Scalar | None" = None,
        table: str | None = None,
        planned: Exact | None = None,
        most_rows: int = MOST_ROWS,
        **target: Any,
    ) -> "LimitSuggestion":
        """Measure privately how many groups and rows persons have; compare limits by their bias and noise.

        Parameters
        ----------
        group_by, keys, where
            The groups and rows that the limits apply to, as in a query; the groups must be public.
        table
            The table, if there are several.
        planned
            The epsilon (or rho) of a later query; by default that of this measurement.
        most_rows
            The largest limit of rows in a group to try, a power of two.
        target
            The cost: ``epsilon=``, or ``rho=`` where the budget is one.

        Examples
        --------
        >>> import celosia as cl, pyarrow as pa
        >>> from celosia.noise import Seeded
        >>> visits = cl.table(
        ...     pa.table({"who": [row // 4 for row in range(8000)], "sex": ["F", "M"] * 4000}), name="visits",
        ...     schema=cl.Schema(sex=cl.Category("F", "M")),
        ...     person="who", max_groups_per_person=1, max_rows_per_group=1,
        ... )
        >>> session = cl.Session(visits, budget=cl.PureDP(epsilon=1), source=Seeded(7))  # a real one has no source
        >>> suggestion = session.suggest_limits("sex", epsilon="0.1")
        >>> suggestion.best.groups, suggestion.best.rows  # every person has two rows in each of two groups
        (2, 2)
        >>> session = cl.Session(suggestion.apply(visits), budget=session.remaining)
        """
        plan = self._plan_limits(group_by, keys, where, table, planned, most_rows, target)
        return plan.suggest(self._measure(plan.analyzed.plan, plan.event, plan.text, plan.measure))

    def preview_limits(
        self,
        *group_by: "Scalar",
        keys: Sequence[Any] | None = None,
        where: "Scalar | None" = None,
        table: str | None = None,
        most_rows: int = MOST_ROWS,
        level: Exact = 0.95,
        **target: Any,
    ) -> Preview:
        """Return the cost of ``suggest_limits``, and the expected error of its numbers of persons.

        >>> import celosia as cl, pyarrow as pa
        >>> visits = cl.table(
        ...     pa.table({"who": [1, 1, 2], "sex": ["F", "F", "M"]}), schema=cl.Schema(sex=cl.Category("F", "M")),
        ...     name="visits", person="who", max_groups_per_person=1, max_rows_per_group=1,
        ... )
        >>> print(cl.Session(visits, budget=cl.PureDP(epsilon=1)).preview_limits("sex", epsilon="0.5"))
        Cost PureDP(epsilon=0.5, unit='person'): fits into the remaining PureDP(epsilon=1, unit='person'); 2 cells.
          persons: Laplace noise of scale 2, 100% of the cost; noise within ±6 with probability 0.95
          Note: Persons are counted in 24 buckets ...
        """
        plan = self._plan_limits(group_by, keys, where, table, None, most_rows, target)
        cost, affordable = self._price(plan.event), self._account.admits(plan.event)
        return plan.preview(cost, self.remaining, affordable=affordable, level=level)

    def _plan_limits(
        self,
        group_by: "Sequence[Scalar]",
        keys: Sequence[Any] | None,
        where: "Scalar | None",
        table: str | None,
        planned: Exact | None,
        most_rows: int,
        target: Mapping[str, Any],
    ) -> LimitsPlan:
        rows = begin(self, table)
        rows = rows if where is None else rows.where(where)
        query = (rows.group_by(*group_by, keys=keys) if group_by else rows).count()
        spent = read_target(self._limit, **target)
        later: dict[str, Any] = {"rho" if spent.rho is not None else "epsilon": planned}
        return plan_limits(
            query, spent, planned=spent if planned is None else read_target(self._limit, **later), most_rows=most_rows
        )

    def _measure(
        self,
        plan: Plan,
        event: "Event",
        question: str,
        noisy: "Callable[[Engine, Sequence[int], Source], NDArray[np.int64]]",
        kind: "ReleaseKind" = "query",
    ) -> "Release[NDArray[np.int64]]":
        """Pay for an event, read the data once, and return noisy numbers."""
        engine, source = self._context.check(plan), self._context.source
        found = self._pay(event, question, lambda: noisy(engine, self._context.secret, source), kind)
        return Release(value=found, event=event, guarantee=self._price(event), seeded=source.seeded)

    def _pay(self, event: "Event", question: str, read: "Callable[[], T]", kind: "ReleaseKind" = "query") -> T:
        """Pay for an event, read the data, and commit."""
        guarantee = self._price(event)
        reservation = self._account.reserve(event, question=_shorten(question), kind=kind)
        self._costs[reservation.id] = guarantee
        with self._settle(reservation) as payment:
            found = read()
            payment.deliver(Release(value=found, event=event, guarantee=guarantee, seeded=self._context.source.seeded))
        return found

    @contextlib.contextmanager
    def _settle(self, reservation: "Reservation") -> "Iterator[Payment]":
        """Run a block that reads data, as ``settle`` does: when it is its turn, and while it may."""
        with settle(self._account, reservation, failure=_FAILED) as payment, self._pace(), self._watch(reservation):
            yield payment

    @contextlib.contextmanager
    def _watch(self, reservation: "Reservation") -> "Iterator[None]":
        """Interrupt the engine if the time limit is reached or the query is cancelled; what fails then says so."""
        limit, ask, engine = self._context.time_limit, self._is_cancelled, self._context.engine
        if engine is None or (limit is None and ask is None):
            yield
            return
        cancelled = None if ask is None else partial(ask, reservation.id)
        with self._context.reading, interrupt_when(engine, limit, cancelled) as found:  # no other query is interrupted
            try:
                yield
            except Exception:
                if found.reason is None:
                    raise
            else:
                return
            raise EngineError(found.reason)

    def _price(self, event: "Event", strategy: Strategy | None = None) -> Guarantee:
        """Return the guarantee of one event, if the budget is of a kind that can price it."""
        try:
            return self._account.cost(event)
        except NotPricedError:
            if strategy is not None and strategy.keys is not None:
                raise QueryError(PRIVATE_KEYS) from None
            name = "rho" if isinstance(self._limit, ZCDP) else "epsilon"
            raise ParameterError(
                "query.budget_cannot_price_query", kind=type(self._limit).__name__, name=name
            ) from None

    def _cost_of(self, reservation: "Reservation") -> Guarantee:
        if reservation.id not in self._costs:
            self._costs[reservation.id] = self._account.cost(reservation.event)
        return self._costs[reservation.id]

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
        analyzed, limit = analyze_plan(plan, self._context.tables), self._limit
        if error is None:
            target = read_target(limit, epsilon=epsilon, delta=delta, rho=rho)
            return check_noise(best_of(strategies_for(analyzed, target)))
        if epsilon is not None or rho is not None:
            raise ParameterError("query.both_cost_and_error")
        return check_noise(strategy_within(analyzed, limit, error, delta=delta, confidence=confidence, rows=rows))

    @property
    def _limit(self) -> Guarantee:
        """The limit that targets refer to: in the kind of the accountant, if queries can have a target of that kind."""
        limit = self._account.limit
        return limit if isinstance(limit, PureDP | ApproxDP | ZCDP) else self._account.budget

    def close(self) -> None:
        """Close files and connections; the next query opens them again.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> with cl.Session(deaths, budget=cl.PureDP(epsilon=1)) as session:
        ...     release = session.query().count().release(epsilon="0.1")
        """
        self._context.close()

    def _repr_html_(self) -> str:
        budgets = {"budget": self.budget, "spent": self.spent, "left": self.remaining}
        return draw_session(f"Session on {', '.join(self.tables)}", budgets, self.tables.values())

    def __repr__(self) -> str:
        return f"<Session on {', '.join(self._context.tables)}: {self.remaining} of {self.budget} left>"


def _parse_rows(rows: object) -> float | None:
    """Return a public guess of a number of rows; the caller may pass anything."""
    return None if rows is None else float(exact_positive(rows, name="rows"))  # type: ignore[arg-type] # looks for itself


def _shorten(text: str) -> str:
    """Shorten the text of a query for the ledger; its fingerprint still covers all listed keys."""
    return text if len(text) <= _MAX_QUESTION_LENGTH else f"{text[: _MAX_QUESTION_LENGTH - 1]}…"


def _write_release(release: "TableRelease") -> str:
    return json.dumps(release_to_json(release), allow_nan=False, separators=(",", ":"))


def _parse_stored(text: str | None) -> "TableRelease | None":
    return None if text is None else release_from_json(read_json(text))
