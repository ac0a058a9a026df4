"""Privacy target of one release, the same for queries and estimators: an epsilon, perhaps with a delta, or a rho.

With an epsilon alone the guarantee is pure and the noise is Laplace; with a delta or a rho it is Gaussian, divided as a
rho. An (epsilon, delta) is certified exactly, by Gaussian privacy, unless the budget that pays is itself a rho or a
curve: there the rho that implies it costs least. ``epsilon=inf`` means no privacy at all: the baseline that private
models are compared with.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import ParameterError
from celosia.core.events import Event
from celosia.core.exact import Exact, exact_adjacency, exact_delta, exact_target
from celosia.core.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from celosia.core.structure import CertifiedEvent, ComposedEvent
from celosia.statistics.base.noise import ContributionBounds, Noise, Sensitivity

_NONE, _WHOLE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What one release may spend; without an epsilon, a delta and a rho it has no privacy.

    ``gaussian``: where there is a delta, noise is Gaussian even if Laplace noise is smaller.
    """

    epsilon: Fraction = _NONE
    delta: Fraction = _NONE
    rho: Fraction | None = None
    adjacency: Adjacency = AddRemove
    unit: str = "row"
    exact: bool = True
    gaussian: bool = False

    @classmethod
    def of(
        cls,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        adjacency: Adjacency | str | None = None,
        unit: str = "row",
        budget: Guarantee | None = None,
        exact: bool = True,
    ) -> "Target":
        """Return the target that parameters name; neighbours and unit are the budget's if there is one.

        ``exact``: whether who pays takes an (epsilon, delta) as such, and not as a rho.
        """
        if budget is not None:
            unit = budget.unit
            adjacency = budget.adjacency if adjacency is None else adjacency
            exact = exact and isinstance(budget, PureDP | ApproxDP)
        near = AddRemove if adjacency is None else exact_adjacency(adjacency)
        spent, part, other = _read_amount(epsilon, delta, rho)
        return cls(epsilon=spent, delta=part, rho=other, adjacency=near, unit=unit, exact=exact)

    @property
    def kind(self) -> Literal["pure", "approximate", "concentrated", "none"]:
        """The kind of guarantee."""
        if self.rho is not None:
            return "concentrated"
        if self.delta > 0:
            return "approximate"
        return "pure" if self.epsilon > 0 else "none"

    @property
    def private(self) -> bool:
        """Whether there is a guarantee."""
        return self.kind != "none"

    @property
    def guarantee(self) -> Guarantee | None:
        """The guarantee; None without privacy."""
        if self.rho is not None:
            return ZCDP(rho=self.rho, adjacency=self.adjacency, unit=self.unit)
        if self.delta > 0:
            return ApproxDP(epsilon=self.epsilon, delta=self.delta, adjacency=self.adjacency, unit=self.unit)
        return PureDP(epsilon=self.epsilon, adjacency=self.adjacency, unit=self.unit) if self.private else None

    @property
    def total_rho(self) -> Fraction:
        """The rho that Gaussian noise may spend.

        Given, or the largest under an exact certificate, or that implies it.
        """
        if self.rho is not None:
            return self.rho
        if self.delta == 0:
            raise ParameterError("statistics.pure_target_has_no_rho")
        from celosia.accounting.prices.certified import certified_rhos
        from celosia.accounting.prices.gaussian import largest_rho

        return next(certified_rhos(self.epsilon, self.delta)) if self.exact else largest_rho(self.epsilon, self.delta)

    def _rho(self, sensitivity: Sensitivity, width: int, share: Fraction) -> Fraction:
        """Return the rho of all noise, of which this one has a share: noise on a grid spends a little more."""
        if self.kind != "approximate" or not self.exact:
            return self.total_rho
        from celosia.accounting.prices.certified import certified_rho

        return certified_rho(self.epsilon, self.delta, Fraction(sensitivity.l2_squared), width, share)

    def noise(self, sensitivity: Sensitivity, width: int, share: Fraction = _WHOLE) -> Noise:
        """Return noise for ``width`` integers that spends a share: of epsilon if pure, else of rho.

        The whole of an (epsilon, delta) goes to whichever noise is smaller.
        """
        bounding = self.bounding
        if self.kind == "pure":
            return Noise.laplace(self.epsilon * share, sensitivity, 1, width, bounding)
        rho = self._rho(sensitivity, width, share)
        found = Noise.gaussian(rho * share, sensitivity, 1, width, bounding)
        if self.kind == "approximate" and share == 1 and not self.gaussian:
            other = Noise.laplace(self.epsilon, sensitivity, 1, width, bounding)
            return other if other.variance < found.variance else found
        return found

    @property
    def bounding(self) -> ContributionBounds:
        """One row of one unit: what data in memory are."""
        return ContributionBounds(adjacency=self.adjacency, unit=self.unit)

    def event(self, *events: Event) -> Event:
        """Return one event of all that is run, with the pair (epsilon, delta) that was meant where there is a delta."""
        together = events[0] if len(events) == 1 else ComposedEvent(events=events)
        if self.kind != "approximate":
            return together
        from celosia.core.events import LaplaceEvent

        if isinstance(together, LaplaceEvent):  # pure, and with no delta at all
            return together
        return CertifiedEvent(event=together, epsilon=self.epsilon, delta=self.delta)

    def with_amount(self, epsilon: Exact | None, delta: Exact | None = None, rho: Exact | None = None) -> "Target":
        """Return the same target with another amount, where one is given: what a forecast is made for."""
        if epsilon is None and rho is None:
            return self if delta is None or not self.private else replace(self, delta=exact_delta(delta))
        kept = self.delta if delta is None and rho is None else delta
        spent, part, other = _read_amount(epsilon, kept, rho)
        return replace(self, epsilon=spent, delta=part, rho=other)


def is_infinite(epsilon: object) -> bool:
    """Return whether an epsilon means no privacy at all."""
    return isinstance(epsilon, float) and math.isinf(epsilon) and epsilon > 0


def _read_amount(
    epsilon: Exact | None, delta: Exact | None, rho: Exact | None
) -> tuple[Fraction, Fraction, Fraction | None]:
    if rho is None and is_infinite(epsilon):
        return _NONE, _NONE, None
    return exact_target(epsilon=epsilon, delta=delta, rho=rho)
