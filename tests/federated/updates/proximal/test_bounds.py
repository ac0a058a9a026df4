"""No neighbour that a search finds is farther than the bounds say, and some are nearly as far."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from celosia.core import ParameterError
from celosia.federated.updates.proximal.bounds import bound_movement, half_spread, proximal_sensitivity
from celosia.federated.updates.proximal.step import ProximalSolver
from celosia.learn.optimize.losses import LogisticLoss, Loss, OwnLoss, SquaredLoss
from celosia.mechanisms.grid import to_steps

if TYPE_CHECKING:
    from collections.abc import Callable

CASES: tuple[tuple[Loss, str | None], ...] = (
    (SquaredLoss(), None),
    (SquaredLoss(), "0.5"),
    (LogisticLoss(), None),
    (LogisticLoss(), "0.4"),
)
TOLERANCE = Fraction(1, 10**9)


def make_pairs(count: int, records: int, size: int, rng: Any) -> Any:
    """Records of pairs of neighbours, and their starts: the last record of a pair is the replacement of the first."""
    rows = rng.normal(size=(count, records + 1, size))
    rows /= np.linalg.norm(rows, axis=2, keepdims=True)
    starts = rng.normal(size=(count, size))
    return rows, np.sign(rng.normal(size=(count, records + 1))), starts


def find_weights(rows: Any, targets: Any, starts: Any, **parameters: Any) -> Any:
    """The weights of the first and of the second party of each pair."""
    records = rows.shape[1] - 1
    both = np.concatenate([rows[:, :-1], rows[:, 1:]]).reshape(-1, rows.shape[2])
    wanted = np.concatenate([targets[:, :-1], targets[:, 1:]]).ravel()
    offsets = np.arange(2 * len(rows) + 1) * records
    solver = ProximalSolver(both, wanted, offsets, **parameters, tolerance=TOLERANCE)
    weights, distances = solver.step(np.concatenate([starts, starts]))
    assert (distances <= float(TOLERANCE)).all()
    return np.split(weights, 2)


def measure(rows: Any, targets: Any, starts: Any, parameters: dict[str, Any]) -> Any:
    first, second = find_weights(rows, targets, starts, **parameters)
    return np.linalg.norm(first - second, axis=1)


def search(score: Callable[[Any, Any, Any], Any], records: int, size: int, *, rounds: int = 25) -> float:
    """Climb from random pairs of neighbours to pairs with a high score."""
    rng = np.random.default_rng(records * 10 + size)
    kept = make_pairs(60, records, size, rng)
    best = score(*kept)
    for number in range(rounds):
        width = 0.6 * 0.85**number
        rows = kept[0] + width * rng.normal(size=kept[0].shape)
        rows /= np.linalg.norm(rows, axis=2, keepdims=True)
        targets = np.where(rng.random(kept[1].shape) < width / 4, -kept[1], kept[1])
        tried = rows, targets, kept[2] + width * rng.normal(size=kept[2].shape)
        scores = score(*tried)
        better = scores > best
        for old, new in zip(kept, tried, strict=True):
            old[better] = new[better]
        best = np.maximum(best, scores)
    return float(best.max())


def test_no_neighbour_is_farther_than_the_bound_and_some_nearly_are() -> None:
    tightest = dict.fromkeys(CASES, 0.0)
    for loss, lipschitz in CASES:
        for records, size, mu, penalty in ((1, 2, "8", 0), (2, 3, "1", "0.5"), (3, 2, "0.1", 0), (1, 1, "1", 0)):
            parameters = {"loss": loss, "lipschitz": lipschitz, "mu": mu, "penalty": penalty, "radius": 1}
            found = search(partial(measure, parameters=parameters), records, size)
            spread = half_spread(loss, 1, lipschitz)
            fine = Fraction(1, 2**20)
            paid = proximal_sensitivity(
                records, lipschitz=spread, mu=mu, penalty=penalty, grid=fine, dimension=size, tolerance=TOLERANCE
            )
            assert (found / float(fine)) ** 2 <= paid
            far = math.sqrt(paid) * float(fine)
            tightest[loss, lipschitz] = max(tightest[loss, lipschitz], found / far)
    assert min(tightest.values()) > 0.8, tightest


def test_rounded_weights_are_as_near_as_is_paid_for() -> None:
    rng = np.random.default_rng(5)
    for size in (1, 2, 3):
        rows, targets, _ = make_pairs(400, 2, size, rng)
        # Starts on the edge between two steps: the least move changes every rounded weight.
        starts = (rng.integers(-3, 3, (400, size)) + 0.5) / 16
        for mu, grid in (("256", Fraction(1, 16)), ("4", Fraction(1, 16)), ("1", Fraction(1, 4))):
            first, second = find_weights(rows, targets, starts, loss=SquaredLoss(), mu=mu, radius=1)
            moved = np.asarray(to_steps(first, grid)) - np.asarray(to_steps(second, grid))
            most = proximal_sensitivity(
                2, lipschitz=half_spread(SquaredLoss(), 1), mu=mu, grid=grid, dimension=size, tolerance=TOLERANCE
            )
            largest = int((moved**2).sum(axis=1).max())
            assert largest <= most
            assert mu != "256" or largest == size  # rounding alone: one step in every weight


def test_the_formula_is_rounded_down_to_a_whole_square() -> None:
    given: dict[str, Any] = {"mu": "0.5", "penalty": "0.25", "grid": "1/64", "dimension": 4}
    apart = (2 * Fraction(3, 2) / (10 * Fraction(3, 4)) + 2 * Fraction(1, 100)) * 64 + 2
    found = proximal_sensitivity(10, lipschitz="1.5", tolerance="0.01", **given)
    assert found == math.floor(apart**2)
    good: dict[str, Any] = {"records": 10, "lipschitz": "1.5", "tolerance": "0.01"} | given
    larger: tuple[dict[str, Any], ...] = (
        {"records": 9},
        {"lipschitz": 2},
        {"tolerance": "0.02"},
        {"dimension": 9},
        {"penalty": 0},
    )
    for changes in larger:
        assert proximal_sensitivity(**good | changes) > found
    for bad in (
        {"records": 0},
        {"records": 2.0},
        {"mu": 0},
        {"penalty": -1},
        {"grid": "0.1"},
        {"grid": None},
        {"dimension": 0},
        {"tolerance": -1},
        {"lipschitz": 0},
    ):
        with pytest.raises(ParameterError):
            proximal_sensitivity(**good | bad)


def test_gradients_are_no_farther_apart_than_the_spread() -> None:
    rng = np.random.default_rng(9)
    for loss, lipschitz in CASES:
        for radius in (0.1, 1.0, 4.0):
            spread = 2 * float(half_spread(loss, radius, lipschitz))
            cut = math.inf if lipschitz is None else float(lipschitz)
            largest = 0.0
            for size in (1, 2, 3):
                rows = rng.normal(size=(600, size))
                rows *= rng.choice([1.0, 1.0, 0.5, 0.1], (600, 1)) / np.linalg.norm(rows, axis=1, keepdims=True)
                weights = np.eye(size)[0] * radius * rng.choice([1.0, 0.6, 0.0])
                wanted = rng.choice([-1.0, 1.0, 1.0, 0.3], 600)
                slopes = np.array([loss.slope(p, y) for p, y in zip(rows @ weights, wanted, strict=True)])
                gradients = np.clip(slopes, -cut, cut)[:, None] * rows
                apart = np.linalg.norm(gradients[:, None] - gradients, axis=2)
                largest = max(largest, float(apart.max()))
            assert largest <= spread <= 2 * min(cut, float(loss.lipschitz(Fraction(radius)))) * (1 + 1e-9)


def test_the_spread_is_attained_by_two_mirrored_records() -> None:
    for radius in (0.1, 1.0, 4.0):
        angles = np.linspace(0, math.pi, 4001)
        for loss in (SquaredLoss(), LogisticLoss()):
            slopes = np.array([loss.slope(radius * math.cos(angle), -1.0) for angle in angles])
            attained = float((slopes * np.sin(angles)).max())
            spread = float(half_spread(loss, radius))
            assert attained <= spread <= attained * (1 + 1e-6 if isinstance(loss, SquaredLoss) else 1.03)
    own = OwnLoss(lambda prediction, target: prediction - target, lipschitz=3, smoothness=1)
    assert half_spread(own, 1) == 3
    assert half_spread(own, 1, "0.5") == Fraction(1, 2)
    assert half_spread(LogisticLoss(), 1000) <= 1


def test_a_clip_of_the_bound_never_bites() -> None:
    for loss, lipschitz in CASES:
        for mu, penalty in (("4", 0), ("0.5", "0.25"), ("1", "10")):
            longest = min(loss.lipschitz(Fraction(1)), Fraction(lipschitz or 2))
            bound = bound_movement(lipschitz=longest, mu=mu, penalty=penalty, radius=1, tolerance=TOLERANCE)

            def move(rows: Any, targets: Any, starts: Any, loss: Loss = loss, mu: str = mu, **more: Any) -> Any:
                found = find_weights(rows, targets, starts, loss=loss, mu=mu, radius=1, **more)[0]
                inside = starts / np.maximum(1.0, np.linalg.norm(starts, axis=1, keepdims=True))
                return np.linalg.norm(found - inside, axis=1)

            furthest = search(partial(move, penalty=penalty, lipschitz=lipschitz), 1, 2)
            assert furthest <= bound
            # The penalty draws towards 0 too: without its part the bound would be too small.
            if penalty == "10" and lipschitz is not None:
                assert furthest > longest / Fraction(mu)


def test_projecting_the_free_minimum_is_another_point() -> None:
    rng = np.random.default_rng(3)
    rows, targets, starts = make_pairs(300, 2, 2, rng)
    rows *= [1.0, 0.2]
    targets, starts = np.ones_like(targets), starts / np.maximum(1, np.linalg.norm(starts, axis=1, keepdims=True))
    mu, radius = 0.05, 0.5
    starts *= radius
    ours = find_weights(rows, targets, starts, loss=SquaredLoss(), mu=mu, radius=radius)
    theirs = []
    for own, wanted in ((rows[:, :-1], targets[:, :-1]), (rows[:, 1:], targets[:, 1:])):
        matrices = np.einsum("pij,pik->pjk", own, own) / 2 + mu * np.eye(2)
        vectors = np.einsum("pij,pi->pj", own, wanted) / 2 + mu * starts
        free = np.linalg.solve(matrices, vectors[:, :, None])[:, :, 0]
        theirs.append(free * np.minimum(1, radius / np.linalg.norm(free, axis=1))[:, None])
    assert np.linalg.norm(ours[0] - theirs[0], axis=1).max() > 0.1
    # For squares it has the same bound all the same: far outside, the ball shrinks what the longer gradient moves.
    assert np.linalg.norm(theirs[0] - theirs[1], axis=1).max() <= 2 * (1 + radius) / (2 * mu)
