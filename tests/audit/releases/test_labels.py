"""Labels of a file are read as a person reads them."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.anonymity import Categories, Dates, Hierarchy, Intervals, Prefixes
from celosia.audit.releases.labels import match_labels, parse_interval


@pytest.mark.parametrize(
    ("label", "inside", "outside"),
    [
        ("40-70", [40, 55, 70], [39, 71]),
        ("40 – 70", [40, 70], [39.5]),
        ("[20, 30)", [20, 29.9], [19, 30]),
        ("(20, 30]", [20.1, 30], [20, 31]),
        ("[20, 30]", [20, 30], [19]),
        ("]20; 30[", [25], [20, 30]),
        (">70", [71], [70]),
        ("> 70", [70.5], [70]),
        ("≥ 20", [20], [19]),
        (">=20", [20], [19]),
        ("<18", [17], [18]),
        ("<= 18", [18], [19]),
        ("≤18", [18], [19]),
        ("-5--1", [-5, -1], [-6, 0]),
        ("1e3-2e3", [1500], [999]),
    ],
)
def test_intervals(label: str, inside: list[float], outside: list[float]) -> None:
    values = pa.array([float(one) for one in inside + outside])
    expected = [True] * len(inside) + [False] * len(outside)
    assert match_labels(values, pa.array([label]), None, "x")[:, 0].tolist() == expected
    assert parse_interval(label) is not None


@pytest.mark.parametrize("label", ["Madrid", "70-40", "", "-", "12", "1-2-3", "a-b", ">", "Covid-19"])
def test_other_texts_are_no_intervals(label: str) -> None:
    assert parse_interval(label) is None


def test_masks_and_any_value() -> None:
    labels = pa.array(["280**", "28***", "4100*", "*", "28013", "***"])
    fits = match_labels(pa.array(["28013", "41001", "281"]), labels, None, "code")
    assert fits.tolist() == [
        [True, True, False, True, True, False],
        [False, False, True, True, False, False],
        [False, False, False, True, False, True],
    ]
    numbers = match_labels(pa.array([1001]), pa.array(["0100*", "1001*"]), None, "code")
    assert numbers.tolist() == [[True, False]]


def test_sets_and_periods() -> None:
    labels = pa.array(["{a, b}", "{b, c, d}", "{Madrid, capital, Toledo}", "{}"])
    fits = match_labels(pa.array(["a", "b", "Madrid, capital", "capi"]), labels, None, "x")
    assert fits.tolist() == [
        [True, False, False, False],
        [True, True, False, False],
        [False, False, True, False],
        [False, False, False, False],
    ]
    days = pa.array([date(2024, 1, 1), date(2024, 1, 31), date(2024, 2, 1)])
    assert match_labels(days, pa.array(["2024-01-01/2024-01-31"]), None, "x")[:, 0].tolist() == [True, True, False]
    moments = pa.array([1704099600, 1704106800], pa.timestamp("s"))  # 9 and 11 hours of 1 January 2024
    label = pa.array(["2024-01-01 08:00:00/2024-01-01 10:00:00"])
    assert match_labels(moments, label, None, "x")[:, 0].tolist() == [True, False]


def test_numbers_of_a_file_are_numbers_and_not_intervals() -> None:
    assert match_labels(pa.array([1.0, 2.5]), pa.array([1, 2]), None, "x").tolist() == [[True, False], [False, False]]


@pytest.mark.parametrize(
    ("hierarchy", "values"),
    [
        (Categories({"a": ["A", "X"], "b": ["A", "X"], "c": ["C", "X"]}), pa.array(["a", "b", "c"])),
        (Intervals.of_widths(0, 100, [5, 25]), pa.array([3, 40, 99])),
        (Prefixes(5), pa.array(["28013", "28014", "41001"])),
        (
            Dates(["month", "year"], low=date(1900, 1, 1), high=date(2020, 1, 1)),
            pa.array([date(1990, 1, 2), date(1990, 5, 2), date(2001, 1, 1)]),
        ),
    ],
)
def test_every_value_fits_its_generalizations_and_no_other(hierarchy: Hierarchy, values: pa.Array) -> None:
    levels = hierarchy.generalize(values, name="x")
    for codes, labels in zip(levels.codes, levels.labels, strict=True):
        fits = match_labels(values, labels, hierarchy, "x")
        expected = codes[:, None] == np.arange(len(labels))[None, :]
        assert (fits == expected).all()


def test_values_without_a_line_fit_only_themselves_and_any() -> None:
    jobs = Categories({"Python": "Back", "React": "Front"})
    fits = match_labels(pa.array(["Python", "Cobol"]), pa.array(["Back", "Cobol", "*"]), jobs, "job")
    assert fits.tolist() == [[True, False, True], [False, True, True]]


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=20), st.integers(-50, 50), st.integers(0, 40))
def test_intervals_have_the_numbers_between_their_ends(numbers: list[int], low: int, width: int) -> None:
    labels: list[Any] = [f"{low}-{low + width}", f">{low}", f"≤ {low}"]
    fits = match_labels(pa.array(numbers), pa.array(labels), None, "x")
    assert fits.tolist() == [[low <= one <= low + width, one > low, one <= low] for one in numbers]
