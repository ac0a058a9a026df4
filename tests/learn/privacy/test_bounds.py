"""Bounds come from the caller, in three forms, and from nowhere else."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import celosia as cl
from celosia.core import CelosiaError, ParameterError, UnboundedDataError
from celosia.learn.privacy.parameters import axis_of, ends_of, feature_kinds, known_count, target_kind

if TYPE_CHECKING:
    from celosia.data.schema.columns import Kind

SCHEMA = cl.Schema(age=cl.Integer(0, 120), weight=cl.Real(0, 300))


def test_two_numbers_hold_for_all_features() -> None:
    assert feature_kinds((0, 1), 3) == (cl.Real(0, 1),) * 3
    assert feature_kinds(np.array([0.0, 1.0]), 1) == (cl.Real(0, 1),)


def test_arrays_hold_one_by_one() -> None:
    assert feature_kinds((np.array([0, 10]), np.array([1.0, 20.0])), 2) == (cl.Real(0, 1), cl.Real(10, 20))


def test_a_schema_is_read_by_name_or_by_place() -> None:
    assert feature_kinds(SCHEMA, 2, ["weight", "age"]) == (cl.Real(0, 300), cl.Integer(0, 120))
    assert feature_kinds(SCHEMA, 2) == (cl.Integer(0, 120), cl.Real(0, 300))
    assert feature_kinds({"x": (0, 1)}, 1, ["x"]) == (cl.Real(0, 1),)


def test_no_bounds_no_look_at_the_data() -> None:
    with pytest.raises(UnboundedDataError, match="bounds must be given"):
        feature_kinds(None, 2)
    with pytest.raises(UnboundedDataError, match="bounds_y must be given"):
        target_kind(None)
    with pytest.raises(UnboundedDataError, match="no column 'height'"):
        feature_kinds(SCHEMA, 1, ["height"])


def test_nonsense_is_refused() -> None:
    cases: list[Any] = [
        (1, 0),
        (0, 0),
        (0,),
        5,
        "wide",
        (0, float("nan")),
        (0, float("inf")),
        ([0, 1, 2], 3),
        (None, 1),
        ([[0]], 1),
    ]
    for bounds in cases:
        with pytest.raises(CelosiaError):
            feature_kinds(bounds, 2)


def test_the_target_is_a_number() -> None:
    assert target_kind((0, 50)) == cl.Real(0, 50)
    assert target_kind(cl.Integer(0, 5)) == cl.Integer(0, 5)
    with pytest.raises(ParameterError, match="must be a number"):
        target_kind(cl.Category("a", "b"))
    with pytest.raises(ParameterError, match="is no number"):
        axis_of(cl.Text())


def test_how_many_features_bounds_speak_of() -> None:
    assert [known_count(b) for b in (None, (0, 1), (0, [1, 2]), SCHEMA)] == [None, None, 2, 2]


def test_what_is_clipped_to() -> None:
    cases: list[tuple[Kind, tuple[float, float]]] = [
        (cl.Real("0.1", "0.3"), (0.1, 0.3)),  # the axis goes a little beyond
        (cl.Integer(5, 5), (5.0, 5.0)),
        (cl.Boolean(), (0.0, 1.0)),
        (cl.Date("1970-01-02", "1970-01-31"), (1.0, 30.0)),
        (cl.Category(1, 2), (-np.inf, np.inf)),
    ]
    for kind, ends in cases:
        assert ends_of(kind) == ends


def test_a_wrong_pair_is_named() -> None:
    with pytest.raises(ParameterError, match="bounds of feature 2: low must be less than high"):
        feature_kinds(([0, 5], [1, 5]), 2)
    with pytest.raises(ParameterError, match="bounds_y: low must be less than high"):
        target_kind((3, 1))
