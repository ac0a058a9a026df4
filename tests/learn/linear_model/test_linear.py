"""Linear and ridge regression: scikit-learn without privacy, close to it with hardly any noise, better with some."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from sklearn import linear_model
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import celosia as cl
from celosia.audit import distinguish
from celosia.core import ApproxDP, BudgetExceededError, InputError, ParameterError, PureDP, UnboundedDataError
from celosia.learn import LinearRegression, Ridge, load
from celosia.learn.linear_model.least_squares import Moments
from celosia.ledger import InMemoryBudget
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


@pytest.mark.filterwarnings("ignore::celosia.core.errors.TuningWarning")
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


@pytest.mark.filterwarnings("ignore::celosia.core.errors.TuningWarning")
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


def test_a_line_is_found() -> None:
    for method in ("auto", "functional"):
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
    documented = one(epsilon=2, method="published").fit(*line(20_000))
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
    found = distinguish(run, 0, 1, samples=100, delta=delta, failure=1e-3, events=events, source=Seeded(6))
    return float(found.epsilon)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"delta": "1e-6", "adjacency": "replace-one"},
        pytest.param({"adjacency": "replace-one"}, marks=pytest.mark.thorough),
        pytest.param({"delta": "1e-6", "method": "adassp"}, marks=pytest.mark.thorough),
    ],
)
def test_whole_fits_prove_no_more_than_is_claimed_and_a_larger_epsilon_is_found_out(given: dict[str, Any]) -> None:
    assert proved(epsilon=1, **given) <= 1
    assert proved(epsilon=20, **given) > 1


def test_a_penalty_must_be_a_number() -> None:
    cases: list[Any] = [-1, float("inf"), float("nan"), True, "much", None]
    for alpha in cases:
        for epsilon in (1.0, float("inf")):
            with pytest.raises(ParameterError, match="alpha must be a number of 0 or more"):
                Ridge(alpha=alpha, epsilon=epsilon, bounds=(0, 1), bounds_y=(0, 1)).fit(*line())


def test_unknown_methods_are_refused() -> None:
    cases: list[Any] = ["objective", "", None, 3]
    for method in cases:
        with pytest.raises(ParameterError, match="method must be one of 'auto', 'adassp', 'functional', 'published'"):
            one(method=method).fit(*line())
        with pytest.raises(ParameterError, match="method must be one of 'auto', 'adassp', not"):
            Ridge(method="functional", bounds=(0, 1), bounds_y=(0, 1)).fit(*line())


# ---- paying, chunks, databases, intervals, files


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
    with pytest.raises(ParameterError, match="keeps no moments"):
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
