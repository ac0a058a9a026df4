"""Linear and ridge regression: scikit-learn without privacy, close to it with hardly any noise, better with some."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import linear_model
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from celosia.audit import distinguish
from celosia.core import ApproxDP, ParameterError, PureDP
from celosia.learn import LinearRegression, Ridge
from celosia.noise import Seeded

Numbers = NDArray[np.float64]

# Round numbers that anybody could have said: age, sex, body mass, blood pressure, serum values, and the outcome.
LOW = np.array([18, 1, 15, 50, 80, 30, 15, 1, 3, 50.0])
HIGH = np.array([80, 2, 45, 140, 320, 260, 110, 10, 6.5, 150.0])
OUTCOME = (0, 350)
THREE = [2, 3, 8]


@pytest.fixture(scope="module")
def diabetes() -> tuple[Numbers, Numbers]:
    data: Any = load_diabetes(scaled=False)
    return data.data, data.target


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_privacy_they_are_scikit_learns(diabetes: tuple[Numbers, Numbers], *, fit_intercept: bool) -> None:
    features, target = diabetes
    pairs = [
        (LinearRegression(epsilon=float("inf"), fit_intercept=fit_intercept), linear_model.LinearRegression),
        (Ridge(epsilon=float("inf"), alpha=3.0, fit_intercept=fit_intercept), linear_model.Ridge),
    ]
    for ours, theirs in pairs:
        same = theirs(fit_intercept=fit_intercept, **({"alpha": 3.0} if theirs is linear_model.Ridge else {}))
        same.fit(features, target)
        ours.fit(features, target)
        np.testing.assert_allclose(ours.coef_, same.coef_, rtol=1e-6)
        np.testing.assert_allclose(ours.intercept_, same.intercept_, rtol=1e-6)
        assert ours.guarantee_ is None
        assert ours.event_ is None


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_with_hardly_any_noise_they_are_close_to_it(
    diabetes: tuple[Numbers, Numbers], adjacency: str, *, fit_intercept: bool
) -> None:
    features, target = diabetes[0][:, THREE], diabetes[1]
    private: dict[str, Any] = {
        "epsilon": 65536,
        "bounds": (LOW[THREE], HIGH[THREE]),
        "bounds_y": OUTCOME,
        "adjacency": adjacency,
        "fit_intercept": fit_intercept,
        "source": Seeded(5),
    }
    ours = LinearRegression(**private).fit(features, target)
    same = linear_model.LinearRegression(fit_intercept=fit_intercept).fit(features, target)
    np.testing.assert_allclose(ours.predict(features), same.predict(features), atol=0.2)
    penalised = Ridge(alpha=500.0, **private).fit(features, target)
    other = linear_model.Ridge(alpha=500.0, fit_intercept=fit_intercept).fit(features, target)
    np.testing.assert_allclose(penalised.predict(features), other.predict(features), atol=0.3)


def mean_score(model: Any, data: tuple[Numbers, Numbers], columns: list[int]) -> float:
    """R squared on what was held out, over 20 random splits."""
    features, target = data[0][:, columns], data[1]
    scores = []
    for split in range(20):
        order = np.random.default_rng(split).permutation(len(target))
        train, test = order[: int(0.7 * len(order))], order[int(0.7 * len(order)) :]
        fitted = clone(model).set_params(source=Seeded(split)).fit(features[train], target[train])
        scores.append(r2_score(target[test], fitted.predict(features[test])))
    return float(np.mean(scores))


@pytest.mark.filterwarnings("ignore::celosia.core.warnings.TuningWarning")
@pytest.mark.parametrize(
    ("columns", "epsilon", "least"), [(THREE, 1, 0.2), (THREE, 5, 0.35), (list(range(10)), 2, 0.12)]
)
def test_the_default_is_better_than_adaptive_sufficient_statistics(
    diabetes: tuple[Numbers, Numbers], columns: list[int], epsilon: float, least: float
) -> None:
    given: dict[str, Any] = {"bounds": (LOW[columns], HIGH[columns]), "bounds_y": OUTCOME, "epsilon": epsilon}
    default = mean_score(LinearRegression(delta=1e-5, **given), diabetes, columns)
    published = mean_score(LinearRegression(delta=1e-5, method="adassp", **given), diabetes, columns)
    assert default > max(published, least)


@pytest.mark.filterwarnings("ignore::celosia.core.warnings.TuningWarning")
def test_pure_noise_and_the_functional_mechanism(diabetes: tuple[Numbers, Numbers]) -> None:
    given: dict[str, Any] = {"bounds": (LOW[THREE], HIGH[THREE]), "bounds_y": OUTCOME, "epsilon": 2}
    pure = mean_score(LinearRegression(**given), diabetes, THREE)
    assert pure > 0.25
    assert pure > mean_score(LinearRegression(method="functional", **given), diabetes, THREE)


def one(**given: Any) -> LinearRegression:
    return LinearRegression(**{"bounds": (0, 1), "bounds_y": (0, 1), "source": Seeded(3), **given})


def line(rows: int = 2000) -> tuple[Numbers, Numbers]:
    x = np.linspace(0, 1, rows)[:, None]
    return x, 0.2 + 0.6 * x[:, 0]


@pytest.mark.parametrize("method", ["auto", "functional"])
def test_a_line_is_found(method: str) -> None:
    model = one(epsilon=2, method=method).fit(*line())
    np.testing.assert_allclose(model.coef_, [0.6], atol=0.1)
    assert model.intercept_ == pytest.approx(0.2, abs=0.06)
    assert model.guarantee_ == PureDP(epsilon=2)
    assert model.noise_scale_ > 0
    assert model.lambda_ > 0


def test_adaptive_sufficient_statistics_and_the_source_documents_constant() -> None:
    published = one(epsilon=2, delta="1e-6", method="adassp").fit(*line(20_000))
    np.testing.assert_allclose(published.coef_, [0.6], atol=0.1)
    assert published.guarantee_ == ApproxDP(epsilon=2, delta="1e-6")
    documented = one(epsilon=2, method="seed").fit(*line(20_000))
    np.testing.assert_allclose(documented.coef_, [0.6], atol=0.1)
    assert documented.noise_scale_ > one(epsilon=2, method="functional").fit(*line()).noise_scale_


def test_values_beyond_the_bounds_are_clipped() -> None:
    x, y = line(500)
    inside = one().fit(np.clip(x, 0, 1), y)
    outside = one(source=Seeded(3)).fit(np.where(x == 1, 1e9, np.where(x == 0, -7.0, x)), y)
    np.testing.assert_array_equal(inside.coef_, outside.coef_)


def test_few_rows_and_constant_columns_give_finite_lines() -> None:
    for rows in (1, 2):
        model = one().fit(np.full((rows, 3), 0.5), np.full(rows, 0.5))
        assert np.isfinite(model.predict(np.eye(3))).all()


def test_a_pipeline_and_named_columns() -> None:
    import pandas as pd

    x, y = line()
    frame = pd.DataFrame({"width": x[:, 0]})
    model = make_pipeline(FunctionTransformer(), one()).fit(frame, y)
    assert model[-1].feature_names_in_.tolist() == ["width"]
    assert model.score(frame, y) > 0.8


def test_the_same_seed_gives_the_same_line() -> None:
    np.testing.assert_array_equal(one().fit(*line()).coef_, one(source=Seeded(3)).fit(*line()).coef_)


def test_more_penalty_gives_a_flatter_line() -> None:
    sizes = [
        float(Ridge(alpha=alpha, bounds=(0, 1), bounds_y=(0, 1), source=Seeded(3)).fit(*line()).coef_[0])
        for alpha in (0.0, 100.0, 10_000.0)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 0.05


def proved(**given: Any) -> float:
    """The epsilon that whole fits on tiny neighbours prove, to somebody who sees all that a model keeps.

    A record at a corner comes, or takes the place of one at the other; it is looked for along all noisy moments.
    """
    features, target = np.zeros((6, 1)), np.zeros(6)
    kept = slice(1 if "adjacency" in given else 0, None)
    worlds = ((features, target), (np.append(features[kept], [[1.0]], axis=0), np.append(target[kept], 1.0)))

    def seen(place: int, source: Any, **others: Any) -> tuple[Numbers, Numbers]:
        values, variance, _ = one(**{**given, **others}, source=source).fit(*worlds[place]).noisy_moments_
        upper = np.triu_indices(3)
        return values[upper], np.where(variance > 0, variance, np.inf)[upper]

    nearly = [seen(place, Seeded(1), epsilon=60_000)[0] for place in (0, 1)]
    along = (nearly[1] - nearly[0]) / seen(0, Seeded(1))[1]

    def run(place: int, count: int, source: Any) -> Numbers:
        return np.array([seen(place, source)[0] @ along for _ in range(count)])

    middle = float((nearly[0] + nearly[1]) @ along / 2)
    events: dict[str, Any] = {
        "more": lambda found: np.asarray(found) >= middle,
        "less": lambda found: np.asarray(found) < middle,
    }
    delta = float(given.get("delta", 0))
    found = distinguish(run, 0, 1, samples=200, delta=delta, failure=1e-3, events=events, source=Seeded(6))
    return float(found.epsilon)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"adjacency": "replace-one"},
        {"delta": "1e-6", "adjacency": "replace-one"},
        {"delta": "1e-6", "method": "adassp"},
    ],
)
def test_whole_fits_prove_no_more_than_is_claimed_and_a_larger_epsilon_is_found_out(given: dict[str, Any]) -> None:
    assert proved(epsilon=1, **given) <= 1
    assert proved(epsilon=20, **given) > 1


@pytest.mark.parametrize("alpha", [-1, float("inf"), float("nan"), True, "much", None])
def test_a_penalty_must_be_a_number(alpha: Any) -> None:
    for epsilon in (1.0, float("inf")):
        with pytest.raises(ParameterError, match="alpha must be a number of 0 or more"):
            Ridge(alpha=alpha, epsilon=epsilon, bounds=(0, 1), bounds_y=(0, 1)).fit(*line())


def test_unknown_methods_are_refused() -> None:
    cases: list[Any] = ["objective", "", None, 3]
    for method in cases:
        with pytest.raises(ParameterError, match="method must be one of 'auto', 'adassp', 'functional', 'seed'"):
            one(method=method).fit(*line())
        with pytest.raises(ParameterError, match="method must be one of 'auto', 'adassp', not"):
            Ridge(method="functional", bounds=(0, 1), bounds_y=(0, 1)).fit(*line())
