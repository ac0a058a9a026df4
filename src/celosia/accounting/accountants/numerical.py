"""The numerical accountant: privacy-loss distributions, convolved.

This is the tightest accountant for a list of events declared beforehand. For discrete mechanisms it is exact up to a
grid that rounds towards less privacy. It is not an ``AdaptiveAccountant``: spending until the composed delta reaches a
limit lets the stopping time depend on the answers, and no theorem covers that.

Sommer, Meiser and Mohammadi 2019; Koskela, Jälkö and Honkela 2020; Doroshenko et al. 2022 (the grid); composed by
Google's dp-accounting.
"""

from typing import TYPE_CHECKING, ClassVar

from celosia.accounting.accountants.base import Accountant, exact_bound, exact_delta
from celosia.accounting.pld.composition import LossDistribution
from celosia.accounting.prices.dominating import dominating, loss_distribution
from celosia.core import Event, NotPricedError, ParameterError
from celosia.core.exact import Exact, double_at_most, safe_repr

if TYPE_CHECKING:
    from celosia.accounting.pld.discretise import Pair


class PLDAccountant(Accountant):
    """Privacy-loss distributions of the dominating pairs, composed.

    >>> from celosia.core import LaplaceEvent
    >>> spent = PLDAccountant().spend(LaplaceEvent(scale=10, sensitivity=1), times=1000)
    >>> round(spent.epsilon(1e-5), 2)
    17.79
    """

    name: ClassVar[str] = "pld"
    __slots__ = ("_composed",)

    def __init__(self) -> None:
        super().__init__()
        self._composed: tuple[tuple[tuple[Event, int], ...], LossDistribution] | None = None

    def price(self, event: Event) -> "Pair":
        """Return a pair of distributions that dominates the event."""
        return dominating(event)

    def _distribution(self) -> LossDistribution:
        if self._composed is None or self._composed[0] != self.events:
            # In a fixed order, because rounding is not quite commutative.
            ordered = sorted(self.events, key=lambda part: part[0].to_json())
            parts = [(self._prices[event], times) for event, times in ordered]
            try:
                self._composed = (self.events, loss_distribution(parts))
            except ParameterError as error:  # more events, or larger losses, than a grid can hold
                raise NotPricedError("accounting.no_loss_distribution", error=error) from error
        return self._composed[1]

    def epsilon(self, delta: Exact) -> float:
        """Return the epsilon of the composed distribution at ``delta``.

        >>> from celosia.core import LaplaceEvent
        >>> PLDAccountant().spend(LaplaceEvent(scale=1, sensitivity=1)).epsilon(0.1) <= 1
        True
        """
        allowed = double_at_most(exact_delta(delta))
        if not self._counts:
            return 0.0
        composed = self._distribution()
        if allowed < composed.floor:
            raise NotPricedError("accounting.delta_below_numerical_floor", delta=safe_repr(delta))
        return composed.epsilon(allowed)

    def delta(self, epsilon: Exact) -> float:
        """Return the delta of the composed distribution at ``epsilon``.

        >>> from celosia.core import LaplaceEvent
        >>> round(PLDAccountant().spend(LaplaceEvent(scale=1, sensitivity=1)).delta(0), 3)
        0.462
        """
        bound = double_at_most(exact_bound(epsilon))
        return self._distribution().delta(bound) if self._counts else 0.0
