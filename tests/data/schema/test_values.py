from __future__ import annotations

import datetime as dt
import enum
import itertools
import time
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import ParameterError
from celosia.data.schema.values import (
    as_boolean,
    as_categories,
    as_category,
    as_date,
    as_integer,
    as_text,
    as_timestamp,
)


class Sex(enum.StrEnum):
    FEMALE = "F"
    MALE = "M"


class OldSex(str, enum.Enum):  # noqa: UP042 - whose str() is its name
    FEMALE = "F"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Nowhere(dt.tzinfo):
    """A zone that does not know its offset."""

    def utcoffset(self, _: dt.datetime | None) -> None:
        return None

    dst = utcoffset
    tzname = utcoffset


# ------------------------------------------------------------------------------------------------------ integers


@pytest.mark.parametrize("value", [2, np.int8(2), np.uint64(2), np.array(2), Level.HIGH])
def test_whole_numbers_become_pythons_own(value: object) -> None:
    number = as_integer(value, name="low")
    assert type(number) is int
    assert number == 2


def test_what_is_no_whole_number_is_refused() -> None:
    cases: list[object] = [
        True,
        np.True_,
        7.0,
        np.float64(7),
        "7",
        None,
        Fraction(7),
        float("nan"),
        [7],
        np.array([7]),
        b"7",
        7j,
    ]
    for value in cases:
        with pytest.raises(ParameterError, match="low must be an integer, not"):
            as_integer(value, name="low")


def test_whole_numbers_end_at_2_to_the_62() -> None:
    assert as_integer(2**62, name="low") == -as_integer(-(2**62), name="low") == 2**62
    for value in (2**62 + 1, -(2**62) - 1, 10**5000, -(10**5000), np.uint64(2**63)):
        with pytest.raises(ParameterError, match="low"):
            as_integer(value, name="low")


def test_truth_values() -> None:
    assert as_boolean(np.True_, name="null") is True
    assert as_boolean(np.array(False), name="null") is False  # noqa: FBT003 - a value, not an option
    for value in (0, 1, "true", None, np.int64(1), [True], float("nan")):
        with pytest.raises(ParameterError, match="null must be True or False"):
            as_boolean(value, name="null")


# -------------------------------------------------------------------------------------------------------------- texts


@pytest.mark.parametrize("value", ["F", np.str_("F"), Sex.FEMALE, OldSex.FEMALE])
def test_texts_become_pythons_own(value: str) -> None:
    for text in (as_text(value, name="null"), as_category(value, name="null")):
        assert type(text) is str
        assert text == "F"


def test_texts_that_no_engine_could_hold_are_refused() -> None:
    cases: list[object] = ["a\0b", "\ud800", "x" * 1001, 7, None, b"F"]
    for value in cases:
        with pytest.raises(ParameterError, match="null must be a text"):
            as_text(value, name="null")


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=1000))
def test_every_other_text_is_taken_as_it_is(text: str) -> None:
    assert as_text(text, name="null") == text


# --------------------------------------------------------------------------------------------------------- categories


def test_categories_come_one_by_one_or_in_a_list() -> None:
    cases: list[tuple[object, ...]] = [
        ("F", "M"),
        (["F", "M"],),
        (("F", "M"),),
        (iter(["F", "M"]),),
        ((value for value in "FM"),),
        (np.array(["F", "M"]),),
        (np.array(["F", "M"], dtype=object),),
        (pd.Series(["F", "M"]),),
        (pd.Categorical(["F", "M"]),),
        ({"F": "female", "M": "male"},),
        ({"F": "female", "M": "male"}.keys(),),
        (Sex,),
        tuple(Sex),
    ]
    for given_values in cases:
        values = as_categories(given_values)
        assert values == ("F", "M")
        assert set(map(type, values)) == {str}


@pytest.mark.parametrize(
    "given_values", [(1, 2), ([1, 2],), (range(1, 3),), (np.arange(1, 3),), (Level,), (pd.Series([1, 2]),)]
)
def test_categories_may_be_whole_numbers(given_values: tuple[object, ...]) -> None:
    values = as_categories(given_values)
    assert values == (1, 2)
    assert set(map(type, values)) == {int}


def test_one_text_is_one_value() -> None:
    assert as_categories(("FM",)) == ("FM",)
    assert as_categories((["FM"],)) == ("FM",)
    assert as_categories((7,)) == as_categories((np.int64(7),)) == (7,)


def test_texts_and_numbers_that_look_alike_are_different() -> None:
    assert as_categories(("1", "2")) != as_categories((1, 2))
    assert as_categories(("1", "01", "1.0", " 1")) == ("1", "01", "1.0", " 1")


def test_what_is_no_list_of_categories_is_refused() -> None:
    cases: list[tuple[tuple[object, ...], str]] = [
        ((), "at least one"),
        (([],), "at least one"),
        (("F", "F"), "'F' is given twice"),
        ((1, 2, 1), "1 is given twice"),
        (("F", 1), "all texts or all integers"),
        ((["1", 1],), "all texts or all integers"),
        ((True, False), "True"),
        ((1, True), "True"),
        ((1.0, 2.0), "1.0"),
        (("F", None), "None"),
        (("F", float("nan")), "nan"),
        (([["F"], ["M"]],), "'F'"),
        ((b"FM",), "b'FM'"),
        (({"F", "M"},), "order"),
        ((frozenset({"F"}),), "order"),
        ((np.array("F"),), "array"),
        ((np.array([["F", "M"]]),), "array"),
        ((2**62 + 1,), "2\\^62"),
        (("F", "M\0"), "NUL"),
        ((None,), "None"),
        ((pd.Series(["F", None]),), "None|nan"),
    ]
    for given_values, word in cases:
        with pytest.raises(ParameterError, match=word) as caught:
            as_categories(given_values)
        assert "category" in str(caught.value).lower()


def test_long_lists_are_fine_and_endless_ones_are_refused() -> None:
    assert len(as_categories((map(str, range(200_000)),))) == 200_000
    with pytest.raises(ParameterError, match="at most 1,000,000"):
        as_categories((itertools.count(),))


# ---------------------------------------------------------------------------------------------------- dates and times

DAY = dt.date(2021, 12, 31)


@pytest.mark.parametrize("value", [DAY, "2021-12-31", np.datetime64("2021-12-31"), np.str_("2021-12-31")])
def test_dates_become_pythons_own(value: object) -> None:
    assert as_date(value, name="low") == DAY
    assert type(as_date(value, name="low")) is dt.date


def test_what_is_no_date_is_refused() -> None:
    cases: list[object] = [
        dt.datetime(2021, 12, 31),  # noqa: DTZ001 - a naive one is meant
        dt.datetime(2021, 12, 31, tzinfo=dt.UTC),
        pd.Timestamp("2021-12-31"),
        pd.NaT,
        np.datetime64("NaT"),
        np.datetime64("2021-12-31T00:00"),
        "2021-12-31T00:00",
        "2021-02-29",
        "31/12/2021",
        "yesterday",
        "",
        None,
        20211231,
        18992.0,
        True,
    ]
    for value in cases:
        with pytest.raises(ParameterError, match="low must be a date such as '2021-12-31', not"):
            as_date(value, name="low")


NOON = dt.datetime(2021, 12, 31, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    "value",
    [
        NOON,
        NOON.replace(microsecond=999_999),
        NOON.replace(tzinfo=None),
        NOON.replace(tzinfo=Nowhere()),
        NOON.astimezone(ZoneInfo("America/Mexico_City")),
        "2021-12-31 12:00:00",
        "2021-12-31T12:00:00Z",
        "2021-12-31T13:00+01:00",
        np.datetime64("2021-12-31T12:00"),
        pd.Timestamp("2021-12-31 12:00:00.123456789"),
        pd.Timestamp("2021-12-31 13:00", tz="Europe/Madrid"),
    ],
)
def test_times_become_pythons_own_in_utc(value: object) -> None:
    moment = as_timestamp(value, name="low")
    assert moment == NOON
    assert type(moment) is dt.datetime
    assert moment.tzinfo is dt.UTC


def test_the_zone_of_the_computer_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/Mexico_City")
    time.tzset()
    try:
        for zone in (None, Nowhere()):
            assert as_timestamp(NOON.replace(tzinfo=zone), name="low") == NOON
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_date_is_its_first_second() -> None:
    assert as_timestamp(DAY, name="low") == as_timestamp("2021-12-31", name="low") == NOON.replace(hour=0)


def test_an_hour_that_comes_twice_is_told_apart() -> None:
    madrid = ZoneInfo("Europe/Madrid")
    first, second = (
        as_timestamp(dt.datetime(2021, 10, 31, 2, 30, tzinfo=madrid, fold=fold), name="low") for fold in (0, 1)
    )
    assert second - first == dt.timedelta(hours=1)


def test_what_is_no_time_is_refused() -> None:
    cases: list[object] = [
        "0001-01-01T00:00+05:00",  # in UTC before the year 1
        dt.datetime(9999, 12, 31, 23, tzinfo=dt.timezone(dt.timedelta(hours=-5))),
        pd.NaT,
        np.datetime64("NaT"),
        "2021-12-31 24:00:61",
        "noon",
        "",
        None,
        1640952000,
        1640952000.0,
        True,
        dt.time(12),
    ]
    for value in cases:
        with pytest.raises(ParameterError, match="low must be a time such as"):
            as_timestamp(value, name="low")
