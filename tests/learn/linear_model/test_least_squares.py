"""What least squares sums: how far one row moves it, in integers, and that the stated bounds are reached."""

import itertools
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core import AddRemove, InputError, ReplaceOne
from celosia.data.schema.axis import Axis, axis_between
from celosia.data.schema.columns import Integer, Real
from celosia.learn.base.exact import ExactSums
from celosia.learn.base.fit_spec import FitSpec
from celosia.learn.linear_model.least_squares import Plan, Sizes, expected_sums, plan_for
from celosia.noise import Seeded
from celosia.statistics import ContributionBounds, Products, Sensitivity
from celosia.statistics.base.target import Target


def combine(plan: Plan, steps: tuple[int, ...]) -> list[int]:
    """One row's part in the numbers that are noised, in Python's integers."""
    (part,) = plan.parts
    features = np.array([int(feature) for feature in part.measure.features(*steps)], dtype=object)
    return [int(number) for number in plan.combine(features)]


def distances(first: list[int], second: list[int]) -> tuple[int, int]:
    """L1 and squared L2."""
    gaps = [abs(a - b) for a, b in zip(first, second, strict=True)]
    return sum(gaps), sum(gap**2 for gap in gaps)


def corner(plan: Plan, signs: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(axis.steps if sign > 0 else 0 for sign, axis in zip(signs, plan.products.axes, strict=True))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    lengths = draw(st.lists(st.sampled_from([1, 2, 3, 7, 40_000, 2**16, 2**20]), min_size=2, max_size=5))
    axes = [Axis(-3, length - 3, Fraction(1)) for length in lengths]
    return Plan.of(
        axes,
        linear=draw(st.booleans()),
        centred=draw(st.booleans()),
        norm=draw(st.sampled_from([1, 2])),
        replaced=draw(st.booleans()),
    )


@settings(max_examples=150)
@given(plans(), st.data())
def test_no_row_moves_the_sums_by_more_than_is_stated(plan: Plan, data: st.DataObject) -> None:
    axes = plan.products.axes
    rows = st.tuples(
        *(st.one_of(st.sampled_from([0, axis.steps, axis.steps // 2]), st.integers(0, axis.steps)) for axis in axes)
    )
    first, second = combine(plan, data.draw(rows)), combine(plan, data.draw(rows))
    row_sensitivity = plan.row_sensitivity
    l1, l2_squared = distances(first, [0] * len(first))
    assert l1 <= row_sensitivity.l1
    assert l2_squared <= row_sensitivity.l2_squared
    l1, l2_squared = distances(first, second)
    assert l1 <= row_sensitivity.replace_l1
    assert l2_squared <= row_sensitivity.replace_l2_squared


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(*[st.floats(-30, 30)] * 3), min_size=0, max_size=4),
    st.tuples(*[st.floats(-1e9, 1e9)] * 3),
    st.one_of(st.none(), st.tuples(*[st.sampled_from([-20.0, 0.0, 1.5, 10.0])] * 3)),
    st.sampled_from(["pure", "approximate"]),
)
def test_neighbouring_data_sets_differ_by_at_most_what_the_noise_is_for(
    others: list[tuple[float, ...]], row: tuple[float, ...], instead: tuple[float, ...] | None, kind: str
) -> None:
    """Clipped values, ties, constant columns, no rows or one: the whole path from doubles to what is noised."""
    adjacency = AddRemove if instead is None else ReplaceOne
    privacy = Target.of(epsilon=1, delta=None if kind == "pure" else 1e-6, adjacency=adjacency)
    kinds = (Real(-10, 10), Integer(0, 7))
    spec = FitSpec(features=kinds, target=Real(0, 1), privacy=privacy, bounding=privacy.bounding)
    plan = plan_for(spec)
    request = plan.request(spec)

    def exact(rows: list[tuple[float, ...]]) -> list[int]:
        held = ExactSums(request, spec.kinds)
        held.add(np.array(rows, dtype=np.float64).reshape(len(rows), 3))
        return [int(number) for number in held.combine()]

    l1, l2_squared = distances(exact([*others, row]), exact([*others, *([] if instead is None else [instead])]))
    event: Any = request.noise.event
    if request.noise.kind == "Laplace":
        assert l1 <= event.sensitivity
    else:
        assert l2_squared <= event.sensitivity_squared


def test_adding_a_row_at_a_corner_moves_the_sums_by_all_that_is_stated() -> None:
    """So one step less would be too little."""
    for columns, centred in product((2, 3, 4, 6), (True, False)):
        plan = Plan.of([axis_between(0, 1), *[Axis(0, 7, Fraction(1))] * (columns - 1)], centred=centred)
        row = combine(plan, corner(plan, (1,) * columns))
        assert distances(row, [0] * len(row)) == (plan.row_sensitivity.l1, plan.row_sensitivity.l2_squared)


def test_replacing_a_row_by_the_right_corner_reaches_the_stated_l2() -> None:
    """So one step less would be too little."""
    for columns in (2, 3, 4, 6):
        for replaced in (True, False):
            plan = Plan.of([axis_between(0, 1)] * columns, replaced=replaced)
            rows = [combine(plan, corner(plan, signs)) for signs in itertools.product([-1, 1], repeat=columns)]
            assert max(distances(rows[-1], row)[1] for row in rows) == plan.row_sensitivity.replace_l2_squared


def test_squares_are_free_where_rows_are_replaced() -> None:
    """They are weighted no more than the products beside them pay for, whatever the columns are."""
    for columns, steps in product((2, 3, 4, 5, 9, 17, 40), (1, 3, 2**16, 2**20, 2**30)):
        sizes = Plan.of([Axis(0, steps, Fraction(1))] * columns, replaced=True).sizes
        free = replace(sizes, squared_feature=0, squared_target=0)
        assert sizes.replace_l2_squared == free.replace_l2_squared


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_replacing_a_row_comes_close_to_the_stated_l1(columns: int) -> None:
    """One row at a corner, the other where a quadratic function is least: found here by trying one column at a time."""
    plan = Plan.of([axis_between(0, 1)] * columns, norm=1, replaced=True)
    last = combine(plan, corner(plan, (1,) * columns))
    steps, reached = [20_000] * columns, 0
    for width in (8192, 1024, 128, 16, 1):
        for _ in range(5):
            for place in range(columns):
                tries = [min(max(steps[place] + move * width, 0), 2**16) for move in range(-8, 9)]
                found = [distances(last, combine(plan, (*steps[:place], at, *steps[place + 1 :])))[0] for at in tries]
                steps[place], reached = tries[int(np.argmax(found))], max(found)
    assert 0.999_999 * plan.row_sensitivity.replace_l1 < reached <= plan.row_sensitivity.replace_l1


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 2), st.lists(st.integers(0, 9), min_size=6, max_size=6))
def test_the_formulas_for_two_rows_agree_with_trying_all_on_a_grid(features: int, weights: list[int]) -> None:
    names = ("feature", "target", "pair", "cross", "squared_feature", "squared_target")
    sizes = Sizes(features=features, **dict(zip(names, weights, strict=True)))
    l1, l2_squared = farthest(sizes)
    assert l1 <= sizes.replace_l1
    assert l2_squared <= sizes.replace_l2_squared + 1e-6
    assert sizes.replace_l1 <= 1.03 * l1 + 1 or sizes.pair > 2 * sizes.squared_feature
    covered = sizes.squared_feature**2 <= sizes.feature**2 + sizes.cross**2 + sizes.pair**2 * (features - 1) / 2
    if covered and sizes.squared_target <= sizes.target:
        assert l2_squared == pytest.approx(sizes.replace_l2_squared)


def farthest(sizes: Sizes) -> tuple[float, float]:
    """The largest distances of two rows, one of them anywhere on a grid and the other too."""
    grid = np.linspace(-1, 1, 9 if sizes.features == 2 else 41)
    points = np.array(list(itertools.product(grid, repeat=sizes.features + 1)))
    features, target = points[:, :-1], points[:, -1]
    columns = [*(sizes.feature * u for u in features.T), sizes.target * target]
    columns += [sizes.cross * u * target for u in features.T]
    columns += [sizes.pair * a * b for a, b in itertools.combinations(features.T, 2)]
    columns += [*(sizes.squared_feature * u**2 for u in features.T), sizes.squared_target * target**2]
    values = np.stack(columns, axis=1)
    ends = np.abs(points) == 1
    some = values[ends.any(axis=1)]
    gaps = [np.abs(values - row) for row in some]
    return max(float(gap.sum(axis=1).max()) for gap in gaps), max(float((gap**2).sum(axis=1).max()) for gap in gaps)


def test_sizes_of_a_hand_calculation() -> None:
    """Four columns, all sizes 1: 14 - 4t - 10t^2 is largest at t = -1/5, where it is 14.4; and 4 times a cut of 6."""
    one = Sizes(features=3, feature=1, target=1, pair=1, cross=1, squared_feature=1, squared_target=1)
    assert one.replace_l1 == 15
    thousand = Sizes(
        **dict.fromkeys(("feature", "target", "pair", "cross", "squared_feature", "squared_target"), 1000),
        features=3,
    )
    assert thousand.replace_l1 == 14_400
    assert thousand.replace_l2_squared == 24_000_000


def test_noise_for_replaced_rows_leaves_the_count_nearly_alone() -> None:
    axes: list[Any] = [axis_between(0, 1)] * 4
    for norm in (1, 2):
        plan = Plan.of(axes, norm=norm, replaced=True)
        assert plan.steps[0] > Plan.of(axes, norm=norm).steps[0]
        found = plan.row_sensitivity
        assert norm == 2 or found.l1 <= found.replace_l1
        assert norm == 1 or found.l2_squared <= found.replace_l2_squared


def test_the_count_is_not_free_where_persons_are_replaced() -> None:
    """What two persons differ by is twice what one is from none, the count included: it keeps its usual weight."""
    replaced = ContributionBounds(unit="person", adjacency=ReplaceOne)
    privacy = Target.of(epsilon=1, adjacency=ReplaceOne, unit="person")
    plan = plan_for(design_of(bounding=replaced, privacy=privacy))
    assert plan.steps == Plan.of([axis_between(0, 1)] * 3, centred=False, norm=1).steps


def test_weights_are_those_for_the_noise_that_is_drawn() -> None:
    """With a delta the noise is Laplace if predictions err less with it: with one feature here, and not with nine."""
    for count, kind in ((1, "Laplace"), (9, "Gaussian")):
        spec = design_of(features=(Real(0, 1),) * count)
        plan = plan_for(spec)
        assert plan.request(spec).noise.kind == kind
        other = Plan.of([axis_between(0, 1)] * (count + 1), norm=2 if kind == "Laplace" else 1)
        assert plan.expect_error(plan.request(spec).noise) < other.expect_error(other.request(spec).noise)
        assert plan.steps != other.steps


def design_of(**changes: Any) -> FitSpec:
    privacy = Target.of(epsilon=1, delta=1e-6)
    given: dict[str, Any] = {"features": (Real(0, 1),) * 2, "target": Real(0, 1), "privacy": privacy}
    return FitSpec(**{**given, "bounding": privacy.bounding, **changes})


def test_averaged_rows_are_summed_without_combining() -> None:
    """Then what a session checks of persons holds: every sum stands for itself."""
    sums = np.arange(10, dtype=np.int64)
    persons = plan_for(design_of(bounding=ContributionBounds(unit="person")))
    assert not persons.centred
    np.testing.assert_array_equal(persons.combine(sums), sums)
    assert plan_for(design_of()).centred


def test_many_features_are_combined_without_a_matrix() -> None:
    plan = plan_for(design_of(features=(Real(0, 1),) * 150))
    assert len(plan.combine(np.zeros(len(plan.steps), dtype=np.int64))) == 1 + 151 + 151 * 152 // 2


def test_moments_are_those_of_the_columns() -> None:
    for centred, linear in product((True, False), (True, False)):
        rng = np.random.default_rng(5)
        rows = rng.integers(0, 2**16 + 1, (30, 3))
        plan = Plan.of([axis_between(0, 1)] * 3, centred=centred, linear=linear)
        sums = np.sum(np.array([combine(plan, tuple(int(k) for k in row)) for row in rows], dtype=object), axis=0)
        noise = Target.of(epsilon=1).noise(Sensitivity(l1=1, l2_squared=1), len(sums))
        moments = plan.moments(sums.astype(np.int64), noise)
        columns = np.column_stack([np.ones(30), rows / 2**15 - 1])
        expected = columns.T @ columns
        if not linear:
            expected[0, 1:] = expected[1:, 0] = 0
        np.testing.assert_allclose(moments.values, expected, rtol=1e-12, atol=1e-9)
        (part,) = plan.parts
        assert isinstance(part.measure, Products)
        np.testing.assert_array_equal(plan.combine(expected_sums(part.measure, expected)), sums)


def test_variances_are_those_of_the_noise_that_is_drawn() -> None:
    spec = design_of()
    plan = plan_for(spec)
    request = plan.request(spec)
    source, zeros = Seeded(3), np.zeros(request.width, dtype=np.int64)
    draws = [plan.moments(request.release(zeros, source), request.noise) for _ in range(1500)]
    found = np.var([moments.values for moments in draws], axis=0)
    np.testing.assert_allclose(found, draws[0].spread(), rtol=0.2)


def test_more_rows_than_fit_are_refused() -> None:
    plan = Plan.of([axis_between(0, 1)] * 2)
    noise = Target.of(epsilon=1).noise(Sensitivity(l1=1, l2_squared=1), 6)
    full = np.full(6, 2**62 - 1)
    with pytest.raises(InputError, match="more rows than can be added up"):
        plan.moments(full, noise)


def test_a_row_sensitivity_of_one_less_is_caught() -> None:
    """The mutant that the tests above are for."""
    plan = Plan.of([axis_between(0, 1)] * 3)
    less = replace(
        plan.row_sensitivity,
        l1=plan.row_sensitivity.l1 - 1,
        replace_l2_squared=plan.row_sensitivity.replace_l2_squared - 1,
    )
    rows = [combine(plan, corner(plan, signs)) for signs in itertools.product([-1, 1], repeat=3)]
    assert max(distances(row, [0] * len(row))[0] for row in rows) > less.l1
    assert max(distances(a, b)[1] for a in rows for b in rows) > less.replace_l2_squared
