"""Presets are ordered, and their delta is a power of ten that is far below one in the number of persons."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia as cl
from celosia.accounting.presets import PRESETS, suggest_budget, suggest_delta
from celosia.core import ParameterError


@given(st.integers(1, 10**12))
def test_delta_is_the_largest_power_of_ten_that_the_rule_allows(persons: int) -> None:
    delta = suggest_delta(persons)
    assert delta.numerator == 1
    assert set(str(delta.denominator)[1:]) == {"0"}
    assert delta * persons * 10 <= 1
    assert delta == Fraction(1, 10**5) or delta * 10 * persons * 10 > 1


def test_presets_are_budgets() -> None:
    epsilons = [preset.epsilon for preset in PRESETS.values()]
    assert list(PRESETS) == ["cautious", "usual", "generous"]
    assert epsilons == sorted(epsilons)
    budget = suggest_budget("cautious", persons=1_000_000, adjacency=cl.ReplaceOne, unit="person")
    assert budget == cl.ApproxDP(epsilon="0.5", delta="1e-7", adjacency=cl.ReplaceOne, unit="person")


def test_other_names_are_refused() -> None:
    cases: list[object] = ["brave", None, 1]
    for wrong in cases:
        with pytest.raises(ParameterError, match="preset must be one of cautious, usual, generous"):
            suggest_budget(wrong, persons=10)  # type: ignore[arg-type]


def test_persons_are_a_positive_number() -> None:
    cases: list[object] = [0, -1, 2.5, "many"]
    for wrong in cases:
        with pytest.raises(ParameterError, match="persons"):
            suggest_budget(persons=wrong)  # type: ignore[arg-type]
