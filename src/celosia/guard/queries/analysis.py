"""From a question to a plan that is small enough, and to the session that answers it.

Every process keeps one session for each data set, for all its analysts. It opens them when it starts, and a new one
when the data set, its files or its budget have changed, once it is confirmed that the data set is what the log says.
What goes wrong while a data set is opened is told to its keepers, on the command line, and to nobody who asks: a path
or an address is none of an analyst's business.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import BudgetExceededError, CelosiaError, EngineError, LedgerError, QueryError
from celosia.core.exact import safe_repr
from celosia.core.recent import Recent
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

_MOST_PLANS: Final = 1_000


class Sessions:
    """The open sessions of a process, one for each data set."""

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
        self._plans: Recent[Plan] = Recent(_MOST_PLANS)

    def session(self, dataset: Dataset, policy: "Policy | None" = None) -> "Session":
        """Return the session on a data set as it is now, with the ``policy`` that was read with it or is read now."""
        policy = policy or self._ledger.budgets.get(Scope(dataset=dataset.name))
        if policy is None:
            raise BudgetExceededError(
                f"The data set {safe_repr(dataset.name)} has no budget yet: its owner or curator sets one."
            )
        state = (dataset.revision, policy)
        with self._lock:
            opening = self._opening.setdefault(dataset.name, threading.Lock())
        with opening:  # one thread opens it, the others wait
            found = self._open.get(dataset.name)
            if found is None or found[0] != state or not found[1].is_current():
                self._confirm(dataset)
                with self._pace.reading(dataset.name):  # how long it takes depends on the rows
                    session = _opened(dataset, self._ledger, self._pace)
                # The one before is closed when the last question to it is answered, by nobody holding it any more.
                found = self._open[dataset.name] = (state, session)
            return found[1]

    def open_all(self, datasets: Iterable[Dataset]) -> None:
        """Open the sessions of data sets that have a budget, so that no question waits for their rows to be checked."""
        for dataset in datasets:
            with contextlib.suppress(CelosiaError):  # the next question, or celosia guard dataset check, says it
                self.session(dataset)

    def plan(self, ask: QueryRequest, dataset: Dataset, session: "Session", limits: Limits) -> "Plan":
        """Return the plan of a question as ``plan_of`` does; one that was read lately is not read again."""
        key = (dataset.name, dataset.revision, ask.asked, limits)
        return self._plans.find(key, lambda: plan_of(ask, session.tables, limits))

    def forget(self, name: str) -> None:
        """Open a data set anew for the next question: its database may have lost the connection."""
        self._open.pop(name, None)

    def close(self) -> None:
        """Close all sessions."""
        while self._open:
            _, (_, session) = self._open.popitem()
            session.close()


def _opened(dataset: Dataset, ledger: "Ledger", pace: Pace) -> "Session":
    from celosia.query import Session

    session: Session | None = None
    try:
        session = Session(
            dataset.opened(),
            ledger=ledger,
            dataset=dataset.name,
            version=str(dataset.version),
            progress=_no_progress,
            pace=partial(pace.reading, dataset.name),
        )
    except LedgerError:
        raise
    except Exception:  # noqa: BLE001 - raised below, where what was said is no longer attached
        session = None
    if session is None:
        raise EngineError(
            f"The data set {safe_repr(dataset.name)} cannot be opened now; its keepers see why with celosia guard "
            "dataset check. Nothing was spent."
        )
    return session


def _no_progress(_: float) -> None:
    """Nobody watches."""


def plan_of(ask: QueryRequest, tables: "Mapping[str, Table]", limits: Limits) -> "Plan":
    """Read a question as a plan, and refuse one that is too long or has too many cells.

    Before anything else is done.
    """
    from celosia.query.planning.analysis import analyze_plan
    from celosia.query.serial.plan import plan_from_json, plan_to_json
    from celosia.query.sql.parser import parse_sql

    if ask.plan is not None:
        _check_nodes(ask.plan, limits)
        plan = plan_from_json(ask.plan)
    else:
        plan = parse_sql(ask.sql or "", tables)
        _check_nodes(plan_to_json(plan), limits)
    cells = analyze_plan(plan, tables).cells
    if cells is not None and len(cells) > limits.cells:
        raise QueryError(
            f"The answer would have {len(cells)} cells, and {limits.cells} are allowed: group by less, or list keys."
        )
    return plan


def _check_nodes(plan: Mapping[str, Any], limits: Limits) -> None:
    if count_nodes(plan, most=limits.plan_nodes) > limits.plan_nodes:
        raise QueryError(f"The question is too long: it has more than {limits.plan_nodes} parts. Ask it in several.")


_PLAIN: Final = (str, int, float, bool, type(None))


def count_nodes(plan: object, *, most: int) -> int:
    """Return how many objects a plan's JSON has, literals and all; counting stops beyond ``most``."""
    found, waiting = 0, [plan]
    while waiting and found <= most:
        one = waiting.pop()
        if isinstance(one, Mapping):
            found += 1
            waiting.extend(value for value in one.values() if not isinstance(value, _PLAIN))
        elif isinstance(one, list | tuple):
            found += sum(isinstance(value, _PLAIN) for value in one)
            waiting.extend(value for value in one if not isinstance(value, _PLAIN))
    return found
