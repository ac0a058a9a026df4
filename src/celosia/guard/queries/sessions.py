"""Open sessions of a process: a pool for each data set, with its cached plans and prepared queries.

A session answers one query at a time, so each concurrent query borrows one of its own. The first session of a data set
is opened when the server starts, and again when the data set, its files or its budget have changed; before that, the
data set is checked against the log. Errors of opening may contain paths and addresses: the command line shows them to
the owner, and analysts get a fixed message.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import BudgetExceededError, CelosiaError, EngineError, LedgerError
from celosia.core.exact import safe_repr
from celosia.guard.config.sections import Limits
from celosia.guard.datasets.dataset import Dataset
from celosia.guard.queries.analysis import read_plan
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
    """One state of a data set, with its idle sessions and its cached plans and prepared queries.

    A change of the data set, its files or its budget ends the state, and its caches with it.
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
    def borrow_session(self) -> "Iterator[Session]":
        """Yield a session that no other query uses; duplicate the first if none is idle."""
        try:
            session = self._idle.pop()  # pop and append are atomic
        except IndexError:
            session = self.first.duplicate()
        try:
            yield session
        finally:
            self._idle.append(session)

    def plan(self, request: QueryRequest, limits: Limits) -> "Plan":
        """Return the plan of a query, from the cache or by ``read_plan``."""
        tables = self.first.tables
        return self._read_plan(
            _PlanKey(query_digest=request.query_digest, limits=limits, request=request, tables=tables)
        )

    def prepare(self, request: QueryRequest, digest: str, limits: Limits) -> "PreparedQuery":
        """Return the analyzed and priced query with this digest, from the cache if possible."""
        found = self._prepared.get((digest, limits))
        if found is not None:
            return found
        found = self.first.prepare(self.plan(request, limits), **request.target())
        cells = found.strategy.analyzed.cells
        # If the budget has changed meanwhile, the price belongs to another state and is not kept.
        if (cells is None or len(cells) <= _MAX_PREPARED_CELLS) and self._get_policy() == self.state[1]:
            if len(self._prepared) >= _MAX_PREPARED:
                self._prepared.clear()
            self._prepared[digest, limits] = found
        return found

    def close(self) -> None:
        """Close the idle sessions."""
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
        The slots to which the time of opening is rounded up, because it depends on the rows.
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
