"""Private naive Bayes for categories: scikit-learn's without privacy; every record is one count in each histogram."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from sklearn import naive_bayes as plain

import celosia as cl
from celosia.core import AddRemove, InputError, ParameterError, ReplaceOne, UnboundedDataError
from celosia.core.adjacency import Adjacency
from celosia.core.events import GaussianEvent, LaplaceEvent
from celosia.learn.base.exact import ExactSums
from celosia.learn.naive_bayes.categorical import CategoricalNB
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded
from celosia.query.answering.fitting import plan_fitting
from celosia.query.engines.registry import open_engine

INF = float("inf")
SIZES = [3, 2, 4]


def _data(n: int = 400, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    x = np.column_stack([np.where(rng.random(n) < 0.7, y, rng.integers(0, size, n)) for size in SIZES])
    x[:4] = [[2, 1, 3]] * 4  # every category occurs
    return x, y


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from([1.0, 0.1, 3]), st.booleans())
def test_without_privacy_it_is_scikit_learns(seed: int, alpha: float, fit_prior: bool) -> None:  # noqa: FBT001 - drawn
    x, y = _data(60, seed)
    mine = CategoricalNB(epsilon=INF, classes=[0, 1], alpha=alpha, fit_prior=fit_prior).fit(x, y)
    theirs = plain.CategoricalNB(alpha=alpha, fit_prior=fit_prior, min_categories=SIZES).fit(x, y)
    listed = CategoricalNB(epsilon=INF, categories=SIZES, classes=[0, 1], alpha=alpha, fit_prior=fit_prior).fit(x, y)
    for model in (mine, listed):
        for a, b in zip(model.feature_log_prob_, theirs.feature_log_prob_, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)
        np.testing.assert_allclose(model.class_log_prior_, theirs.class_log_prior_)
        np.testing.assert_allclose(model.predict_proba(x), theirs.predict_proba(x), atol=1e-9)
        np.testing.assert_array_equal(model.n_categories_, theirs.n_categories_)
        np.testing.assert_array_equal(model.class_count_, theirs.class_count_)
        for a, b in zip(model.category_count_, theirs.category_count_, strict=True):
            np.testing.assert_array_equal(a, b)


def test_with_hardly_any_noise_it_is_scikit_learns() -> None:
    x, y = _data(5000)
    mine = CategoricalNB(epsilon=1000, categories=SIZES, classes=[0, 1]).fit(x, y)
    theirs = plain.CategoricalNB().fit(x, y)
    for a, b in zip(mine.feature_log_prob_, theirs.feature_log_prob_, strict=True):
        np.testing.assert_allclose(a, b, atol=0.01)


def test_it_learns_nearly_as_well_with_privacy() -> None:
    cases: list[dict[str, Any]] = [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-5}, {"epsilon": None, "rho": 0.1}]
    for amount in cases:
        x, y = _data(2000)
        mine = CategoricalNB(categories=SIZES, classes=[0, 1], source=Seeded(1), **amount).fit(x, y)
        assert mine.score(x, y) > plain.CategoricalNB().fit(x, y).score(x, y) - 0.02


ROW = st.tuples(*(st.integers(0, size - 1) for size in SIZES), st.integers(0, 1))


def _sums(model: CategoricalNB, rows: list[Any]) -> tuple[NDArray[Any], ExactSums]:
    model.classes_ = np.array([0, 1])
    held = model._begin(3)
    assert isinstance(held, ExactSums)
    if rows:
        held.add(np.array([row[:3] for row in rows], dtype=float), np.array([row[3] for row in rows]))
    return held.combine(), held


@pytest.mark.parametrize("adjacency", [AddRemove, ReplaceOne])
@pytest.mark.parametrize("amount", [{"epsilon": 1}, {"epsilon": None, "rho": 1}])
@settings(max_examples=30)
@given(rows=st.lists(ROW, max_size=4), one=ROW, other=ROW)
def test_neighbours_differ_by_no_more_than_is_paid_for(
    amount: dict[str, Any], adjacency: Adjacency, rows: list[Any], one: tuple[int, ...], other: tuple[int, ...]
) -> None:
    model = CategoricalNB(categories=SIZES, adjacency=adjacency, **amount)
    more, held = _sums(model, [*rows, one])
    less, _ = _sums(model, rows if adjacency is AddRemove else [*rows, other])
    event = held.request.event
    if isinstance(event, LaplaceEvent):
        assert np.abs(more - less).sum() <= event.sensitivity
    else:
        assert isinstance(event, GaussianEvent)
        assert ((more - less) ** 2).sum() <= event.sensitivity_squared


def test_some_neighbours_differ_by_all_that_is_paid_for() -> None:
    """One less would be too little, and the loss in the densities is then exactly epsilon."""
    cases: list[tuple[Adjacency, int]] = [(AddRemove, 3), (ReplaceOne, 6)]
    for adjacency, moved in cases:
        model = CategoricalNB(epsilon="1/2", categories=SIZES, adjacency=adjacency)
        more, held = _sums(model, [(0, 0, 0, 0)])
        less, _ = _sums(model, [] if adjacency is AddRemove else [(1, 1, 1, 0)])
        event = held.request.event
        assert isinstance(event, LaplaceEvent)
        assert np.abs(more - less).sum() == event.sensitivity == moved
        assert Fraction(int(np.abs(more - less).sum())) / event.scale == Fraction(1, 2)


def test_histograms_agree_about_the_size_of_a_class_and_chances_add_up() -> None:
    for epsilon in (0.001, 0.1, 1):
        x, y = _data()
        model = CategoricalNB(epsilon=epsilon, categories=SIZES, classes=[0, 1], source=Seeded(2)).fit(x, y)
        for table in model.feature_log_prob_:
            np.testing.assert_allclose(np.exp(table).sum(axis=1), 1)
        assert np.exp(model.class_log_prior_).sum() == pytest.approx(1)
        assert np.isfinite(model.predict_log_proba(x)).all()
        assert all((table >= 0).all() for table in model.category_count_)


def test_sizes_from_all_histograms_are_nearer_than_from_one() -> None:
    x, y = np.zeros((1000, 20), dtype=int), np.zeros(1000, dtype=int)
    off = [
        CategoricalNB(epsilon=1, categories=[2] * 20, classes=[0, 1], source=Seeded(s)).fit(x, y).class_count_[0] - 1000
        for s in range(40)
    ]
    one_histogram = 20 * 2**0.5 * 2**0.5  # two counts with Laplace noise of scale 20
    assert np.std(off) < one_histogram / 3


def test_texts_places_and_frames_are_the_same_data() -> None:
    names = [["red", "green", "blue"], ["yes", "no"], ["n", "e", "s", "w"]]
    x, y = _data()
    texts = np.array([[names[j][code] for j, code in enumerate(row)] for row in x])
    schema = cl.Schema(a=cl.Category(*names[0]), b=cl.Category(*names[1]), c=cl.Category(*names[2]))
    pandas = pd.DataFrame(texts, columns=["a", "b", "c"])
    fits = [
        CategoricalNB(categories=names, classes=[0, 1], source=Seeded(4)).fit(x, y),
        CategoricalNB(categories=names, classes=[0, 1], source=Seeded(4)).fit(texts, y),
        CategoricalNB(bounds=schema, classes=[0, 1], source=Seeded(4)).fit(pandas, y),
        CategoricalNB(bounds=schema, classes=[0, 1], source=Seeded(4)).fit(pl.DataFrame(pandas), y),
    ]
    for fitted in fits[1:]:
        np.testing.assert_array_equal(fitted.feature_log_prob_[2], fits[0].feature_log_prob_[2])
    assert (fits[1].predict(texts) == fits[0].predict(x)).all()
    assert fits[2].feature_names_in_.tolist() == ["a", "b", "c"]


def test_numbers_that_are_no_places_are_looked_up() -> None:
    x, y = np.array([[1990], [2000], [2010]] * 20), np.array([0, 1, 1] * 20)
    model = CategoricalNB(epsilon=100, categories=[[2010, 1990, 2000]], classes=[0, 1], source=Seeded(0)).fit(x, y)
    np.testing.assert_allclose(model.category_count_[0], [[0, 20, 0], [20, 0, 20]], atol=1)
    mixed = pd.DataFrame({"year": [1990, 2000] * 30, "kind": ["a", "b"] * 30})
    frame = CategoricalNB(epsilon=100, categories=[[2000, 1990], ["b", "a"]], classes=[0, 1], source=Seeded(0))
    np.testing.assert_allclose(frame.fit(mixed, [0, 1] * 30).category_count_[1], [[0, 30], [30, 0]], atol=1)


def test_a_category_that_was_not_declared_is_refused_in_fit_and_says_nothing_in_predict() -> None:
    x, y = _data()
    model = CategoricalNB(categories=SIZES, classes=[0, 1], source=Seeded(4))
    with pytest.raises(InputError, match="not declared"):
        model.fit(np.vstack([x, [[3, 0, 0]]]), np.append(y, 0))
    with pytest.raises(InputError, match="not declared"):
        model.partial_fit(x, y).partial_fit([[0, 0, 9]], [0])
    model.fit(x, y)
    np.testing.assert_allclose(model.predict_joint_log_proba([[7, -1, 4]])[0], model.class_log_prior_)
    known = model.predict_joint_log_proba([[1, 0, 4]])[0] - model.class_log_prior_
    np.testing.assert_allclose(known, model.feature_log_prob_[0][:, 1] + model.feature_log_prob_[1][:, 0])


def test_what_makes_no_sense_is_refused_and_costs_nothing() -> None:
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"categories": None}, UnboundedDataError, "categories must be given"),
        ({"categories": [3, 2]}, ParameterError, "those of 3 features, not of 2"),
        ({"categories": "abc"}, ParameterError, "list with the categories"),
        ({"categories": [3, 2, 0]}, ParameterError, "not 0"),
        ({"categories": [3, 2, True]}, ParameterError, "not True"),
        ({"categories": [3, 2, "nesw"]}, ParameterError, "not 'nesw'"),
        ({"categories": [3, 2, [0, 0, 1, 2]]}, ParameterError, "different"),
        ({"bounds": cl.Schema(a=cl.Category(0, 1))}, ParameterError, "give one of them"),
        ({"categories": None, "bounds": (0, 1)}, ParameterError, "Schema"),
        ({"categories": None, "bounds": {c: cl.Real(0, 1) for c in "abc"}}, ParameterError, "must be a Category"),
        ({"classes": None}, UnboundedDataError, "classes must be given"),
        ({"classes": [0, 2]}, InputError, "not among classes"),
        ({"alpha": -1}, ParameterError, "alpha must be"),
        ({"alpha": float("nan")}, ParameterError, "alpha must be"),
        ({"class_prior": [0.5]}, ParameterError, "class_prior must be 2"),
        ({"method": "published"}, ParameterError, "method must be one of 'auto'"),
        ({"epsilon": 0}, ParameterError, "epsilon must be"),
    ]
    for change, error, words in cases:
        x, y = _data()
        account = InMemoryBudget(cl.PureDP(epsilon=2))
        options: dict[str, Any] = {"categories": SIZES, "classes": [0, 1], "budget": account} | change
        with pytest.raises(error, match=words):
            CategoricalNB(**options).fit(x, y)
        assert account.remaining == cl.PureDP(epsilon=2)


def test_bad_data_are_refused_and_cost_nothing() -> None:
    x, y = _data()
    account = InMemoryBudget(cl.PureDP(epsilon=2))
    model = CategoricalNB(categories=SIZES, classes=[0, 1], budget=account)
    for bad in (x + 0.5, np.where(x == 2, np.nan, x), x[:, 0], [["a", "b", "c"]] * len(y)):
        with pytest.raises((InputError, TypeError)):
            model.fit(bad, y[: len(bad)])
    with pytest.raises(TypeError):
        model.fit(sparse.csr_matrix(x), y)
    assert account.remaining == cl.PureDP(epsilon=2)


def test_one_row_one_category_and_a_class_that_does_not_occur() -> None:
    model = CategoricalNB(categories=[1, 2], classes=["a", "b"], source=Seeded(0)).fit([[0, 1]], ["b"])
    assert np.isfinite(model.predict_log_proba([[0, 0]])).all()
    public = CategoricalNB(epsilon=INF, classes=["a", "b"], alpha=0).fit([[0, 1]], ["b"])
    assert public.predict([[0, 1]]).tolist() == ["b"]


def test_chunks_are_the_same_fit() -> None:
    x, y = _data()
    whole = CategoricalNB(categories=SIZES, classes=[0, 1], source=Seeded(3)).fit(x, y)
    parts = CategoricalNB(categories=SIZES, classes=[0, 1], source=Seeded(3))
    parts.partial_fit(x[:77], y[:77]).partial_fit(x[77:], y[77:]).finish()
    np.testing.assert_array_equal(whole.class_count_, parts.class_count_)
    np.testing.assert_array_equal(whole.category_count_[0], parts.category_count_[0])


def test_priors_that_are_known_are_taken() -> None:
    x, y = _data()
    model = CategoricalNB(categories=SIZES, classes=[0, 1], class_prior=[0.1, 0.9]).fit(x, y)
    np.testing.assert_allclose(np.exp(model.class_log_prior_), [0.1, 0.9])


def test_a_forecast_is_about_right_and_spends_nothing() -> None:
    x, y = np.zeros((2000, 3), dtype=int), np.repeat([0, 1], 1000)
    model = CategoricalNB(categories=SIZES, classes=[0, 1])
    forecast = model.preview(2000, epsilon=1)
    off = []
    for seed in range(30):
        fitted = CategoricalNB(categories=SIZES, classes=[0, 1], source=Seeded(seed)).fit(x, y)
        off.append(np.exp(fitted.feature_log_prob_[0][:, 0]) - 1)
    assert np.sqrt(np.mean(np.square(off))) == pytest.approx(forecast.error, rel=0.5)
    assert model.preview(2000, epsilon=INF).error == 0
    assert CategoricalNB().preview(10, n_features=4).rows == 10


def test_the_same_numbers_come_out_of_a_database() -> None:
    x, y = _data()
    names = [["red", "green", "blue"], ["yes", "no"], ["n", "e", "s", "w"]]
    frame = pd.DataFrame({c: [names[j][code] for code in x[:, j]] for j, c in enumerate("abc")} | {"ill": y == 1})
    kinds = {c: cl.Category(*names[j]) for j, c in enumerate("abc")}
    schema = cl.Schema(**kinds, ill=cl.Boolean())
    session = cl.Session(cl.table(frame, schema=schema, name="t"), budget=cl.PureDP(epsilon=1))
    fitting = plan_fitting(CategoricalNB(epsilon=1), session.query(), list("abc"), "ill")
    exact, _ = _sums(CategoricalNB(categories=SIZES), [(*row, label) for row, label in zip(x, y, strict=True)])
    with open_engine(session.tables) as engine:
        engine.check(fitting.plan)
        assert fitting.read_sums(engine, range(4)).tolist() == exact.tolist()
    inside = session.fit(CategoricalNB(epsilon=1), features=list("abc"), target="ill")
    assert inside.predict(frame[list("abc")]).dtype == bool
    with pytest.raises(ParameterError, match="must be a Category"):
        CategoricalNB().plan_fit({"a": cl.Real(0, 1)}, cl.Boolean())
