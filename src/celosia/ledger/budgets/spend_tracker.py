"""What a scope has spent and may still spend: a filter that does not grow with its history.

A filter keeps every different event apart and adds them up when it is asked. Where the sum is exact (of epsilons, of
deltas, of rhos), the events so far can be replaced by one that costs exactly their sum; where an accountant keeps its
sums by itself, the events are forgotten. So asking stays as quick after a hundred thousand questions as after ten.
"""

from typing import TYPE_CHECKING, Final

from celosia.core.errors import NotPricedError
from celosia.core.structure import GuaranteedEvent

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.accounting.filters import Filter
    from celosia.core.events import Event
    from celosia.core.guarantees import Guarantee

_EXACT: Final = ("basic", "pure", "zcdp")
_MOST: Final = 64  # different events, before they are added up


class SpendTracker:
    """A filter that was opened by a policy."""

    __slots__ = ("_accountant", "_filter", "_open")

    def __init__(self, opening: "Callable[[], Filter]", accountant: str) -> None:
        self._open, self._accountant = opening, accountant
        self._filter = opening()

    def count(self, event: "Event", times: int = 1) -> None:
        """Count what has happened, also beyond the limit."""
        self._filter.count(event, times)
        if len(self._filter.events) > _MOST and not self._filter.forget() and self._accountant in _EXACT:
            self._add_up()

    def _add_up(self) -> None:
        try:
            self._filter = self._open().count(GuaranteedEvent(guarantee=self._filter.spent))
        except NotPricedError:  # a sum too small for an accountant, though its parts were not
            return

    def admits(self, event: "Event") -> bool:
        """Tell whether an event fits into what is left."""
        return self._filter.admits(event)

    def charge(self, event: "Event") -> "Guarantee":
        """Return what an event would take of what is left."""
        return self._filter.charge(event)

    @property
    def limit(self) -> "Guarantee":
        """What may be spent in all, in the accountant's own kind."""
        return self._filter.limit

    @property
    def spent(self) -> "Guarantee":
        """What was spent."""
        return self._filter.spent

    @property
    def remaining(self) -> "Guarantee":
        """What may still be spent."""
        return self._filter.remaining
