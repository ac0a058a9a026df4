"""The result of a mechanism: the noisy value, the event, the guarantee and the error bar.

A release holds only noisy values. Its ``repr`` shows the value and the guarantee, and whether the noise came from a
repeatable stream (then it protects no one, and ledgers and servers refuse it).
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from celosia.core.errors import NoIntervalError
from celosia.core.events import Event
from celosia.core.exact import Exact, exact_level
from celosia.core.guarantees import Guarantee

if TYPE_CHECKING:
    from collections.abc import Callable

    Margin = Callable[[float], Any]
    Interval = Callable[[float], tuple[Any, Any]]

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Release(Generic[T_co]):
    """A private answer.

    ``margin(level)`` gives half the width of the error bar; mechanisms that choose rather than add noise have none.
    ``interval(level)`` gives its two ends instead, where the error bar is not symmetric.

    >>> from celosia.mechanisms import Laplace
    >>> from celosia.noise import Seeded
    >>> Laplace(epsilon=1, sensitivity=1).release(108, source=Seeded(7))
    Release(112, PureDP(epsilon=1), seeded=True)
    """

    value: T_co
    event: Event
    guarantee: Guarantee
    seeded: bool = False
    margin: "Margin | None" = field(default=None, compare=False)
    interval: "Interval | None" = field(default=None, compare=False)

    def confidence_interval(self, level: Exact = 0.95) -> tuple[Any, Any]:
        """Return the bounds between which each coordinate's true value lies with probability ``level`` or more.

        The interval covers the noise only: not sampling, and not the clipping of values.

        >>> from celosia.mechanisms import Laplace
        >>> release = Laplace(epsilon=1, sensitivity=1).release(108)
        >>> low, high = release.confidence_interval(0.95)
        >>> high - low
        6
        """
        if self.interval is not None:
            return self.interval(exact_level(level))
        if self.margin is None:
            raise NoIntervalError("core.choice_has_no_interval", event=type(self.event).__name__)
        half_width = self.margin(exact_level(level))
        value: Any = self.value
        return value - half_width, value + half_width

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Release):
            return NotImplemented
        if getattr(self.value, "shape", ()) != getattr(other.value, "shape", ()):
            return False
        same: Any = self.value == other.value
        return (
            bool(same.all() if hasattr(same, "all") else same)  # arrays compare coordinate by coordinate
            and (self.event, self.guarantee, self.seeded) == (other.event, other.guarantee, other.seeded)
        )

    def __hash__(self) -> int:
        return hash((self.event, self.guarantee, self.seeded))

    def __repr__(self) -> str:
        marks = ", seeded=True" if self.seeded else ""
        if self.event.arithmetic != "integer":  # noise that is not exact on the grid must be visible
            marks += f", arithmetic={self.event.arithmetic!r}"
        return f"Release({self.value!r}, {self.guarantee!r}{marks})"
