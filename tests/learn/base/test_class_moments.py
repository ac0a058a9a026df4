"""Moments of classes: the row sensitivity against all rows there are, neighbours in integers, and what is read back."""

import itertools
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from celosia.core import AddRemove, ParameterError, ReplaceOne
from celosia.core.adjacency import Adjacency
from celosia.core.events import GaussianEvent, LaplaceEvent
from celosia.data.schema.axis import Axis
from celosia.data.schema.columns import Integer, Kind, Real
from celosia.learn.base.class_moments import UNIT, ClassMoments, moments_of, moments_request
from celosia.learn.base.exact import ExactSums
from celosia.learn.base.fit_spec import FitSpec
from celosia.statistics import ContributionBounds, Noise, SummaryRequest
from celosia.statistics.base.noise import RowSensitivity
from celosia.statistics.base.target import Target

Row = tuple[list[float], int]
Norm = Literal["l1", "l2"]
NORMS: tuple[Norm, ...] = ("l1", "l2")


def _axis(steps: int) -> Axis:
    return Axis(0, steps, Fraction(1))


def _vectors(moments: ClassMoments, classes: int) -> list[list[int]]:
    """Every row there is, in every class, as all classes' numbers one after the other."""
    found = []
    for steps in itertools.product(*(range(axis.steps + 1) for axis in moments.axes)):
        features = list(moments.features(*steps))
        for place in range(classes):
            row = [0] * (classes * moments.width)
            row[place * moments.width : (place + 1) * moments.width] = features
            found.append(row)
    return found


def _brute(moments: ClassMoments, classes: int) -> RowSensitivity:
    rows = _vectors(moments, classes)
    pairs = [[a - b for a, b in zip(one, other, strict=True)] for one in rows for other in rows]
    return RowSensitivity(
        l1=max(sum(map(abs, row)) for row in rows),
        l2_squared=max(sum(x * x for x in row) for row in rows),
        replace_l1=max(sum(map(abs, row)) for row in pairs),
        replace_l2_squared=max(sum(x * x for x in row) for row in pairs),
    )


def test_the_row_sensitivity_is_what_all_rows_there_are_reach_and_no_more(*, thorough: bool) -> None:
    steps_cases: list[tuple[int, ...]] = [(1,), (2,), (7,), (3, 4), (1, 1, 2), *([(40,)] if thorough else [])]
    for norm, classes, steps in product(NORMS, (1, 2, 3), steps_cases):
        moments = ClassMoments(tuple(map(_axis, steps)), norm)
        stated, brute = moments.row_sensitivity_of(classes), _brute(moments, classes)
        assert (stated.l2_squared, stated.replace_l2_squared) == (brute.l2_squared, brute.replace_l2_squared)
        if norm == "l1":
            assert stated == brute
        else:  # weights for the L2 norm: stated in L1, too, but nobody draws Laplace noise for them
            assert brute.l1 <= stated.l1 <= 1.25 * brute.l1 + 1
            assert brute.replace_l1 <= stated.replace_l1 <= 1.25 * brute.replace_l1 + 2


def test_squares_that_are_not_turned_round_would_reach_further() -> None:
    """A mutant: with z^2 in the place of r^2 - z^2 the same row sensitivity would be too small."""
    cases: list[tuple[Norm, float]] = [("l1", 1.49), ("l2", 1.99)]
    for norm, least in cases:
        moments = ClassMoments((_axis(8),), norm, crowd=1)
        _, firsts, seconds = moments.weights
        (r,) = moments.products.reaches
        row = [firsts[0] * r, seconds[0] * r * r]
        reached = (
            sum(row) / moments.row_sensitivity.l1
            if norm == "l1"
            else sum(x * x for x in row) / moments.row_sensitivity.l2_squared
        )
        assert reached > least


@given(st.lists(st.integers(1, 2**20), min_size=1, max_size=6), st.sampled_from(NORMS))
def test_second_weights_are_as_large_as_they_may_be(steps: list[int], norm: Norm) -> None:
    moments = ClassMoments(tuple(map(_axis, steps)), norm)
    part = 2 if norm == "l1" else 1
    for first, second, r in zip(*moments.weights[1:], moments.products.reaches, strict=True):
        assert 0 < part * second * r <= first
        assert part * (second + 1) * r * r > UNIT
        assert UNIT * 0.99 < first * r <= UNIT


@given(st.integers(1, 2**17), st.floats(0, 1), st.floats(0, 1), st.sampled_from(NORMS))
def test_no_row_and_no_two_rows_are_further_than_stated(steps: int, one: float, two: float, norm: Norm) -> None:
    moments = ClassMoments((_axis(steps),), norm)
    top = moments.axes[0].steps
    a, b = (moments.features(round(part * top)) for part in (one, two))
    row_sensitivity, apart = moments.row_sensitivity, [x - y for x, y in zip(a, b, strict=True)]
    assert sum(map(abs, a)) <= row_sensitivity.l1
    assert sum(x * x for x in a) <= row_sensitivity.l2_squared
    assert sum(map(abs, apart)) <= row_sensitivity.replace_l1
    assert sum(x * x for x in apart) <= row_sensitivity.replace_l2_squared
    assert all(low <= x <= high for x, (low, high) in zip(a, moments.reach, strict=True))


PURE, RHO = Target.of(epsilon=1), Target.of(rho=1)


def _spec(
    kinds: tuple[Kind, ...],
    privacy: Target = PURE,
    adjacency: Adjacency = AddRemove,
    classes: tuple[str, ...] | None = ("a", "b"),
) -> FitSpec:
    private = replace(privacy, adjacency=adjacency)
    return FitSpec(features=kinds, privacy=private, bounding=private.bounding, classes=classes)


def _exact(request: SummaryRequest, spec: FitSpec, rows: list[Row]) -> NDArray[Any]:
    held = ExactSums(request, spec.kinds)
    if rows:
        held.add(np.array([row for row, _ in rows], dtype=np.float64), np.array([label for _, label in rows]))
    return held.combine()


KINDS: tuple[Kind, ...] = (Real(-1, 1), Integer(0, 3), Real(0, 1000))
VALUE = st.one_of(st.floats(-2000, 2000), st.sampled_from([-1.0, 0.0, 1.0, 3.0, 1000.0]))
ROW = st.tuples(st.lists(VALUE, min_size=3, max_size=3), st.integers(0, 1))


@settings(max_examples=60)
@given(st.lists(ROW, max_size=4), ROW, ROW, st.sampled_from([AddRemove, ReplaceOne]), st.sampled_from([PURE, RHO]))
def test_neighbours_differ_by_no_more_than_is_paid_for(
    rows: list[Row], one: Row, other: Row, adjacency: Adjacency, privacy: Target
) -> None:
    spec = _spec(KINDS, privacy, adjacency)
    request = moments_request(spec)
    more = [*rows, one]
    less = rows if adjacency is AddRemove else [*rows, other]
    apart = _exact(request, spec, more) - _exact(request, spec, less)
    event = request.noise.event
    if isinstance(event, LaplaceEvent):
        assert sum(map(abs, apart)) <= event.sensitivity
    else:
        assert isinstance(event, GaussianEvent)
        assert sum(x * x for x in apart) <= event.sensitivity_squared


def test_the_loss_at_a_corner_is_epsilon_and_not_less() -> None:
    """The densities' ratio at the corner: the noise is as small as it may be; a tenth smaller would be too small."""
    cases: list[Adjacency] = [AddRemove, ReplaceOne]
    for adjacency in cases:
        spec = _spec(KINDS, PURE, adjacency)
        request = moments_request(spec)
        corner, across = ([1.0, 3.0, 1000.0], 0), ([-1.0, 0.0, 0.0], 1)
        apart = _exact(request, spec, [corner]) - _exact(request, spec, [across] if adjacency is ReplaceOne else [])
        event = request.noise.event
        assert isinstance(event, LaplaceEvent)
        loss = Fraction(sum(map(abs, apart))) / event.scale
        assert loss == 1
        assert loss / Fraction(9, 10) > 1


@given(st.lists(ROW, min_size=1, max_size=5))
def test_sums_in_memory_are_those_of_the_features(rows: list[Row]) -> None:
    kinds = (Integer(0, 3), Integer(-5, 1000), Integer(0, 70_000))
    spec = _spec(kinds)
    request = moments_request(spec)
    moments = moments_of(request)
    wanted = np.zeros((2, moments.width), dtype=object)
    for values, label in rows:
        steps = []
        for value, kind, axis in zip(values, kinds, moments.axes, strict=True):
            step = int(np.floor(min(max(value, kind.low), kind.high) + 0.5))
            steps.append(int(np.floor(step / float(axis.grid) + 0.5)) - axis.lowest)
        wanted[label] += np.array(moments.features(*steps), dtype=object)
    assert _exact(request, spec, rows).tolist() == wanted.reshape(-1).tolist()


@given(st.lists(ROW, min_size=1, max_size=5))
def test_what_is_read_from_exact_sums_is_what_was_there(rows: list[Row]) -> None:
    spec = _spec(KINDS)
    request = moments_request(spec)
    read = moments_of(request).read(_exact(request, spec, rows).astype(np.int64), request.noise)
    low, high = np.array([-1.0, 0, 0]), np.array([1.0, 3, 1000])
    table = np.clip(np.array([values for values, _ in rows]), low, high)
    table[:, 1] = np.floor(table[:, 1] + 0.5)
    z, labels = (2 * table - low - high) / (high - low), np.array([label for _, label in rows])
    for place in (0, 1):
        mine = z[labels == place]
        assert read.counts[place] == pytest.approx(len(mine), abs=1e-9)
        np.testing.assert_allclose(read.sums[place], mine.sum(axis=0), atol=1e-4)
        np.testing.assert_allclose(read.shortfalls[place], (1 - mine**2).sum(axis=0), atol=1e-4)


def test_the_noise_is_the_one_that_leaves_columns_clearer() -> None:
    both = Target.of(epsilon=1, delta="1e-5")
    few, many = (moments_request(_spec((Real(0, 1),) * columns, both)) for columns in (3, 50))
    assert (few.noise.kind, moments_of(few).norm) == ("Laplace", "l1")
    assert (many.noise.kind, moments_of(many).norm) == ("Gaussian", "l2")
    assert moments_request(_spec((Real(0, 1),) * 3, RHO)).noise.kind == "Gaussian"


def test_a_count_that_no_replaced_row_changes_is_free() -> None:
    privacy_cases: list[Target] = [PURE, RHO]
    for privacy, columns in product(privacy_cases, (1, 2, 5, 30)):
        spec = _spec((Real(0, 1),) * columns, privacy, ReplaceOne, classes=None)
        request = moments_request(spec)
        moments = moments_of(request)
        light = ClassMoments(moments.columns, moments.norm, crowd=1)
        found, wanted = (each.row_sensitivity.sensitivity(spec.bounding) for each in (moments, light))
        assert (found.l1 == wanted.l1) if privacy.kind == "pure" else (found.l2_squared == wanted.l2_squared)
        assert moments.weights[0] > 0.9 * UNIT


def test_a_sum_beyond_64_bits_is_still_exact() -> None:
    moments = ClassMoments((_axis(2**16),), "l1")
    powers = np.array([[2**30 - 1, (2**30 - 1) * 2**16, (2**30 - 1) * 2**32]])
    count, first, second = moments.weigh(powers)[0]
    assert count == (2**30 - 1) * moments.weights[0]
    assert first == (2**30 - 1) * UNIT
    assert second == 0


def test_second_moments_cost_nothing() -> None:
    """First moments alone have the same length as first and second together."""
    axes = (_axis(2**16),) * 4
    crowd = ClassMoments(axes).weights[0]
    assert ClassMoments(axes, "l1").row_sensitivity.l1 == crowd + 4 * UNIT
    assert ClassMoments(axes, "l2").row_sensitivity.l2_squared == crowd**2 + 4 * UNIT**2


def test_it_answers_no_question_by_itself() -> None:
    moments = ClassMoments((_axis(2),))
    noise = Noise.laplace(1, moments.row_sensitivity.sensitivity(ContributionBounds()), 1, 3, ContributionBounds())
    with pytest.raises(ParameterError, match="answer no 'mean'"):
        moments.answer("mean", np.zeros((1, 3), dtype=np.int64), noise)
    with pytest.raises(ParameterError, match="answer no 'mean'"):
        moments.spread("mean", noise, rows=1)
    assert moments.quantities == ()
