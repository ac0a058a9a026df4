"""PNSGD: the price is theorem 5.4's, the noise is what the event says, and nothing but the end is seen."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from celosia.accounting import best
from celosia.core import ZCDP, AddRemove, ApproxDP, EngineError, InputError, ParameterError, PureDP, RenyiDP, ReplaceOne
from celosia.core.iterations import PNSGDEvent
from celosia.learn.optimize.losses import LogisticLoss, OwnLoss, SquaredLoss
from celosia.learn.optimize.projections import Ball, Box
from celosia.learn.sgd import noisy_descent
from celosia.learn.sgd.noisy_descent import PNSGD
from celosia.learn.sgd.price import keeps
from celosia.learn.sgd.unit_rows import shorten_rows
from celosia.noise import Seeded

if TYPE_CHECKING:
    from types import TracebackType

ROWS = np.random.default_rng(1).normal(size=(50, 2)) / 3
TARGETS = np.clip(ROWS @ [1.0, -0.5], -1, 1)


def _pushed(_prediction: float, target: float) -> float:
    """A straight line: its gradient is the target, wherever the weights are."""
    return target


def _fragile(prediction: float, target: float) -> float:
    """A slope that fails for some targets, which nobody tries before."""
    if 0.4 < target < 0.6:
        raise ValueError
    return prediction - target


# ---------------------------------------------------------------------------------------------------------- the price


@settings(max_examples=50)
@given(
    radius=st.fractions(Fraction(1, 10), 10, max_denominator=100),
    sigma=st.fractions(Fraction(1, 2), 50, max_denominator=100),
    records=st.integers(1, 10**6),
    share=st.floats(0, 1),
)
def test_each_record_has_theorem_5_4(radius: Fraction, sigma: Fraction, records: int, share: float) -> None:
    """Linear regression in a ball of radius R: 2 alpha (R + 1)^2 / (sigma^2 (n + 1 - t))."""
    run = PNSGD(records=records, dimension=3, sigma=sigma, projection=Ball(radius), epochs=1, order="fixed")
    place = 1 + int(share * (records - 1))
    stated = 2 * (radius + 1) ** 2 / (sigma**2 * (records + 1 - place))
    found = run.record_guarantee(place).rho
    assert stated <= found <= stated * (1 + Fraction(1, 10**9))
    assert run.record_guarantee(records).rho <= run.guarantee.rho * (1 + Fraction(1, 10**9))  # the last fares worst
    assert run.guarantee.rho == pytest.approx(float(2 * (radius + 1) ** 2 / sigma**2))


def test_for_straight_lines_the_first_record_has_exactly_that() -> None:
    """Weights are then a sum of normals: their Rényi divergence is known, and the theorem's bound is attained."""
    records, sigma, alpha = 40, 3.0, 4.0
    run = PNSGD(
        records=records,
        dimension=1,
        sigma=sigma,
        loss=OwnLoss(_pushed, lipschitz=1, smoothness=1),
        projection=Ball(10**6),
        step_size=1,
        epochs=1,
        order="fixed",
    )
    exact = alpha * (2 * 1.0) ** 2 / (2 * records * sigma**2)
    assert alpha * float(run.record_guarantee(1).rho) == pytest.approx(exact)
    half = replace(run, lipschitz=Fraction(1, 2))  # a missing factor of 2 would not do
    assert alpha * float(half.record_guarantee(1).rho) < exact / 2
    last = [
        float(run.release(np.ones((records, 1)), np.full(records, side), source=Seeded(seed)).value[0])
        for side in (1.0, -1.0)
        for seed in range(60)
    ]
    assert np.std(last[:60]) == pytest.approx(sigma * math.sqrt(records), rel=0.35)
    assert np.mean(last[60:]) - np.mean(last[:60]) == pytest.approx(2 * records, abs=13)


def test_the_event_is_the_run() -> None:
    run = PNSGD(records=100, dimension=2, sigma=3, projection=Ball(2), step_size="0.1", epochs=4)
    assert run.event == PNSGDEvent(
        records=100,
        step_size="0.1",
        lipschitz=3,
        smoothness=1,
        variance=9,
        epochs=4,
        diameter=4,
        order="secret permutation",
    )
    assert run.event.arithmetic == "real"
    assert PNSGD(records=9, dimension=2, sigma=3, loss=LogisticLoss(), projection=Ball(9)).bound == 1


def test_without_amplification_every_use_costs_two_bounds_squared() -> None:
    for epochs in (1, 3):
        run = PNSGD(records=100, dimension=2, sigma=6, projection=Ball(2), epochs=epochs, amplification="none")
        assert run.event.arithmetic == "integer"
        assert run.guarantee.rho == epochs * 2 * Fraction(3) ** 2 / Fraction(6) ** 2
        assert run.record_guarantee(1) == run.record_guarantee(100) == run.guarantee


def test_what_is_added_without_amplification_are_whole_steps() -> None:
    run = PNSGD(
        records=1, dimension=2, sigma=2, projection=Box(-100, 100), lipschitz=1, step_size=1, amplification="none"
    )
    draws = np.array([run.release([[0.6, 0.8]], [1.0], source=Seeded(seed)).value for seed in range(400)])
    steps = -draws * 2**20
    assert np.array_equal(steps, np.rint(steps))
    noise = draws - [0.6, 0.8]
    assert np.abs(noise.mean(axis=0)).max() < 0.4
    assert noise.std() == pytest.approx(2, rel=0.1)
    assert stats.kstest(noise.ravel() / 2, "norm").pvalue > 0.001


# -------------------------------------------------------------------------------------------------------- calibration


TARGET_KINDS = [
    ZCDP(rho="0.05", adjacency=ReplaceOne),
    ApproxDP(epsilon=1, delta="1e-6", adjacency=ReplaceOne),
    RenyiDP(orders=[2, 8], epsilons=["0.1", "0.5"], adjacency=ReplaceOne),
]
KINDS: list[dict[str, Any]] = [
    {"order": "fixed"},
    {"order": "secret permutation"},
    {"order": "fixed", "stop": "secret uniform"},
    {"amplification": "none", "epochs": 2},
]


def test_calibrated_noise_is_enough_and_hardly_less_is() -> None:
    for target, kind in product(TARGET_KINDS, KINDS):
        run = PNSGD.calibrate(target, records=300, dimension=2, **kind)
        assert keeps(run.event, target)
        less = replace(run, sigma=run.sigma * Fraction(99, 100))
        assert not keeps(less.event, target)
        if isinstance(target, ApproxDP):
            assert best(run.event, target.delta).epsilon <= 1


def test_secrets_and_epochs_are_worth_it() -> None:
    target = ApproxDP(epsilon=1, delta="1e-6", adjacency=ReplaceOne)
    common: dict[str, Any] = {"records": 2000, "dimension": 2}
    one = PNSGD.calibrate(target, order="fixed", epochs=1, **common).sigma
    hundred = PNSGD.calibrate(target, order="fixed", epochs=100, **common).sigma
    secret = PNSGD.calibrate(target, epochs=100, **common).sigma
    plain = PNSGD.calibrate(target, amplification="none", epochs=100, **common).sigma
    assert one < hundred < one * Fraction(21, 20)
    assert secret < hundred * Fraction(3, 4)
    assert plain > 9 * one


def test_targets_that_normal_noise_cannot_reach() -> None:
    cases: list[Any] = [
        PureDP(epsilon=1, adjacency=ReplaceOne),
        ApproxDP(epsilon=1, delta=0, adjacency=ReplaceOne),
        1.0,
        None,
    ]
    for target in cases:
        with pytest.raises(ParameterError, match="target"):
            PNSGD.calibrate(target, records=10, dimension=1)


def test_only_replaced_records_are_protected() -> None:
    with pytest.raises(ParameterError, match="ReplaceOne"):
        PNSGD.calibrate(ZCDP(rho=1, adjacency=AddRemove), records=10, dimension=1)


# ------------------------------------------------------------------------------------------------------------ running


def test_a_release_is_repeatable_inside_and_of_the_end_alone() -> None:
    for kind in KINDS:
        run = PNSGD(records=50, dimension=2, sigma=1, projection=Ball("0.5"), **kind)
        one, two = (run.release(ROWS, TARGETS, source=Seeded(4)) for _ in range(2))
        assert np.array_equal(one.value, two.value)
        assert one.value.shape == (2,)
        assert math.hypot(*one.value) <= 0.5 + 1e-12
        assert one.seeded
        assert one.event == run.event


def test_long_rows_are_shortened_and_far_targets_cut() -> None:
    run = PNSGD(records=50, dimension=2, sigma=1, projection=Ball(1), order="fixed")
    long, far = ROWS * 1e200, TARGETS * 1e200
    unit = ROWS / np.linalg.norm(ROWS, axis=1)[:, None]
    found = run.release(long, far, source=Seeded(2)).value
    assert found == pytest.approx(run.release(unit, np.sign(TARGETS), source=Seeded(2)).value, abs=1e-9)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.floats(-1e308, 1e308), st.floats(-1e308, 1e308)), min_size=1, max_size=5))
def test_no_row_is_longer_than_one_in_exact_arithmetic(rows: list[tuple[float, float]]) -> None:
    for row in shorten_rows(np.array(rows)):
        assert sum(Fraction(value) ** 2 for value in row.tolist()) <= 1


def test_a_secret_stop_is_uniform_and_all_steps_are_run() -> None:
    """Noise-free in effect: with the push of one a step, the weight tells the number of steps."""
    run = PNSGD(
        records=4,
        dimension=1,
        sigma="1e-9",
        loss=OwnLoss(_pushed, lipschitz=1, smoothness=1),
        projection=Ball(100),
        step_size=1,
        stop="secret uniform",
    )
    source = Seeded(8)
    stops = [round(-float(run.release(np.ones((4, 1)), np.ones(4), source=source).value[0])) for _ in range(400)]
    assert set(stops) == {1, 2, 3, 4}
    assert stats.chisquare(np.bincount(stops)[1:]).pvalue > 0.001
    assert noisy_descent._chunks(10, 4, 6) == [(0, 4), (4, 6), (6, 8), (8, 10)]


def test_chunks_cover_all_steps_in_all_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noisy_descent, "_DRAWN", 7)
    run = PNSGD(
        records=5,
        dimension=1,
        sigma="1e-9",
        loss=OwnLoss(_pushed, lipschitz=1, smoothness=1),
        projection=Ball(1000),
        step_size=1,
        epochs=7,
    )
    targets = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    assert run.release(np.ones((5, 1)), targets, source=Seeded(1)).value == pytest.approx([-7 * 1.5], abs=1e-6)


def test_a_failure_tells_nothing() -> None:
    run = PNSGD(records=3, dimension=1, sigma=1, loss=OwnLoss(_fragile, lipschitz=2, smoothness=1), order="fixed")
    with pytest.raises(EngineError, match="could not be finished") as caught:
        run.release(np.ones((3, 1)), [0.1, 0.2, 0.5], source=Seeded(1))
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    trace: TracebackType | None = caught.tb
    while trace is not None:
        kept = [value for name, value in trace.tb_frame.f_locals.items() if name in ("weights", "kept")]
        assert not any(np.any(value) for value in kept)
        trace = trace.tb_next


def test_what_is_chosen_is_public_and_sensible() -> None:
    run = PNSGD(records=1000, dimension=3, sigma=5)
    assert run.passes == 1000
    assert PNSGD(records=10**6, dimension=3, sigma=5).passes == 2
    assert PNSGD(records=10**8, dimension=3, sigma=5).passes == 1
    assert PNSGD(records=1000, dimension=3, sigma=5, amplification="none").passes == 1
    assert 0 < run.step <= 1
    assert PNSGD(records=1, dimension=1, sigma="1e-3").step <= 1
    assert PNSGD(records=100, dimension=3, sigma=5, lipschitz="0.5").bound == Fraction(1, 2)
    assert PNSGD(records=100, dimension=3, sigma=5, lipschitz=50).bound == 2


# ----------------------------------------------------------------------------------------------------------- refusals


def test_parameters_that_make_no_sense() -> None:
    cases: list[tuple[str, Any]] = [
        ("records", 0),
        ("dimension", 1.5),
        ("sigma", 0),
        ("sigma", math.nan),
        ("sigma", True),
        ("loss", "squares"),
        ("projection", 3),
        ("step_size", -1),
        ("step_size", 3),
        ("epochs", 0),
        ("lipschitz", 0),
        ("lipschitz", 1e-200),
        ("sigma", 1e-200),
        ("sigma", 1e200),
        ("projection", Ball(1e200)),
        ("order", "random"),
        ("stop", "early"),
        ("amplification", "shuffling"),
    ]
    for name, value in cases:
        given: dict[str, Any] = {"records": 10, "dimension": 2, "sigma": 1, name: value}
        with pytest.raises(ParameterError, match=f"{name}|2\\^200"):
            PNSGD(**given)


def test_parameters_that_do_not_go_together() -> None:
    with pytest.raises(ParameterError, match="epochs=1"):
        PNSGD(records=10, dimension=2, sigma=1, stop="secret uniform", epochs=2)
    with pytest.raises(ParameterError, match="at most"):
        PNSGD(records=10, dimension=2, sigma=10**9, amplification="none")
    with pytest.raises(ParameterError, match="sides"):
        PNSGD(records=10, dimension=2, sigma=1, projection=Box([0, 0, 0], [1, 1, 1]))
    with pytest.raises(ParameterError, match="secret"):
        PNSGD(records=10, dimension=2, sigma=1).record_guarantee(1)
    with pytest.raises(ParameterError, match="positions"):
        PNSGD(records=10, dimension=2, sigma=1, order="fixed").record_guarantee(11)
    assert isinstance(PNSGD(records=10, dimension=2, sigma=1).loss, SquaredLoss)


def test_data_that_do_not_fit() -> None:
    cases: list[tuple[Any, Any]] = [
        (ROWS[:49], TARGETS),
        (ROWS, TARGETS[:49]),
        (ROWS[:, :1], TARGETS),
        (ROWS * math.nan, TARGETS),
        (ROWS, TARGETS + math.inf),
        ([["Ada", "Eva"]] * 50, TARGETS),
    ]
    for rows, targets in cases:
        with pytest.raises(InputError, match="rows") as caught:
            PNSGD(records=50, dimension=2, sigma=1).release(rows, targets)
        assert "Ada" not in str(caught.value)
        assert caught.value.__context__ is None
