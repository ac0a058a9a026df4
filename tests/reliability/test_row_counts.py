"""Errors before payment say nothing about the number of rows: neither in their words, nor by being raised.

Every estimator gets bad input of every kind, with a budget, once for each of two numbers of rows. What is raised must
be the same text, without the number, and nothing may be spent. Few rows, and none, are no error at all.
"""

from __future__ import annotations

import traceback
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import celosia as cl
from celosia import learn
from celosia.core import CelosiaError
from celosia.learn.base import reading
from celosia.ledger import InMemoryBudget

if TYPE_CHECKING:
    from collections.abc import Callable

MANY = (1237, 1238)
DIGITS = ("1236", "1237", "1238", "1239", "1,23")
CLASSIFIERS = ("CategoricalNB", "GaussianNB", "LogisticRegression", "PNSGDClassifier")
NAMES = (
    *CLASSIFIERS, "FunctionalMechanism", "FuzzyCMeans", "KMeans", "LinearRegression", "PCA", "PNSGDRegressor", "Ridge",
    "StandardScaler",
)  # fmt: skip
SEARCHES = ("search GaussianNB", "search Ridge")
_KNOWN = {"bounds": (0, 1), "bounds_y": (0, 1), "classes": [0, 1], "n_clusters": 2, "epsilon": 5}


def _make(name: str, **given: Any) -> Any:
    if name.startswith("search "):
        inner = _make(name.removeprefix("search "), budget=None)
        grid = {"alpha": [0.1, 1.0]} if "Ridge" in name else {"var_smoothing": [1e-9, 1e-8]}
        return learn.PrivateSearchCV(inner, grid, epsilon=5, repetitions=2, **given)
    kind = getattr(learn, name)
    known = kind().get_params()
    chosen = {key: value for key, value in _KNOWN.items() if key in known}
    if name == "CategoricalNB":
        chosen = {"categories": [4, 4, 4], "classes": [0, 1], "epsilon": 5}
    if "PNSGD" in name:
        chosen |= {"delta": 1e-5, "epochs": 1} if "epochs" in known else {"delta": 1e-5}
    return kind(**chosen | given)


def _records(name: str, rows: int) -> tuple[Any, Any]:
    drawn = np.random.default_rng(rows).uniform(0, 1, (rows, 3))
    labels = (drawn[:, 0] > 0.5).astype(np.int64)
    classifies = name.removeprefix("search ") in CLASSIFIERS
    values = np.floor(drawn * 4) if name == "CategoricalNB" else drawn
    return values, labels if classifies else drawn[:, 0]


def _fit(model: Any, values: Any, target: Any) -> tuple[str, ...]:
    """What came of a fit: kinds and texts of the error and of what it hangs on, and of warnings."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            model.fit(values, target)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is compared
            found += traceback.format_exception_only(error)
            found += [str(other) for other in (error.__cause__, error.__context__) if other is not None]
            found.append("ours" if isinstance(error, CelosiaError) else "foreign")
    return (*found, *(str(warning.message) for warning in warned))


def _matrix(values: Any) -> Any:
    with warnings.catch_warnings(action="ignore"):  # they are not recommended
        return np.asmatrix(values)


BAD: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "y is one shorter": lambda x, y: (x, y[:-1]),
    "y is one longer": lambda x, y: (x, np.append(y, y[:1])),
    "y is empty": lambda x, y: (x, y[:0]),
    "X is empty": lambda x, y: (x[:0], y),
    "y has two columns": lambda x, y: (x, np.column_stack([y, y])),
    "y has two columns, a frame": lambda x, y: (x, pd.DataFrame({"a": y, "b": y})),
    "y has two columns, polars": lambda x, y: (x, pl.DataFrame({"a": y, "b": y})),
    "y has two columns, arrow": lambda x, y: (x, pa.table({"a": y, "b": y})),
    "y has three dimensions": lambda x, y: (x, y.reshape(-1, 1, 1)),
    "y is turned": lambda x, y: (x, y.reshape(1, -1)),
    "y is a scalar": lambda x, _: (x, 1),
    "y is ragged": lambda x, y: (x, [[value] * (1 + place % 2) for place, value in enumerate(y.tolist())]),
    "y is not finite": lambda x, y: (x, np.append(y[:-1].astype(float), np.nan)),
    "y is sparse": lambda x, y: (x, sparse.csr_matrix(y)),
    "y is text": lambda x, y: (x, np.array(["secret"] * len(y))),
    "y is of objects": lambda x, y: (x, np.array([{"secret": value} for value in y], dtype=object)),
    "y is complex": lambda x, y: (x, y + 1j),
    "y is missing": lambda x, _: (x, None),
    "X is a column": lambda x, y: (x[:, 0], y),
    "X is a series": lambda x, y: (pd.Series(x[:, 0]), y),
    "X is turned": lambda x, y: (x.T, y),
    "X has three dimensions": lambda x, y: (x[:, :, None], y),
    "X has no columns": lambda x, y: (x[:, :0], y),
    "X has no columns, a frame": lambda x, y: (pd.DataFrame(index=range(len(x))), y),
    "X is ragged": lambda x, y: ([row[: 2 + place % 2] for place, row in enumerate(x.tolist())], y),
    "X is not finite": lambda x, y: (np.vstack([x[:-1], [[np.nan] * 3]]), y),
    "X is infinite": lambda x, y: (np.vstack([x[:-1], [[np.inf] * 3]]), y),
    "X is sparse": lambda x, y: (sparse.csr_matrix(x), y),
    "X is of objects": lambda x, y: (np.array([[{"secret": 1}] * 3] * len(x), dtype=object), y),
    "X is text": lambda x, y: (np.array([["secret"] * 3] * len(x)), y),
    "X is complex": lambda x, y: (x + 1j, y),
    "X is a matrix": lambda x, y: (_matrix(x), y),
    "X has other columns than the bounds": lambda x, y: (x[:, :2], y),
    "X is a frame with a missing value": lambda x, y: (pd.DataFrame(x).reindex(range(1, len(x) + 1)), y),
    "X is polars with a null": lambda x, y: (pl.DataFrame({"a": [None, *x[1:, 0]], "b": x[:, 1], "c": x[:, 2]}), y),
    "X is arrow with texts": lambda x, y: (pa.table({"a": x[:, 0], "b": x[:, 1], "c": ["secret"] * len(x)}), y),
    "X is a dictionary": lambda x, y: ({"a": x}, y),
    "X is nothing": lambda _, y: (None, y),
}


def _open_account(name: str) -> InMemoryBudget:
    near = cl.ReplaceOne if "PNSGD" in name else cl.AddRemove
    return InMemoryBudget(cl.ApproxDP(epsilon=10, delta="1e-4", adjacency=near))


def _tell_both(
    name: str, spoil: Callable[[Any, Any], tuple[Any, Any]], *, many: tuple[int, int] = MANY, **given: Any
) -> list[tuple[str, ...]]:
    """What came of bad input with one number of rows, and with another; what fails spends nothing."""
    told = []
    for rows in many:
        account = _open_account(name)
        told.append(_fit(_make(name, budget=account, **given), *spoil(*_records(name, rows))))
        assert len(account.history) == (0 if "ours" in told[-1] or "foreign" in told[-1] else 1), told
    return told


def _is_silent(told: list[tuple[str, ...]]) -> bool:
    words = (*DIGITS, "secret", "foreign")
    return told[0] == told[1] and not any(word in text for one in told for text in one for word in words)


@pytest.mark.parametrize("name", [*NAMES, *SEARCHES])
@pytest.mark.sampled(2)
def test_errors_before_payment_do_not_tell_how_many_rows_there_are(name: str) -> None:
    has_bounds = name not in SEARCHES and "bounds" in getattr(learn, name)().get_params()
    for what, spoil in BAD.items():
        given: dict[str, Any] = {"bounds": ([0] * 3, [1] * 3)} if has_bounds else {}
        told = _tell_both(name, spoil, **given)
        assert _is_silent(told), (what, told)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("KMeans", {"n_clusters": 10**6}),
        ("FuzzyCMeans", {"n_clusters": 10**6}),
        ("KMeans", {"n_clusters": 38}),
        ("PCA", {"n_components": 10**6}),
        ("PCA", {"n_components": 38}),
    ],
)
@pytest.mark.sampled(2)
def test_parameters_beyond_the_number_of_rows_do_not_tell_it(name: str, given: dict[str, Any]) -> None:
    told = _tell_both(name, lambda x, y: (x, y), many=(37, 38), **given)
    assert told[0] == told[1], told
    assert "foreign" not in told[0], told


@pytest.mark.parametrize("rows", [0, 1, 2, 3])
@pytest.mark.parametrize("name", [*NAMES, *SEARCHES])
def test_few_rows_and_none_are_answered_and_paid_for(name: str, rows: int) -> None:
    if "PNSGD" in name:  # where one record replaces another their number is public, and none cannot be fitted
        rows = max(rows, 1)
    account = _open_account(name)
    assert _fit(_make(name, budget=account), *_records(name, rows)) == ()
    assert [entry.state for entry in account.history] == ["committed"]


def test_a_batch_without_rows_is_no_error() -> None:
    account = _open_account("StandardScaler")
    model = _make("StandardScaler", budget=account)
    for rows in (3, 0, 2):
        model.partial_fit(_records("StandardScaler", rows)[0])
    model.finish()
    assert [entry.state for entry in account.history] == ["committed"]


@pytest.mark.parametrize(("name", "what"), [("Ridge", "y has two columns"), ("PCA", "X has no columns")])
def test_a_message_that_is_passed_on_would_be_seen(name: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_value_message", lambda said, _: said)
    assert not _is_silent(_tell_both(name, BAD[what]))


def test_a_least_number_of_rows_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_min_rows", lambda *_, **__: 1238)
    assert not _is_silent(_tell_both("PCA", lambda x, y: (x, y)))
