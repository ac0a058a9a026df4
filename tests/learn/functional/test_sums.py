from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from celosia.core import AddRemove, GaussianEvent, LaplaceEvent, ParameterError, ReplaceOne
from celosia.data.schema.columns import Boolean, Integer, Kind, Real, Text
from celosia.learn.base.exact import ExactSums
from celosia.learn.base.fit_spec import FitSpec
from celosia.learn.functional.sums import linear_request, logistic_request, solve_linear, solve_logistic
from celosia.noise import Seeded
from celosia.statistics import ContributionBounds, unit_sensitivity
from celosia.statistics.base.target import Target

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.adjacency import Adjacency
    from celosia.statistics.base.summary_request import SummaryRequest

FEATURES: tuple[Kind, ...] = (Real(-3, 5), Integer(10, 20), Boolean())
TARGET = Real(-60, 0)
Sense = Literal["tight", "published"]


def spec(
    *,
    classes: int = 0,
    features: tuple[Kind, ...] = FEATURES,
    adjacency: Adjacency = AddRemove,
    **spent: Any,
) -> FitSpec:
    privacy = Target.of(adjacency=adjacency, **(spent or {"epsilon": 1}))
    return FitSpec(
        features=features,
        privacy=privacy,
        bounding=privacy.bounding,
        target=None if classes else TARGET,
        classes=tuple(range(classes)) if classes else None,
    )


def asked(kind: str, known: FitSpec, *, ones: bool, sensitivity: Sense = "tight") -> SummaryRequest:
    ask = linear_request if kind == "linear" else logistic_request
    return ask(known, fit_intercept=ones, sensitivity=sensitivity)


def exact(request: SummaryRequest, known: FitSpec, values: NDArray[np.float64]) -> list[int]:
    """The numbers that are noised; the last column is the target or the class."""
    held = ExactSums(request, known.kinds)
    if known.classes is None:
        held.add(values)
    else:
        held.add(values[:, :-1], values[:, -1].astype(np.int64))
    return [int(number) for number in held.combine()]


value = st.floats(-100, 100)
corner = st.sampled_from([-3.0, 0.0, 1.0, 5.0, 10.0, 20.0, -60.0, 60.0])
numbers = st.one_of(value, corner)


@st.composite
def neighbours(draw: st.DrawFn, classes: int, adjacency: Adjacency) -> tuple[Any, Any]:
    last = st.integers(0, classes - 1).map(float) if classes else numbers
    row = st.tuples(numbers, numbers, st.sampled_from([0.0, 1.0]), last)
    rest = draw(st.lists(row, max_size=3))
    here = [*rest, draw(row)]
    there = [*rest, draw(row)] if adjacency is ReplaceOne else rest
    return np.array(here).reshape(-1, 4), np.array(there).reshape(-1, 4)


@pytest.mark.parametrize("adjacency", [AddRemove, ReplaceOne])
@pytest.mark.parametrize("ones", [True, False])
@pytest.mark.parametrize(("kind", "classes"), [("linear", 0), ("logistic", 2), ("logistic", 4)])
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_neighbours_are_no_further_apart_than_the_event_says(
    kind: str,
    classes: int,
    ones: bool,  # noqa: FBT001 - a parameter
    adjacency: Adjacency,
    data: st.DataObject,
) -> None:
    here, there = data.draw(neighbours(classes, adjacency))
    known = spec(classes=classes, adjacency=adjacency)
    request = asked(kind, known, ones=ones)
    apart = [a - b for a, b in zip(exact(request, known, here), exact(request, known, there), strict=True)]
    event = request.event
    assert isinstance(event, LaplaceEvent)
    assert sum(map(abs, apart)) <= event.sensitivity
    # The masses of two-sided geometric noise: no output is more than e^epsilon times as likely for one as for another.
    assert sum(map(abs, apart)) / event.scale <= 1
    gaussian = asked(kind, spec(classes=classes, adjacency=adjacency, rho="0.5"), ones=ones).event
    assert isinstance(gaussian, GaussianEvent)
    assert sum(number**2 for number in apart) <= gaussian.sensitivity_squared


def furthest(kind: str, classes: int, *, ones: bool) -> tuple[SummaryRequest, FitSpec, list[int]]:
    """Two records that are as far apart as the formula says, under replace-one."""
    features: tuple[Kind, ...] = (Real(0, 1),) * 3
    known = replace(spec(classes=classes, features=features, adjacency=ReplaceOne), target=None if classes else TARGET)
    request = asked(kind, known, ones=ones)
    shared = 1.0 if kind == "logistic" else 0.0
    both = 1 if ones else 2  # columns in which the two agree, beside the intercept
    second = [shared if place < both else 0.0 for place in range(3)]
    here = np.array([[1.0, 1.0, 1.0, 1.0 if classes else 0.0]])
    there = np.array([[*second, 0.0 if classes else -60.0]])
    pairs = zip(exact(request, known, here), exact(request, known, there), strict=True)
    return request, known, [a - b for a, b in pairs]


def test_the_sensitivity_is_reached_so_less_noise_would_break_the_promise() -> None:
    for ones, (kind, classes) in product((True, False), (("linear", 0), ("logistic", 2))):
        request, _, apart = furthest(kind, classes, ones=ones)
        event = request.event
        assert isinstance(event, LaplaceEvent)
        far = sum(map(abs, apart))
        assert far == event.sensitivity
        # The likeliest ratio of the whole release, in logarithms: at the promise, and above it for mutants.
        assert far / event.scale <= 1
        assert far / (event.scale * 9 / 10) > 1
        assert far / (event.scale / 2) > 1


def test_with_hardly_any_noise_it_is_least_squares() -> None:
    for ones in (True, False):
        rng = np.random.default_rng(3)
        x = np.column_stack([rng.uniform(-3, 5, 3000), rng.integers(10, 21, 3000), rng.integers(0, 2, 3000)])
        y = x @ [1, -2, 3] + rng.normal(size=3000)
        plain = LinearRegression(fit_intercept=ones).fit(x, y)
        for sensitivity in ("tight", "published"):
            known = spec(epsilon=60_000)
            request = asked("linear", known, ones=ones, sensitivity=sensitivity)
            noisy = request.release(np.array(exact(request, known, np.column_stack([x, y])), dtype=object), Seeded(1))
            line = solve_linear(noisy, request, fit_intercept=ones, sensitivity=sensitivity)
            np.testing.assert_allclose(line.coef, plain.coef_, atol=2e-3)
            assert line.intercept == pytest.approx(plain.intercept_, abs=5e-3)


def test_with_hardly_any_noise_it_is_the_minimum_of_the_taylor_polynomial() -> None:
    for classes, ones in product((2, 3), (True, False)):
        rng = np.random.default_rng(3)
        x = np.column_stack([rng.uniform(-3, 5, 3000), rng.integers(10, 21, 3000), rng.integers(0, 2, 3000)])
        labels = np.digitize(x[:, 0] + rng.normal(size=3000), [0, 3][: classes - 1])
        known = spec(classes=classes, epsilon=60_000)
        request = asked("logistic", known, ones=ones)
        noisy = request.release(np.array(exact(request, known, np.column_stack([x, labels])), dtype=object), Seeded(1))
        line = solve_logistic(noisy, request, fit_intercept=ones)
        z = np.column_stack([np.ones(3000), x]) if ones else x
        shares = (labels[:, None] == np.arange(classes)) - 1 / classes
        wanted = (labels - 0.5)[:, None] * 4 if classes == 2 else shares * classes
        expected = np.linalg.solve(z.T @ z, z.T @ wanted).T
        np.testing.assert_allclose(line.coef, expected[:, int(ones) :], atol=2e-3)
        np.testing.assert_allclose(line.intercept, expected[:, 0] if ones else 0, atol=5e-3)


def test_no_rows_and_one_row_are_solved_too() -> None:
    known, several = spec(), spec(classes=3)
    for rows in (0, 1):
        table = np.array([[0.0, 10, 1, 0]])[:rows].reshape(-1, 4)
        request = asked("linear", known, ones=True)
        line = solve_linear(
            request.release(np.array(exact(request, known, table), dtype=object), Seeded(rows)),
            request,
            fit_intercept=True,
        )
        assert np.isfinite(line.coef).all()
        assert math.isfinite(line.intercept)
        request = asked("logistic", several, ones=True)
        noisy = request.release(np.array(exact(request, several, table), dtype=object), Seeded(rows))
        assert np.isfinite(solve_logistic(noisy, request, fit_intercept=True).coef).all()


def test_each_product_is_noised_once() -> None:
    assert asked("linear", spec(), ones=True).width == 4 * 5 // 2 + 4  # X'X with ones, X'y
    assert asked("logistic", spec(classes=2), ones=True).width == 4 * 5 // 2 + 4
    assert asked("logistic", spec(classes=5), ones=True).width == 3 * 4 // 2 + 5 * 4


def test_the_source_documents_constants() -> None:
    known = spec(features=(Real(0, 1),) * 3)
    for kind, classes, expected in (("linear", 0, 2 * 4**2), ("logistic", 2, 8 * (9 / 4 + 9))):
        event = asked(
            kind,
            replace(known, classes=(0, 1) if classes else None, target=None if classes else Real(0, 1)),
            ones=True,
            sensitivity="published",
        ).event
        assert isinstance(event, LaplaceEvent)
        assert event.sensitivity / 2**36 == expected


def test_several_rows_of_a_unit_are_paid_for() -> None:
    known = replace(spec(), bounding=ContributionBounds(rows=3, unit="person", adjacency=ReplaceOne))
    one, three = asked("linear", spec(), ones=True).event, asked("linear", known, ones=True).event
    assert isinstance(one, LaplaceEvent)
    assert isinstance(three, LaplaceEvent)
    assert three.sensitivity == 2 * 3 * one.sensitivity


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ParameterError, match="Laplace noise"):
        asked("linear", spec(epsilon=1, delta=1e-6), ones=True, sensitivity="published")
    with pytest.raises(ParameterError, match="two classes"):
        asked("logistic", spec(classes=3), ones=True, sensitivity="published")
    with pytest.raises(ParameterError, match="sensitivity must be"):
        asked("linear", spec(), ones=True, sensitivity="loose")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="no number"):
        asked("linear", spec(features=(Text(),)), ones=True)


@pytest.mark.parametrize("adjacency", [AddRemove, ReplaceOne])
@pytest.mark.parametrize(("kind", "classes"), [("linear", 0), ("logistic", 2), ("logistic", 3)])
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_averages_that_were_rounded_towards_0_stay_within_the_footprint(
    kind: str, classes: int, adjacency: Adjacency, data: st.DataObject
) -> None:
    """What an engine does to a person of several rows, coordinate by coordinate, before sums are combined."""
    known = spec(classes=classes, adjacency=adjacency)
    request = asked(kind, known, ones=data.draw(st.booleans()))
    assert request.bounds_averages
    assert not replace(
        request, row_sensitivity=replace(request.row_sensitivity, l1=request.row_sensitivity.l1 - 1)
    ).bounds_averages
    groups = data.draw(st.integers(1, 2 if classes else 1))
    needed = unit_sensitivity(
        request.row_sensitivity,
        ContributionBounds(rows=2, groups=groups, cells=max(classes, 1), adjacency=adjacency, unit="person"),
    )

    def person() -> NDArray[Any]:
        total: NDArray[Any] = np.zeros(request.sum_count, dtype=object)
        labels = st.lists(st.integers(0, max(classes, 1) - 1), max_size=groups, unique=True)
        for label in data.draw(labels):
            held = ExactSums(request, known.kinds)
            rows = data.draw(st.lists(st.tuples(*(st.floats(-70, 30) for _ in known.kinds)), min_size=1, max_size=5))
            held.add(np.array(rows), None if not classes else np.full(len(rows), label))
            sums = [int(number) for part in held._sums for number in part.ravel()]
            total += [int(Fraction(2 * number, len(rows))) if len(rows) > 2 else number for number in sums]
        return request.combine([total])

    apart = person() if adjacency is AddRemove else person() - person()
    assert np.abs(apart).sum() <= needed.l1
    assert (apart * apart).sum() <= needed.l2_squared


def test_hundreds_of_features_take_no_square_of_their_products() -> None:
    known = spec(features=(Real(-1, 1),) * 150, classes=3)
    matrix = asked("logistic", known, ones=True).combination
    assert matrix.shape[0] > 11_000
    assert matrix.nnz < 5 * matrix.shape[0]


def test_too_many_classes_are_refused_at_once() -> None:
    with pytest.raises(ParameterError, match="1000 classes by 64 features"):
        asked("logistic", spec(features=(Real(-1, 1),) * 64, classes=1000), ones=True)
