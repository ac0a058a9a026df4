"""Answers become parts of a schema, or errors that say what to write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import CelosiaError
from celosia.data.drafting.answers import (
    LIMITS,
    change_format,
    has_bounds,
    parse_bounds,
    parse_kind,
    parse_list,
    parse_values,
    suggest_kind,
)
from celosia.data.drafting.inspection import InspectedColumn
from celosia.data.schema.columns import Boolean, Category, Date, Integer, Real, Text, Timestamp
from celosia.data.schema.schema import KINDS
from celosia.data.schema_file import SchemaFile
from celosia.data.sources.text_format import TextFormat

if TYPE_CHECKING:
    from collections.abc import Callable


def test_bounds_are_read() -> None:
    assert parse_bounds("integer", " -5 .. 1e3 ") == Integer(-5, 1000)
    assert parse_bounds("integer", "120") == Integer(0, 120)
    assert parse_bounds("real", "0,5..2.5") == Real("0.5", "2.5")
    assert parse_bounds("real", "0.125..20000,5") == Real("0.125", "20000.5")
    assert parse_bounds("date", "2021-01-01..2021-12-31") == Date("2021-01-01", "2021-12-31")
    assert parse_bounds("timestamp", "2021-01-01..2021-12-31 23:59:59") == Timestamp(
        "2021-01-01", "2021-12-31 23:59:59"
    )


def test_wrong_answers_say_what_to_write() -> None:
    wrong: dict[Callable[[str], object], tuple[str, ...]] = {
        lambda answer: parse_bounds("integer", answer): ("", "..", "5..", "9..1", "0..1.5", "a..b", "0..1..2", "0-120"),
        lambda answer: parse_bounds("real", answer): (
            "",
            "x",
            "1..0",
            "nan..1",
            "0..inf",
            "1.234,5",
            "0..20.000",
            "1,234",
            "-12.500..0",
        ),
        lambda answer: parse_bounds("date", answer): (
            "",
            "2021-01-01",
            "2021-02-30..2021-03-01",
            "31/12/2021..1/1/2022",
        ),
        parse_kind: ("", "t", "int64", "?", "%s"),
        parse_values: ("", ",", "F, F", "drop, keep", 'F, "M'),
        lambda answer: parse_values(answer, whole=True): ("", "1, b", "1.5", "9" * 19),
        lambda answer: change_format(TextFormat(), "delimiter", answer): ("ab", ".", "1"),
        lambda answer: change_format(TextFormat(), "encoding", answer): ("", "klingon"),
        lambda answer: change_format(TextFormat(), "decimal", answer): ("", ";", "comma"),
        lambda answer: change_format(TextFormat(), "date_format", answer): (
            "31/12/2021",
            "dd/mm",
            "%d/%m/%Q",
            "mm/mm/yyyy",
        ),
    }
    for read, answers in wrong.items():
        for answer in answers:
            with pytest.raises(CelosiaError, match=r" (must|needs?) |Write |cannot "):
                read(answer)


def test_formats_are_read_as_people_write_them() -> None:
    for text, formats in {
        "dd/mm/yyyy": ("%d/%m/%Y",),
        "DD.MM.AA": ("%d.%m.%y",),
        "d/m/aaaa hh:mm:ss, iso": ("%d/%m/%Y %H:%M:%S",),
        "%Y%m%d": ("%Y%m%d",),
        "ISO": (),
        "": (),
    }.items():
        assert change_format(TextFormat(), "date_format", text).date_format == formats
    form = TextFormat(delimiter=";", encoding="latin-1", null_values=["x"])
    assert change_format(form, "delimiter", "tab") == TextFormat(delimiter="\t", encoding="latin-1", null_values=["x"])
    assert change_format(form, "decimal", ",").to_dict()["decimal"] == ","
    assert change_format(form, "null_values", 'NA, -, "a, b"').null_values == ("NA", "-", "a, b")
    assert change_format(form, "null_values", "none").null_values == ()
    assert change_format(form, "null_values", '"none"').null_values == ("none",)


def test_kinds_and_values() -> None:
    assert [parse_kind(kind[:2].upper()) for kind in KINDS if kind[0] != "t"] == [
        kind for kind in KINDS if kind[0] != "t"
    ]
    assert parse_values('F, "M, or not"') == Category("F", "M, or not")
    assert parse_values("3, 1", whole=True) == Category(3, 1)
    assert [has_bounds(kind) for kind in KINDS] == ["low" in kind.__dataclass_fields__ for kind in KINDS.values()]  # type: ignore[attr-defined] # all are


def test_suggestions_are_complete_or_none() -> None:
    suggested = {
        kind: suggest_kind(InspectedColumn(name="edad", kind=kind)) for kind in ("integer", "real", "boolean", "text")
    }
    assert list(suggested.values()) == [Integer(0, 120), Real(0, 120), Boolean(), Text()]
    assert suggest_kind(InspectedColumn(name="x", kind="integer")) is None
    assert suggest_kind(InspectedColumn(name="importe", kind="integer")) is None
    assert suggest_kind(InspectedColumn(name="x")) == Text()


def test_limits_are_those_of_schema_files() -> None:
    wanted = {name for name in SchemaFile.__dataclass_fields__ if name.startswith("max_")}
    assert LIMITS.keys() == wanted
    assert all(question for _, question in LIMITS.values())
    assert [default is None for default, _ in LIMITS.values()] == [False, False, True]


@given(st.sampled_from(sorted(KINDS)), st.text(max_size=20))
def test_any_answer_is_read_or_refused(kind: str, answer: str) -> None:
    reads: list[Callable[[], object]] = [
        lambda: parse_kind(answer),
        lambda: parse_list(answer),
        lambda: parse_values(answer, whole=True),
    ]
    if has_bounds(kind):
        reads.append(lambda: parse_bounds(kind, answer))
    for read in reads:
        try:
            read()
        except CelosiaError as error:
            assert str(error)  # noqa: PT017 - either is right
