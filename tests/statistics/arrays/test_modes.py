"""Mode and top-k of plain columns: the same choice as in a query, from any kind of column."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from celosia.core import (
    ZCDP,
    ExponentialEvent,
    NoIntervalError,
    ParameterError,
    PermuteAndFlipEvent,
    PureDP,
    RepeatedEvent,
    ReplaceOne,
)
from celosia.data import CAUSES, deaths
from celosia.data.schema.columns import Category
from celosia.noise import Seeded
from celosia.statistics import ContributionBounds, Mode, TopK, mode, top_k

CODES = ["E119", "I219", "U071"]
CAUSE = ["I219"] * 300 + ["U071"] * 500 + ["E119"] * 20


def test_the_commonest_causes_of_death_are_those_of_the_textbook() -> None:
    causes = deaths()["cause"]
    assert mode(causes, CAUSES, epsilon=1).value == "U071"
    assert top_k(causes, 2, CAUSES, epsilon=1).value == ("U071", "I219")


@pytest.mark.parametrize(
    "column",
    [
        CAUSE,
        tuple(CAUSE),
        np.array(CAUSE),
        np.array(CAUSE, dtype=object),
        pd.Series(CAUSE),
        pd.Series(CAUSE, dtype="category"),
        pl.Series(CAUSE),
        pa.array(CAUSE),
        pa.array(CAUSE).dictionary_encode(),
    ],
    ids=lambda column: f"{type(column).__module__}.{type(column).__name__}",
)
def test_any_column_has_a_mode(column: Any) -> None:
    assert mode(column, CODES, epsilon=1).value == "U071"
    assert top_k(column, 3, CODES, epsilon=3).value == ("U071", "I219", "E119")


def test_whole_numbers_are_categories_too() -> None:
    ages = np.repeat([3, 5, 8], [100, 400, 200])
    assert mode(ages, range(10), epsilon=1).value == 5
    assert top_k(ages, 2, range(10), epsilon=2).value == (5, 8)


def test_it_is_the_choice_that_a_query_makes() -> None:
    counts = np.array([[20, 21, 24]])
    column = ["E119"] * 20 + ["I219"] * 21 + ["U071"] * 24
    for seed in range(20):
        expected = Mode(candidates=3).release(counts, 1, ContributionBounds(), source=Seeded(seed)).value[0]
        assert mode(column, CODES, 1, source=Seeded(seed)).value == CODES[expected]
        order = TopK(candidates=3, k=2).release(counts, 1, ContributionBounds(), source=Seeded(seed)).value[0]
        assert top_k(column, 2, CODES, 1, source=Seeded(seed)).value == tuple(CODES[place] for place in order)


def test_releases_say_what_was_run_and_have_no_interval() -> None:
    one = mode(CAUSE, CODES, 1, source=Seeded(1))
    assert (one.event, one.guarantee, one.seeded) == (PermuteAndFlipEvent(epsilon=1), PureDP(epsilon=1), True)
    with pytest.raises(NoIntervalError):
        one.confidence_interval()
    two = top_k(CAUSE, 2, CODES, rho="1/4", adjacency=ReplaceOne, unit="person")
    once = ExponentialEvent(epsilon=1, adjacency=ReplaceOne, unit="person")
    assert two.event == RepeatedEvent(event=once, times=2)
    assert two.guarantee == ZCDP(rho="1/4", adjacency=ReplaceOne, unit="person")
    assert not two.seeded
    assert two == top_k(CAUSE, 2, CODES, rho="1/4", adjacency=ReplaceOne, unit="person")


def test_a_chosen_category_is_behind_by_no_more_than_stated() -> None:
    counts = {"E119": 30, "I219": 29, "U071": 24, "V000": 0}
    column = [code for code, rows in counts.items() for _ in range(rows)]
    for level in (0.5, 0.8, 0.95):
        found = [mode(column, counts, epsilon="1/5", source=Seeded(seed)) for seed in range(300)]
        held = [30 - counts[str(one.value)] <= one.rows_behind(level) for one in found]
        assert np.mean(held) >= level
    first, second = top_k(column, 2, counts, epsilon=1), mode(column, counts, epsilon=1)
    assert first.rows_behind() > second.rows_behind()
    assert second.rows_behind(0.99) > second.rows_behind(0.9) >= 3


def test_what_is_none_of_the_categories_follows_the_null_rule() -> None:
    column = ["I219"] * 100 + [None, "X", 7, float("nan")] * 200
    assert mode(column, CODES, 1).value == "I219"
    assert mode(column, CODES, 1, null="E119").value == "E119"
    assert mode(column, Category(CODES, null="E119"), 1).value == "E119"
    assert mode(column, Category(CODES), 1, null="U071").value == "U071"


def test_a_column_without_rows_is_answered_like_any_other() -> None:
    assert mode([], CODES, 1).value in CODES
    assert set(top_k([None], 3, CODES, 1).value) == set(CODES)


def test_parameters_that_make_no_sense_are_refused() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"categories": []}, "category needs"),
        ({"categories": ["a", "a"]}, "must be different"),
        ({"null": "X"}, "null must be"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilon": None}, "exactly one of epsilon and rho"),
        ({"k": 4}, "k must be at most"),
    ]
    for changes, message in cases:
        arguments: dict[str, Any] = {"k": 2, "categories": CODES, "epsilon": 1} | changes
        with pytest.raises(ParameterError, match=message):
            top_k(CAUSE, **arguments)
