"""The larger of two profiles is the profile of a pair."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting.pld.atoms import approximate, coins, discrete_laplace, randomized_response
from celosia.accounting.pld.envelope import envelope
from celosia.accounting.pld.loss_atoms import Atoms

EPSILONS = np.linspace(-4, 4, 401)
probabilities = st.floats(0.001, 0.999)


def two_coins(yes: float, no: float) -> Atoms:
    """One direction only."""
    losses = np.log([yes / no, (1 - yes) / (1 - no)])
    order = np.argsort(losses)
    return Atoms(losses=losses[order], masses=np.array([yes, 1 - yes])[order])


@given(probabilities, probabilities, probabilities, probabilities)
def test_the_larger_profile_everywhere(a: float, b: float, c: float, d: float) -> None:
    if abs(a - b) < 1e-6 or abs(c - d) < 1e-6:
        return
    first, second = two_coins(a, b), two_coins(c, d)
    expected = np.maximum(first.profile(EPSILONS), second.profile(EPSILONS))
    assert first.worse(second).profile(EPSILONS) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_mass_at_infinity_and_ties() -> None:
    cases: list[tuple[Atoms, Atoms]] = [
        (approximate(0.5, 0.1), randomized_response(2.0)),
        (approximate(0.5, 0.1), approximate(1.5, 0.01)),
        (approximate(1.0, 0.0), approximate(1.0, 0.3)),
        (discrete_laplace(2.0, 5), randomized_response(2.0, 3)),
        (discrete_laplace(2.0, 5), discrete_laplace(2.0, 5)),
        (approximate(1.0, 1.0), randomized_response(2.0)),
        (randomized_response(0.0), randomized_response(2.0)),
        (discrete_laplace(1e-3, 3), discrete_laplace(3.0, 40)),
    ]
    for first, second in cases:
        both = first.worse(second)
        expected = np.maximum(first.profile(EPSILONS), second.profile(EPSILONS))
        assert both.profile(EPSILONS) == pytest.approx(expected, rel=1e-10, abs=1e-290)
        assert second.worse(first).profile(EPSILONS) == pytest.approx(expected, rel=1e-10, abs=1e-290)


def test_no_more_losses_than_both_have_and_where_they_cross() -> None:
    first, second = coins(0.5, 0.25), coins(0.7, 0.6)
    losses, logs = envelope(first, second)
    assert np.all(np.diff(losses) >= 0)
    assert np.exp(logs).sum() == pytest.approx(1)


def one_deep_loss(depth: float, share: float) -> Atoms:
    """Q has ``share`` at the loss ``-depth``, P next to nothing."""
    inside = share * np.exp(-depth)
    losses = np.array([-depth, np.log1p(-inside) - np.log1p(-share)])
    return Atoms(losses=losses, masses=np.array([inside, 1 - inside]))


def test_the_other_direction_has_all_its_digits() -> None:
    for deep, wide in ((28.0, 26.0), (45.0, 34.0), (50.0, 40.0), (300.0, 40.0)):
        # Both profiles are 1 but for e^-40 where one overtakes the other; from the other side it is half of everything.
        first, second = one_deep_loss(deep, 0.5), one_deep_loss(wide, 0.9)
        epsilons = np.array([0.0, 1.0, wide - 1, (deep + wide) / 2, deep - 1])
        expected = np.maximum(first.swap().profile(epsilons), second.swap().profile(epsilons))
        assert expected[3] > 0.3
        assert first.worse(second).swap().profile(epsilons) == pytest.approx(expected, rel=1e-10)
        assert second.worse(first).swap().profile(epsilons) == pytest.approx(expected, rel=1e-10)
