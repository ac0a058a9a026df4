"""Text functions agree with a separate oracle, on every code point and on random texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import QueryError
from celosia.query.plan.text_functions import (
    ANY_CHARACTER,
    ANY_STRING,
    CAPITALS,
    SMALL,
    TEXT_FUNCTIONS,
    lower,
    pattern_parts,
    upper,
    write_pattern,
)
from tests.query import oracle

WORDS = st.text("abAB%_ñÑ\\ !", max_size=6)


def test_letters_are_a_fixed_list() -> None:
    """The list is public and part of what a query means: it does not follow a new version of Unicode."""
    assert len(SMALL) == len(CAPITALS) == 199
    assert SMALL.startswith("abcdefghijklmnopqrstuvwxyzàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿāăą")
    assert SMALL.endswith("ѐёђѓєѕіїјљњћќѝўџ")
    assert not set("ßıſŉµς") & {*SMALL, *CAPITALS}
    assert "İ" not in CAPITALS


@pytest.mark.parametrize("name", ["upper", "lower"])
def test_every_letter_is_as_the_oracle_says(name: str) -> None:
    letters = [chr(code) for code in range(0x3000) if not 0xD800 <= code < 0xE000]
    assert [TEXT_FUNCTIONS[name](letter) for letter in letters] == [oracle._TEXTS[name](letter) for letter in letters]


@given(st.text())
def test_no_function_makes_a_text_longer(text: str) -> None:
    assert len(upper(text).encode()) == len(lower(text).encode()) == len(text.encode())
    assert upper(lower(upper(text))) == upper(text)


@given(WORDS, WORDS, st.sampled_from([None, "!"]))
def test_patterns(text: str, pattern: str, escape: str | None) -> None:
    given = (text, pattern) if escape is None else (text, pattern, escape)
    try:
        parts = pattern_parts(pattern, escape)
    except QueryError:
        assert escape is not None
        return
    assert TEXT_FUNCTIONS["like"](*given) == oracle._TEXTS["like"](*given)
    again = write_pattern(parts, "%_\\")
    assert pattern_parts(again, "\\") == parts


@given(st.text("ab ñ🦩", max_size=8), st.integers(1, 9), st.integers(0, 9))
def test_parts_of_texts(text: str, start: int, length: int) -> None:
    calls: list[tuple[str, tuple[int, ...]]] = [("substring", (start,)), ("substring", (start, length))]
    for name, given_ in [*calls, ("right", (length,)), ("trim", ())]:
        assert TEXT_FUNCTIONS[name](text, *given_) == oracle._TEXTS[name](text, *given_)
    for name in ("trim", "ltrim", "rtrim"):
        assert TEXT_FUNCTIONS[name](text, "a ñ") == oracle._TEXTS[name](text, "a ñ")


def test_runs_of_wild_cards_are_one() -> None:
    assert pattern_parts("%%_%") == (ANY_STRING, ANY_CHARACTER, ANY_STRING)


def test_an_escape_of_nothing_is_refused() -> None:
    cases: list[str] = ["a!", "!a", "%!b"]
    for pattern in cases:
        with pytest.raises(QueryError, match="only %, _ or itself may follow"):
            pattern_parts(pattern, "!")
