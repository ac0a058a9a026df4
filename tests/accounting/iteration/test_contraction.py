"""Amplification by iteration: bounds against exact divergences of Gaussian iterations, and the way back to a grid."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from celosia.accounting.iteration.contraction import PNSGD, ContractiveIteration, iteration_curve, release_every_step
from celosia.core import AddRemove, GaussianEvent, LaplaceEvent, ParameterError, ReplaceOne
from celosia.core.errors import NotPricedError
from celosia.core.iterations import ContractiveIterationEvent, PNSGDEvent
from celosia.core.structure import ComposedEvent, RepeatedEvent

_offsets = st.integers(-200, 200).map(lambda n: n / 64)
_affine = st.lists(st.tuples(st.floats(-1, 1), _offsets, _offsets, st.floats(0.1, 5)), min_size=1, max_size=8)


def _exact(alpha: float, maps: list[tuple[float, float, float, float]], start: float = 0.0) -> float:
    """The divergence of x -> c x + d with noise of variance v from x -> c x + e: all states are normal."""
    gap, variance = start, 0.0
    for c, d, e, v in maps:
        gap, variance = c * gap + d - e, c * c * variance + v
    return alpha * gap * gap / (2 * variance)


@given(_affine, st.floats(1.01, 100))
def test_affine_gaussian_iterations_are_within_the_bound(
    maps: list[tuple[float, float, float, float]], alpha: float
) -> None:
    run = ContractiveIteration(shifts=[abs(d - e) for _, d, e, _ in maps], variances=[v for *_, v in maps])
    assert _exact(alpha, maps) <= run.renyi([alpha])[0] * (1 + 1e-12)


@given(st.floats(0.1, 3), st.lists(st.floats(0.1, 5), min_size=1, max_size=8), st.floats(1.01, 100))
def test_the_bound_is_met_when_nothing_is_contracted(shift: float, variances: list[float], alpha: float) -> None:
    """A shift in the first step, then identities: the bound is the divergence itself, so that no factor is to spare."""
    maps = [(1.0, shift if i == 0 else 0.0, 0.0, v) for i, v in enumerate(variances)]
    shifts = [shift] + [0.0] * (len(variances) - 1)
    run = ContractiveIteration(shifts=shifts, variances=variances)
    assert run.renyi([alpha])[0] == pytest.approx(_exact(alpha, maps), rel=1e-9)
    wider = ContractiveIteration(shifts=shifts, variances=[1.1 * v for v in variances])
    assert wider.renyi([alpha])[0] < _exact(alpha, maps) * 0.95, "noise overstated by a tenth is seen"


@given(_affine, _offsets.map(abs), st.floats(1.01, 100))
def test_different_beginnings_are_paid_for(
    maps: list[tuple[float, float, float, float]], start: float, alpha: float
) -> None:
    run = ContractiveIteration(shifts=[abs(d - e) for _, d, e, _ in maps], variances=[v for *_, v in maps], start=start)
    assert _exact(alpha, maps, start) <= run.renyi([alpha])[0] * (1 + 1e-12)


def test_laplace_iterations_meet_the_bound_in_one_step() -> None:
    run = ContractiveIteration(shifts=[1], scales=[2])
    inside = 2 / 3 * math.exp(0.5) + 1 / 3 * math.exp(-1)
    assert run.renyi([2.0])[0] == pytest.approx(math.log(inside), rel=1e-9)
    spread = ContractiveIteration(shifts=[1, 0, 0], scales=2)
    assert spread.renyi([2.0])[0] < run.renyi([2.0])[0] / 2


def test_a_sum_of_laplace_noises_is_within_the_bound() -> None:
    """Two steps without contraction: the noise is the sum of two Laplace variables, whose density is known."""
    x = np.linspace(-60, 60, 240_001)

    def density(y: np.ndarray) -> np.ndarray:
        return np.asarray((1 + np.abs(y)) * np.exp(-np.abs(y)) / 4)

    for alpha in (1.2, 2.0, 5.0):
        terms = density(x - 1) ** alpha * density(x) ** (1 - alpha)
        exact = math.log(integrate.trapezoid(terms, x)) / (alpha - 1)
        bound = ContractiveIteration(shifts=[1, 0], scales=1).renyi([alpha])[0]
        assert 0.5 * bound < exact <= bound


def test_one_number_stands_for_all_steps() -> None:
    run = ContractiveIteration(shifts=[1, 0, 0], variances=2)
    assert run.event.steps == ((Fraction(1), Fraction(2), 1), (Fraction(0), Fraction(2), 2))
    assert ContractiveIteration(shifts=[1, 0], variances=2, counts=[1, 2]) == run
    assert ContractiveIteration(shifts="0.5", variances="1/3").event.steps == ((Fraction(1, 2), Fraction(1, 3), 1),)
    assert ContractiveIteration(shifts=np.array([1.0, 0.0]), variances=2, counts=[1, 2]) == run  # type: ignore[arg-type]
    assert run.allocation() == ((Fraction(1, 3), 1), (Fraction(1, 3), 2))


def test_a_million_steps_cost_one_computation() -> None:
    run = ContractiveIteration(shifts=[1, 0], variances=1, counts=[1, 10**6 - 1])
    np.testing.assert_allclose(run.renyi([2.0, 3.0]), [1e-6, 1.5e-6], rtol=1e-11)
    assert len(run.event.to_json()) < 300


def test_pnsgd_by_its_name() -> None:
    run = PNSGD(records=100, step_size="0.1", lipschitz=1, smoothness=1, sigma=2, order="secret permutation")
    assert run.event == PNSGDEvent(
        records=100, step_size="0.1", lipschitz=1, smoothness=1, variance=4, order="secret permutation"
    )
    assert run.renyi([2.0])[0] < 0.1
    np.testing.assert_allclose(run.record(100, [2, 4]), [1, 2], rtol=1e-11)


# ---- the same run on a grid


def test_plain_composition_is_offered_for_pnsgd() -> None:
    event = PNSGDEvent(records=9, step_size=1, lipschitz=1, smoothness=1, variance=4, epochs=3, unit="person")
    fine = release_every_step(event, dimension=4)
    assert isinstance(fine, RepeatedEvent)
    assert fine.times == 3
    step = fine.event
    assert isinstance(step, GaussianEvent)
    assert (step.adjacency, step.unit, step.arithmetic, step.dimension) == (ReplaceOne, "person", "integer", 4)
    assert step.grid == Fraction(1, 1024)
    assert step.variance == 4 * 1024**2
    assert step.sensitivity_squared == (2 * 1024 + 2) ** 2, "rounding four coordinates moves two steps"
    once = release_every_step(PNSGDEvent(records=9, step_size=1, lipschitz=1, smoothness=1, variance=4))
    assert isinstance(once, GaussianEvent)


def test_plain_composition_is_offered_for_contractions() -> None:
    event = ContractiveIterationEvent(steps=[(1, 4, 2), (0, 4, 5), (3, 9, 1)])
    parts = release_every_step(event, grid=1)
    assert isinstance(parts, ComposedEvent)
    assert parts.adjacency is AddRemove
    assert parts.events == (
        RepeatedEvent(event=GaussianEvent(variance=4, sensitivity_squared=4), times=2),
        GaussianEvent(variance=9, sensitivity_squared=16),
    )
    apart = release_every_step(ContractiveIterationEvent(steps=[(1, 4, 2)], start=2), grid=1)
    assert isinstance(apart, ComposedEvent)
    assert apart.events[0] == GaussianEvent(variance=4, sensitivity_squared=16)
    assert apart.events[1] == GaussianEvent(variance=4, sensitivity_squared=4)
    laplace = release_every_step(ContractiveIterationEvent(steps=[(1, 4, 1)], noise="laplace"), grid=0.5, dimension=3)
    assert laplace == LaplaceEvent(scale=8, sensitivity=5, grid=0.5, dimension=3)
    nothing = release_every_step(ContractiveIterationEvent(steps=[(0, 4, 9)]))
    assert isinstance(nothing, GaussianEvent)
    assert nothing.sensitivity_squared == 0


# ---- bad input

EVENT = ContractiveIterationEvent(steps=[(1, 1, 1)])


def test_orders_are_above_one() -> None:
    orders_cases: list[Any] = [[], [1], [0.5], [math.nan], [math.inf], [2, 1], 2, "2", ["2"], [True], [[2]], None]
    event_cases: list[Any] = [EVENT, PNSGDEvent(records=2, step_size=1, lipschitz=1, smoothness=1, variance=1)]
    for orders in orders_cases:
        for event in event_cases:
            with pytest.raises(ParameterError, match=r"^orders must be"):
                iteration_curve(event, orders)


def test_other_events_are_no_iterations() -> None:
    for thing in (GaussianEvent(variance=1, sensitivity_squared=1), None, 3):
        with pytest.raises(NotPricedError, match="is not an iteration"):
            iteration_curve(thing, [2.0])  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match=r"^event must be an iteration"):
            release_every_step(thing)  # type: ignore[arg-type]


def test_iterations_without_a_meaning_are_refused() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"variances": None}, "either variances"),
        ({"scales": 1}, "either variances"),
        ({"shifts": [1, 2], "variances": [1, 2, 3]}, "of one length, not 2, 3"),
        ({"shifts": []}, "steps must be"),
        ({"shifts": [-1]}, "shift must be"),
        ({"variances": 0}, "size must be"),
        ({"counts": 0}, "count must be"),
        ({"start": -1}, "start must be"),
    ]
    for changes, message in cases:
        given: dict[str, Any] = {"shifts": [1], "variances": 1}
        with pytest.raises(ParameterError, match=message):
            ContractiveIteration(**(given | changes))


def test_allocations_are_for_orders_above_one() -> None:
    cases: list[float] = [1, 0, math.nan, -2]
    for alpha in cases:
        with pytest.raises(ParameterError, match=r"^alpha must be"):
            ContractiveIteration(shifts=[1], scales=1).allocation(alpha)


def test_pnsgd_and_plain_refuse_by_name() -> None:
    with pytest.raises(ParameterError, match=r"^sigma must be"):
        PNSGD(records=1, step_size=1, lipschitz=1, smoothness=1, sigma=0)
    with pytest.raises(ParameterError, match=r"^step_size must be"):
        PNSGD(records=1, step_size=3, lipschitz=1, smoothness=1, sigma=1)
    with pytest.raises(ParameterError, match=r"^grid must be"):
        release_every_step(EVENT, grid=0)
    with pytest.raises(ParameterError, match=r"^dimension must be"):
        release_every_step(EVENT, dimension=0)


def test_prices_beyond_the_doubles_are_refused() -> None:
    with pytest.raises(ParameterError, match="beyond the"):
        ContractiveIteration(shifts=[2**600], variances=["1e-300"]).renyi([2])
    with pytest.raises(ParameterError, match="beyond the"):
        ContractiveIteration(shifts=[2**500], variances=[1]).renyi([1e300])
