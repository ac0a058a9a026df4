from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import check_estimator

import celosia as cl
from celosia.core import BudgetExceededError, InputError, LaplaceEvent, ParameterError, UnboundedDataError
from celosia.learn.functional.coefficients import Coefficients
from celosia.learn.functional.functional_mechanism import FunctionalMechanism
from celosia.learn.functional.objective import linear_objective
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded

if TYPE_CHECKING:
    from numpy.typing import NDArray

RNG = np.random.default_rng(9)
X: NDArray[np.float64] = RNG.uniform([0.0, 10.0], [4.0, 30.0], size=(4000, 2))
Y: NDArray[np.float64] = 1 + 0.5 * X[:, 0] - 0.1 * X[:, 1] + RNG.normal(0, 0.1, 4000)
LABELS: NDArray[np.float64] = (RNG.uniform(size=4000) < 1 / (1 + np.exp(-(X[:, 0] - 2)))).astype(np.float64)
BOUNDS = ([0, 10], [4, 30])
SQUARES: dict[str, Any] = {"bounds": BOUNDS, "bounds_y": (-4, 4)}


def scaled() -> NDArray[np.float64]:
    return np.asarray((X - [0.0, 10.0]) / [4.0, 20.0])


def test_scikit_learn_finds_nothing_to_complain_about() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(FunctionalMechanism(bounds=(-10, 10), bounds_y=(-10, 10)), on_fail=None)
    assert [result["check_name"] for result in results if result["status"] == "failed"] == []


def test_with_hardly_any_noise_it_is_least_squares() -> None:
    objective_cases: list[Any] = ["linear", lambda w, x, y: (y - sum(a * b for a, b in zip(w, x, strict=True))) ** 2]
    for ones, objective in product((False, True), objective_cases):
        plain = LinearRegression(fit_intercept=ones).fit(scaled(), (Y + 4) / 8)
        expected = [plain.intercept_, *plain.coef_] if ones else plain.coef_
        for epsilon in (60_000, math.inf):
            model = FunctionalMechanism(objective, epsilon=epsilon, fit_intercept=ones, source=Seeded(1), **SQUARES)
            np.testing.assert_allclose(model.fit(X, Y).coef_, expected, atol=1e-3 if epsilon < math.inf else 1e-9)
        assert model.event_ is None
        assert model.guarantee_ is None


def test_the_noisy_polynomial_is_told_and_is_that_of_the_data_but_for_its_noise() -> None:
    model = FunctionalMechanism("linear", epsilon=1, source=Seeded(5), **SQUARES).fit(X, Y)
    plain = FunctionalMechanism("linear", epsilon=math.inf, **SQUARES).fit(X, Y)
    assert model.monomials_ == ["w0", "w1", "w0 w0", "w0 w1", "w1 w1"]
    off = np.abs(model.coefficients_ - plain.coefficients_)
    assert (off > 0).all()
    assert (off < 12 * model.noise_scale_).all()
    np.testing.assert_allclose(model.noise_scale_, np.array([2, 2, 1, 2, 1]) * 5 * math.sqrt(2), rtol=1e-6)


def test_the_spread_of_the_noise_is_what_is_said() -> None:
    table, target = X[:20], Y[:20]
    plain = FunctionalMechanism("linear", epsilon=math.inf, **SQUARES).fit(table, target).coefficients_
    runs = [
        FunctionalMechanism("linear", epsilon=1, source=Seeded(seed), **SQUARES).fit(table, target)
        for seed in range(300)
    ]
    off = np.array([run.coefficients_ - plain for run in runs]) / runs[0].noise_scale_
    assert np.sqrt((off**2).mean()) == pytest.approx(1, abs=0.1)


def test_what_is_paid_for_is_what_the_formula_says() -> None:
    for adjacency, sensitivity in (("add-remove", 5), ("replace-one", 5)):
        model = FunctionalMechanism("linear", adjacency=adjacency, source=Seeded(1), **SQUARES).fit(X, Y)
        event = model.event_
        assert isinstance(event, LaplaceEvent)
        assert sensitivity < event.sensitivity / 2**34 < sensitivity + 1e-6
        assert model.guarantee_ == cl.PureDP(epsilon=1, adjacency=cl.core.Adjacency(adjacency))
        assert model.seeded_


def test_every_degree_and_promise_learns_the_direction() -> None:
    cases: list[dict[str, Any]] = [
        {"degree": 2},
        {"degree": 2, "radius": 3},
        {"degree": 4, "radius": 3},
        {"degree": 2, "delta": 1e-6},
        {"rho": 0.1},
    ]
    for how in cases:
        model = FunctionalMechanism("logistic", bounds=BOUNDS, fit_intercept=True, source=Seeded(2), **how)
        weights = model.fit(X, LABELS).coef_
        assert weights[1] > 1
        assert abs(weights[2]) < weights[1] / 1.5
        if "radius" in how:
            assert np.linalg.norm(weights) <= 3 + 1e-9


def test_a_line_goes_to_the_edge_of_the_ball() -> None:
    model = FunctionalMechanism("logistic", 1, bounds=BOUNDS, radius=2, source=Seeded(2)).fit(X, LABELS)
    assert np.linalg.norm(model.coef_) == pytest.approx(2)


def test_one_record_and_constant_columns() -> None:
    for rows in (X[:1], np.full((3, 2), 11.0)):
        model = FunctionalMechanism("linear", source=Seeded(2), **SQUARES).fit(rows, Y[: len(rows)])
        assert np.isfinite(model.coef_).all()


def test_values_beyond_the_bounds_are_clipped() -> None:
    far, near = X.copy(), X.copy()
    far[0], near[0] = [1e30, -1e30], [4.0, 10.0]
    models = [FunctionalMechanism("linear", source=Seeded(3), **SQUARES).fit(table, Y) for table in (far, near)]
    np.testing.assert_array_equal(models[0].coefficients_, models[1].coefficients_)


def test_the_same_source_gives_the_same_fit_and_clones_are_unfitted() -> None:
    model = FunctionalMechanism("linear", source=Seeded(3), **SQUARES)
    first = model.fit(X, Y).coef_.copy()
    again = clone(FunctionalMechanism("linear", source=Seeded(3), **SQUARES)).fit(X, Y)
    np.testing.assert_array_equal(first, again.coef_)
    assert not hasattr(clone(model), "coef_")


def test_a_budget_pays_and_bad_input_costs_nothing() -> None:
    account = InMemoryBudget(cl.PureDP(epsilon=1))
    model = FunctionalMechanism("linear", epsilon="0.6", budget=account, **SQUARES)
    wrong: list[tuple[Any, Any]] = [
        (np.full((3, 2), np.nan), [1, 2, 3]),
        (X, Y[:-1]),
        (X[:, :1], Y),
        ([["a", "b"]], [1.0]),
    ]
    for table, target in wrong:
        with pytest.raises((InputError, ParameterError)):
            model.fit(table, target)
    with pytest.raises(ParameterError):
        FunctionalMechanism("linear", epsilon="1e-12", budget=account, **SQUARES).fit(X, Y)
    assert account.history == ()
    model.fit(X, Y)
    assert account.remaining == cl.PureDP(epsilon="0.4")
    with pytest.raises(BudgetExceededError):
        model.fit(X, Y)


def test_what_makes_no_sense_is_refused() -> None:
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"bounds": None}, UnboundedDataError, "bounds must be given"),
        ({"bounds_y": None}, UnboundedDataError, "bounds_y must be given"),
        ({"objective": "cubic"}, ParameterError, "objective must be"),
        ({"objective": linear_objective(3)}, ParameterError, "3 features"),
        ({"degree": 1}, ParameterError, "degree is 1"),
        ({"degree": True}, ParameterError, "degree must be"),
        ({"objective": lambda w, x, y: w[0] * x[0] * y}, ParameterError, "radius must be given"),
        ({"objective": lambda w, x, y: w[0] ** 3 * x[0] * y, "degree": 3}, ParameterError, "radius must be given"),
        ({"radius": -1}, ParameterError, "radius must be greater"),
        ({"epsilon": -1}, ParameterError, "epsilon"),
    ]
    for how, error, said in cases:
        with pytest.raises(error, match=said):
            FunctionalMechanism(**{"objective": "linear", **SQUARES, **how}).fit(X, Y)


def test_the_forecast_is_near_what_happens() -> None:
    table, target = RNG.uniform(size=(20_000, 2)), np.full(20_000, 0.05)
    forecast = FunctionalMechanism("linear", bounds=(0, 1), bounds_y=(0, 1)).preview(20_000, 1, n_features=2)
    plain = FunctionalMechanism("linear", epsilon=math.inf, bounds=(0, 1), bounds_y=(0, 1)).fit(table, target).coef_
    off = [
        FunctionalMechanism("linear", bounds=(0, 1), bounds_y=(0, 1), source=Seeded(seed)).fit(table, target).coef_
        - plain
        for seed in range(40)
    ]
    assert 0.5 < np.sqrt(np.mean(np.square(off))) / forecast.error < 2
    assert forecast.guarantee == cl.PureDP(epsilon=1)
    with pytest.raises(ParameterError, match="n_features"):
        FunctionalMechanism("linear", bounds=(0, 1)).preview(100)


def check_on_tiny_data_the_loss_is_at_the_promise_and_less_noise_is_caught(objective: str, adjacency: str) -> None:
    """The likeliest output's ratio, from the exact masses of the noise, for the neighbours that are furthest apart."""
    near = cl.core.Adjacency(adjacency)
    model = FunctionalMechanism(objective, bounds=(0, 1), bounds_y=(0, 1), adjacency=near, source=Seeded(1))
    event = model.fit([[1.0, 1.0]], [1.0]).event_
    assert isinstance(event, LaplaceEvent)
    coefficients = Coefficients.of(model._objective(2), near)

    def sums(rows: list[list[float]]) -> list[int]:
        table = np.array(rows).reshape(-1, 3)
        return [int(number) for number in coefficients.sums(table[:, :2], table[:, 2])]

    corners = [[*map(float, corner)] for corner in itertools.product([0, 1], repeat=3)]
    pairs = (
        [([a], []) for a in corners] if adjacency == "add-remove" else [([a], [b]) for a in corners for b in corners]
    )
    losses = [
        sum(abs(a - b) for a, b in zip(sums(here), sums(there), strict=True)) / event.scale for here, there in pairs
    ]
    assert 1 - 1e-6 < max(losses) <= 1
    assert max(losses) / Fraction(9, 10) > 1


def test_on_tiny_data_the_loss_is_at_the_promise_and_less_noise_is_caught() -> None:
    for adjacency, objective in product(("add-remove", "replace-one"), ("linear", "logistic")):
        check_on_tiny_data_the_loss_is_at_the_promise_and_less_noise_is_caught(objective, adjacency)


def test_nothing_is_paid_for_what_cannot_be_fitted() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"bounds": {"a": cl.Category(["u", "v"]), "b": (0, 1)}}, "Category is no number"),
        ({"bounds": (Fraction(1), 1 + Fraction(1, 10**20))}, "same number in doubles"),
        ({"bounds_y": (Fraction(1), 1 + Fraction(1, 10**20))}, "same number in doubles"),
        ({"objective": lambda w, x, y: w[0] ** 2 if y == 1 else x[0] * w[0] ** 2}, "compared"),
        ({"objective": np.ones(2)}, "objective must be"),
    ]
    for how, said in cases:
        account = InMemoryBudget(cl.PureDP(epsilon=1))
        with pytest.raises(ParameterError, match=said):
            FunctionalMechanism(**{"objective": "linear", **SQUARES, **how}, budget=account).fit(X, Y)
        assert account.history == ()


def test_a_fit_that_fails_leaves_the_model_as_it_was() -> None:
    model = FunctionalMechanism("linear", source=Seeded(3), **SQUARES).fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(ParameterError):
        model.set_params(bounds=(0, 1), objective=linear_objective(2)).fit(X[:, :1], Y)
    assert {name: vars(model)[name] for name in before if name.endswith("_")} == {
        name: value for name, value in before.items() if name.endswith("_")
    }
    assert model.n_features_in_ == 2


def test_without_privacy_and_bounds_small_columns_are_learned_from() -> None:
    plain = LinearRegression(fit_intercept=False).fit(X * 1e-9, Y)
    model = FunctionalMechanism("linear", epsilon=math.inf).fit(X * 1e-9, Y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-6)
