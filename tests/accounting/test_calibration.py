"""The noise that is found is enough, hardly less is not, and dp-accounting finds the same."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import dp_accounting
import pytest
from dp_accounting.pld import PLDAccountant as ReferenceAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.accounting import Calibration, ZCDPAccountant, best, calibrate
from celosia.accounting.prices.gaussian import smallest_variance
from celosia.core import (
    ZCDP,
    ApproxDP,
    Event,
    GaussianDP,
    GaussianEvent,
    Guarantee,
    GuaranteeMismatchError,
    LaplaceEvent,
    NotPricedError,
    ParameterError,
    PoissonSampledEvent,
    PureDP,
    RenyiDP,
    RepeatedEvent,
    ReplaceOne,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.core.exact import Exact

GRID = 2**20


def noise(sigma: float) -> Event:
    return GaussianEvent(variance=sigma**2, sensitivity_squared=1)


def fine_noise(sigma: float) -> GaussianEvent:
    return GaussianEvent(variance=(sigma * GRID) ** 2, sensitivity_squared=GRID**2)


def count(scale: float) -> Event:
    return LaplaceEvent(scale=scale, sensitivity=1)


def holds(found: Calibration, target: Guarantee, tolerance: float = 1e-4) -> bool:
    return found.achieved <= target and found.noise / (1 + tolerance) <= found.too_small < found.noise


def test_every_kind_of_target() -> None:
    cases: list[tuple[Callable[[float], Event], Guarantee, float]] = [
        (count, PureDP(epsilon="0.5"), 2.0),
        (count, ApproxDP(epsilon="0.5", delta=0), 2.0),
        (noise, ZCDP(rho="0.125"), 2.0),
        (fine_noise, GaussianDP(mu="0.25"), 4.0),
        (noise, RenyiDP(orders=("1.1", 3), epsilons=("0.5", "0.375")), 2.0),
    ]
    for make, target, expected in cases:
        found = calibrate(make, target)
        assert holds(found, target)
        assert found.noise == pytest.approx(expected, rel=2e-4)
        assert found.event == make(found.noise)
        assert not calibrate_would_accept(make, target, found.too_small)


def calibrate_would_accept(make: Callable[[float], Event], target: Guarantee, amount: float) -> bool:
    if isinstance(target, ZCDP):
        return ZCDPAccountant().spend(make(amount)).guarantee() <= target
    if isinstance(target, ApproxDP) and target.delta > 0:
        return best(make(amount), target.delta).guarantee <= target
    return False


@settings(max_examples=5)
@given(st.floats(0.2, 5), st.sampled_from(["1e-3", "1e-6", "1e-9"]))
def test_one_gaussian_number_is_calibrated_as_its_mechanism_is(epsilon: float, delta: str) -> None:
    # Thirty-two steps apart, for beside noise of hardly one step the profile rises and falls with sigma.
    def wide(sigma: float) -> Event:
        return GaussianEvent(variance=sigma**2, sensitivity_squared=32**2)

    target = ApproxDP(epsilon=epsilon, delta=delta)
    found = calibrate(wide, target, tolerance="1e-3")
    assert holds(found, target, 1e-3)
    exact = math.sqrt(smallest_variance(target.epsilon, target.delta, 32))
    assert found.noise == pytest.approx(exact, rel=2e-3)
    assert not calibrate_would_accept(wide, target, found.too_small)


def test_training_needs_as_much_noise_as_dp_accounting_says() -> None:
    # (epsilon, delta) = (2, 1e-5) with q = 0.01 and 1,000 steps.
    def run(sigma: float) -> Event:
        step = PoissonSampledEvent(event=fine_noise(sigma), probability="0.01")
        return RepeatedEvent(event=step, times=1000)

    target = ApproxDP(epsilon=2, delta="1e-5")
    found = calibrate(run, target, start="0.9", tolerance="5e-3")
    assert holds(found, target, 5e-3)

    def reference(sigma: float) -> float:
        accountant = ReferenceAccountant(value_discretization_interval=1e-3)
        step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(sigma))
        return float(accountant.compose(step, 1000).get_epsilon(1e-5))

    assert reference(found.noise) <= 2 * (1 + 1e-3)
    assert reference(found.noise * 0.99) > 2
    assert found.accountant == "pld"


def test_the_amount_may_be_anything_that_grows_with_privacy() -> None:
    fewer = calibrate(
        lambda share: RepeatedEvent(event=count(10), times=max(1, round(1000 / share))), PureDP(epsilon=10)
    )
    assert fewer.achieved <= PureDP(epsilon=10)
    assert fewer.noise == pytest.approx(1000 / 100.5, rel=1e-3)


def test_the_start_does_not_matter() -> None:
    cases: list[Exact] = [1e-9, "1/1000", 1, 10**6]
    for start in cases:
        found = calibrate(count, PureDP(epsilon=4), start=start)
        assert found.noise == pytest.approx(0.25, rel=2e-4)


def test_noise_that_no_theorem_covers_is_not_enough() -> None:
    # A mu of 5 takes so little noise that half of it proves nothing on the grid.
    found = calibrate(noise, GaussianDP(mu=5))
    assert found.achieved <= GaussianDP(mu=5)
    large = ApproxDP(epsilon=20, delta="1e-5")
    assert calibrate(noise, large, tolerance="1e-2").achieved <= large


def test_a_target_that_cannot_be_reached_is_said() -> None:
    with pytest.raises(ParameterError, match="No amount of noise reaches the target"):
        calibrate(lambda _: count(1), PureDP(epsilon="0.5"))
    with pytest.raises(ParameterError, match="hardly any noise"):
        calibrate(lambda _: count(1), PureDP(epsilon=2))
    with pytest.raises(NotPricedError):
        calibrate(noise, PureDP(epsilon=1))


def test_other_neighbours_and_units_are_refused() -> None:
    for target in (PureDP(epsilon=1, adjacency=ReplaceOne), PureDP(epsilon=1, unit="person")):
        with pytest.raises(GuaranteeMismatchError, match="target: it is for"):
            calibrate(count, target)


def test_bad_targets_are_refused() -> None:
    cases: list[Any] = [1.0, None, "epsilon", (1, 1e-6)]
    for target in cases:
        with pytest.raises(ParameterError, match="target must be a guarantee"):
            calibrate(count, target)


def test_bad_functions_are_refused() -> None:
    with pytest.raises(ParameterError, match="make must be a function"):
        calibrate(count(1), PureDP(epsilon=1))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="make must return an event"):
        calibrate(lambda amount: amount, PureDP(epsilon=1))  # type: ignore[arg-type,return-value]


def test_bad_numbers_are_refused() -> None:
    cases: list[Exact] = [0, -1, math.nan, math.inf, "x", True]
    for bad in cases:
        with pytest.raises(ParameterError, match="start must be"):
            calibrate(count, PureDP(epsilon=1), start=bad)
        with pytest.raises(ParameterError, match="tolerance must be"):
            calibrate(count, PureDP(epsilon=1), tolerance=bad)
