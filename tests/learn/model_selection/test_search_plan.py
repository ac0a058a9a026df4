"""The plan of a search: what candidates may be, how records are split, and what is made up."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from celosia.core import ParameterError, ReplaceOne
from celosia.data.schema.columns import Category, Integer, Real, Text
from celosia.learn.model_selection.held_out import Scoring
from celosia.learn.model_selection.search_plan import (
    Plan,
    candidates_of,
    exact_repetitions,
    exact_share,
    made_up,
    made_up_target,
    no_records,
    with_settings,
)
from celosia.learn.naive_bayes.gaussian import GaussianNB
from celosia.mechanisms.repetition import Repetitions
from celosia.noise import Seeded
from celosia.statistics.base.target import Target

_MODEL = GaussianNB(bounds=(0, 1), classes=[0, 1])


def _plan(rows: Any) -> Plan:
    return Plan(
        privacy=Target.of(epsilon=1),
        candidates=[{}],
        settings={},
        scoring=Scoring(name="accuracy"),
        repetitions=Repetitions(mean=4),
        share=exact_share("1/4"),
        rows=rows,
        target=np.arange(4),
    )


_ROWS = np.arange(8.0).reshape(4, 2)
_COLUMNS = {"a": _ROWS[:, 0], "b": _ROWS[:, 1]}


def test_every_record_is_in_one_part_whatever_the_frame() -> None:
    cases: list[Any] = [_ROWS, pd.DataFrame(_COLUMNS), pl.DataFrame(_COLUMNS), pa.table(_COLUMNS)]
    for rows in cases:
        kept, kept_target, held, held_target = _plan(rows).split(np.array([False, True, False, True]))
        assert type(kept) is type(rows)
        assert np.array_equal(np.asarray(kept), _ROWS[[0, 2]])
        assert np.array_equal(np.asarray(held), _ROWS[[1, 3]])
        assert kept_target.tolist() == [0, 2]
        assert held_target.tolist() == [1, 3]
        nobody, no_target, everybody, _ = _plan(rows).split(np.ones(4, dtype=np.bool_))
        assert (len(no_target), len(nobody), len(everybody)) == (0, 0, 4)


def test_coins_are_flipped_again_only_where_the_number_of_records_is_public() -> None:
    cases: list[tuple[Target, bool]] = [
        (Target.of(epsilon=1), False),
        (Target.of(epsilon=1, adjacency=ReplaceOne), True),
        (Target.of(epsilon=float("inf")), True),
    ]
    for privacy, again in cases:
        plan = replace(_plan(_ROWS), privacy=privacy, share=Fraction(9, 10))
        flipped = [plan.coins(Seeded(seed)) for seed in range(40)]
        assert any(out.all() for out in flipped) is not again
        assert not all(out.all() for out in flipped)


def test_a_model_that_fits_no_record_learns_noise() -> None:
    model = with_settings(_MODEL, {"epsilon": 60_000, "source": Seeded(1)})
    with no_records(model):
        model.fit(np.eye(2), [0, 1])
    assert "read_data" not in vars(model)
    assert np.abs(np.asarray(model.class_count_)).max() < 0.01
    assert model.fit(np.eye(2), [0, 1]).class_count_.tolist() == pytest.approx([1, 1], abs=0.01)


def test_candidates_are_those_of_scikit_learn() -> None:
    grid = [{"var_smoothing": [0.1, 1.0], "method": ["auto"]}, {"priors": [None]}]
    assert candidates_of(_MODEL, grid) == [
        {"method": "auto", "var_smoothing": 0.1},
        {"method": "auto", "var_smoothing": 1.0},
        {"priors": None},
    ]


def test_grids_that_make_no_sense_are_refused() -> None:
    cases: list[tuple[Any, str]] = [
        ({"epsilon": [1, 2]}, "not for a search to choose"),
        ({"bounds": [(0, 1)]}, "not for a search to choose"),
        ({"categories": [2, 3]}, "not for a search to choose"),
        ({"budget": [None]}, "not for a search to choose"),
        ({"depth": [1]}, "no parameter of GaussianNB"),
        ({"priors": []}, "param_grid"),
        (None, "param_grid"),
        ([1], "param_grid"),
    ]
    for grid, message in cases:
        with pytest.raises(ParameterError, match=message):
            candidates_of(_MODEL, grid)


def test_shares_and_repetitions() -> None:
    given = Repetitions(mean=3, distribution="poisson")
    assert exact_repetitions(given, 7) is given
    assert exact_repetitions(5, 7).mean == 5
    assert exact_repetitions(None, 1).mean == 4
    for wrong in (0, 1, -1, "half", None, float("nan")):
        with pytest.raises(ParameterError, match="holdout"):
            exact_share(wrong)


def test_made_up_records_lie_between_the_bounds() -> None:
    rows = made_up([Real(-1, 1), Integer(0, 120)], None)
    assert rows.min(axis=0).tolist() == [-1, 0]
    assert rows.max(axis=0).tolist() == [1, 120]
    named = made_up([Real(-1, 1), Category("F", "M")], ["x", "sex"])
    assert named.column_names == ["x", "sex"]
    assert set(named["sex"].to_pylist()) == {"F", "M"}
    assert made_up_target(None, (0, 5)).max() == 5
    with pytest.raises(ParameterError, match="a number or a category"):
        made_up([Text()], None)
