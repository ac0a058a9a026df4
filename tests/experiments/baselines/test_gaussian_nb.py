"""The published naive Bayes: its formula, its warning, and no guarantee."""

import warnings

import numpy as np
import pytest
from numpy.typing import NDArray

import celosia as cl
from celosia import learn
from celosia.core import NotPrivateWarning, ParameterError, UnboundedDataError
from celosia.experiments.baselines import PublishedGaussianNB
from celosia.noise import Seeded


def _data(n: int = 300, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 4)) * (1 + y[:, None] / 2) + y[:, None], y


def test_it_is_the_published_formula_and_warns_that_it_is_not_private() -> None:
    x, y = _data()
    with pytest.warns(NotPrivateWarning, match="not private"):
        close = PublishedGaussianNB(epsilon=60_000, bounds=(-9, 9), classes=[0, 1, 2], source=Seeded(0)).fit(x, y)
    for c in range(3):
        np.testing.assert_allclose(close.theta_[c], x[y == c].mean(axis=0), atol=1e-3)
        np.testing.assert_allclose(np.sqrt(close.var_[c]), x[y == c].std(axis=0, ddof=1), atol=1e-2)
    assert close.event_ is None
    assert close.guarantee_ is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        off = [
            PublishedGaussianNB(epsilon=1, bounds=(-9, 9), classes=[0, 1, 2], source=Seeded(s)).fit(x, y).theta_
            for s in range(40)
        ]
    counts = np.bincount(y)[:, None]
    errors = np.abs(np.array(off) - close.theta_) * (counts + 1) / 18
    assert errors.mean() == pytest.approx(1.0, rel=0.2)  # the mean of |Laplace noise of scale 1|


def test_it_needs_bounds_a_plain_epsilon_and_memory() -> None:
    x, y = _data()
    with pytest.raises(UnboundedDataError):
        PublishedGaussianNB(classes=[0, 1, 2]).fit(x, y)
    with pytest.raises(ParameterError, match="epsilon alone"):
        PublishedGaussianNB(delta=1e-5, bounds=(-5, 5), classes=[0, 1, 2]).fit(x, y)
    with pytest.raises(ParameterError, match="fit in memory"):
        PublishedGaussianNB().plan_fit({"x": cl.Real(0, 1)}, cl.Boolean())


def test_the_private_estimators_do_not_offer_it() -> None:
    assert not hasattr(learn, "PublishedGaussianNB")
    x, y = _data()
    for method in ("seed", "published"):
        with pytest.raises(ParameterError, match="method must be one of 'auto'"):
            learn.GaussianNB(bounds=(-9, 9), classes=[0, 1, 2], method=method).fit(x, y)
