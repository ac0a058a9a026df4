"""Private Gaussian naive Bayes: scikit-learn's without privacy, and good with it; what is refused costs nothing."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from sklearn import naive_bayes as plain
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import celosia as cl
from celosia.accounting.prices.gaussian import largest_rho
from celosia.accounting.prices.trade_off import gaussian_mu_for
from celosia.core import AddRemove, InputError, ParameterError, ReplaceOne, UnboundedDataError
from celosia.core.adjacency import Adjacency
from celosia.core.events import GaussianEvent, LaplaceEvent
from celosia.core.structure import CertifiedEvent
from celosia.learn.base.exact import ExactSums
from celosia.learn.naive_bayes.gaussian import GaussianNB
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded
from celosia.query.answering.fitting import plan_fitting
from celosia.query.engines.registry import open_engine

INF = float("inf")


def _data(n: int = 300, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 4)) * (1 + y[:, None] / 2) + y[:, None], y


def _breast() -> tuple[NDArray[np.float64], NDArray[np.int64], Any]:
    x, y = load_breast_cancer(return_X_y=True)
    digit = 10.0 ** np.floor(np.log10(x.max(axis=0)))
    return x, y, (0, np.ceil(x.max(axis=0) / digit) * digit)  # one digit, rounded up: nobody had to look closely


def test_without_privacy_it_is_scikit_learns() -> None:
    x, y = _data()
    mine = GaussianNB(epsilon=INF, classes=[0, 1, 2]).fit(x, y)
    theirs = plain.GaussianNB().fit(x, y)
    np.testing.assert_allclose(mine.theta_, theirs.theta_, atol=1e-9)
    np.testing.assert_allclose(mine.var_, theirs.var_, atol=1e-9)
    np.testing.assert_allclose(mine.class_prior_, theirs.class_prior_)
    assert mine.epsilon_ == pytest.approx(theirs.epsilon_)
    for method in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        np.testing.assert_allclose(getattr(mine, method)(x), getattr(theirs, method)(x), atol=1e-6)
    assert mine.event_ is None
    assert mine.guarantee_ is None


@settings(max_examples=25)
@given(st.integers(2, 40), st.integers(0, 10**6), st.floats(0, 0.1))
def test_without_privacy_it_is_scikit_learns_whatever_the_data(n: int, seed: int, smoothing: float) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, 3)).round(1), rng.integers(0, 2, n)
    if len(set(y)) < 2:
        return
    mine = GaussianNB(epsilon=INF, classes=[0, 1], var_smoothing=smoothing + 1e-9).fit(x, y)
    theirs = plain.GaussianNB(var_smoothing=smoothing + 1e-9).fit(x, y)
    np.testing.assert_allclose(mine.var_, theirs.var_, atol=1e-9)
    np.testing.assert_allclose(mine.predict_proba(x), theirs.predict_proba(x), atol=1e-6)


def test_with_hardly_any_noise_it_is_nearly_scikit_learns() -> None:
    adjacency_cases: list[Adjacency] = [AddRemove, ReplaceOne]
    amount_cases: list[dict[str, Any]] = [{"epsilon": 50_000}, {"rho": 60_000, "epsilon": None}]
    for adjacency, amount in product(adjacency_cases, amount_cases):
        x, y = _data(20_000)
        x = np.clip(x, -12, 12)
        mine = GaussianNB(bounds=(-12, 12), classes=[0, 1, 2], adjacency=adjacency, source=Seeded(1), **amount).fit(
            x, y
        )
        theirs = plain.GaussianNB().fit(x, y)
        np.testing.assert_allclose(mine.theta_, theirs.theta_, atol=2e-4)
        np.testing.assert_allclose(mine.var_, theirs.var_, atol=2e-3)
        np.testing.assert_allclose(mine.class_prior_, theirs.class_prior_, atol=1e-4)


@pytest.mark.parametrize(
    ("epsilon", "delta", "least"),
    [(1, 1e-5, 0.88), (5, 1e-5, 0.92), (1, None, 0.77), (5, None, 0.92)],
)
def test_it_is_as_good_as_it_was_when_it_was_made(epsilon: float, delta: float | None, least: float) -> None:
    """Below by a few standard errors: worse means a defect, for the sources are seeded."""
    x, y, bounds = _breast()
    scores = []
    for seed in range(8):
        train, test, seen, hidden = train_test_split(x, y, test_size=0.3, random_state=seed)
        model = GaussianNB(epsilon=epsilon, delta=delta, bounds=bounds, classes=[0, 1], source=Seeded(seed))
        scores.append(model.fit(train, seen).score(test, hidden))
    assert np.mean(scores) > least


def test_few_rows_and_a_small_epsilon_still_make_distributions() -> None:
    for n, epsilon in ((1, 1.0), (2, 0.01), (5, 0.1), (50, 0.001)):
        x, y = _data(n)
        model = GaussianNB(epsilon=epsilon, bounds=(-5, 5), classes=[0, 1, 2], source=Seeded(n)).fit(x, y)
        assert (np.abs(model.theta_) <= 5).all()
        assert (model.var_ > 0).all()
        assert model.class_prior_.sum() == pytest.approx(1)
        chances = model.predict_proba(x)
        assert np.isfinite(chances).all()
        np.testing.assert_allclose(chances.sum(axis=1), 1)


def test_a_class_that_does_not_occur_and_a_constant_column_are_no_errors() -> None:
    x, y = np.ones((30, 2)), np.zeros(30, dtype=int)
    private = GaussianNB(epsilon=1, bounds=(0, 2), classes=[0, 1], source=Seeded(0)).fit(x, y)
    assert np.isfinite(private.predict_log_proba(x)).all()
    public = GaussianNB(epsilon=INF, classes=[0, 1]).fit(np.vstack([x, [[0, 0]]]), np.append(y, 0))
    assert public.predict(x).tolist() == [0] * 30
    assert public.class_prior_.tolist() == [1.0, 0.0]


def test_the_event_is_known_from_public_numbers_alone() -> None:
    one = GaussianNB(epsilon=1, bounds=(0, 1), classes=[0, 1], source=Seeded(0)).fit(np.zeros((5, 2)), [0] * 5)
    two = GaussianNB(epsilon=1, bounds=(0, 1), classes=[0, 1], source=Seeded(0)).fit(np.ones((9, 2)), [0, 1, 1] * 3)
    assert one.event_ == two.event_
    assert isinstance(one.event_, LaplaceEvent)
    assert one.event_.dimension == 2 * (1 + 2 * 2)
    assert repr(one.guarantee_) == "PureDP(epsilon=1)"


def test_what_is_promised_is_what_was_asked_for() -> None:
    x, y = _data()
    many = np.tile(x, 10)
    both = GaussianNB(epsilon=1, delta=1e-6, bounds=(-5, 5), classes=[0, 1, 2]).fit(many, y)
    assert isinstance(both.event_, CertifiedEvent)
    assert isinstance(both.event_.event, GaussianEvent)
    event = both.event_.event
    spent = event.sensitivity_squared / (2 * event.variance)
    assert largest_rho(Fraction(1), Fraction("1e-6")) < spent <= gaussian_mu_for(1, "1e-6") ** 2 / 2
    assert both.guarantee_ == cl.ApproxDP(epsilon=1, delta=1e-6)
    rho = GaussianNB(rho="0.1", bounds=(-5, 5), classes=[0, 1, 2]).fit(x, y)
    assert repr(rho.guarantee_) == "ZCDP(rho='0.1')"


def test_chunks_are_the_same_fit() -> None:
    x, y = _data()
    whole = GaussianNB(epsilon=1, bounds=(-5, 5), classes=[0, 1, 2], source=Seeded(3)).fit(x, y)
    parts = GaussianNB(epsilon=1, bounds=(-5, 5), source=Seeded(3))
    parts.partial_fit(x[:100], y[:100], classes=[0, 1, 2]).partial_fit(x[100:], y[100:]).finish()
    np.testing.assert_array_equal(whole.theta_, parts.theta_)
    np.testing.assert_array_equal(whole.var_, parts.var_)
    assert "_held" not in vars(parts)


def test_exact_numbers_are_kept_nowhere() -> None:
    """A twin with other noise has other numbers wherever the first learned any."""
    x, y = _data()
    one, two = (
        GaussianNB(epsilon=1, bounds=(-5, 5), classes=[0, 1, 2], source=Seeded(seed)).fit(x, y) for seed in (1, 2)
    )
    for name in ("theta_", "var_", "class_prior_", "class_count_"):
        assert not np.isclose(getattr(one, name), getattr(two, name), rtol=1e-9).all()
    assert not any("held" in name for name in vars(one))


def test_what_makes_no_sense_is_refused_and_costs_nothing() -> None:
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"bounds": None}, UnboundedDataError, "bounds must be given"),
        ({"classes": None}, UnboundedDataError, "classes must be given"),
        ({"classes": [0, 1]}, InputError, "not among classes"),
        ({"method": "magic"}, ParameterError, "method must be one of 'auto', not 'magic'"),
        ({"priors": [0.5, 0.5]}, ParameterError, "priors must be 3 numbers"),
        ({"priors": [0.5, 0.5, 0.5]}, ParameterError, "should be 1"),
        ({"priors": "even"}, ParameterError, "priors must be 3 numbers"),
        ({"var_smoothing": -1}, ParameterError, "var_smoothing must be a number of 0 or more, not -1"),
        ({"var_smoothing": True}, ParameterError, "var_smoothing must be"),
        ({"var_smoothing": float("nan")}, ParameterError, "var_smoothing must be"),
        ({"epsilon": -1}, ParameterError, "epsilon must be"),
        ({"epsilon": None}, ParameterError, "how much may be spent"),
        ({"bounds": (1, 0)}, ParameterError, "low must be less than high"),
        ({"bounds": ([0, 0], 1)}, ParameterError, "one number for each feature"),
        ({"method": "published"}, ParameterError, "method must be one of 'auto'"),
    ]
    for change, error, words in cases:
        x, y = _data()
        account = InMemoryBudget(cl.PureDP(epsilon=2))
        given_: dict[str, Any] = {"epsilon": 1, "bounds": (-5, 5), "classes": [0, 1, 2], "budget": account} | change
        with pytest.raises(error, match=words):
            GaussianNB(**given_).fit(x, y)
        assert account.remaining == cl.PureDP(epsilon=2)


def test_bad_data_are_refused_and_cost_nothing() -> None:
    x, y = _data()
    account = InMemoryBudget(cl.PureDP(epsilon=2))
    model = GaussianNB(bounds=(-5, 5), classes=[0, 1, 2], budget=account)
    broken = x.copy()
    broken[3, 1] = np.nan
    for bad, labels in ((broken, y), (x[:0], y), (x, y[:-1]), (x, None), (x[:, 0], y)):
        with pytest.raises(InputError):
            model.fit(bad, labels)
    with pytest.raises(TypeError):
        model.fit(sparse.csr_matrix(x), y)
    with pytest.raises(TypeError):
        model.fit(x, y, sample_weight=np.ones(len(y)))  # type: ignore[call-arg] # the point
    assert account.remaining == cl.PureDP(epsilon=2)
    model.fit(x, y)
    assert account.remaining == cl.PureDP(epsilon=1)


@pytest.mark.parametrize("adjacency", [AddRemove, ReplaceOne])
@settings(max_examples=30)
@given(data=st.data())
def test_the_whole_fit_loses_no_more_than_epsilon(adjacency: Adjacency, data: st.DataObject) -> None:
    """The largest ratio of the densities of all noisy numbers, for neighbours of a few rows, in integers."""
    value = st.sampled_from([-9.0, -1.0, -0.25, 0.0, 0.5, 1.0, 9.0])
    row = st.tuples(value, value, st.integers(0, 1))
    rows, one, other = data.draw(st.lists(row, max_size=2)), data.draw(row), data.draw(row)
    model = GaussianNB(epsilon=1, bounds=(-1, 1), classes=[0, 1], adjacency=adjacency)
    model.classes_ = np.array([0, 1])
    sums = []
    for table in ([*rows, one], rows if adjacency is AddRemove else [*rows, other]):
        held = model._begin(2)
        assert isinstance(held, ExactSums)
        if table:
            held.add(np.array([r[:2] for r in table]), np.array([r[2] for r in table]))
        sums.append(held.combine())
    event = held.request.event
    assert isinstance(event, LaplaceEvent)
    assert sum(map(abs, sums[0] - sums[1])) / event.scale <= 1


def test_priors_that_are_known_are_taken() -> None:
    x, y = _data()
    model = GaussianNB(bounds=(-5, 5), classes=[0, 1, 2], priors=[0.2, 0.3, 0.5]).fit(x, y)
    assert model.class_prior_.tolist() == [0.2, 0.3, 0.5]


def test_a_forecast_is_about_right_and_spends_nothing() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 1000)
    x = rng.uniform(0, 10, (2000, 3))
    account = InMemoryBudget(cl.PureDP(epsilon=1))
    model = GaussianNB(bounds=(0, 10), classes=[0, 1], budget=account)
    forecast = model.preview(2000, epsilon=1, n_features=3)
    assert account.remaining == cl.PureDP(epsilon=1)
    exact = np.array([x[y == c].mean(axis=0) for c in (0, 1)])
    off = [GaussianNB(bounds=(0, 10), classes=[0, 1], source=Seeded(s)).fit(x, y).theta_ - exact for s in range(30)]
    assert np.sqrt(np.mean(np.square(off))) / 10 == pytest.approx(forecast.error, rel=0.35)
    assert model.preview(2000, epsilon=10, n_features=3).error < forecast.error
    assert model.preview(2000, epsilon=INF).error == 0
    with pytest.raises(ParameterError, match="n_features"):
        model.preview(2000)


def test_the_same_numbers_come_out_of_a_database() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.integers(0, 50, 200), "b": rng.uniform(-1, 1, 200), "label": rng.choice(["no", "yes"], 200)}
    )
    schema = cl.Schema(a=cl.Integer(0, 49), b=cl.Real(-1, 1), label=cl.Category("no", "yes"))
    session = cl.Session(cl.table(frame, schema=schema, name="t"), budget=cl.PureDP(epsilon=1))
    fitting = plan_fitting(GaussianNB(epsilon=1), session.query(), ["a", "b"], "label")
    kinds = (schema["a"], schema["b"])
    held = ExactSums(GaussianNB(epsilon=1).plan_fit({"a": kinds[0], "b": kinds[1]}, schema["label"]), kinds)
    held.add(frame[["a", "b"]].to_numpy(float), (frame["label"] == "yes").to_numpy().astype(int))
    with open_engine(session.tables) as engine:
        engine.check(fitting.plan)
        assert fitting.read_sums(engine, range(4)).tolist() == held.combine().tolist()
    inside = session.fit(GaussianNB(epsilon=1), features=["a", "b"], target="label")
    assert inside.classes_.tolist() == ["no", "yes"]
    assert inside.predict(frame[["a", "b"]]).shape == (200,)
