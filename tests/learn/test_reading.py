"""Data in: arrays and frames alike, and errors that say nothing about what is in them."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from celosia.core import InputError, ParameterError, UnboundedDataError
from celosia.learn.reading import InputTypeError, public_classes, read_features, read_labels, read_target

COLUMNS = {"age": [34, 71], "weight": [60.5, 80.0]}


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_frames_keep_their_names(library: Any) -> None:  # noqa: ANN401 - of three
    frame = library(COLUMNS)
    estimator = BaseEstimator()
    values = read_features(estimator, frame, reset=True)
    assert values.tolist() == [[34.0, 60.5], [71.0, 80.0]]
    assert estimator.feature_names_in_.tolist() == ["age", "weight"]
    assert estimator.n_features_in_ == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([[1.0, float("nan")]], "NaN"),
        ([[float("inf"), 1.0]], "infinity"),
        ([1.0, 2.0], "Expected 2D array"),
        (np.zeros((0, 2)), "0 sample"),
        (np.zeros((2, 0)), "0 feature"),
        ([["secret", "1"]], "could not be read as numbers"),
        (np.array([[1 + 2j, 0]]), "Complex"),
    ],
)
def test_what_cannot_be_read_is_refused_without_quoting_it(given: Any, said: str) -> None:  # noqa: ANN401 - anything
    with pytest.raises(InputError, match=said) as caught:
        read_features(BaseEstimator(), given, reset=True)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_sparse_matrices_are_refused_clearly() -> None:
    with pytest.raises(InputTypeError, match=r"[Ss]parse"):
        read_features(BaseEstimator(), sparse.csr_matrix(np.eye(2)), reset=True)


def test_another_number_of_features_is_refused() -> None:
    estimator = BaseEstimator()
    read_features(estimator, [[1, 2]], reset=True)
    with pytest.raises(InputError, match="2 features"):
        read_features(estimator, [[1, 2, 3]], reset=False)


def test_targets() -> None:
    assert read_target(pd.Series([1, 2]), 2).tolist() == [1.0, 2.0]
    assert read_target(pl.Series([1, 2]), 2).tolist() == [1.0, 2.0]
    assert read_target(pa.array([1, 2]), 2).tolist() == [1.0, 2.0]
    assert read_target(pa.chunked_array([[1], [2]]), 2).tolist() == [1.0, 2.0]
    for wrong in ([1], [[1, 2], [3, 4]], [float("nan"), 1], None):
        with pytest.raises(InputError):
            read_target(wrong, 2)


def test_labels() -> None:
    assert read_labels(pd.Series(["no", "yes"], dtype="category"), 2).tolist() == ["no", "yes"]
    assert read_labels(pl.Series(["no", "yes"]), 2).tolist() == ["no", "yes"]
    for wrong in ([0.5, 1.7], [1], None, [float("nan"), 1]):
        with pytest.raises(InputError):
            read_labels(wrong, 2)


def test_classes_are_declared_or_in_the_type() -> None:
    labels = np.array(["no", "no"])
    assert public_classes(["yes", "no"], None, labels).tolist() == ["no", "yes"]
    assert public_classes("public", None, np.array([3, 1, 3])).tolist() == [1, 3]
    truths = np.array([True, True])
    assert public_classes(None, truths, truths).tolist() == [False, True]
    category = pd.Series(["no", "no"], dtype=pd.CategoricalDtype(["no", "yes"]))
    assert public_classes(None, category, labels).tolist() == ["no", "yes"]
    enum = pl.Series(["no", "no"], dtype=pl.Enum(["no", "yes"]))
    assert public_classes(None, enum, labels).tolist() == ["no", "yes"]


@pytest.mark.parametrize(
    ("classes", "labels", "error"),
    [
        (None, [0, 1], UnboundedDataError),
        ("all", [0, 1], ParameterError),
        ([0, 0], [0, 0], ParameterError),
        ([[0, 1]], [0, 1], ParameterError),
        ([0, 1], [0, 2], InputError),
        ("public", [1, 1], InputError),
        ([1], [1, 1], InputError),
    ],
)
def test_labels_that_nobody_declared_are_refused(classes: Any, labels: list[int], error: type[Exception]) -> None:  # noqa: ANN401 - anything
    with pytest.raises(error) as caught:
        public_classes(classes, None, np.array(labels))
    assert "2" not in str(caught.value).replace("two", "")


def test_arrow_columns_in_another_order_are_refused() -> None:
    estimator = BaseEstimator()
    table = pa.table(COLUMNS)
    read_features(estimator, table, reset=True)
    assert read_features(estimator, table, reset=False).shape == (2, 2)
    with pytest.raises(InputError, match="names"):
        read_features(estimator, table.select(["weight", "age"]), reset=False)
