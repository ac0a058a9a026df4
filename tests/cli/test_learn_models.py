"""The words for models name estimators that there are, with methods that they have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import celosia as cl
from celosia.cli.learn_models import MODELS, find_model
from celosia.core.errors import InputError, ParameterError
from celosia.statistics import Learner


@pytest.mark.parametrize("word", MODELS)
def test_a_word_names_an_estimator(word: str) -> None:
    model = find_model(word)
    estimator = model.make(epsilon="0.5")
    assert type(estimator).__name__ == model.estimator
    assert estimator.epsilon == "0.5"
    assert find_model(model.estimator) is model
    assert model.methods[0] == "auto"
    assert set(model.sums) <= set(model.methods)
    assert not model.sums or isinstance(estimator, Learner)


SUMS = [(model.word, method) for model in MODELS.values() for method in model.sums]
METHODS = [(model.word, method) for model in MODELS.values() for method in model.methods if len(model.methods) > 1]
TARGETS: dict[str | None, Any] = {"number": cl.Real(0, 1), "classes": cl.Boolean(), None: None}
PUBLIC: dict[str | None, dict[str, Any]] = {"number": {"bounds_y": (0, 1)}, "classes": {"classes": [0, 1]}, None: {}}


@pytest.mark.parametrize(("word", "method"), SUMS)
def test_methods_that_learn_from_sums_do(word: str, method: str) -> None:
    chosen = {"method": method} if len(MODELS[word].methods) > 1 else {}
    price = {} if method == "published" else {"delta": "1e-6"}
    estimator: Any = MODELS[word].make(**price, **chosen)
    kind = cl.Category("a", "b") if word == "categorical-nb" else cl.Real(0, 1)
    assert estimator.plan_fit({"x": kind}, TARGETS[MODELS[word].target]).width > 0


def test_methods_are_known_to_their_estimators() -> None:
    for word, method in METHODS:
        model = MODELS[word]
        estimator = model.make(bounds=(0, 1), delta="1e-6", method=method, **PUBLIC[model.target])
        with pytest.raises(InputError, match="Found array with 0"):
            estimator.fit(np.zeros((0, 2)), np.zeros(0))


def test_unknown_words_and_parameters() -> None:
    with pytest.raises(ParameterError, match="model must be one of linear"):
        find_model("forest")
    with pytest.raises(ParameterError, match="has no parameter 'depth'"):
        find_model("linear").make(depth=3)
