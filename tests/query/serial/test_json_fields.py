"""JSON from elsewhere is measured before it is walked, and read no wider than it is meant."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import FormatError
from celosia.core.strict_json import read_json
from celosia.query.serial.json_fields import (
    check_limits,
    check_version,
    number_from_json,
    number_to_json,
    read_boolean,
    read_choice,
    read_fields,
    read_integer,
    read_list,
    read_text,
)

LEAVES = st.none() | st.booleans() | st.integers(-(2**64), 2**64) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    LEAVES | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(value=VALUES)
def test_values_within_the_bounds_are_accepted(value: Any) -> None:
    check_limits(value, name="value", most=1_000, deepest=100, longest=10)


def test_size_is_measured_without_recursion_and_in_bounded_time() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(FormatError, match="nested deeper than 250"):
        check_limits(deep, name="plan", most=10**6, deepest=250, longest=10)
    doubled: list[Any] = []
    for _ in range(60):  # 2^60 parts, in 60 lists
        doubled = [doubled, doubled]
    with pytest.raises(FormatError, match="more than 1,000 parts"):
        check_limits(doubled, name="plan", most=1_000, deepest=250, longest=10)
    ring: list[Any] = []
    ring.append(ring)
    with pytest.raises(FormatError, match="deeper"):
        check_limits(ring, name="plan", most=10**6, deepest=250, longest=10)


@given(depth=st.integers(0, 20), deepest=st.integers(0, 20))
def test_depth_is_counted_exactly(depth: int, deepest: int) -> None:
    value: Any = 1
    for _ in range(depth):
        value = {"inner": value}
    if depth <= deepest:
        check_limits(value, name="value", most=100, deepest=deepest, longest=10)
    else:
        with pytest.raises(FormatError):
            check_limits(value, name="value", most=100, deepest=deepest, longest=10)


def test_leaves_that_json_does_not_have() -> None:
    cases: list[Any] = [
        math.nan,
        math.inf,
        2**64 + 1,
        -(10**500),
        "x" * 11,
        "\ud800",
        {"\udfff": 1},
        {"y" * 11: 1},
        {1: 2},
        b"a",
        (1,),
        {1},
        object(),
        1j,
    ]
    for value in cases:
        for wrapped in (value, [value], {"a": [value]}):
            with pytest.raises(FormatError):
                check_limits(wrapped, name="value", most=100, deepest=10, longest=10)


def test_fields_are_those_that_are_known() -> None:
    assert read_fields({"a": 1}, "thing", ["a"], ["b"]) == {"a": 1}
    with pytest.raises(FormatError, match="needs the field a"):
        read_fields({"b": 1}, "thing", ["a"], ["b"])
    with pytest.raises(FormatError, match="no field 'c'"):
        read_fields({"a": 1, "c": 1}, "thing", ["a"], ["b"])
    for wrong in (None, (), "a", 7):
        with pytest.raises(FormatError, match="is an object"):
            read_fields(wrong, "thing", ["a"])


def test_versions_are_told_before_anything_else() -> None:
    assert check_version({"version": 1, "new": 2}, "thing", 1)["new"] == 2
    wrongs: list[object] = [{"version": 2}, {"version": True}, {"version": "1"}, {"version": 1.0}, {}, [], None]
    for wrong in wrongs:
        with pytest.raises(FormatError, match="newer release"):
            check_version(wrong, "thing", 1)


def test_every_type_is_the_one_that_is_meant() -> None:
    cases: list[tuple[Any, Any]] = [
        (read_text, 1),
        (read_text, None),
        (read_boolean, 1),
        (read_boolean, "true"),
        (read_integer, True),
        (read_integer, 1.0),
        (read_integer, "1"),
        (read_list, (1,)),
        (read_list, {}),
        (read_list, "ab"),
        (number_from_json, True),
        (number_from_json, "inf"),
        (number_from_json, None),
    ]
    for reader, wrong in cases:
        with pytest.raises(FormatError, match="it must be"):
            reader(wrong, "it")


def test_one_of_several_words() -> None:
    assert read_choice("left", "how", ["inner", "left"]) == "left"
    for wrong in ("right", None, ["left"], 0):
        with pytest.raises(FormatError, match="inner, left"):
            read_choice(wrong, "how", ["inner", "left"])


@given(number=st.floats())
def test_every_double_survives_strict_json(number: float) -> None:
    again = number_from_json(read_json(json.dumps(number_to_json(number), allow_nan=False)), "it")
    assert again == number or (math.isnan(again) and math.isnan(number))
