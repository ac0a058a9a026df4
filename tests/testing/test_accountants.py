"""Every accountant of ours passes; accountants with one planted mistake each are caught, by the law that they break."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from celosia.accounting import (
    Accountant,
    AdvancedAccountant,
    BasicAccountant,
    GDPAccountant,
    PLDAccountant,
    PureAccountant,
    RenyiAccountant,
    ZCDPAccountant,
)
from celosia.core import (
    ZCDP,
    ApproxDP,
    ConformanceError,
    GaussianEvent,
    GuaranteedEvent,
    LaplaceEvent,
    ParameterError,
    RandomizedResponseEvent,
    ReplaceOne,
)
from celosia.testing import check_accountant, witnesses

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from celosia.core import Event
    from celosia.core.exact import Exact

COUNT = LaplaceEvent(scale=2, sensitivity=1)
NOISE = GaussianEvent(variance=2, sensitivity_squared=1)


SOME = [
    witness
    for witness in witnesses()
    if isinstance(witness.event, LaplaceEvent | GaussianEvent | GuaranteedEvent | RandomizedResponseEvent)
]


LAWS = [witness.event for witness in SOME][::3]


def fixed_orders() -> RenyiAccountant:
    return RenyiAccountant([1.5, 2, 4, 8, 32])


@pytest.mark.parametrize(
    "make",
    [
        PureAccountant,
        BasicAccountant,
        AdvancedAccountant,
        ZCDPAccountant,
        RenyiAccountant,
        fixed_orders,
        GDPAccountant,
        PLDAccountant,
    ],
)
def test_every_accountant_of_ours_passes(make: Callable[[], Accountant], *, thorough: bool) -> None:
    # Every table is compared in any case. The laws concern the accountant more than the event: some events show them.
    events = [witness.event for witness in witnesses()]
    found = check_accountant(make, events=events if thorough else events[::6])
    checks = {check.name: check.found for check in found}
    assert int(checks["soundness"].split()[0]) > 60
    assert int(checks["repetition"].split()[0]) > (20 if thorough else 3)


class WithoutTimes(ZCDPAccountant):
    """Forgets how often."""

    def spend(self, event: Event, times: int = 1) -> Self:
        return super().spend(event, 1 if type(times) is int and times > 1 else times)


class EachEventOnce(PureAccountant):
    """Takes equal events for one."""

    def spend(self, event: Event, times: int = 1) -> Self:
        super().spend(event, times)
        self._counts = dict.fromkeys(self._counts, 1)
        return self


class WithoutRoot(GDPAccountant):
    """Adds squares and forgets the root."""

    def total_mu(self) -> float:
        return super().total_mu() ** 2


class WithoutSquares(GDPAccountant):
    """Adds the largest only."""

    def total_mu(self) -> float:
        return max((mu for mu, _ in self.prices), default=0.0)


class OnePercentLess(PureAccountant):
    """Rounds epsilon down."""

    def epsilon(self, delta: Exact = 0) -> float:
        return super().epsilon(delta) * 0.99


class HalfOfBoth(ZCDPAccountant):
    """Halves every epsilon, in both directions, so that they agree."""

    def epsilon(self, delta: Exact) -> float:
        return super().epsilon(delta) * 0.5

    def delta(self, epsilon: Exact) -> float:
        return super().delta(2 * epsilon if type(epsilon) is float and epsilon < math.inf else epsilon)


class DeltaIgnored(BasicAccountant):
    """Adds epsilons and forgets that events have a delta."""

    def price(self, event: Event) -> tuple[Fraction, Fraction]:
        return super().price(event)[0], Fraction(0)


class SpendsFirst(ZCDPAccountant):
    """Counts an event before it knows whether it can be priced."""

    def spend(self, event: Event, times: int = 1) -> Self:
        if self._adjacency is None:
            return super().spend(event, times)
        before = dict(self._counts)
        try:
            return super().spend(event, times)
        except Exception:
            self._counts = {known: number + 1 for known, number in before.items()}
            raise


class ForgivesOtherNeighbours(PureAccountant):
    """Adds what is said of different neighbours."""

    def _check_scope(self, event: Event) -> None:
        pass


class PricesEverything(PureAccountant):
    """Says 0 for what it does not know."""

    def price(self, event: Event) -> Fraction:
        try:
            return super().price(event)
        except Exception:  # noqa: BLE001 - the planted mistake
            return Fraction(0)


class KeepsAcrossInstances(ZCDPAccountant):
    """Has one list of events for all."""

    shared: dict[Event, int] = {}  # noqa: RUF012 - the planted mistake
    shared_prices: dict[Event, Fraction] = {}  # noqa: RUF012 - likewise

    def __init__(self) -> None:
        super().__init__()
        self._counts = self.shared
        self._prices = self.shared_prices


class TakesAnyDelta(ZCDPAccountant):
    """Answers for deltas that make no sense."""

    def epsilon(self, delta: Exact) -> float:
        try:
            return super().epsilon(delta)
        except ParameterError:
            return 0.0


class RemembersOrder(ZCDPAccountant):
    """Charges the first event twice."""

    def total(self) -> ZCDP:
        return sum((ZCDP(rho=rho) for rho, _ in self.prices[:1]), super().total())


MUTANTS: dict[type[Accountant], str] = {
    WithoutTimes: "repetition",
    EachEventOnce: "repetition|new",
    WithoutRoot: "soundness",
    WithoutSquares: "soundness|repetition|growth",
    OnePercentLess: "inverses|soundness",
    HalfOfBoth: "soundness",
    DeltaIgnored: "soundness",
    SpendsFirst: "bad input|refusals",
    ForgivesOtherNeighbours: "refusals",
    PricesEverything: "refusals",
    KeepsAcrossInstances: "new",
    TakesAnyDelta: "bad input",
    RemembersOrder: "repetition|order",
}


def test_mutants_are_caught() -> None:
    for mutant, part in MUTANTS.items():
        with pytest.raises(ConformanceError, match=rf"^({part}): "):
            check_accountant(mutant, events=LAWS, tables=SOME)


def test_a_mutant_that_loses_a_tenth_of_the_scale_is_caught() -> None:
    class TenPercentMoreNoise(GDPAccountant):
        """Believes the noise to be a tenth wider than it is."""

        def total_mu(self) -> float:
            return super().total_mu() / 1.1

    # The table of Gaussian noise is compared where the bound is tight; a single step is enough.
    with pytest.raises(ConformanceError, match="soundness: at epsilon"):
        check_accountant(TenPercentMoreNoise, events=LAWS, tables=SOME)


def test_events_of_the_caller_are_tried() -> None:
    checks = check_accountant(GDPAccountant, events=[NOISE], tables=[])
    assert {check.name: check.found for check in checks}["repetition"] == "1 events"
    approximate = GuaranteedEvent(guarantee=ApproxDP(epsilon=1, delta="1e-6", adjacency=ReplaceOne, unit="person"))
    assert check_accountant(BasicAccountant, events=[approximate], tables=[])


def test_an_accountant_that_prices_nothing_is_not_cleared() -> None:
    with pytest.raises(ParameterError, match="refused all"):
        check_accountant(PureAccountant, events=[NOISE])


def test_the_message_says_where_and_by_how_much() -> None:
    with pytest.raises(ConformanceError) as caught:
        check_accountant(HalfOfBoth, events=[COUNT])
    assert "delta is said to be" in str(caught.value)
    assert "Event(" in str(caught.value)
