"""Open a ledger by its URL."""

from collections.abc import Callable
from datetime import datetime

from celosia.core.errors import ParameterError
from celosia.ledger.budgets.state import FORMAT
from celosia.ledger.ledger import Ledger
from celosia.ledger.log.lines import begin, system_clock
from celosia.ledger.reservations.reserving import draw_id
from celosia.ledger.state_reader import LedgerState
from celosia.ledger.store.store import Store


def open_ledger(url: str, *, create: bool = True, clock: Callable[[], datetime] | None = None) -> Ledger:
    """Open the ledger at a URL, or create it.

    Parameters
    ----------
    url
        ``memory://`` (gone with the process), ``sqlite:///budget.db`` (a file, for one machine) or
        ``postgresql://host/database`` (shared by many).
    create
        Whether to create a ledger that does not exist.
    clock
        Returns the time, in UTC; the system's clock by default.

    Examples
    --------
    >>> import celosia as cl
    >>> cl.open_ledger("memory://")
    <Ledger in memory>
    """
    store = Store(url, create=create)
    clock = system_clock if clock is None else clock
    try:
        if not create:
            _check_has_log(store)
        store.create(lambda connection: begin(connection, {"format": FORMAT, "ledger": draw_id()}, clock))
    except BaseException:
        store.close()
        raise
    return Ledger(LedgerState(store, clock))


def _check_has_log(store: Store) -> None:
    if not store.has_log():
        raise ParameterError("ledger.no_ledger_in_store", store=store.name)
