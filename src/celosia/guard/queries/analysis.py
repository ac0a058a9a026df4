"""Read a query as a plan within the limits, and open the session that answers it.

Each process keeps one session for each data set, shared by its analysts. It opens them at its start, and again when the
data set, its files or its budget have changed, after checking that the data set agrees with the log. Errors of opening
may contain paths and addresses: the command line shows them to the owner, analysts get a fixed message.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import BudgetExceededError, CelosiaError, EngineError, LedgerError, QueryError
from celosia.core.exact import safe_repr
from celosia.guard.config.settings import Limits
from celosia.guard.datasets.dataset import Dataset
from celosia.guard.queries.pace import Pace
from celosia.guard.queries.requests import QueryRequest
from celosia.ledger.budgets.scope import Scope

if TYPE_CHECKING:
    from celosia.data.table import Table
    from celosia.ledger import Ledger, Policy
    from celosia.query import Session
    from celosia.query.plan.nodes import Plan

_MAX_PLANS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _PlanKey:
    """Key of a plan in the cache: requests with equal compared fields have equal plans."""

    dataset: str
    revision: int
    query_digest: str
    limits: Limits
    request: QueryRequest = field(compare=False)
    tables: "Mapping[str, Table]" = field(compare=False)


def _read_keyed_plan(key: _PlanKey) -> "Plan":
    return read_plan(key.request, key.tables, key.limits)


class Sessions:
    """Open sessions of a process, one for each data set."""

    def __init__(
        self,
        ledger: "Ledger",
        pace: Pace | None = None,
        *,
        confirm: Callable[[Dataset], None] = lambda _: None,
    ) -> None:
        self._ledger = ledger
        self._confirm = confirm
        self._pace = pace or Pace(milliseconds=0)
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._open: dict[str, tuple[tuple[int, Policy], Session]] = {}
        self._read_plan = lru_cache(maxsize=_MAX_PLANS)(_read_keyed_plan)

    def session(self, dataset: Dataset, policy: "Policy | None" = None) -> "Session":
        """Return the session of the current data set, with the given ``policy`` or the current one."""
        policy = policy or self._ledger.budgets.get(Scope(dataset=dataset.name))
        if policy is None:
            raise BudgetExceededError("guard.dataset_without_budget", name=safe_repr(dataset.name))
        state = (dataset.revision, policy)
        with self._lock:
            opening = self._opening.setdefault(dataset.name, threading.Lock())
        with opening:  # one thread opens, the others wait
            found = self._open.get(dataset.name)
            if found is None or found[0] != state or not found[1].is_current():
                self._confirm(dataset)
                with self._pace.reading(dataset.name):  # how long it takes depends on the rows
                    session = _open_session(dataset, self._ledger, self._pace)
                # The previous session is closed when its last query releases it.
                found = self._open[dataset.name] = (state, session)
            return found[1]

    def open_all(self, datasets: Iterable[Dataset]) -> None:
        """Open the sessions of data sets that have a budget, so that no query waits for the check of their rows."""
        for dataset in datasets:
            with contextlib.suppress(CelosiaError):  # reported by the next query, or by celosia guard dataset check
                self.session(dataset)

    def plan(self, request: QueryRequest, dataset: Dataset, session: "Session", limits: Limits) -> "Plan":
        """Return the plan of a query as ``read_plan`` does, cached."""
        key = _PlanKey(
            dataset=dataset.name,
            revision=dataset.revision,
            query_digest=request.query_digest,
            limits=limits,
            request=request,
            tables=session.tables,
        )
        return self._read_plan(key)

    def forget(self, name: str) -> None:
        """Drop the session of a data set, so that the next query reconnects."""
        self._open.pop(name, None)

    def close(self) -> None:
        """Close all sessions."""
        while self._open:
            _, (_, session) = self._open.popitem()
            session.close()


def _open_session(dataset: Dataset, ledger: "Ledger", pace: Pace) -> "Session":
    from celosia.query import Session

    session: Session | None = None
    try:
        session = Session(
            dataset.open_tables(),
            ledger=ledger,
            dataset=dataset.name,
            version=str(dataset.version),
            progress=_no_progress,
            pace=partial(pace.reading, dataset.name),
        )
    except LedgerError:
        raise
    except Exception:  # noqa: BLE001 - raised below, without the original message
        session = None
    if session is None:
        raise EngineError("guard.dataset_not_opened", name=safe_repr(dataset.name))
    return session


def _no_progress(_: float) -> None:
    """Ignore progress."""


def read_plan(request: QueryRequest, tables: "Mapping[str, Table]", limits: Limits) -> "Plan":
    """Read a query as a plan; raise ``QueryError`` if it is too long or has too many cells."""
    from celosia.query.planning.analysis import analyze_plan
    from celosia.query.serial.plan import plan_from_json, plan_to_json
    from celosia.query.sql.parser import parse_sql

    if request.plan is not None:
        _check_nodes(request.plan, limits)
        plan = plan_from_json(request.plan)
    else:
        plan = parse_sql(request.sql or "", tables)
        _check_nodes(plan_to_json(plan), limits)
    cells = analyze_plan(plan, tables).cells
    if cells is not None and len(cells) > limits.cells:
        raise QueryError("guard.too_many_cells", cells=len(cells), most=limits.cells)
    return plan


def _check_nodes(plan: Mapping[str, Any], limits: Limits) -> None:
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
