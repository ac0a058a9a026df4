"""A tracker of a scope's spending: a filter that does not grow with its history.

A filter stores every distinct event and adds them up on demand. Where the sum is exact (of epsilons, deltas or rhos),
one event of exactly that cost replaces the past events; where an accountant keeps running sums, the filter forgets
them. So a check is as quick after a hundred thousand queries as after ten.
"""

from typing import TYPE_CHECKING, Final

from celosia.core.errors import NotPricedError
from celosia.core.structure import GuaranteedEvent

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.accounting.filters import Filter
    from celosia.core.events import Event
    from celosia.core.guarantees import Guarantee

EXACT_SUMS: Final = ("basic", "pure", "zcdp")
"""The accountants whose totals are sums, also of the totals of groups."""

_MAX_DISTINCT_EVENTS: Final = 64  # beyond this number they are added up


class SpendTracker:
    """A filter opened by a policy; ``number`` is that of the counted events."""

    __slots__ = ("_accountant", "_filter", "_open", "number")

    def __init__(self, opening: "Callable[[], Filter]", accountant: str) -> None:
        self._open, self._accountant = opening, accountant
        self._filter = opening()
        self.number = 0

    def count(self, event: "Event", times: int = 1) -> None:
        """Count an event, also beyond the limit."""
        self._filter.count(event, times)
        self.number += times
        if (
            len(self._filter.events) > _MAX_DISTINCT_EVENTS
            and not self._filter.forget()
            and self._accountant in EXACT_SUMS
        ):
            self._add_up()

    def _add_up(self) -> None:
        try:
            self._filter = self._open().count(GuaranteedEvent(guarantee=self._filter.spent))
        except NotPricedError:  # the sum is too small for the accountant, though its parts are not
            return

    def admits(self, event: "Event") -> bool:
        """Return whether an event fits into the remaining budget."""
        return self._filter.admits(event)

    def charge(self, event: "Event") -> "Guarantee":
        """Return what an event would take from the remaining budget."""
        return self._filter.charge(event)

    @property
    def limit(self) -> "Guarantee":
        """The limit, in the accountant's own kind."""
        return self._filter.limit

    @property
    def spent(self) -> "Guarantee":
        """The total spent."""
        return self._filter.spent

    @property
    def remaining(self) -> "Guarantee":
        """The remaining budget."""
        return self._filter.remaining
