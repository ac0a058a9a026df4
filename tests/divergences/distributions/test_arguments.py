"""Numbers and arrays are read as doubles, and what has no meaning is refused by name."""

import math
from fractions import Fraction

import numpy as np
import pytest

from celosia.core import ParameterError
from celosia.divergences.distributions.arguments import as_array, as_number, as_order, as_probabilities


def test_what_is_no_number_is_refused() -> None:
    cases: list[object] = [True, np.True_, "1", b"1", None, math.nan, [1.0], np.array([1.0]), 1j]
    for value in cases:
        with pytest.raises(ParameterError, match="epsilon must be a number"):
            as_number(value, name="epsilon")
        with pytest.raises(ParameterError, match="order must be a number"):
            as_order(value)


def test_numbers_of_every_kind_are_read() -> None:
    assert as_number(Fraction(1, 2), name="x") == as_number(np.float32(0.5), name="x") == 0.5
    assert as_number(np.array(2), name="x") == 2.0


def test_ranges_are_kept() -> None:
    with pytest.raises(ParameterError, match=r"x must be finite, not inf"):
        as_number(math.inf, name="x")
    with pytest.raises(ParameterError, match=r"x must be at least 0, not -1"):
        as_number(-1, name="x", least=0)
    with pytest.raises(ParameterError, match=r"x must be greater than 0, not 0"):
        as_number(0, name="x", above=0)
    with pytest.raises(ParameterError, match=r"order must be at least 1 .*, not 0\.5"):
        as_order(0.5, least=1)
    assert as_order(math.inf) == math.inf


def test_arrays_without_meaning_are_refused() -> None:
    cases: list[tuple[object, str]] = [
        ([], "shape"),
        ([[1.0], [1.0, 2.0]], "rectangular"),
        ([True, False], "bool"),
        (["a"], "<U1"),
        ([None], "object"),
        ([math.nan], "NaN"),
        ([math.inf], "infinity"),
        (1.0, "shape"),
        ([[1.0]], "shape"),
    ]
    for value, message in cases:
        with pytest.raises(ParameterError, match=message):
            as_array(value, name="points")


def test_probabilities_must_be_probabilities() -> None:
    with pytest.raises(ParameterError, match="p must have no negative"):
        as_probabilities([1.5, -0.5], name="p")
    with pytest.raises(ParameterError, match="p must sum to 1"):
        as_probabilities([0.5, 0.4], name="p")
    assert math.fsum(as_probabilities(np.full(7, 1 / 7), name="p")) == pytest.approx(1, abs=1e-15)


def test_the_callers_array_is_not_touched() -> None:
    given = np.array([0.25, 0.75])
    as_probabilities(given, name="p")[0] = 9
    assert given.tolist() == [0.25, 0.75]


def test_masked_entries_are_refused() -> None:
    masked = np.ma.masked_array([0.5, 0.5], mask=[False, True])
    with pytest.raises(ParameterError, match=r"^p must have no masked entries"):
        as_array(masked, name="p")
