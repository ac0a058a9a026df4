"""Filters refuse before, never exceed, and are unchanged by a refusal; odometers show a rung that holds."""

from __future__ import annotations

import copy
import dataclasses
import math
import os
import pickle
import typing
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting import (
    AdaptiveAccountant,
    AdvancedAccountant,
    BasicAccountant,
    Filter,
    GDPAccountant,
    Odometer,
    PLDAccountant,
    PureAccountant,
    RenyiAccountant,
    ZCDPAccountant,
)
from celosia.core import (
    ZCDP,
    ApproxDP,
    BudgetExceededError,
    Event,
    ExhaustedError,
    GaussianDP,
    GaussianEvent,
    Guarantee,
    GuaranteedEvent,
    GuaranteeMismatchError,
    LaplaceEvent,
    NotPricedError,
    ParameterError,
    PureDP,
    RenyiDP,
    RepeatedEvent,
    ReplaceOne,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.core.exact import Exact

TENTH = GuaranteedEvent(guarantee=PureDP(epsilon="0.1"))
NOISE = GaussianEvent(variance=100, sensitivity_squared=1)
ORDERS = (2, 4, 8, 16, 64)
BUDGET = ApproxDP(epsilon=1, delta="1e-6")


def renyi() -> RenyiAccountant:
    return RenyiAccountant(ORDERS)


ADAPTIVE: list[tuple[Callable[[], AdaptiveAccountant], Guarantee]] = [
    (PureAccountant, PureDP(epsilon=1)),
    (PureAccountant, BUDGET),
    (BasicAccountant, PureDP(epsilon=1)),
    (BasicAccountant, BUDGET),
    (ZCDPAccountant, ZCDP(rho="0.1")),
    (ZCDPAccountant, BUDGET),
    (renyi, RenyiDP(orders=ORDERS, epsilons=[Fraction(order, 10) for order in ORDERS])),
    (renyi, BUDGET),
    (GDPAccountant, GaussianDP(mu="0.5")),
    (GDPAccountant, BUDGET),
]


def test_a_budget_of_one_admits_exactly_ten_tenths() -> None:
    cases: list[tuple[Callable[[], AdaptiveAccountant], Guarantee]] = [
        (PureAccountant, PureDP(epsilon=1)),
        (BasicAccountant, BUDGET),
    ]
    for make, budget in cases:
        watch = Filter(make(), budget)
        for _ in range(10):
            assert watch.admits(TENTH)
            watch.spend(TENTH)
        assert not watch.admits(TENTH)
        with pytest.raises(BudgetExceededError, match="does not fit into the remaining"):
            watch.spend(TENTH)
        assert watch.events == ((TENTH, 10),)
        assert Filter(make(), budget).admits(TENTH, times=10)
        assert not Filter(make(), budget).admits(TENTH, times=11)
        assert not Filter(make(), budget).admits(RepeatedEvent(event=TENTH, times=11))


def test_sums_of_rho_and_squares_are_exact_at_the_limit() -> None:
    watch = Filter(ZCDPAccountant(), ZCDP(rho="0.1")).spend(NOISE, times=20)
    assert watch.remaining == ZCDP(rho=0)
    assert not watch.admits(GaussianEvent(variance=10**30, sensitivity_squared=1))
    curve = Filter(renyi(), RenyiDP(orders=ORDERS, epsilons=[order * 2 for order in ORDERS]))
    assert curve.admits(GuaranteedEvent(guarantee=ZCDP(rho=1)))
    assert not curve.admits(GuaranteedEvent(guarantee=ZCDP(rho=1)), times=3)


@pytest.mark.parametrize(("make", "budget"), ADAPTIVE)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from([1, 2, 5, 20, 100]), st.integers(1, 30), st.booleans()), min_size=1, max_size=12
    )
)
def test_no_adaptive_session_exceeds_its_budget(
    make: Callable[[], AdaptiveAccountant], budget: Guarantee, steps: list[tuple[int, int, bool]]
) -> None:
    watch, twin = Filter(make(), budget), make()
    for scale, times, gaussian in steps:
        event: Event = LaplaceEvent(scale=scale, sensitivity=1)
        if gaussian and not isinstance(twin, PureAccountant | BasicAccountant):
            event = GaussianEvent(variance=scale**2, sensitivity_squared=1)
        admitted = watch.admits(event, times)
        before = watch.events, watch.spent, watch.remaining
        if admitted:
            watch.spend(event, times)
            twin.spend(event, times)
        else:
            with pytest.raises(BudgetExceededError):
                watch.spend(event, times)
            assert (watch.events, watch.spent, watch.remaining) == before
    assert watch.events == twin.events
    if isinstance(budget, ApproxDP):
        spent = twin.epsilon(budget.delta) if budget.delta else twin.epsilon(0)
        assert spent <= float(budget.epsilon) * (1 + 1e-8)
    elif isinstance(budget, RenyiDP):
        assert not twin.events or twin.guarantee() <= budget
    else:
        assert isinstance(watch.spent, type(twin.guarantee()))
        assert float(next(iter(_numbers(watch.spent)))) <= float(next(iter(_numbers(budget)))) * (1 + 1e-12)


def _numbers(guarantee: Guarantee) -> tuple[Fraction, ...]:
    match guarantee:
        case PureDP(epsilon=epsilon) | ApproxDP(epsilon=epsilon):
            return (epsilon,)
        case ZCDP(rho=rho):
            return (rho,)
        case GaussianDP(mu=mu):
            return (mu,)
        case _:
            raise AssertionError


def check_it_is_no_filter(kind: type[PLDAccountant | AdvancedAccountant]) -> None:
    for reject in (
        lambda: Filter(kind(), BUDGET),  # type: ignore[arg-type]
        lambda: Odometer(kind(), delta="1e-6"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ParameterError, match="declared beforehand and must not decide when to stop"):
            reject()


def test_composition_of_what_was_declared_beforehand_is_no_filter() -> None:
    cases: list[type[PLDAccountant | AdvancedAccountant]] = [PLDAccountant, AdvancedAccountant]
    for kind in cases:
        check_it_is_no_filter(kind)


def test_the_types_say_so_too() -> None:
    # The two "type: ignore" above are needed, or mypy would call them unused: it refuses those accountants.
    for holder in (Filter, Odometer):
        assert typing.get_type_hints(holder.__init__)["accountant"] is AdaptiveAccountant
    for kind in (PLDAccountant, AdvancedAccountant):
        assert not issubclass(kind, AdaptiveAccountant)


def test_a_filter_starts_with_nothing_spent_and_takes_a_copy() -> None:
    with pytest.raises(ParameterError, match="must not have spent anything"):
        Filter(PureAccountant().spend(TENTH), PureDP(epsilon=1))
    accountant = PureAccountant()
    watch = Filter(accountant, PureDP(epsilon=1)).spend(TENTH)
    assert accountant.events == ()
    accountant.spend(TENTH, times=1000)
    assert watch.events == ((TENTH, 1),)
    assert watch.admits(TENTH, times=9)
    for spender in (None, PureAccountant, "pure"):
        with pytest.raises(ParameterError, match="accountant must be"):
            Filter(spender, PureDP(epsilon=1))  # type: ignore[arg-type]


def test_a_filter_refuses_what_its_accountant_and_its_budget_do_not_speak_of() -> None:
    watch = Filter(PureAccountant(), PureDP(epsilon=1, adjacency=ReplaceOne, unit="person"))
    with pytest.raises(GuaranteeMismatchError, match="adjacency and unit: the budget is for ReplaceOne and a person"):
        watch.spend(TENTH)
    with pytest.raises(NotPricedError):
        Filter(PureAccountant(), PureDP(epsilon=1)).admits(NOISE)
    with pytest.raises(GuaranteeMismatchError, match="has no limit for"):
        Filter(PureAccountant(), ZCDP(rho=1))
    for budget in (1.0, None, "epsilon"):
        with pytest.raises(ParameterError, match="budget must be a guarantee"):
            Filter(PureAccountant(), budget)  # type: ignore[arg-type]
    for times in (0, 1.5, True):
        with pytest.raises(ParameterError, match="times must be"):
            watch.spend(TENTH, times=times)  # type: ignore[arg-type]
    assert watch.events == ()
    own = LaplaceEvent(scale=10, sensitivity=1, adjacency=ReplaceOne, unit="person")
    assert watch.spend(own).spent == PureDP(epsilon="0.1", adjacency=ReplaceOne, unit="person")
    assert watch.remaining == PureDP(epsilon="0.9", adjacency=ReplaceOne, unit="person")
    assert watch.budget == PureDP(epsilon=1, adjacency=ReplaceOne, unit="person")
    assert "Filter by pure" in repr(watch)


def test_orders_share_delta_and_one_of_them_must_have_room() -> None:
    watch = Filter(renyi(), BUDGET)
    limit = watch.remaining
    assert isinstance(limit, RenyiDP)
    shares = [
        epsilon + math.log1p(-1 / order) - (math.log(1e-6 / len(ORDERS)) + math.log(order)) / (order - 1)
        for order, epsilon in ((float(a), float(e)) for a, e in zip(limit.orders, limit.epsilons, strict=True))
    ]
    # Each order that has room at all says (1, 1e-6 / 5) at its limit; the first ones have none.
    assert [share for share, left in zip(shares, limit.epsilons, strict=True) if left > 0] == pytest.approx(
        [1.0] * sum(left > 0 for left in limit.epsilons)
    )
    times = 0
    while watch.admits(NOISE):
        watch.spend(NOISE)
        times += 1
    curve = RenyiAccountant(ORDERS).spend(NOISE, times=times)
    assert curve.epsilon(Fraction(1, 5 * 10**6)) <= 1
    assert RenyiAccountant(ORDERS).spend(NOISE, times=times + 1).epsilon(Fraction(1, 5 * 10**6)) > 1
    # The orders that were left behind have been exceeded: that is allowed, for one that holds is enough.
    assert any(left == 0 for left in watch.remaining.epsilons)  # type: ignore[attr-defined]


def test_a_filter_needs_orders_that_stay() -> None:
    with pytest.raises(ParameterError, match="whose orders are given"):
        Filter(RenyiAccountant(), BUDGET)
    with pytest.raises(ParameterError, match="whose orders are given"):
        Odometer(RenyiAccountant(), delta="1e-6")


def outcomes(watch: Filter, here: float, there: float, steps: int, *, last: bool = True) -> list[tuple[float, float]]:
    """Return the probabilities of all ends of a session, on two neighbours.

    The analyst throws dear coins after heads and cheap ones after tails, as long as the filter lets them.
    """
    for epsilon in ("0.8", "0.3") if last else ("0.15",):
        event = GuaranteedEvent(guarantee=PureDP(epsilon=epsilon))
        if steps > 0 and watch.admits(event):
            after = copy.copy(watch).spend(event)
            heads = 1 / (1 + math.exp(-float(epsilon)))
            return [
                *outcomes(after, here * heads, there * (1 - heads), steps - 1, last=True),
                *outcomes(after, here * (1 - heads), there * heads, steps - 1, last=False),
            ]
    return [(here, there)]


def test_an_adaptive_session_is_as_private_as_its_budget_says() -> None:
    cases: list[Callable[[], AdaptiveAccountant]] = [
        PureAccountant,
        BasicAccountant,
        ZCDPAccountant,
        GDPAccountant,
        lambda: RenyiAccountant([1.3, 2, 3, 6, 20]),
    ]
    for make in cases:
        budget = ApproxDP(epsilon="1.5", delta="0.1")
        ends = outcomes(Filter(make(), budget), 1.0, 1.0, 9)
        assert math.fsum(here for here, _ in ends) == pytest.approx(1)
        assert len(ends) > 3
        for one, other in ((0, 1), (1, 0)):
            delta = math.fsum(max(end[one] - math.exp(1.5) * end[other], 0.0) for end in ends)
            assert delta <= 0.1 + 1e-12


@pytest.mark.parametrize("make", [ZCDPAccountant, renyi, GDPAccountant])
def test_odometers_show_a_rung_that_holds(make: Callable[[], AdaptiveAccountant]) -> None:
    meter, twin, last = Odometer(make(), delta="1e-6"), make(), Fraction(0)
    for variance in (10**5, 10**4, 10**3, 10**3, 10**2, 10):
        event = GaussianEvent(variance=variance, sensitivity_squared=1)
        reading = meter.spend(event).reading()
        twin.spend(event)
        assert reading.epsilon >= last
        assert reading.delta == Fraction(1, 10**6)
        assert twin.epsilon("1e-6") <= float(reading.epsilon) * (1 + 1e-9)
        assert float(reading.epsilon) <= max(0.1, 3 * twin.epsilon("1e-6"))  # not by a wide margin
        last = reading.epsilon


def test_the_shares_of_delta_add_up_to_no_more_than_delta() -> None:
    # A reading at rung r uses delta / (r (r + 1)): the rung must hold with that share alone.
    meter = Odometer(ZCDPAccountant(), delta="1e-6", first="0.5")
    meter.spend(NOISE, times=3)
    reading = meter.reading()
    rung = round(math.log(reading.epsilon / Fraction(1, 2), 1.25)) + 1
    share = Fraction(1, 10**6) / (rung * (rung + 1))
    assert ZCDPAccountant().spend(NOISE, times=3).epsilon(share) <= reading.epsilon


def test_plain_sums_are_their_own_reading() -> None:
    leaky = GuaranteedEvent(guarantee=ApproxDP(epsilon="0.1", delta="1e-9"))
    reading = Odometer(BasicAccountant(), delta="1e-6").spend(leaky, times=3).reading()
    assert reading == ApproxDP(epsilon="0.3", delta="3e-9")
    assert Odometer(PureAccountant(), delta="1e-6").spend(TENTH).reading() == ApproxDP(epsilon="0.1", delta=0)


def test_odometers_keep_the_scope_and_what_is_beyond_them_is_said() -> None:
    event = GaussianEvent(variance=1, sensitivity_squared=1, adjacency=ReplaceOne, unit="person")
    reading = Odometer(ZCDPAccountant(), delta="1e-6").spend(event).reading()
    assert (reading.adjacency, reading.unit) == (ReplaceOne, "person")
    full = Odometer(ZCDPAccountant(), delta="1e-6").spend(event, times=10**12)
    with pytest.raises(BudgetExceededError, match="exceed the last rung"):
        full.reading()


def test_an_odometer_is_unchanged_by_what_it_refuses() -> None:
    meter = Odometer(ZCDPAccountant(), delta="1e-6").spend(NOISE)
    before = meter.reading()
    with pytest.raises(NotPricedError):
        meter.spend(GuaranteedEvent(guarantee=BUDGET))
    with pytest.raises(GuaranteeMismatchError):
        meter.spend(GaussianEvent(variance=1, sensitivity_squared=1, unit="person"))
    assert meter.reading() == before


def test_bad_numbers_are_refused() -> None:
    cases: list[Exact] = [0, 1, -1, "x", True, math.nan]
    for bad in cases:
        with pytest.raises(ParameterError, match="delta must be"):
            Odometer(ZCDPAccountant(), delta=bad)
        if bad != 1:
            with pytest.raises(ParameterError, match="first must be"):
                Odometer(ZCDPAccountant(), delta="1e-6", first=bad)


def test_a_copy_of_a_filter_shares_no_spending() -> None:
    one = Filter(PureAccountant(), PureDP(epsilon=1)).spend(TENTH)
    other = copy.copy(one).spend(TENTH)
    assert (one.events, other.events) == (((TENTH, 1),), ((TENTH, 2),))


def test_the_limit_is_the_budget_in_the_accountants_own_kind() -> None:
    for make, budget in ADAPTIVE:
        watch = Filter(make(), budget)
        assert type(watch.limit) is type(watch.spent)
        assert watch.remaining <= watch.limit  # Rényi sums are doubles, rounded
        scoped = dataclasses.replace(budget, adjacency=ReplaceOne, unit="person")
        assert Filter(make(), scoped).limit == dataclasses.replace(watch.limit, adjacency=ReplaceOne, unit="person")


def test_what_has_happened_is_counted_beyond_the_limit() -> None:
    for make, budget in ADAPTIVE:
        spent = Filter(make(), budget).spend(TENTH) if Filter(make(), budget).admits(TENTH) else Filter(make(), budget)
        counted = Filter(make(), budget)
        for event, times in spent.events:
            counted.count(event, times)
        assert (counted.spent, counted.remaining, counted.events) == (spent.spent, spent.remaining, spent.events)
        over = Filter(make(), budget).count(TENTH, times=1000)
        assert over.events == ((TENTH, 1000),)
        assert not over.admits(TENTH)
        assert not over.admits(LaplaceEvent(scale=10**9, sensitivity=1))
        with pytest.raises(GuaranteeMismatchError):
            over.count(LaplaceEvent(scale=10, sensitivity=1, adjacency=ReplaceOne))


@pytest.mark.parametrize("copying", [lambda watch: watch, lambda watch: pickle.loads(pickle.dumps(watch))])
def test_a_filter_spends_in_one_process(copying: Callable[[Filter], Filter]) -> None:
    watch = Filter(PureAccountant(), PureDP(epsilon=1))
    if not (child := os.fork()):
        code = 1
        try:
            copied = copying(watch)
            assert copied.admits(TENTH)
            with pytest.raises(ExhaustedError, match="twice"):
                copied.spend(TENTH)
            code = 7 if copied.remaining == PureDP(epsilon=1) else 1
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert copy.deepcopy(watch).spend(TENTH).events == watch.spend(TENTH).events
