"""What both regressions have: paying, chunks, databases, intervals, forecasts, files, and clear refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import celosia as cl
from celosia.core import BudgetExceededError, InputError, ParameterError, UnboundedDataError
from celosia.learn import LinearRegression, Ridge, load
from celosia.learn.linear_model.noisy_moments import Moments
from celosia.learn.linear_model.private_line import PrivateLine
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded

Numbers = NDArray[np.float64]


@pytest.fixture
def rows() -> tuple[Numbers, Numbers]:
    rng = np.random.default_rng(4)
    features = np.column_stack([rng.uniform(0, 10, 3000), rng.uniform(-2, 2, 3000)])
    return features, 3 + 2 * features[:, 0] - 4 * features[:, 1] + rng.normal(0, 1, 3000)


def model(**given: Any) -> LinearRegression:
    bounds: dict[str, Any] = {"bounds": ([0, -2], [10, 2]), "bounds_y": (-10, 35)}
    return LinearRegression(**{**bounds, "source": Seeded(9), **given})


def test_chunks_give_the_same_line_and_pay_once(rows: tuple[Numbers, Numbers]) -> None:
    features, target = rows
    account = InMemoryBudget(cl.PureDP(epsilon=1))
    whole = model().fit(features, target)
    pieces = model(budget=account)
    for start in range(0, 3000, 700):
        pieces.partial_fit(features[start : start + 700], target[start : start + 700])
    assert account.remaining == cl.PureDP(epsilon=1)
    pieces.finish()
    np.testing.assert_array_equal(whole.coef_, pieces.coef_)
    assert account.remaining == cl.PureDP(epsilon=0)
    with pytest.raises(BudgetExceededError):
        model(budget=account).fit(features, target)


@pytest.mark.parametrize("person", [None, "who"])
def test_a_database_gives_the_same_line(rows: tuple[Numbers, Numbers], person: str | None) -> None:
    """With persons the sums are others, and with hardly any noise the line is the same."""
    import pandas as pd

    features, target = rows
    schema = cl.Schema(a=cl.Real(0, 10), b=cl.Real(-2, 2), y=cl.Real(-10, 35))
    frame = pd.DataFrame({"a": features[:, 0], "b": features[:, 1], "y": target, "who": np.arange(3000)})
    most = None if person is None else 1
    table = cl.table(
        frame, schema=schema, name="rows", person=person, max_groups_per_person=most, max_rows_per_group=most
    )
    session = cl.Session(table, budget=cl.PureDP(epsilon=60_000), source=Seeded(9))
    found: Any = session.fit(LinearRegression(epsilon=50_000), features=["a", "b"], target="y")
    in_memory = model(epsilon=50_000).fit(features, target)
    np.testing.assert_allclose(found.coef_, in_memory.coef_, rtol=1e-4)
    assert (found.guarantee_.unit == "row") == (person is None)


@pytest.mark.parametrize("given", [{}, {"epsilon": 1, "delta": 1e-6, "method": "adassp"}, {"fit_intercept": False}])
def test_intervals_hold_the_line_and_the_truth(rows: tuple[Numbers, Numbers], given: dict[str, Any]) -> None:
    features, target = rows
    if "fit_intercept" in given:
        target = target - 3
    fitted = model(**given).fit(features, target)
    (low, start), (high, end) = fitted.confidence_interval(0.99)
    assert (low <= fitted.coef_).all()
    assert (fitted.coef_ <= high).all()
    assert (low <= [2, -4]).all()
    assert (high >= [2, -4]).all()
    assert start <= (0 if "fit_intercept" in given else 3) <= end
    assert (high - low < 10).all()


def test_intervals_without_privacy_are_the_classical_ones() -> None:
    rng = np.random.default_rng(6)
    x = rng.uniform(20, 60, 80)
    y = 5 + 0.7 * x + rng.normal(0, 4, 80)
    (low, start), (high, end) = LinearRegression(epsilon=float("inf")).fit(x[:, None], y).confidence_interval()
    found, quantile = stats.linregress(x, y), stats.t.ppf(0.975, 78)
    centre, wide = found.slope, quantile * found.stderr
    np.testing.assert_allclose([low[0], high[0]], [centre - wide, centre + wide], rtol=5e-3)
    centre, wide = found.intercept, quantile * found.intercept_stderr
    np.testing.assert_allclose([start, end], [centre - wide, centre + wide], rtol=2e-2)


def test_methods_without_moments_have_no_intervals(rows: tuple[Numbers, Numbers]) -> None:
    fitted = model().fit(*rows)
    fitted.set_params(method="functional", source=Seeded(1)).fit(*rows)
    with pytest.raises(ParameterError, match="keeps nothing to make intervals from"):
        fitted.confidence_interval()


def test_a_model_from_a_file_has_the_same_intervals(rows: tuple[Numbers, Numbers], tmp_path: Path) -> None:
    fitted = model().fit(*rows)
    fitted.save(tmp_path / "line.json")
    again = load(tmp_path / "line.json")
    np.testing.assert_array_equal(again.predict(rows[0]), fitted.predict(rows[0]))
    for one, other in zip(again.confidence_interval(), fitted.confidence_interval(), strict=True):
        np.testing.assert_allclose(np.append(*one), np.append(*other))


def test_what_is_kept_is_noisy(rows: tuple[Numbers, Numbers]) -> None:
    fitted = model().fit(*rows)
    scaled = np.column_stack(
        [np.ones(3000), (np.column_stack(rows) - fitted.column_ranges_[:, 0]) / fitted.column_ranges_[:, 1]]
    )
    exact = scaled.T @ scaled
    values, variance, carried = fitted.noisy_moments_
    assert (np.abs(values - exact) > 1e-6).all()
    z = (values - exact) / np.sqrt(Moments(values=values, variance=variance, carried=carried[1, 1]).spread())
    assert np.abs(z).max() < 8
    assert carried[0, 0] == 1


def test_a_forecast_is_about_right() -> None:
    """The error of a coefficient on data as supposed, over draws of the noise."""
    rng = np.random.default_rng(8)
    features = rng.uniform(-1, 1, (2000, 2))
    target = features @ [0.35, -0.35] + rng.normal(0, 0.2, 2000)
    unit: dict[str, Any] = {"bounds": (-1, 1), "bounds_y": (-1, 1)}
    forecast = LinearRegression(**unit).preview(2000, epsilon=1, n_features=2)
    errors = [LinearRegression(**unit, source=Seeded(s)).fit(features, target).coef_ - [0.35, -0.35] for s in range(40)]
    assert forecast.error == pytest.approx(float(np.sqrt(np.mean(np.square(errors)))), rel=0.5)
    assert forecast.guarantee == cl.PureDP(epsilon=1)
    assert forecast.noise_scale == pytest.approx(LinearRegression(**unit).fit(features, target).noise_scale_)


@pytest.mark.parametrize(
    ("given", "rows"),
    [
        ({"method": "functional"}, 2000),
        ({"method": "adassp", "delta": "1e-6"}, 1000),
        ({"adjacency": "replace-one"}, 1000),
        ({"fit_intercept": False}, 1000),
    ],
)
def test_forecasts_are_of_the_method_that_would_be_run(given: dict[str, Any], rows: int) -> None:
    """Data as supposed; without an intercept the line goes through the origin, a corner of the bounds."""
    rng = np.random.default_rng(12)
    slopes = np.array([1, -1]) / 8**0.5
    features = rng.uniform(0, 1, (rows, 2))
    target = features @ slopes + rng.normal(0, 0.1, rows)
    public: dict[str, Any] = {"bounds": (0, 1), "bounds_y": (-0.5, 0.5), **given}
    forecast = LinearRegression(**public).preview(rows, n_features=2)
    fits = [LinearRegression(**public, source=Seeded(s)).fit(features, target) for s in range(30)]
    errors = np.array([fitted.coef_ - slopes for fitted in fits])
    assert forecast.error == pytest.approx(float(np.sqrt(np.mean(errors**2))), rel=0.35)
    assert forecast.noise_scale == pytest.approx(fits[0].noise_scale_)


def test_a_forecast_of_ridge_is_not_that_of_its_own_bias() -> None:
    """So much penalty leaves no slope, and so no error but that of sampling; pure noise cannot run as adassp."""
    public: dict[str, Any] = {"bounds": (0, 1), "bounds_y": (0, 1)}
    flat = Ridge(alpha=1e9, **public).preview(1000, n_features=2)
    assert flat.error == pytest.approx(0.2 * (3 / 1000) ** 0.5, rel=1e-3)
    with pytest.raises(ParameterError, match="give a delta or a rho"):
        Ridge(method="adassp", **public).preview(1000, n_features=2)


def test_nothing_of_an_earlier_fit_is_left() -> None:
    """A fit without privacy knows the least and the largest value; a private one after it must not."""
    rng = np.random.default_rng(13)
    features = rng.uniform(0.3, 0.4, (50, 1))
    public: dict[str, Any] = {"bounds": (0, 1), "bounds_y": (0, 1)}
    fitted = LinearRegression(epsilon=float("inf"), **public).fit(features, features[:, 0])
    assert fitted.column_ranges_[0, 0] != 0.5
    fitted.set_params(epsilon=1.0, method="functional", source=Seeded(2)).fit(features, features[:, 0])
    assert not {"column_ranges_", "noisy_moments_", "noise_kind_"} & vars(fitted).keys()


def test_parameters_that_change_before_finish_do_not_change_what_was_asked(rows: tuple[Numbers, Numbers]) -> None:
    asked = model().partial_fit(*rows).set_params(method="functional").finish()
    np.testing.assert_array_equal(asked.coef_, model().fit(*rows).coef_)


def test_forecasts_follow_rows_epsilon_and_units() -> None:
    unit = LinearRegression(bounds=(0, 1), bounds_y=(0, 1))
    few, many = (unit.preview(n, epsilon=1, n_features=3).error for n in (1000, 100_000))
    assert many < few
    assert unit.preview(1000, epsilon=10, n_features=3).error < few
    wide = LinearRegression(bounds=(0, 1), bounds_y=(0, 100)).preview(1000, epsilon=1, n_features=3)
    assert wide.error == pytest.approx(100 * few, rel=0.1)
    assert unit.preview(1000, epsilon=float("inf"), n_features=3).guarantee is None
    with pytest.raises(ParameterError, match="n_features"):
        unit.preview(1000)
    with pytest.raises(ParameterError, match="n must be"):
        unit.preview(0, n_features=2)


@pytest.mark.parametrize("wrong", ["two targets", "nan", "short", "no target"])
def test_wrong_data_are_refused_before_anything_is_spent(rows: tuple[Numbers, Numbers], wrong: str) -> None:
    features, target = rows
    account = InMemoryBudget(cl.PureDP(epsilon=1))
    given: Any = {
        "two targets": np.column_stack([target, target]),
        "nan": np.where(target > 20, np.nan, target),
        "short": target[:-1],
        "no target": None,
    }[wrong]
    with pytest.raises(InputError):
        model(budget=account, source=None).fit(features, given)
    assert account.remaining == cl.PureDP(epsilon=1)


def test_bounds_and_parameters_are_needed(rows: tuple[Numbers, Numbers]) -> None:
    with pytest.raises(UnboundedDataError, match="bounds must be given"):
        LinearRegression(bounds_y=(0, 1)).fit(*rows)
    with pytest.raises(UnboundedDataError, match="bounds_y must be given"):
        Ridge(bounds=(0, 1)).fit(*rows)
    with pytest.raises(ParameterError, match="fit_intercept must be True or False"):
        model(fit_intercept="yes").fit(*rows)
    with pytest.raises(ParameterError, match="give a delta or a rho"):
        model(method="adassp").fit(*rows)


def test_both_faces_share_it() -> None:
    assert issubclass(LinearRegression, PrivateLine)
    assert issubclass(Ridge, PrivateLine)
