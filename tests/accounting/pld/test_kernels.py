"""The compiled sums against sums that are written as the definitions are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting.pld.kernels import atoms_profile, atoms_renyi, match_atoms, sampled_normal_renyi

lists = st.lists(st.floats(-5, 5), min_size=1, max_size=8, unique=True)


@given(lists, lists, st.floats(0, 0.5))
def test_the_running_sums_are_the_definitions(losses: list[float], epsilons: list[float], infinity: float) -> None:
    at, rates = np.sort(losses), np.sort(epsilons)
    masses = np.full(at.size, (1 - infinity) / at.size)
    profile = atoms_profile(at, np.log(masses), infinity, rates)
    matched = match_atoms(at, np.log(masses), rates)
    for rate, height, share in zip(rates, profile, matched, strict=True):
        above = at > rate
        assert height == pytest.approx(infinity + np.sum(masses * np.maximum(1 - np.exp(rate - at), 0)), abs=1e-13)
        assert share == pytest.approx(np.sum(masses[above] * np.exp(rate - at[above])), rel=1e-12)


def test_two_losses_have_a_closed_form() -> None:
    loss_cases: list[float] = [1e-8, 1e-3, 0.3, 1.0, 40.0, 1e4]
    order_cases: list[float] = [1 + 1e-9, 1.3, 2.0, 60.0, 1e6]
    for loss in loss_cases:
        for order in order_cases:
            total = np.logaddexp(loss, 0.0)
            value = atoms_renyi(np.array([-loss, loss]), np.array([-total, loss - total]), 0.0, np.array([order]))[0]
            if order * loss > 1e-2 and order > 1.1:
                exact = np.logaddexp(order * loss, (1 - order) * loss) - total
                assert value == pytest.approx(exact / (order - 1), rel=1e-9)
            # Randomized response is (loss tanh(loss / 2))-concentrated (Bun and Steinke 2016).
            assert 0 < value <= min(loss, order * loss * np.tanh(loss / 2)) * (1 + 1e-9)


def test_the_second_order_of_a_sampled_normal_pair_is_known() -> None:
    for kind in (0, 1, 2):
        value = sampled_normal_renyi(1e-3, 1e-3, np.array([2.0]), kind)[0]
        assert value == pytest.approx(1e-12, rel=2e-3)
    assert sampled_normal_renyi(1.0, 0.1, np.array([2.0]), 0)[0] == pytest.approx(
        np.log1p(0.01 * np.expm1(1)), rel=1e-11
    )
