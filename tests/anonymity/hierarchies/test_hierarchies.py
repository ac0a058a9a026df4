"""Hierarchies: every level joins what the level before it kept apart, and shares are parts of the domain."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.anonymity import Categories, Dates, Hierarchy, Intervals, Prefixes, read_hierarchy
from celosia.anonymity.hierarchies.levels import check_level, check_nested, take_upper_levels
from celosia.core.errors import CelosiaError, ParameterError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DAYS = st.dates(date(1990, 1, 1), date(2019, 12, 31))
CASES: list[tuple[Hierarchy, st.SearchStrategy[Any]]] = [
    (Categories([(str(n), str(n // 2), str(n // 4)) for n in range(16)]), st.integers(0, 15)),
    (Intervals.of_widths(0, 100, [5, 10, 50]), st.integers(0, 100)),
    (Intervals([[0.0, 0.5, 2.0, 3.0], [0.0, 2.0, 3.0]]), st.floats(0, 3)),
    (Prefixes(5), st.text("0123456789", min_size=5, max_size=5)),
    (Prefixes(3, keep=[1]), st.integers(0, 999)),
    (Dates(["month", "quarter", "year", "decade"], low=date(1990, 1, 1), high=date(2019, 12, 31)), DAYS),
    (Dates(["week"], low=date(1990, 1, 1), high=date(2019, 12, 31)), DAYS),
]


@pytest.mark.parametrize(("hierarchy", "values"), CASES)
@given(data=st.data())
def test_levels_are_nested_and_cover_more_and_more(
    hierarchy: Hierarchy, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    drawn = data.draw(st.lists(values, unique=True, max_size=20))
    levels = hierarchy.generalize(pa.array(drawn) if drawn else pa.array([], _type_of(hierarchy)), name="c")
    assert levels.height == hierarchy.height == len(levels.codes) == len(levels.shares)
    assert check_nested(levels.codes) == 0
    assert levels.labels[0].to_pylist() == drawn
    assert levels.labels[-1].to_pylist() == ["*"]
    spreads = np.array([share[codes] for share, codes in zip(levels.shares, levels.codes, strict=True) if drawn])
    assert not drawn or ((np.diff(spreads, axis=0) >= -1e-12).all() and (spreads[-1] == 1).all())
    assert all(len(set(labels.to_pylist())) == len(labels) for labels in levels.labels)


def _type_of(hierarchy: Hierarchy) -> pa.DataType:
    return {Intervals: pa.float64(), Dates: pa.date32()}.get(type(hierarchy), pa.string())


def test_shares_are_counts_of_leaves() -> None:
    jobs = Categories({"a": ["x"], "b": ["x"], "c": ["x"], "d": ["y"]})
    levels = jobs.generalize(pa.array(["d", "b"]), name="job")
    assert [share[code].tolist() for share, code in zip(levels.shares, levels.codes, strict=True)] == [
        [0.25, 0.25],
        [0.25, 0.75],
        [1.0, 1.0],
    ]


def test_whole_numbers_are_counted_and_others_measured() -> None:
    ages = Intervals([0, 18, 35, 65, 99]).generalize(pa.array([0, 70]), name="age")
    assert ages.labels[1].to_pylist() == ["0-17", "65-99"]
    assert ages.shares[1][ages.codes[1]].tolist() == [0.18, 0.35]
    assert ages.shares[0].tolist() == [0.01, 0.01]
    sizes = Intervals([0, 0.5, 2]).generalize(pa.array([0.5, 2.0]), name="size")
    assert sizes.labels[1].to_pylist() == ["[0.5, 2]"]
    assert sizes.shares[1].tolist() == [0.75]


def test_values_of_other_types_meet_their_lines() -> None:
    numbers = Categories({"1": "low", "2": "low", "30": "high"})
    for column in (pa.array([30, 1]), pa.array([30.0, 1.0]), pa.array(["30", "1"])):
        found = numbers.generalize(column, name="n")
        assert found.labels[1].take(pa.array(found.codes[1])).to_pylist() == ["high", "low"]
    assert numbers.find_missing(pa.array([30, 7, 1])) == [7]


def test_timestamps_are_dates() -> None:
    born = Dates(["quarter"], low=date(1980, 1, 1), high=date(1980, 12, 31))
    found = born.generalize(pa.array([datetime(1980, 12, 31, 23, 59)]), name="born")  # noqa: DTZ001 - local time
    assert found.labels[1].to_pylist() == ["1980-Q4"]


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
def test_a_file_is_read_with_the_delimiter_of_its_first_line(delimiter: str, tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_text("\ufeff" + delimiter.join("ax*") + "\n" + delimiter.join("by*") + "\n", encoding="utf-8")
    assert read_hierarchy(path).lines == (("a", "x", "*"), ("b", "y", "*"))


def test_values_in_a_file_may_have_any_character(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_bytes('"a\u2028b";x\r\n"c\nd";y\r\n'.encode())
    assert read_hierarchy(path, delimiter=";").lines == (("a\u2028b", "x", "*"), ("c\nd", "y", "*"))


def test_bad_hierarchies_are_refused() -> None:
    some = pa.array([1])
    cases: dict[str, list[Callable[[], object]]] = {
        "anonymity.empty_hierarchy": [lambda: Categories([]), lambda: Categories([()])],
        "anonymity.ragged_hierarchy": [lambda: Categories([("a", "x"), ("b",)])],
        "anonymity.hierarchy_value_repeated": [lambda: Categories([("a", "x"), ("a", "y")])],
        "anonymity.hierarchy_not_nested": [lambda: Categories([("a", "x", "1"), ("b", "x", "2")])],
        "anonymity.hierarchy_not_readable": [lambda: read_hierarchy("none.csv")],
        "anonymity.cuts_not_rising": [
            lambda: Intervals([1]),
            lambda: Intervals([1, 1]),
            lambda: Intervals([0, float("nan")]),
            lambda: Intervals([True, 2]),
        ],
        "anonymity.cuts_not_nested": [lambda: Intervals([]), lambda: Intervals([[0, 5, 10], [0, 6, 10]])],
        "anonymity.cuts_of_other_ends": [lambda: Intervals([[0, 5, 10], [0, 5]])],
        "anonymity.interval_names_missing": [lambda: Intervals([0, 1, 2], names=["a"])],
        "anonymity.widths_not_positive": [
            lambda: Intervals.of_widths(0, 1, [0]),
            lambda: Intervals.of_widths(1, 1, [1]),
        ],
        "anonymity.prefixes_not_falling": [
            lambda: Prefixes(0),
            lambda: Prefixes(3, keep=[1, 2]),
            lambda: Prefixes(3, keep=[3]),
        ],
        "anonymity.unknown_date_units": [
            lambda: Dates(["day"], low=date.min, high=date.max),  # type: ignore[list-item]
            lambda: Dates(["week", "month"], low=date.min, high=date.max),
            lambda: Dates(["year", "month"], low=date.min, high=date.max),
        ],
        "anonymity.dates_not_rising": [lambda: Dates(["year"], low=date.max, high=date.min)],
        "anonymity.unknown_level": [lambda: check_level(3, 3, name="c"), lambda: check_level(-1, 3, name="c")],
        "anonymity.hierarchy_with_gap": [lambda: Categories({"2": "x"}).generalize(some, name="c")],
        "anonymity.value_outside_cuts": [lambda: Intervals([2, 3]).generalize(some, name="c")],
        "anonymity.intervals_need_numbers": [lambda: Intervals([2, 3]).generalize(pa.array(["1"]), name="c")],
        "anonymity.code_of_other_length": [lambda: Prefixes(1).generalize(pa.array([10]), name="c")],
        "anonymity.dates_need_dates": [
            lambda: Dates(["year"], low=date.min, high=date.max).generalize(some, name="c"),
        ],
    }
    for code, acts in cases.items():
        for act in acts:
            with pytest.raises(CelosiaError) as caught:
                act()
            assert caught.value.code == code
            assert isinstance(caught.value, ParameterError | SchemaError)


def test_labels_are_generalized_further_with_the_shares_of_the_domain() -> None:
    ages = Intervals.of_widths(0, 100, [5, 10, 50])
    levels = ages.generalize(pa.array([3, 17, 18, 60]), name="age")
    upper = take_upper_levels(levels, 1)
    assert upper.height == ages.height - 1
    found = upper.generalize(pa.array(["15-19", "60-64"]), name="age")
    assert [labels.to_pylist() for labels in found.labels[1:]] == [labels.to_pylist() for labels in levels.labels[2:]]
    assert found.labels[1].take(pa.array(found.codes[1])).to_pylist() == ["10-19", "60-69"]
    assert found.shares[1][found.codes[1]].tolist() == [10 / 101, 10 / 101]
    assert found.shares[0].tolist() == [5 / 101, 5 / 101]
    assert check_nested(found.codes) == 0
    with pytest.raises(SchemaError, match="'age'"):
        upper.generalize(pa.array(["15"]), name="age")


def test_intervals_of_long_cuts_have_names_of_their_own() -> None:
    levels = Intervals([1_000_000.25, 1_000_000.5, 1_000_000.75]).generalize(pa.array([1e6 + 0.3, 1e6 + 0.6]), name="x")
    assert levels.labels[1].to_pylist() == ["[1000000.25, 1000000.5)", "[1000000.5, 1000000.75]"]
