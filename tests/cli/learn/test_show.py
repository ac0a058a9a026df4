"""Predictions as CSV: one line for each row, in order, empty where a value is missing."""

from __future__ import annotations

import csv

import numpy as np
import pyarrow as pa
import pytest

import celosia as cl
from celosia.cli.learn.show import kinds_of, predictions_csv
from celosia.core.errors import ParameterError
from celosia.noise import Seeded

ROWS = pa.table({"a": np.linspace(0, 1, 50), "b": np.linspace(1, 0, 50)})


def lines(text: str) -> list[list[str]]:
    return list(csv.reader(text.splitlines()))


def test_rows_keep_their_order() -> None:
    model = cl.learn.GaussianNB(epsilon=50, bounds=(0, 1), classes=['x,"y"', "z"], source=Seeded(7))
    model.fit(ROWS, np.where(np.arange(50) < 25, 'x,"y"', "z"))
    new = pa.table({"a": [0.1, None, 0.9, 0.2], "b": [0.9, 0.5, 0.1, None]})
    assert lines(predictions_csv(model, new)) == [["prediction"], ['x,"y"'], [""], ["z"], [""]]


def test_columns_that_are_made_have_names() -> None:
    model = cl.learn.PCA(bounds=(0, 1), source=Seeded(7)).fit(ROWS)
    head, first, _ = lines(predictions_csv(model, ROWS.slice(0, 2)))
    assert head == ["pca0", "pca1"]
    assert [float(cell) for cell in first] == model.transform(ROWS.slice(0, 2))[0].tolist()


def test_no_row_has_all_values() -> None:
    model = cl.learn.StandardScaler(bounds=(0, 1), source=Seeded(7)).fit(ROWS)
    empty = pa.table({"a": pa.array([None], pa.float64()), "b": pa.array([0.5])})
    assert len(lines(predictions_csv(model, empty))) == 2
    assert len(lines(predictions_csv(model, empty.slice(0, 0)))) == 1


def test_kinds_come_from_the_schema_or_the_bounds() -> None:
    schema = cl.Schema(a=cl.Real(0, 1), b=cl.Real(0, 2))
    model = cl.learn.StandardScaler(bounds=schema, source=Seeded(7)).fit(ROWS)
    assert kinds_of(model) == dict(schema)
    session = cl.Session(cl.table(ROWS, schema=schema, name="t"), budget=cl.PureDP(epsilon=1))
    assert kinds_of(session.fit(cl.learn.StandardScaler(), ["b"])) == {"b": cl.Real(0, 2)}
    assert kinds_of(cl.learn.StandardScaler(bounds=(0, 1), source=Seeded(7)).fit(ROWS)) == {"a": None, "b": None}


def test_what_does_not_predict_is_refused() -> None:
    model = cl.learn.FunctionalMechanism(bounds=(0, 1), bounds_y=(0, 1), source=Seeded(7)).fit(ROWS, np.zeros(50))
    if not hasattr(model, "predict"):
        with pytest.raises(ParameterError, match="does not predict"):
            predictions_csv(model, ROWS)
    with pytest.raises(ParameterError, match="names of its columns"):
        kinds_of(cl.learn.StandardScaler(bounds=(0, 1)).fit(np.zeros((3, 1))))
