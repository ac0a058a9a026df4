"""Columns of frames are chosen by name; arrays have none, and nothing is read to choose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import celosia as cl
from celosia.core import CelosiaError
from celosia.federated import SGD, Federation, OneShot, Party
from celosia.learn import LinearRegression, StandardScaler
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded

LINE = LinearRegression(bounds=(0, 10), bounds_y=(0, 50))


def make_columns(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    one, two = rng.uniform(0, 10, (2, 50))
    return {"name": np.array(["x"] * 50), "one": one, "cost": 3 * one + two, "two": two}


def federate(parties: Any, update: Any = None, **given: Any) -> Federation:
    defaults: dict[str, Any] = {"features": ["one", "two"], "target": "cost", "epsilon": 4, "source": Seeded(7)}
    return Federation(parties=parties, update=update or OneShot(LINE), **(defaults | given))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_frames_are_those_of_arrays(frame: Any) -> None:
    columns = {name: make_columns(seed) for seed, name in enumerate(("a", "b"))}
    arrays = {name: (np.column_stack([one["one"], one["two"]]), one["cost"]) for name, one in columns.items()}
    frames = {name: frame(one) for name, one in columns.items()}
    for update, given in ((OneShot(LINE), {}), (SGD(estimator=LINE, records=50), {"delta": "1e-5", "rounds": 5})):
        chosen = federate(frames, update, **given)
        model = chosen.run()
        known = federate(arrays, update, features=None, target=None, **given).run()
        assert np.array_equal(model.coef_, known.coef_)
        assert chosen.preview().event == known.event_
        assert model.feature_names_in_.tolist() == ["one", "two"]
    scaler = federate(frames, OneShot(StandardScaler(bounds=(0, 10))), target=None).run()
    assert scaler.n_features_in_ == 2


def test_other_parties_may_be_remote() -> None:
    bounded = OneShot(LinearRegression(bounds=([0, 0], [10, 10]), bounds_y=(0, 50)))
    federation = federate([Party("a", pa.table(make_columns(1)), records=50), Party("b", records=60)], bounded)
    assert [one.is_remote for one in federation.parties] == [False, True]
    assert [one.records for one in federation.parties] == [50, 60]
    assert federation.preview().bytes_per_party == 8 * federation.plan().width


def test_bad_columns_are_named_and_nothing_is_spent() -> None:
    budget = InMemoryBudget(cl.PureDP(epsilon=4))
    frame = pd.DataFrame(make_columns(1))
    values = frame[["one", "two"]].to_numpy()
    bad: list[tuple[Any, str]] = [
        ({"features": ["one", "three"]}, "party 'a' has no column 'three'"),
        ({"target": "price"}, "party 'a' has no column 'price'"),
        ({"target": "one"}, "list of different columns"),
        ({"target": 3}, "list of different columns"),
        ({"features": {"one", "two"}}, "list of different columns"),
        ({"features": None}, "target= names a column"),
        ({"parties": {"a": frame, "b": values}}, "party 'b' have no named columns"),
        ({"parties": {"a": frame, "b": (frame, frame["cost"])}}, "party 'b' have no named columns"),
        ({"parties": {"a": frame, "b": frame.rename(columns={"two": "zwei"})}}, "party 'b' has no column 'two'"),
        ({"features": ["one", "name"]}, "party 'a' cannot be used"),
    ]
    for given, words in bad:
        with pytest.raises(CelosiaError, match=f"(?i){words}"):
            federate(**({"parties": {"a": frame, "b": frame}, "budget": budget} | given)).run()
    assert not budget.history
