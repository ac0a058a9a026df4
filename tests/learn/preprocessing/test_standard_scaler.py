"""Private standardisation: scikit-learn's without privacy; bounds go in and come out scaled."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from sklearn import preprocessing as plain
from sklearn.pipeline import make_pipeline

import celosia as cl
from celosia.core import AddRemove, InputError, ParameterError, ReplaceOne, UnboundedDataError
from celosia.core.adjacency import Adjacency
from celosia.core.events import LaplaceEvent
from celosia.learn.base.exact import ExactSums
from celosia.learn.naive_bayes.gaussian import GaussianNB
from celosia.learn.preprocessing.standard_scaler import StandardScaler
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded
from celosia.query.answering.fitting import plan_fitting
from celosia.query.engines.registry import open_engine

INF = float("inf")


def _data(n: int = 2000) -> NDArray[np.float64]:
    rng = np.random.default_rng(0)
    return np.clip(rng.normal([0, 50, 3], [1, 20, 0.5], (n, 3)), [-5, 0, 0], [5, 100, 10])


BOUNDS = ([-5, 0, 0], [5, 100, 10])


@settings(max_examples=30)
@given(st.booleans(), st.booleans(), st.integers(1, 30), st.integers(0, 1000))
def test_without_privacy_it_is_scikit_learns(mean: bool, std: bool, n: int, seed: int) -> None:  # noqa: FBT001 - drawn
    x = np.random.default_rng(seed).normal(size=(n, 2)).round(1)
    x[:, 1] = 0.1  # a constant
    mine = StandardScaler(epsilon=INF, with_mean=mean, with_std=std).fit(x)
    theirs = plain.StandardScaler(with_mean=mean, with_std=std).fit(x)
    np.testing.assert_allclose(mine.transform(x), theirs.transform(x), atol=1e-12)
    np.testing.assert_allclose(mine.inverse_transform(x), theirs.inverse_transform(x), atol=1e-12)
    for name in ("mean_", "var_", "scale_"):
        one, other = getattr(mine, name), getattr(theirs, name)
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other)
    assert mine.guarantee_ is None


def test_with_privacy_it_is_nearly_scikit_learns() -> None:
    adjacency_cases: list[Adjacency] = [AddRemove, ReplaceOne]
    amount_cases: list[dict[str, Any]] = [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}, {"epsilon": None, "rho": 0.1}]
    for adjacency, amount in product(adjacency_cases, amount_cases):
        x = _data(20_000)
        mine = StandardScaler(bounds=BOUNDS, adjacency=adjacency, source=Seeded(1), **amount).fit(x)
        theirs = plain.StandardScaler().fit(x)
        assert theirs.scale_ is not None
        assert mine.mean_ is not None
        assert mine.scale_ is not None
        np.testing.assert_allclose((mine.mean_ - theirs.mean_) / theirs.scale_, 0, atol=0.02)
        np.testing.assert_allclose(mine.scale_ / theirs.scale_, 1, atol=0.03)
        assert mine.n_samples_seen_ == pytest.approx(20_000, abs=100)


def test_there_and_back_again() -> None:
    x = _data()
    for mean in (True, False):
        for std in (True, False):
            scaler = StandardScaler(bounds=BOUNDS, with_mean=mean, with_std=std, source=Seeded(0)).fit(x)
            np.testing.assert_allclose(scaler.inverse_transform(scaler.transform(x)), x, atol=1e-9)
            assert (scaler.scale_ is None) == (not std)


def test_bounds_go_to_the_next_step() -> None:
    x = _data()
    scaler = StandardScaler(bounds=BOUNDS, source=Seeded(0)).fit(x)
    assert scaler.bounds_ is not None
    np.testing.assert_allclose(scaler.bounds_, scaler.transform(np.array(BOUNDS, dtype=float)), rtol=1e-3, atol=1e-3)
    scaled = scaler.transform(x)
    assert (scaled >= scaler.bounds_[0] - 1e-9).all()
    assert (scaled <= scaler.bounds_[1] + 1e-9).all()
    y = (x[:, 0] > 0).astype(int)
    model = GaussianNB(epsilon=5, bounds=scaler.bounds_, classes=[0, 1], source=Seeded(0)).fit(scaled, y)
    assert model.score(scaled, y) > 0.9


def test_it_works_in_a_pipeline_and_clips_nothing_in_transform() -> None:
    x = _data()
    piped = make_pipeline(StandardScaler(bounds=BOUNDS, source=Seeded(0))).fit(x)
    assert piped.transform([[1000, 0, 0]])[0, 0] > 100


def test_few_rows_and_constant_columns_blow_nothing_up() -> None:
    for n, epsilon in ((1, 1.0), (3, 0.01), (100, 0.001)):
        scaler = StandardScaler(epsilon=epsilon, bounds=(0, 1), source=Seeded(n)).fit(np.full((n, 2), 0.5))
        assert scaler.mean_ is not None
        assert scaler.scale_ is not None
        assert ((scaler.mean_ >= 0) & (scaler.mean_ <= 1)).all()
        assert ((scaler.scale_ > 0.01) & (scaler.scale_ <= 1)).all()


@settings(max_examples=40)
@given(data=st.data(), adjacency=st.sampled_from([AddRemove, ReplaceOne]))
def test_the_whole_fit_loses_no_more_than_epsilon(data: st.DataObject, adjacency: Adjacency) -> None:
    row = st.tuples(st.sampled_from([-9.0, -1.0, -0.3, 0.0, 1.0]), st.sampled_from([-1.0, 0.0, 0.5, 1.0, 9.0]))
    rows, one, other = data.draw(st.lists(row, max_size=3)), data.draw(row), data.draw(row)
    model = StandardScaler(epsilon=1, bounds=(-1, 1), adjacency=adjacency)
    sums = []
    for table in ([*rows, one], rows if adjacency is AddRemove else [*rows, other]):
        held = model._begin(2)
        assert isinstance(held, ExactSums)
        if table:
            held.add(np.array(table))
        sums.append(held.combine())
    event = held.request.event
    assert isinstance(event, LaplaceEvent)
    assert sum(map(abs, sums[0] - sums[1])) / event.scale <= 1


def test_what_makes_no_sense_is_refused_and_costs_nothing() -> None:
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"bounds": None}, UnboundedDataError, "bounds must be given"),
        ({"with_mean": "yes"}, ParameterError, "with_mean must be True or False, not 'yes'"),
        ({"with_std": None}, ParameterError, "with_std must be True or False"),
        ({"method": "published"}, ParameterError, "method must be one of 'auto'"),
        ({"epsilon": "much"}, ParameterError, "epsilon"),
    ]
    for change, error, words in cases:
        account = InMemoryBudget(cl.PureDP(epsilon=2))
        options: dict[str, Any] = {"bounds": BOUNDS, "budget": account} | change
        with pytest.raises(error, match=words):
            StandardScaler(**options).fit(_data(10))
        assert account.remaining == cl.PureDP(epsilon=2)


def test_bad_data_are_refused_and_cost_nothing() -> None:
    account = InMemoryBudget(cl.PureDP(epsilon=2))
    scaler = StandardScaler(bounds=BOUNDS, budget=account)
    for bad in ([[1, 2, np.nan]], [[1, 2, np.inf]], np.ones((3, 0)), [1, 2, 3], [["a", "b", "c"]]):
        with pytest.raises(InputError):
            scaler.fit(bad)
    with pytest.raises(TypeError):
        scaler.fit(sparse.csr_matrix(_data(10)))
    assert account.remaining == cl.PureDP(epsilon=2)


def test_chunks_are_the_same_fit() -> None:
    x = _data()
    whole = StandardScaler(bounds=BOUNDS, source=Seeded(3)).fit(x)
    parts = StandardScaler(bounds=BOUNDS, source=Seeded(3)).partial_fit(x[:5]).partial_fit(x[5:]).finish()
    np.testing.assert_array_equal(whole.bounds_, parts.bounds_)


def test_a_forecast_is_about_right_and_spends_nothing() -> None:
    x = np.random.default_rng(1).uniform(0, 1, (1000, 2))
    forecast = StandardScaler(bounds=(0, 1)).preview(1000, epsilon=1, n_features=2)
    off = []
    for seed in range(40):
        fitted = StandardScaler(bounds=(0, 1), source=Seeded(seed)).fit(x)
        assert fitted.mean_ is not None
        off.append(fitted.mean_ - x.mean(axis=0))
    assert np.sqrt(np.mean(np.square(off))) == pytest.approx(forecast.error, rel=0.4)
    assert StandardScaler(bounds=BOUNDS).preview(1000, rho=1).error > 0
    assert StandardScaler().preview(1000, epsilon=INF).error == 0


def test_names_of_features_are_kept() -> None:
    frame = pd.DataFrame(_data(), columns=["a", "b", "c"])
    schema = cl.Schema(c=cl.Real(0, 10), a=cl.Real(-5, 5), b=cl.Real(0, 100))
    scaler = StandardScaler(bounds=schema, source=Seeded(0)).fit(frame)
    assert scaler.get_feature_names_out().tolist() == ["a", "b", "c"]
    assert scaler.set_output(transform="pandas").transform(frame).columns.tolist() == ["a", "b", "c"]


def test_the_same_numbers_come_out_of_a_database() -> None:
    frame = pd.DataFrame(_data(200), columns=["a", "b", "c"])
    schema = cl.Schema(a=cl.Real(-5, 5), b=cl.Real(0, 100), c=cl.Real(0, 10))
    session = cl.Session(cl.table(frame, schema=schema, name="t"), budget=cl.PureDP(epsilon=1))
    fitting = plan_fitting(StandardScaler(epsilon=1), session.query(), list("abc"))
    held = StandardScaler(bounds=schema)._begin(3)
    held.add(frame.to_numpy())
    with open_engine(session.tables) as engine:
        engine.check(fitting.plan)
        assert fitting.read_sums(engine, range(4)).tolist() == held.combine().tolist()
    assert session.fit(StandardScaler(epsilon=1), features=list("abc")).mean_ is not None
