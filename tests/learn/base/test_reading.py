"""Data in: arrays and frames alike, and errors that say nothing about what is in them."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

import celosia as cl
from celosia.core import InputError, ParameterError, UnboundedDataError
from celosia.learn.base.reading import (
    InputTypeError,
    public_classes,
    read_features,
    read_labels,
    read_target,
    read_values,
)
from celosia.ledger import InMemoryBudget

COLUMNS = {"age": [34, 71], "weight": [60.5, 80.0]}


def test_frames_keep_their_names() -> None:
    cases: list[Any] = [pd.DataFrame, pl.DataFrame, pa.table]
    for library in cases:
        frame = library(COLUMNS)
        estimator = BaseEstimator()
        values = read_features(estimator, frame, reset=True)
        assert values.tolist() == [[34.0, 60.5], [71.0, 80.0]]
        assert estimator.feature_names_in_.tolist() == ["age", "weight"]
        assert estimator.n_features_in_ == 2


def test_what_cannot_be_read_is_refused_without_quoting_it() -> None:
    cases: list[tuple[Any, str]] = [
        ([[77777.0, float("nan")]], "NaN"),
        ([[float("inf"), 77777.0]], "infinity"),
        ([1.0, 77777.0], r"Expected 2D array, got 1D array instead\. Reshape your data"),
        ([float("nan"), 77777.0], "Expected 2D array"),
        (77777.0, "Expected 2D array"),
        (np.full((2, 2, 2), 77777.0), "dim 3"),
        ([[1], [2, 77777]], "inhomogeneous shape"),
        ([[77777 * 10**400]], "could not be read as numbers"),
        (pd.Series([1, 77777]), "Expected a 2-dimensional container"),
        (np.array([[{"secret": 77777}]], dtype=object), "must hold numbers"),
        (np.zeros((0, 2)), "0 sample"),
        (np.zeros((2, 0)), "0 feature"),
        ([["secret", "1"]], "could not be read as numbers"),
        (np.array([[77777 + 2j, 0]]), r"Complex data not supported\.$"),
    ]
    for given, said in cases:
        with pytest.raises(InputError, match=said) as caught:
            read_features(BaseEstimator(), given, reset=True)
        assert "secret" not in str(caught.value)
        assert "7777" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None


def test_an_error_that_nobody_has_heard_of_is_not_passed_on() -> None:
    class Odd:
        def __array__(self, *_: object, **__: object) -> None:
            message = "Expected, but secret is not a RuntimeError that is known"
            raise RuntimeError(message[10:])

    with pytest.raises(InputError, match=r"X \(Odd\) could not be read") as caught:
        read_features(BaseEstimator(), Odd(), reset=True)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def _fitted_on_two() -> BaseEstimator:
    estimator = BaseEstimator()
    read_values(estimator, [["F", 1]], reset=True)
    return estimator


def test_values_are_read_as_they_are() -> None:
    estimator = BaseEstimator()
    frame = pd.DataFrame({"sex": ["F", "M"], "year": [1990, 2000]})
    values = read_values(estimator, frame, reset=True)
    assert values.tolist() == [["F", 1990], ["M", 2000]]
    assert (estimator.feature_names_in_.tolist(), estimator.n_features_in_) == (["sex", "year"], 2)
    with pytest.raises(InputError, match="feature names"):
        read_values(estimator, frame[["year", "sex"]], reset=False)
    with pytest.raises(InputError, match="2 features"):
        read_values(_fitted_on_two(), [["F"]], reset=False)
    assert read_values(BaseEstimator(), np.array([[1, 2]], dtype=np.int8), reset=True).dtype == np.int8
    for library in (pl.DataFrame, pa.table):
        assert read_values(BaseEstimator(), library({"sex": ["F", "M"]}), reset=True).tolist() == [["F"], ["M"]]


def test_values_that_cannot_be_read_are_not_quoted() -> None:
    cases: list[tuple[Any, str]] = [
        ([[float("nan"), 77777.0]], "NaN"),
        (np.array([["secret", np.nan]], dtype=object), "NaN"),
        (pd.DataFrame({"a": ["secret", None]}), "NaN"),
        (["secret", "Reshape your data"], "Expected 2D array"),
        (np.array("secret"), "Expected 2D array"),
        (np.array([[77777j]]), "Complex"),
        (np.zeros((0, 2)), "0 sample"),
    ]
    for given, said in cases:
        with pytest.raises(InputError, match=said) as caught:
            read_values(BaseEstimator(), given, reset=True)
        assert "secret" not in str(caught.value)
        assert "7777" not in str(caught.value)


def test_sparse_values_are_refused_clearly() -> None:
    with pytest.raises(InputTypeError, match=r"[Ss]parse"):
        read_values(BaseEstimator(), sparse.csr_matrix(np.eye(2)), reset=True)


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
    for wrong in ([0.5, 1.7], [1], None, [float("nan"), 1], [[0, 1], [1, 0]], np.array([1j, 0])):
        with pytest.raises(InputError):
            read_labels(wrong, 2)


def test_labels_that_are_missing_or_of_several_types_are_refused() -> None:
    cases: list[Any] = [
        ["secret", None],
        np.array(["secret", np.nan], dtype=object),
        pl.Series(["secret", None]),
        pd.Series(["secret", 1]),
    ]
    for wrong in cases:
        with pytest.raises(InputError, match="y contains NaN, or labels of several types") as caught:
            read_labels(wrong, 2)
        assert "secret" not in str(caught.value)


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
    arrow = pa.DictionaryArray.from_arrays([0, 0], ["yes", "no"])
    for column in (arrow, pa.chunked_array([arrow, arrow])):
        assert public_classes(None, column, labels).tolist() == ["no", "yes"]
    for column in (pa.array([True]), pa.chunked_array([[True]])):
        assert public_classes(None, column, truths).tolist() == [False, True]


def test_what_was_seen_is_no_declaration() -> None:
    for column in (pl.Series(["no", "yes"], dtype=pl.Categorical), pa.array(["no", "yes"]), pl.Series(["no", "yes"])):
        with pytest.raises(UnboundedDataError):
            public_classes(None, column, np.array(["no", "yes"]))


def test_labels_that_nobody_declared_are_refused() -> None:
    cases: list[tuple[Any, list[int], type[Exception]]] = [
        (None, [0, 1], UnboundedDataError),
        ("all", [0, 1], ParameterError),
        ([0, 0], [0, 0], ParameterError),
        ([[0, 1]], [0, 1], ParameterError),
        ([0, 1], [0, 2], InputError),
        ("public", [1, 1], InputError),
        ([1], [1, 1], InputError),
        ([None, "a"], [1, 1], ParameterError),
        ([1.0, float("nan")], [1, 1], ParameterError),
        (["1", "10"], [10, 1], InputError),
    ]
    for classes, labels, error in cases:
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


def test_shapes_are_told_without_the_number_of_rows() -> None:
    for rows in (12, 13):
        for given, words in (
            (np.zeros((rows, 0)), r"Found array with 0 feature\(s\) \(shape=\(, 0\)\) while a minimum of 1"),
            ([[1.0], [2.0, 3.0]] * rows, "rows of different lengths: an inhomogeneous shape"),
            (np.zeros(rows), "Expected 2D array"),
        ):
            with pytest.raises(InputError, match=words) as caught:
                read_features(BaseEstimator(), given, reset=True)
            assert str(rows) not in str(caught.value)
        for read in (read_target, read_labels):
            with pytest.raises(InputError, match="y should be a 1d array: one column") as caught:
                read(np.zeros((rows, 2)), rows)
            assert str(rows) not in str(caught.value)


def test_what_does_not_fit_into_memory_is_not_measured() -> None:
    class Huge:
        def __array__(self, *_: object, **__: object) -> None:
            message = "Unable to allocate 9. GiB for an array with shape (1237, 3)"
            raise MemoryError(message)

    with pytest.raises(MemoryError, match=r"X \(Huge\) does not fit into memory\.$"):
        read_features(BaseEstimator(), Huge(), reset=True)


def test_only_a_budget_for_one_record_more_or_less_reads_no_rows() -> None:
    none = np.zeros((0, 2))
    for adjacency in (cl.AddRemove, cl.ReplaceOne):
        model = cl.learn.PCA(bounds=(0, 1), budget=InMemoryBudget(cl.PureDP(epsilon=1, adjacency=adjacency)))
        if adjacency is cl.AddRemove:
            assert read_features(model, none, reset=True).shape == (0, 2)
        else:
            with pytest.raises(InputError, match="0 sample"):
                read_features(model, none, reset=True)
    with pytest.raises(InputError, match="0 sample"):
        read_features(cl.learn.PCA(bounds=(0, 1)), none, reset=True)


def test_row_counts_are_not_told() -> None:
    with pytest.raises(InputError, match="inconsistent numbers of samples") as caught:
        read_target([1.0] * 7, 9)
    assert not any(character.isdigit() for character in str(caught.value))
