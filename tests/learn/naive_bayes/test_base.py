"""What naive Bayes classifiers share: predictions, whichever the parameters, and priors that are given."""

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from celosia.core import InputError, ParameterError
from celosia.learn.naive_bayes.base import NaiveBayes, check_priors
from celosia.learn.naive_bayes.categorical import CategoricalNB
from celosia.learn.naive_bayes.gaussian import GaussianNB
from celosia.noise import Seeded


def _models() -> list[NaiveBayes]:
    x, y = np.array([[0, 1], [1, 0], [1, 1], [0, 0]] * 50), np.array(["b", "a", "a", "b"] * 50)
    return [
        GaussianNB(epsilon=5, bounds=(0, 1), classes=["a", "b"], source=Seeded(0)).fit(x, y),
        CategoricalNB(epsilon=5, categories=[2, 2], classes=["a", "b"], source=Seeded(0)).fit(x, y),
    ]


def test_probabilities_add_up_and_the_likeliest_is_predicted() -> None:
    for model in _models():
        x = [[0, 1], [1, 0], [1, 1], [0, 0]]
        chances = model.predict_proba(x)
        np.testing.assert_allclose(chances.sum(axis=1), 1)
        np.testing.assert_allclose(np.log(chances), model.predict_log_proba(x))
        joint = model.predict_joint_log_proba(x)
        np.testing.assert_allclose(np.diff(joint), np.diff(model.predict_log_proba(x)))
        assert model.predict(x).tolist() == ["b", "a", "a", "b"]
        assert model.classes_[chances.argmax(axis=1)].tolist() == model.predict(x).tolist()


def test_other_columns_than_those_learned_are_refused() -> None:
    for model in _models():
        with pytest.raises(InputError, match="features"):
            model.predict([[0, 1, 1]])


def test_what_is_not_fitted_predicts_nothing() -> None:
    with pytest.raises(NotFittedError):
        GaussianNB().predict([[0]])


def test_priors_must_be_one_number_for_each_class() -> None:
    cases: list[Any] = [None, "even", [0.5], [0.5, np.nan], [1.5, -0.5], [[0.5, 0.5]], [0.5, "x"]]
    for priors in cases:
        with pytest.raises(ParameterError, match="2 numbers of 0 or more"):
            check_priors(priors, 2)


def test_priors_must_add_up() -> None:
    with pytest.raises(ParameterError, match="sum of the class_prior should be 1"):
        check_priors([0.5, 0.6], 2, name="class_prior")
    assert check_priors((1, 0), 2).tolist() == [1.0, 0.0]
