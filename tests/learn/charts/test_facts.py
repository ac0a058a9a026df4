from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from celosia.core import InputError, ParameterError, PureDP
from celosia.learn.charts.facts import (
    axis_titles,
    band_of,
    belonging,
    check_fitted,
    describe_guarantee,
    drawn_bounds,
    feature_name,
    height_of,
    records_of,
    targets_of,
    two_places,
)
from celosia.plots import Labels

PRIVATE = PureDP(epsilon=1)


def test_a_private_model_is_never_drawn_between_its_records() -> None:
    records = np.array([[2.0], [3.0]])
    bounded = SimpleNamespace(n_features_in_=1, bounds=(0, 8), guarantee_=PRIVATE)
    assert [side.tolist() for side in drawn_bounds(bounded, records)] == [[0.0], [8.0]]
    unbounded = SimpleNamespace(n_features_in_=1, bounds=None, guarantee_=PRIVATE)
    with pytest.raises(ParameterError, match="no bounds"):
        drawn_bounds(unbounded, records)
    plain = SimpleNamespace(n_features_in_=1, bounds=None, guarantee_=None)
    assert [side.tolist() for side in drawn_bounds(plain, records)] == [[2.0], [3.0]]
    with pytest.raises(ParameterError, match="no bounds"):
        drawn_bounds(plain, None)


def test_what_a_model_says() -> None:
    line = SimpleNamespace(predict=lambda x: 2 * x[:, 0])
    assert height_of(line, np.array([1.0, 2.0])).tolist() == [2.0, 4.0]
    classes = SimpleNamespace(classes_=["a", "b"], predict_proba=lambda x: np.column_stack([1 - x[:, 0], x[:, 0]]))
    assert height_of(classes, np.array([0.25])).tolist() == [0.25]
    fuzzy = SimpleNamespace(predict_membership=lambda x: np.tile([0.2, 0.8], (len(x), 1)))
    cluster, strength = belonging(fuzzy, np.zeros((2, 2)))
    assert (cluster, strength.tolist()) == ([1, 1], [0.8, 0.8])
    assert band_of(line, np.linspace(0, 1, 5), 0.95) is None


def test_names_and_promises() -> None:
    model = SimpleNamespace(feature_names_in_=np.array(["age", "income"]), guarantee_=PRIVATE)
    assert (feature_name(model, 1), describe_guarantee(model)) == ("income", "PureDP(epsilon=1)")
    assert describe_guarantee(model, records=True) == "PureDP(epsilon=1); the dots are records, and not private"
    assert axis_titles(model, [0, 1], None) == ("age", "income")
    assert axis_titles(model, [0, 1], Labels(title="", x="Years")) == ("Years", "income")


def test_labels_that_the_model_does_not_know_are_refused_and_not_quoted() -> None:
    with pytest.raises(InputError) as caught:
        targets_of(["no", "secret"], 2, np.array(["no", "yes"]))
    assert "secret" not in str(caught.value)
    assert targets_of([1.5, 2], 2, None).tolist() == [1.5, 2.0]


def test_bad_input() -> None:
    for wrong in (None, [1.0], [[1.0, 2.0]], np.zeros((0, 1))):
        with pytest.raises(InputError):
            records_of(wrong, 1)
    with pytest.raises(ParameterError):
        two_places((0, 1), 1)
    with pytest.raises(ParameterError, match="2 feature"):
        check_fitted(SimpleNamespace(predict=None, n_features_in_=1), "predict", features=2)
