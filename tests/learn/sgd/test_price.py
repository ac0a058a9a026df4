"""Prices of descents: the accountants' own, and the least noise found from either side."""

from fractions import Fraction
from typing import Any

import pytest

from celosia.accounting import RenyiAccountant, ZCDPAccountant, best, certificate_holds
from celosia.core import ZCDP, ApproxDP, CertifiedEvent, GaussianEvent, ParameterError, RenyiDP, ReplaceOne
from celosia.core.iterations import PNSGDEvent
from celosia.learn.sgd.price import epsilon_of, keeps, least_noise, record_guarantee, rho_of

DELTA = Fraction(1, 10**6)


def run(sigma: float = 5.0, **other: Any) -> PNSGDEvent:
    return PNSGDEvent(records=200, step_size="0.1", lipschitz=1, smoothness=1, variance=Fraction(sigma) ** 2, **other)


def test_promises_are_the_accountants() -> None:
    cases: list[Any] = ["fixed", "secret permutation"]
    for order in cases:
        event = run(order=order)
        assert rho_of(event) == ZCDPAccountant().spend(event).guarantee()
        accountant = ZCDPAccountant() if order == "fixed" else RenyiAccountant()
        assert float(epsilon_of(event, DELTA)) == pytest.approx(accountant.spend(event).epsilon(DELTA), rel=0.01)
        assert float(epsilon_of(event, DELTA)) >= best(event, DELTA).epsilon
        assert keeps(event, ApproxDP(epsilon=epsilon_of(event, DELTA), delta=DELTA, adjacency=ReplaceOne))
        almost = epsilon_of(event, DELTA) * Fraction(99, 100)
        assert not keeps(event, ApproxDP(epsilon=almost, delta=DELTA, adjacency=ReplaceOne))


@pytest.mark.parametrize("delta", ["0.585", "0.0114", "1e-5", "1e-100"])
@pytest.mark.parametrize(("sigma", "records"), [(0.935, 420), (84.3, 2), (9833.0, 383)])
def test_what_a_run_promises_is_certified(delta: str, sigma: float, records: int) -> None:
    """Accounts check it again: a difference in the last digit, in the wrong direction, would be refused there."""
    kinds: list[dict[str, Any]] = [{}, {"order": "secret permutation"}, {"stop": "secret uniform"}]
    for kind in kinds:
        event = PNSGDEvent(
            records=records, step_size="0.1", lipschitz=1, smoothness=1, variance=Fraction(sigma) ** 2, **kind
        )
        stated = epsilon_of(event, Fraction(delta))
        assert certificate_holds(CertifiedEvent(event=event, epsilon=stated, delta=delta))
        less = CertifiedEvent(event=event, epsilon=max(stated * Fraction(9, 10), Fraction(1, 2**40)), delta=delta)
        assert stated < Fraction(1, 10**6) or not certificate_holds(less)


def test_a_curve_is_kept_at_every_order() -> None:
    assert keeps(run(), RenyiDP(orders=[2, 4], epsilons=["0.1601", "0.3201"], adjacency=ReplaceOne))
    assert not keeps(run(), RenyiDP(orders=[2, 4], epsilons=["0.1601", "0.3199"], adjacency=ReplaceOne))


def test_a_certificate_is_looked_into() -> None:
    certified = CertifiedEvent(event=run(), epsilon=2, delta=DELTA)
    assert record_guarantee(certified, 200) == record_guarantee(run(), 200)
    noise = GaussianEvent(variance=4, sensitivity_squared=1, adjacency=ReplaceOne)
    assert record_guarantee(noise, 1) == ZCDP(rho="0.125", adjacency=ReplaceOne)


def test_the_least_noise_is_found_from_either_side() -> None:
    for start in ("1e-6", "0.5", "40"):
        target = ZCDP(rho=2 / Fraction(start) ** 2, adjacency=ReplaceOne)
        assert least_noise(run, target, 2**40) == pytest.approx(float(start), rel=1e-5)


def test_there_are_ends_to_the_search() -> None:
    with pytest.raises(ParameterError, match="No amount"):
        least_noise(run, ZCDP(rho="1e-9", adjacency=ReplaceOne), 2**10)
    with pytest.raises(ParameterError, match="hardly any"):
        least_noise(run, ZCDP(rho=10**30, adjacency=ReplaceOne), 2**10)
    with pytest.raises(ParameterError, match="secret"):
        record_guarantee(run(order="secret permutation"), 1)
    with pytest.raises(ParameterError, match="position"):
        record_guarantee(run(), 0)
