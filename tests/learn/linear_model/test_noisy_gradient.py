"""Noisy gradient descent: exact sums whose neighbours stay near, mutants that are seen, and models that are good."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression as Plain

from celosia.audit import distinguish
from celosia.core import AddRemove, ReplaceOne, Source
from celosia.core.adjacency import Adjacency
from celosia.core.structure import CertifiedEvent, ComposedEvent, RepeatedEvent
from celosia.learn.linear_model import noisy_gradient
from celosia.learn.linear_model.gradient_kernels import add_gradient
from celosia.learn.linear_model.gradient_plan import GRID, MAX_GRADIENT_NORM, ROW_UNIT, GradientPlan
from celosia.learn.linear_model.noisy_gradient import (
    Moments,
    Rows,
    Scaling,
    descend,
    gradient_sum,
    moments_sum,
    product_sum,
)
from celosia.noise import Seeded
from celosia.statistics.base.noise import Noise, Sensitivity
from celosia.statistics.base.target import Target

AMOUNTS: list[dict[str, Any]] = [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-5"}]
VALUES = st.one_of(
    st.sampled_from([0.0, -1.0, 1.0, 0.5, 1e308, -1e308, 5e-324]), st.floats(allow_nan=False, allow_infinity=False)
)


def _plan(classes: int = 2, features: int = 3, adjacency: Adjacency = AddRemove, **amount: Any) -> GradientPlan:
    return GradientPlan.of(Target.of(adjacency=adjacency, **amount), features=features, classes=classes)


def _scaling(features: int = 3) -> Scaling:
    return Scaling.of(np.full(features, -1.0), np.full(features, 1.0), intercept=True)


def _moved(one: NDArray[np.int64], other: NDArray[np.int64]) -> Sensitivity:
    move = [a - b for a, b in zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)]
    return Sensitivity(l1=sum(map(abs, move)), l2_squared=sum(m * m for m in move))


@st.composite
def _neighbours(draw: st.DrawFn) -> tuple[Any, ...]:
    classes = draw(st.sampled_from([2, 3]))
    records = st.tuples(st.tuples(VALUES, VALUES, VALUES), st.integers(0, classes - 1))
    many = draw(st.lists(records, min_size=1, max_size=8))
    adjacency = draw(st.sampled_from([AddRemove, ReplaceOne]))
    place = draw(st.integers(0, len(many) - 1))
    fewer = many[:place] + many[place + 1 :]
    other = fewer if adjacency is AddRemove else [*fewer, draw(records)]
    weights = draw(st.lists(st.floats(-1e6, 1e6), min_size=12, max_size=12))
    return classes, adjacency, many, other, np.array(weights).reshape(3, 4), draw(st.floats(0.05, 3.0))


def _arrays(records: list[Any]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    values = np.array([row for row, _ in records], dtype=np.float64).reshape(-1, 3)
    return values, np.array([code for _, code in records], dtype=np.int64)


@pytest.mark.parametrize("amount", AMOUNTS)
@settings(max_examples=80)
@given(_neighbours(), st.floats(-1, 1), st.floats(0.05, 2.0))
def test_neighbours_are_as_near_as_stated(
    amount: dict[str, Any], case: tuple[Any, ...], centre: float, norm: float
) -> None:
    classes, adjacency, many, other, weights, cut = case
    plan, scaling = _plan(classes, adjacency=adjacency, **amount), _scaling()
    moments = Moments(count=9.0, shares=np.full(classes, 1 / classes), centre=np.full(3, centre), norm=norm)
    sums = []
    for records in (many, other):
        values, codes = _arrays(records)
        rows = Rows.of(values, codes, plan, scaling, moments)
        at = weights[: plan.outputs] / ROW_UNIT
        sums.append(
            (
                moments_sum(values, codes, plan, scaling),
                product_sum(rows, plan),
                gradient_sum(rows, at, cut, uses_l1_norm=plan.uses_l1_norm),
                gradient_sum(rows.scores(weights[0], 0.7), at[:1, :2].copy(), 1.0, uses_l1_norm=True)
                if plan.has_calibration
                else np.zeros(1, dtype=np.int64),
            )
        )
    stated = (plan.moments_sensitivity(), plan.curvature_sensitivity(), *[plan.step_sensitivity()] * 2)
    for one, two, limit in zip(*sums, stated, strict=True):
        moved = _moved(one, two)  # both norms, whichever the noise goes by
        assert moved.l1 <= limit.l1
        assert moved.l2_squared <= limit.l2_squared


def test_a_gradient_that_is_not_cut_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _plan(**AMOUNTS[1])
    values, codes = np.array([[1.0, 1.0, 1.0]]), np.array([0])
    moments = Moments(count=9.0, shares=np.array([0.5, 0.5]), centre=np.zeros(3), norm=1.0)
    weights = np.array([[9.0, 9.0, 9.0, 9.0]]) / ROW_UNIT

    def moved() -> Sensitivity:
        rows = Rows.of(values, codes, plan, _scaling(), moments)
        return _moved(gradient_sum(rows, weights, 0.5, uses_l1_norm=False), np.zeros((1, 4), dtype=np.int64))

    assert 0.99 * MAX_GRADIENT_NORM**2 < moved().l2_squared <= MAX_GRADIENT_NORM**2
    true = add_gradient

    def uncut(rows: Any, limits: Any, *rest: Any) -> None:
        true(rows, np.full_like(limits, 2**40), *rest)

    monkeypatch.setattr(noisy_gradient, "add_gradient", uncut)
    assert moved().l2_squared > MAX_GRADIENT_NORM**2
    monkeypatch.undo()
    monkeypatch.setattr(GradientPlan, "max_row_norm", 2**15 - 1)  # rows that are longer than stated
    rows = Rows.of(np.full((1, 3), 1.0), codes, plan, _scaling(), moments)
    monkeypatch.undo()
    stated = plan.curvature_sensitivity()
    assert _moved(product_sum(rows, plan), np.zeros(10, dtype=np.int64)).l2_squared > stated.l2_squared


@pytest.mark.parametrize(("amount", "limit"), [({"epsilon": 2}, 2.0), ({"epsilon": 2, "delta": "1e-3"}, 2.0)])
def test_released_gradients_are_told_apart_no_better_than_promised(amount: dict[str, Any], limit: float) -> None:
    plan = GradientPlan.of(Target.of(**amount), features=1, classes=2, steps=1)
    moments = Moments(count=9.0, shares=np.array([0.5, 0.5]), centre=np.zeros(1), norm=0.5)
    exact = {}
    for count in (0, 1):  # the largest gradient that there is, or none
        rows = Rows.of(np.ones((count, 1)), np.zeros(count, dtype=np.int64), plan, _scaling(1), moments)
        exact[count] = gradient_sum(rows, np.array([[9.0, 9.0]]) / ROW_UNIT, 0.5, uses_l1_norm=plan.uses_l1_norm)

    def released(noise: Noise) -> float:
        def run(count: int, times: int, source: Source) -> NDArray[np.int64]:
            return np.concatenate([noise.release(exact[count], source) for _ in range(times)])

        seen = {"low": lambda found: found.sum(axis=1) < exact[1].sum() / 2}
        delta = float(Target.of(**amount).delta)
        return distinguish(run, 0, 1, samples=1_500, delta=delta, events=seen).epsilon

    assert released(plan.step_noise()) <= limit
    stated = plan.step_sensitivity()
    less = Sensitivity(l1=stated.l1 // 8, l2_squared=stated.l2_squared // 64)
    assert released(plan.target.noise(less, plan.width, plan.shares["steps"])) > limit


def _data(n: int, seed: int = 0, classes: int = 2) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, (n, 3))
    scores = values @ np.array([[0.0, 0, 0], [3, -2, 0], [-1, 1, 3]])[:classes].T + np.arange(classes) * 0.3
    return values, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1).astype(np.int64)


def _listed(event: Any) -> list[Any]:
    if isinstance(event, CertifiedEvent):
        return _listed(event.event)
    if isinstance(event, RepeatedEvent):
        return [event.event] * event.times
    return [found for part in event.events for found in _listed(part)] if isinstance(event, ComposedEvent) else [event]


@pytest.mark.parametrize("amount", [*AMOUNTS, {"rho": 1}])
@pytest.mark.parametrize("adjacency", [AddRemove, ReplaceOne])
@pytest.mark.parametrize(("classes", "intercept"), [(2, True), (2, False), (3, True)])
def test_what_is_asked_and_noised_is_what_was_planned(
    amount: dict[str, Any],
    adjacency: Adjacency,
    classes: int,
    intercept: bool,  # noqa: FBT001 - a parameter of the test
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = GradientPlan.of(
        Target.of(adjacency=adjacency, **amount), features=3, classes=classes, steps=6, intercept=intercept
    )
    asked, true = [], {name: getattr(noisy_gradient, name) for name in ("moments_sum", "product_sum", "gradient_sum")}
    for name, ask in true.items():

        def noted(*given: Any, _name: str = name, _ask: Any = ask, **more: Any) -> NDArray[np.int64]:
            found: NDArray[np.int64] = _ask(*given, **more)
            asked.append((_name, found))
            return found

        monkeypatch.setattr(noisy_gradient, name, noted)
    drawn: list[Any] = []
    release = Noise.release

    def released(noise: Noise, summary: NDArray[np.int64], source: Source) -> NDArray[np.int64]:
        assert len(asked) == len(drawn) + 1  # each exact answer is noised before the next is asked for
        assert summary.ravel().tolist() == asked[-1][1].ravel().tolist()
        drawn.append(noise.event)
        return release(noise, summary, source)

    monkeypatch.setattr(Noise, "release", released)
    values, codes = _data(60, classes=classes)
    scaling = Scaling.of(np.full(3, -1.0), np.ones(3), intercept=intercept)
    descend(values, codes, plan, scaling, Seeded(1), records=60 if adjacency is ReplaceOne else None)
    assert drawn == _listed(plan.event)
    assert len(asked) == len(drawn)
    assert [name for name, _ in asked[:2]] == ["moments_sum", "product_sum"]
    assert {event.adjacency for event in drawn} == {adjacency}


def test_noisy_counts_tell_the_number_of_records_where_it_is_private() -> None:
    plan = _plan(**AMOUNTS[1])
    noise = plan.moments_noise()
    noisy = np.array([5_000 * plan.weight * GRID, 3_000 * plan.weight * GRID, 0, 0, 0, 0])
    assert Moments.read(noisy, plan, noise, None).count == pytest.approx(8_000)
    assert Moments.read(noisy, plan, noise, 50).count == 50


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("adjacency", [AddRemove, ReplaceOne])
def test_many_records_give_scikit_learns_weights(classes: int, adjacency: Adjacency) -> None:
    values, codes = _data(40_000, classes=classes)
    plan = _plan(classes, adjacency=adjacency, rho=10)
    found = descend(values, codes, plan, _scaling(), Seeded(1), records=None if adjacency is AddRemove else 40_000)
    wanted = Plain(C=1e6).fit(values, codes)
    spread = found.coef - found.coef.mean(axis=0) if classes > 2 else found.coef
    scale = np.sqrt((spread**2).sum() / (wanted.coef_**2).sum())
    # Cutting long rows and large residuals turns weights a little, and shortens them.
    cosine = (spread * wanted.coef_).sum() / np.sqrt((spread**2).sum() * (wanted.coef_**2).sum())
    assert cosine > 0.995
    assert 0.7 < scale < 1.3


def test_moments_are_read_back() -> None:
    for amount in AMOUNTS:
        values, codes = _data(5_000)
        plan = _plan(**amount)
        exact = moments_sum(values, codes, plan, _scaling())
        tiny = Noise.gaussian(10**6, Sensitivity(l1=1, l2_squared=1), 1, len(exact), plan.target.bounding)
        found = Moments.read(exact, plan, tiny, None)
        assert found.count == pytest.approx(5_000)
        np.testing.assert_allclose(found.shares, np.bincount(codes) / 5_000, atol=1e-6)
        np.testing.assert_allclose(found.centre, values.mean(axis=0), atol=2 / GRID)
        norms = (
            np.abs(values - found.centre).sum(axis=1)
            if plan.uses_l1_norm
            else ((values - found.centre) ** 2).sum(axis=1)
        )
        typical = norms.mean() if plan.uses_l1_norm else np.sqrt(norms.mean())
        assert found.norm == pytest.approx(typical, rel=0.05)


def test_few_records_and_much_noise_give_finite_weights() -> None:
    for amount, n in product(AMOUNTS, (0, 1, 3)):
        values, codes = _data(3)
        for epsilon in ("0.0001", 1):
            plan = _plan(**(amount | {"epsilon": epsilon}))
            found = descend(values[:n], codes[:n], plan, _scaling(), Seeded(n))
            assert np.isfinite(found.coef).all()
            assert np.isfinite(found.intercept).all()
            assert found.noise_scale > 0


def test_without_an_intercept_nothing_is_centred() -> None:
    values, codes = _data(20_000)
    plan = GradientPlan.of(Target.of(rho=10), features=3, classes=2, intercept=False)
    scaling = Scaling.of(np.full(3, -1.0), np.full(3, 2.0), intercept=False)
    assert scaling.table.tolist() == [[0, 0, 0], [2, 2, 2]]
    found = descend(values, codes, plan, scaling, Seeded(1))
    assert found.intercept.tolist() == [0.0]
    wanted = Plain(C=1e6, fit_intercept=False).fit(values, codes).coef_
    assert (found.coef * wanted).sum() / np.sqrt((found.coef**2).sum() * (wanted**2).sum()) > 0.995


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    values, codes = _data(500)
    plan = _plan(**AMOUNTS[0])
    whole = descend(values, codes, plan, _scaling(), Seeded(5))
    monkeypatch.setattr(noisy_gradient, "_BLOCK", 7)
    parts = descend(np.asfortranarray(values), codes, plan, _scaling(), Seeded(5))
    assert (whole.coef == parts.coef).all()
    values.flags.writeable = False
    assert (descend(values, codes, plan, _scaling(), Seeded(5)).coef == whole.coef).all()


def test_wide_data_go_without_products() -> None:
    rng = np.random.default_rng(0)
    values = rng.uniform(-1, 1, (2_000, 501))
    codes = (values[:, :50].sum(axis=1) > 0).astype(np.int64)
    plan = _plan(features=501, rho=1)
    assert not plan.has_curvature
    found = descend(values, codes, plan, _scaling(501), Seeded(1))
    assert ((values @ found.coef[0] + found.intercept[0] > 0) == codes).mean() > 0.75


def test_a_penalty_shortens() -> None:
    values, codes = _data(2_000)
    free, tied = (
        descend(values, codes, _plan(rho=10), _scaling(), Seeded(1), penalty=penalty).coef for penalty in (0.0, 300.0)
    )
    assert np.linalg.norm(tied) < 0.7 * np.linalg.norm(free)
