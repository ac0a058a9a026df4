"""Read a query as a plan within the limits, and open the session that answers it.

Each process keeps sessions for each data set, one for each query that is answered at the same time, so that no query
waits for the reading of another. It opens the first at its start, and again when the data set, its files or its budget
have changed, after checking that the data set agrees with the log. Errors of opening may contain paths and addresses:
the command line shows them to the owner, analysts get a fixed message.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import BudgetExceededError, CelosiaError, EngineError, LedgerError, QueryError
from celosia.core.exact import safe_repr
from celosia.guard.config.settings import Limits
from celosia.guard.datasets.dataset import Dataset
from celosia.guard.queries.pace import delay_end
from celosia.guard.schema.requests import QueryRequest
from celosia.ledger.budgets.scope import Scope

if TYPE_CHECKING:
    from celosia.data.table import Table
    from celosia.ledger import Ledger, Policy
    from celosia.query import PreparedQuery, Session
    from celosia.query.plan.nodes import Plan

_MAX_PLANS: Final = 1_000
_MAX_PREPARED: Final = 256
_MAX_PREPARED_CELLS: Final = 1_000  # a prepared query lists its cells


@dataclass(frozen=True, slots=True, kw_only=True)
class _PlanKey:
    """Key of a plan in the cache: requests with equal compared fields have equal plans."""

    query_digest: str
    limits: Limits
    request: QueryRequest = field(compare=False)
    tables: "Mapping[str, Table]" = field(compare=False)


def _read_keyed_plan(key: _PlanKey) -> "Plan":
    return read_plan(key.request, key.tables, key.limits)


class OpenDataset:
    """One state of a data set: its plans, prepared queries and sessions, the first and duplicates not in use.

    A state ends when the data set, its files or its budget change, and what was prepared in it ends as well.
    """

    def __init__(
        self, state: "tuple[int, Policy]", first: "Session", get_policy: "Callable[[], Policy | None]"
    ) -> None:
        self.state, self.first = state, first
        self._get_policy = get_policy
        self._idle = [first]
        self._read_plan = lru_cache(maxsize=_MAX_PLANS)(_read_keyed_plan)
        self._prepared: dict[tuple[str, Limits], PreparedQuery] = {}

    @contextlib.contextmanager
    def lend(self) -> "Iterator[Session]":
        """Yield a session that nothing else uses."""
        try:
            session = self._idle.pop()  # pop and append are atomic
        except IndexError:
            session = self.first.duplicate()
        try:
            yield session
        finally:
            self._idle.append(session)

    def plan(self, request: QueryRequest, limits: Limits) -> "Plan":
        """Return the plan of a query as ``read_plan`` does, cached."""
        tables = self.first.tables
        return self._read_plan(
            _PlanKey(query_digest=request.query_digest, limits=limits, request=request, tables=tables)
        )

    def prepare(self, request: QueryRequest, digest: str, limits: Limits) -> "PreparedQuery":
        """Analyze and price a query with this digest, cached."""
        found = self._prepared.get((digest, limits))
        if found is not None:
            return found
        found = self.first.prepare(self.plan(request, limits), **request.target())
        cells = found.strategy.analyzed.cells
        # The budget may have changed meanwhile: then the price is of another state.
        if (cells is None or len(cells) <= _MAX_PREPARED_CELLS) and self._get_policy() == self.state[1]:
            if len(self._prepared) >= _MAX_PREPARED:
                self._prepared.clear()
            self._prepared[digest, limits] = found
        return found

    def close(self) -> None:
        """Close the sessions that are not in use."""
        for session in (self.first, *self._idle):
            session.close()


class Sessions:
    """Open sessions of a process, by data set.

    Parameters
    ----------
    ledger
        The ledger of the budgets.
    options
        Further keyword arguments of every session.
    slot_milliseconds
        The slots at which the time of opening is visible; it depends on the rows.
    confirm
        Raises if a data set does not agree with the log.
    """

    def __init__(
        self,
        ledger: "Ledger",
        *,
        options: Mapping[str, Any] | None = None,
        slot_milliseconds: int = 0,
        confirm: Callable[[Dataset], None] = lambda _: None,
    ) -> None:
        self._ledger = ledger
        self._confirm = confirm
        self._options, self._slot = dict(options or {}), slot_milliseconds
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._open: dict[str, OpenDataset] = {}

    def open(self, dataset: Dataset, policy: "Policy | None" = None) -> OpenDataset:
        """Return the current data set with its sessions, for the given ``policy`` or the current one."""
        get_policy = partial(_get_policy, self._ledger, dataset.name)
        policy = policy or get_policy()
        if policy is None:
            raise BudgetExceededError("guard.dataset_without_budget", name=safe_repr(dataset.name))
        state = (dataset.revision, policy)
        with self._lock:
            opening = self._opening.setdefault(dataset.name, threading.Lock())
        with opening:  # one thread opens, the others wait
            found = self._open.get(dataset.name)
            if found is None or found.state != state or not found.first.is_current():
                self._confirm(dataset)
                with delay_end(self._slot):
                    session = _open_session(dataset, self._ledger, self._options)
                # The previous sessions are closed when their last queries release them.
                found = self._open[dataset.name] = OpenDataset(state, session, get_policy)
            return found

    def open_all(self, datasets: Iterable[Dataset]) -> None:
        """Open the sessions of data sets that have a budget, so that no query waits for the check of their rows."""
        for dataset in datasets:
            with contextlib.suppress(CelosiaError):  # reported by the next query, or by celosia guard dataset check
                self.open(dataset)

    def forget(self, name: str) -> None:
        """Drop the session of a data set, so that the next query reconnects."""
        self._open.pop(name, None)

    def close(self) -> None:
        """Close all sessions."""
        while self._open:
            _, opened = self._open.popitem()
            opened.close()


def _get_policy(ledger: "Ledger", dataset: str) -> "Policy | None":
    return ledger.budgets.get(Scope(dataset=dataset))


def _open_session(dataset: Dataset, ledger: "Ledger", options: Mapping[str, Any]) -> "Session":
    from celosia.query import Session

    session: Session | None = None
    try:
        session = Session(
            dataset.open_tables(),
            ledger=ledger,
            dataset=dataset.name,
            version=str(dataset.version),
            progress=False,
            **options,
        )
    except LedgerError:
        raise
    except Exception:  # noqa: BLE001 - raised below, without the original message
        session = None
    if session is None:
        raise EngineError("guard.dataset_not_opened", name=safe_repr(dataset.name))
    return session


def read_plan(request: QueryRequest, tables: "Mapping[str, Table]", limits: Limits) -> "Plan":
    """Read a query as a plan; raise ``QueryError`` if it is too long or has too many cells."""
    from celosia.query.planning.analysis import analyze_plan
    from celosia.query.serial.plan import plan_from_json, plan_to_json
    from celosia.query.sql.parser import parse_sql

    if request.plan is not None:
        check_nodes(request.plan, limits)
        plan = plan_from_json(request.plan)
    else:
        plan = parse_sql(request.sql or "", tables)
        check_nodes(plan_to_json(plan), limits)
    analyzed = analyze_plan(plan, tables)
    if analyzed.cells is not None and len(analyzed.cells) > limits.cells:
        raise QueryError("guard.too_many_cells", cells=len(analyzed.cells), most=limits.cells)
    if analyzed.complexity > limits.complexity:
        raise QueryError("guard.too_complex", points=analyzed.complexity, most=limits.complexity)
    return plan


def check_nodes(plan: Mapping[str, Any], limits: Limits) -> None:
    """Refuse a plan of too many nodes."""
    if count_nodes(plan, most=limits.plan_nodes) > limits.plan_nodes:
        raise QueryError("guard.question_too_long", most=limits.plan_nodes)


_SCALARS: Final = (str, int, float, bool, type(None))


def count_nodes(plan: object, *, most: int) -> int:
    """Count the objects and literals of a plan's JSON; stop beyond ``most``."""
    found, waiting = 0, [plan]
    while waiting and found <= most:
        one = waiting.pop()
        if isinstance(one, Mapping):
            found += 1
            waiting.extend(value for value in one.values() if not isinstance(value, _SCALARS))
        elif isinstance(one, list | tuple):
            found += sum(isinstance(value, _SCALARS) for value in one)
            waiting.extend(value for value in one if not isinstance(value, _SCALARS))
    return found
