"""Tables are probabilities, and show what their events allow: nearly all of it where the table is the worst case."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from celosia.accounting import basic
from celosia.core import GuaranteedEvent, LaplaceEvent, NotPricedError, ParameterError, PureDP, RandomizedResponseEvent
from celosia.testing import Witness, divergence, witnesses

COIN = Witness(event=RandomizedResponseEvent(epsilon="1.1"), here=np.array([0.75, 0.25]), there=np.array([0.25, 0.75]))


@pytest.mark.parametrize("witness", witnesses(), ids=lambda witness: type(witness.event).__name__)
def test_a_witness_keeps_what_is_known_of_its_event(witness: Witness) -> None:
    assert witness.here.sum() == pytest.approx(1, abs=1e-14)
    assert divergence([witness], 0.0) > 0.02  # it is no pair of equal tables
    try:
        epsilon, delta = basic(witness.event)
    except NotPricedError:
        return
    assert divergence([witness], float(epsilon)) <= float(delta) + 1e-14
    assert epsilon > 0


def test_the_table_of_laplace_noise_is_that_of_its_sum_over_all_outputs() -> None:
    outputs = np.arange(-500, 501)
    ratio = math.exp(-1 / 2)

    def masses(shift: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return np.asarray((1 - ratio) / (1 + ratio) * ratio ** np.abs(outputs - shift))

    [table] = [one for one in witnesses() if one.event == LaplaceEvent(scale=2, sensitivity=3)]
    for epsilon in (0.0, 0.3, 1.0, 1.4):
        brute = np.maximum(masses(3) - math.exp(epsilon) * masses(0), 0).sum()
        assert divergence([table], epsilon) == pytest.approx(brute, rel=1e-12)


def test_composition_is_the_product_of_all_outputs() -> None:
    assert (COIN @ COIN @ COIN).here.sum() == pytest.approx(1)
    assert divergence([COIN, COIN], 0.0) == pytest.approx(0.75**2 - 0.25**2)
    assert divergence([COIN], math.log(3)) == pytest.approx(0, abs=1e-15)


def test_both_directions_count() -> None:
    event = GuaranteedEvent(guarantee=PureDP(epsilon=5))
    lopsided = Witness(event=event, here=np.array([0.99, 0.01]), there=np.array([0.5, 0.5]))
    turned = Witness(event=event, here=lopsided.there, there=lopsided.here)
    for epsilon in (0.0, 0.5, 1.0, 3.0):
        assert divergence([lopsided], epsilon) == divergence([turned], epsilon)
    assert divergence([lopsided], 1.0) == pytest.approx(0.5 - math.e * 0.01)


def test_what_is_no_pair_of_tables_is_refused() -> None:
    cases: list[Any] = [
        ([0.5, 0.6], [0.5, 0.5]),
        ([1.5, -0.5], [0.5, 0.5]),
        ([1.0], [0.5, 0.5]),
        ([[0.5, 0.5]], [[0.5, 0.5]]),
    ]
    for tables in cases:
        with pytest.raises(ParameterError, match=r"here|there"):
            Witness(event=COIN.event, here=np.array(tables[0]), there=np.array(tables[1]))


def test_too_many_outputs_are_refused() -> None:
    many = np.full(2000, 1 / 2000)
    large = Witness(event=COIN.event, here=many, there=many)
    with pytest.raises(ParameterError, match="too many"):
        large @ large
