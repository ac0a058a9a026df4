"""A released table: as Arrow, pandas and Polars, with its intervals, drawn, and shown in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import celosia as cl
from celosia.core import LaplaceEvent
from celosia.core.errors import NoIntervalError, ParameterError
from celosia.query.release import TableRelease
from tests.query.samples import asking, persons_table


def around(values: list[int], reach: float) -> Any:
    return lambda level: (np.array(values) - reach * level, np.array(values) + reach * level)


def made(rows: int = 2, **changes: Any) -> TableRelease:
    counts = list(range(10, 10 + rows))
    fields: dict[str, Any] = {
        "value": pa.table({"sex": [f"k{i}" for i in range(rows)], "n": counts, "mode": ["U071"] * rows}),
        "event": LaplaceEvent(scale=1, sensitivity=1),
        "guarantee": cl.PureDP(epsilon=1),
        "keys": ("sex",),
        "intervals": {"n": around(counts, 10)},
    }
    return TableRelease(**(fields | changes))


def test_the_answer_is_a_table() -> None:
    assert made().to_arrow().to_pydict() == {"sex": ["k0", "k1"], "n": [10, 11], "mode": ["U071", "U071"]}
    assert list(made().to_pandas()["n"]) == [10, 11]
    assert made().to_polars()["n"].to_list() == [10, 11]


def test_with_a_level_each_number_has_its_interval_beside_it() -> None:
    table = made().to_arrow("0.5")
    assert table.column_names == ["sex", "n", "n_low", "n_high", "mode"]
    assert table["n_low"].to_pylist() == [5, 6]
    assert table["n_high"].to_pylist() == [15, 16]
    assert list(made().to_pandas(0.5).columns) == made().to_polars(0.5).columns == table.column_names


def test_intervals_are_tables_of_keys_and_numbers() -> None:
    low, high = made().confidence_interval("0.9")
    assert low.to_pydict() == {"sex": ["k0", "k1"], "n": [1, 2]}
    assert high.to_pydict() == {"sex": ["k0", "k1"], "n": [19, 20]}


def test_one_answer_is_an_item() -> None:
    single = made(value=pa.table({"n": [108]}), keys=())
    assert single.item() == 108
    for several in (made(), made(value=pa.table({"n": [1, 2]})), made(value=pa.table({"n": pa.array([], pa.int64())}))):
        with pytest.raises(ParameterError, match="one row and one column"):
            several.item()


def test_wrong_levels_are_refused() -> None:
    cases: list[Any] = [0, 1, 2, -0.5, "much", float("nan")]
    for level in cases:
        with pytest.raises(ParameterError):
            made().confidence_interval(level)
        with pytest.raises(ParameterError):
            made().to_arrow(level)


def test_choices_have_no_interval() -> None:
    chosen = made(intervals={})
    for call in (chosen.confidence_interval, chosen.plot):
        with pytest.raises(NoIntervalError):
            call()
    assert chosen.to_arrow(0.95).column_names == ["sex", "n", "mode"]


def test_it_is_drawn_with_its_intervals() -> None:
    chart = made().plot(title="Deaths")
    assert "Deaths" in chart.to_json()
    assert "95 % interval" in chart.to_json()
    assert made().plot("n").to_dict()
    with pytest.raises(ParameterError, match="must be one of n"):
        made().plot("mode")
    with pytest.raises(ParameterError, match="more than 200 bars"):
        made(201).plot()


def test_without_keys_there_is_one_bar() -> None:
    single = made(value=pa.table({"n": [108]}), keys=(), intervals={"n": around([108], 1)})
    assert "all" in single.plot().to_json()


def test_it_is_shown_in_one_line() -> None:
    text = repr(made(5, seeded=True))
    assert text == (
        "<TableRelease sex, n, mode: ('k0', 10, 'U071'), ('k1', 11, 'U071'), ('k2', 12, 'U071'), …; "
        "PureDP(epsilon=1), seeded=True>"
    )


def test_in_a_notebook_it_is_a_table_and_text_stays_text() -> None:
    html = made(value=pa.table({"sex": ["<script>"], "n": [1]}), intervals={})._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "20 more rows" in made(40)._repr_html_()


def test_intervals_of_persons_are_noise_intervals() -> None:
    release = asking(persons_table()).query().group_by("sex").count().release(epsilon=1)
    assert release.name_interval("0.9") == "90 % noise interval"
    assert "95 % noise interval" in release.plot().to_json()
    assert "The limits may cut off more" in release._repr_html_()
    rows = asking().query().count().release(epsilon=1)
    assert (rows.name_interval(), "limits" in rows._repr_html_()) == ("95 % interval", False)
