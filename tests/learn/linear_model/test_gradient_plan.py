"""What noisy gradient descent promises: sensitivities by brute force over hostile records, and shares that add up."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from celosia.accounting import PLDAccountant, basic, rho
from celosia.core import AddRemove, ParameterError, ReplaceOne
from celosia.core.adjacency import Adjacency
from celosia.core.events import LaplaceEvent
from celosia.core.structure import CertifiedEvent, ComposedEvent, RepeatedEvent
from celosia.learn.linear_model.gradient_plan import GRID, MAX_GRADIENT_NORM, GradientPlan
from celosia.learn.linear_model.noisy_gradient import Moments, Rows, Scaling, moments_sum, product_sum
from celosia.statistics.base.noise import Sensitivity
from celosia.statistics.base.target import Target

TARGETS: list[dict[str, Any]] = [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-5"}, {"rho": "0.1"}]


def _plan(adjacency: Adjacency = AddRemove, *, features: int = 2, classes: int = 2, **amount: Any) -> GradientPlan:
    return GradientPlan.of(Target.of(adjacency=adjacency, **amount), features=features, classes=classes)


def test_shares_are_the_whole_promise() -> None:
    for amount in TARGETS:
        for features in (1, 7, 600):
            for classes in (2, 5):
                plan = _plan(features=features, classes=classes, **amount)
                assert sum(plan.shares.values()) == 1
                assert plan.has_curvature == (features < 600)


def _cost(event: Any) -> Fraction:
    if isinstance(event, ComposedEvent):
        return sum((_cost(part) for part in event.events), Fraction(0))
    if isinstance(event, RepeatedEvent):
        return event.times * _cost(event.event)
    if hasattr(event, "scale"):
        return Fraction(event.sensitivity / event.scale)
    return Fraction(event.sensitivity_squared / (2 * event.variance))


def test_the_event_costs_no_more_than_was_promised() -> None:
    cases: list[Adjacency] = [AddRemove, ReplaceOne]
    for adjacency in cases:
        pure = _plan(adjacency, epsilon="0.7")
        assert Fraction("0.699") < _cost(pure.event) <= Fraction("0.7")
        zcdp = _plan(adjacency, rho="0.1")
        assert Fraction("0.0999") < _cost(zcdp.event) <= Fraction("0.1")
        certified = _plan(adjacency, epsilon=1, delta="1e-5")
        assert isinstance(certified.event, CertifiedEvent)
        assert _cost(certified.event.event) <= certified.target.total_rho
        assert (certified.event.epsilon, certified.event.delta) == (Fraction(1), Fraction("1e-5"))


def test_accountants_agree() -> None:
    assert basic(_plan(epsilon="0.5").event)[0] <= Fraction("0.5")
    assert rho(_plan(rho="0.1").event) <= Fraction("0.1")
    assert basic(_plan(epsilon=1, delta="1e-5").event) == (Fraction(1), Fraction("1e-5"))  # the certificate is checked


@pytest.mark.parametrize("adjacency", [AddRemove, ReplaceOne])
def test_loss_distributions_agree(adjacency: Adjacency) -> None:
    """Priced from the noises alone, without the certificate."""
    certified = _plan(adjacency, features=7, epsilon=1, delta="1e-5").event
    assert isinstance(certified, CertifiedEvent)
    assert 0.85 < PLDAccountant().spend(certified.event).epsilon("1e-5") <= 1
    pure = _plan(adjacency, features=7, epsilon=1).event
    assert 0.95 < PLDAccountant().spend(pure).epsilon("1e-12") <= 1.001  # losses are rounded up to a grid


def _reached(parts: list[list[int]], adjacency: Adjacency) -> Sensitivity:
    """How far single records' parts reach from 0, or from each other; the longest in Python's integers."""
    ones = np.array(parts, dtype=np.int64)
    moves = ones if adjacency is AddRemove else (ones[:, None] - ones[None]).reshape(-1, ones.shape[1])
    longest = moves[np.argsort((moves.astype(np.float64) ** 2).sum(axis=1))[-20:]].tolist()
    return Sensitivity(
        l1=int(np.abs(moves).sum(axis=1).max()), l2_squared=max(sum(m * m for m in move) for move in longest)
    )


def test_moments_and_products_move_no_further_than_stated() -> None:
    adjacency_cases: list[Adjacency] = [AddRemove, ReplaceOne]
    for amount in TARGETS[:2]:
        for adjacency in adjacency_cases:
            for features in (1, 2, 4):
                plan = _plan(adjacency, features=features, **amount)
                scaling = Scaling.of(np.full(features, -1.0), np.ones(features), intercept=True)
                rng = np.random.default_rng(1)
                corners = [*product((-1.0, 0.0, 1.0), repeat=features), *rng.uniform(-9, 9, (20, features)).tolist()]
                parts, products = [], []
                moments = Moments(count=100.0, shares=np.array([0.5, 0.5]), centre=np.full(features, 0.3), norm=0.5)
                for corner, code in product(corners, (0, 1)):
                    values, codes = np.array([corner], dtype=np.float64), np.array([code])
                    parts.append(moments_sum(values, codes, plan, scaling).tolist())
                    products.append(product_sum(Rows.of(values, codes, plan, scaling, moments), plan).tolist())
                for found, stated in ((parts, plan.moments_sensitivity()), (products, plan.curvature_sensitivity())):
                    reached = _reached(found, adjacency)  # both norms, whichever the noise goes by
                    assert reached.l1 <= stated.l1
                    assert reached.l2_squared <= stated.l2_squared
                if features == 4 and not plan.uses_l1_norm:  # and it is nearly reached, where corners can
                    assert _reached(parts, adjacency).l2_squared > 0.8 * plan.moments_sensitivity().l2_squared


def test_a_step_moves_no_further_than_its_norm() -> None:
    assert _plan(epsilon=1).step_sensitivity() == Sensitivity(l1=MAX_GRADIENT_NORM, l2_squared=MAX_GRADIENT_NORM**2)
    for adjacency, two in ((AddRemove, 1), (ReplaceOne, 2)):
        assert _plan(adjacency, epsilon=1).step_sensitivity().l1 == two * MAX_GRADIENT_NORM
        stated = _plan(adjacency, features=3, rho=1).step_sensitivity()
        assert stated.l2_squared == (two * MAX_GRADIENT_NORM) ** 2
        assert stated.l1 == 2 * two * MAX_GRADIENT_NORM  # four numbers, all alike


def test_the_noise_follows_from_the_sensitivity() -> None:
    plan = _plan(epsilon=1)
    event, step = plan.moments_noise().event, plan.step_noise().event
    assert isinstance(event, LaplaceEvent)
    assert isinstance(step, LaplaceEvent)
    assert event.sensitivity == 2 * plan.weight * GRID + 2 * GRID
    assert event.scale == event.sensitivity / plan.shares["moments"]
    assert step.scale == MAX_GRADIENT_NORM * 5 / plan.shares["steps"]


def test_steps_must_make_sense() -> None:
    cases: list[Any] = [0, -1, 1.5, "many", True, 10**9]
    for steps in cases:
        with pytest.raises(ParameterError, match="steps"):
            GradientPlan.of(Target.of(epsilon=1), features=1, classes=2, steps=steps)


def test_more_steps_where_a_pure_promise_affords_them() -> None:
    assert [_plan(epsilon=e).steps for e in ("0.1", 1, 20, 1000)] == [5, 5, 20, 50]


def test_noise_that_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ParameterError):
        _plan(epsilon="1e-30").check()
    _plan(epsilon="1e-6").check()
