from __future__ import annotations

import csv
import datetime as dt
import io
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from celosia.core import PureDP
from celosia.core.events import LaplaceEvent
from celosia.guard.web.answer_table import answer_csv, answer_table
from celosia.query.release import TableRelease

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def release(columns: Mapping[str, Sequence[Any]], keys: tuple[str, ...], half: dict[str, float]) -> TableRelease:
    def interval(name: str) -> Any:
        values = np.asarray(columns[name], dtype=float)
        return lambda level: (values - half[name] * level, values + half[name] * level)

    return TableRelease(
        value=pa.table({name: pa.array(values) for name, values in columns.items()}),
        event=LaplaceEvent(scale=1, sensitivity=1),
        guarantee=PureDP(epsilon=1),
        keys=keys,
        intervals={name: interval(name) for name in half},
    )


def test_numbers_stand_with_their_intervals() -> None:
    table = answer_table(release({"sex": ["F", "M"], "count": [12345, 678]}, ("sex",), {"count": 10}), "en", 0.95)
    assert [(h.name, h.key, h.number, h.interval) for h in table.headings] == [
        ("sex", True, False, False),
        ("count", False, True, True),
    ]
    assert table.rows[0] == (("F", ""), ("12,345", "12,335 – 12,355"))
    assert not table.is_stacked


def test_dates_and_categories_have_intervals_too() -> None:
    made = TableRelease(
        value=pa.table({"born": [dt.date(2020, 5, 1)], "size": ["medium"]}),
        event=LaplaceEvent(scale=1, sensitivity=1),
        guarantee=PureDP(epsilon=1),
        intervals={
            "born": lambda _: (np.array([dt.date(2020, 4, 1)], object), np.array([dt.date(2020, 6, 1)], object)),
            "size": lambda _: (np.array(["small"], object), np.array(["large"], object)),
        },
    )
    assert answer_table(made, "en", 0.95).rows == (
        (("2020-05-01", "2020-04-01 – 2020-06-01"), ("medium", "small – large")),
    )
    assert answer_csv(made, 0.95).splitlines()[1] == "2020-05-01,2020-04-01,2020-06-01,medium,small,large"


def test_a_column_is_grouped_as_one() -> None:
    table = answer_table(release({"count": [12345, 6789]}, (), {"count": 10}), "es", 0.95)
    assert [row[0][0] for row in table.rows] == ["12.345", "6.789"]
    short = answer_table(release({"count": [6789]}, (), {"count": 10}), "es", 0.95)
    assert short.rows[0][0][0] == "6789"


def test_reals_have_the_digits_that_their_interval_allows() -> None:
    table = answer_table(release({"mean": [61.23456789]}, (), {"mean": 0.04}), "es", 0.95)
    assert table.rows[0][0] == ("61,235", "61,196 – 61,273")


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_an_interval_is_never_made_narrower(level: float) -> None:
    made = release({"mean": [1.23456, -7.5]}, (), {"mean": 0.777})
    for value, row in zip([1.23456, -7.5], answer_table(made, "en", level).rows, strict=True):
        low, high = (float(end.replace("−", "-")) for end in row[0][1].split(" – "))
        assert low <= value - 0.777 * level
        assert high >= value + 0.777 * level


def test_keys_are_names_also_if_they_are_numbers() -> None:
    made = release({"year": [2021], "born": [None], "yes": [True], "mode": ["x"], "n": [1234.5]}, ("year",), {})
    table = answer_table(made, "en", 0.95)
    assert [cell[0] for cell in table.rows[0]] == ["2021", "–", "true", "x", "1,234.5"]


def test_several_numbers_have_their_intervals_below() -> None:
    assert answer_table(release({"a": [1], "b": [2]}, (), {"a": 1, "b": 1}), "en", 0.95).is_stacked


def test_what_has_no_end_is_shown_so() -> None:
    made = release({"mean": [math.nan]}, (), {"mean": math.inf})
    assert answer_table(made, "en", 0.95).rows[0][0][0] == "–"


def test_a_spreadsheet_finds_no_formula() -> None:
    made = release({"note": ["=1+1", "+x", "-x", "@x", "plain", 'a"b'], "count": [-1, 2, 3, 4, 5, 6]}, ("note",), {})
    rows = list(csv.reader(io.StringIO(answer_csv(made, 0.95))))
    assert [row[0] for row in rows] == ["note", "'=1+1", "'+x", "'-x", "'@x", "plain", 'a"b']
    assert rows[1][1] == "-1"
