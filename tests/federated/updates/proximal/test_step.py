"""The certificate is never below the true distance: computed with fifty digits, or by another solver."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special

from celosia.core import CelosiaError, ParameterError
from celosia.core.errors import EngineError
from celosia.federated.updates.proximal.step import ProximalSolver, solve_proximal
from celosia.learn.optimize.losses import LogisticLoss, Loss, OwnLoss, SquaredLoss
from celosia.learn.optimize.minimise import quadratic_on_ball

LOSSES: tuple[tuple[Loss, str | None], ...] = ((SquaredLoss(), None), (LogisticLoss(), None), (SquaredLoss(), "0.4"))


def make_records(records: int, size: int, seed: int) -> tuple[Any, Any, Any]:
    """Rows no longer than 1, signs as targets, and a start in the unit ball."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(records, size))
    rows *= rng.uniform(0.2, 1, (records, 1)) / np.linalg.norm(rows, axis=1, keepdims=True)
    start = rng.normal(size=size)
    return rows, np.sign(rng.normal(size=records)), start / max(1.0, float(np.linalg.norm(start)))


def describe(loss: Loss, lipschitz: str | None, **changes: Any) -> dict[str, Any]:
    parameters = {"loss": loss, "lipschitz": lipschitz, "mu": "0.25", "penalty": "0.125", "radius": 1}
    return parameters | {"tolerance": "1e-9"} | changes


def find_precisely(rows: Any, targets: Any, start: Any, *, logistic: bool, mu: float, radius: float) -> Any:
    """The argmin for two weights, with fifty digits: inside the ball, else on the circle, by Newton's method."""
    records = [
        (mpmath.matrix(row), mpmath.mpf(target)) for row, target in zip(rows.tolist(), targets.tolist(), strict=True)
    ]

    def differentiate(*weights: Any) -> list[Any]:
        slopes = [mpmath.fdot(row, weights) for row, _ in records]
        slopes = [
            -y / (1 + mpmath.exp(y * p)) if logistic else p - y for p, (_, y) in zip(slopes, records, strict=True)
        ]
        parts = [mpmath.fsum(s * row[j] for s, (row, _) in zip(slopes, records, strict=True)) for j in (0, 1)]
        return [parts[j] / len(records) + mu * (weights[j] - mpmath.mpf(start[j])) for j in (0, 1)]

    guess = solve_proximal(
        rows,
        targets,
        start,
        **describe(LogisticLoss() if logistic else SquaredLoss(), None, mu=mu, penalty=0) | {"radius": radius},
    )[0]
    if np.linalg.norm(guess) < radius * (1 - 1e-6):
        return mpmath.findroot(differentiate, guess.tolist())

    def lean(angle: Any) -> Any:
        slopes = differentiate(radius * mpmath.cos(angle), radius * mpmath.sin(angle))
        return slopes[1] * mpmath.cos(angle) - slopes[0] * mpmath.sin(angle)

    angle = mpmath.findroot(lean, math.atan2(guess[1], guess[0]))
    return mpmath.matrix([radius * mpmath.cos(angle), radius * mpmath.sin(angle)])


def test_the_certificate_covers_the_rounding() -> None:
    least = math.inf
    for seed in range(40):
        logistic, radius = bool(seed % 2), (0.25, 4.0)[seed // 2 % 2]
        rows, targets, start = make_records(1 + seed % 5, 2, seed)
        start *= radius
        loss: Loss = LogisticLoss() if logistic else SquaredLoss()
        weights, distance = solve_proximal(
            rows, targets, start, loss=loss, mu="0.0625", radius=radius, tolerance="1e-10"
        )
        with mpmath.workdps(50):
            best = find_precisely(rows, targets, start, logistic=logistic, mu=0.0625, radius=radius)
            off = mpmath.norm(mpmath.matrix(weights.tolist()) - best)
            assert off <= distance < 1e-10
        least = min(least, float(off) / distance)
    assert least < 1


@settings(max_examples=300)
@given(st.integers(0, 2**32), st.integers(1, 4), st.sampled_from(range(3)), st.floats(0, 1), st.booleans())
def test_the_certificate_holds_for_any_weights(seed: int, size: int, place: int, off: float, edge: bool) -> None:  # noqa: FBT001
    loss, lipschitz = LOSSES[place]
    rows, targets, start = make_records(6, size, seed)
    radius = 0.125 if edge else 1
    solver = ProximalSolver(rows, targets, [0, 6], **describe(loss, lipschitz, radius=radius))
    best, distance = solver.step(start)
    assert distance[0] <= 1e-9
    moved = best + off**8 * np.random.default_rng(seed).normal(size=(1, size))
    moved *= min(1.0, radius * (1 + 1e-12) / max(float(np.linalg.norm(moved)), 1e-300))
    slopes = differentiate_loss(loss, lipschitz, rows @ moved[0], targets)
    start *= min(1.0, radius / max(float(np.linalg.norm(start)), 1e-300))
    gradient = slopes @ rows / 6 + 0.125 * moved + 0.25 * (moved - start)
    bound = float(solver._bound_distance(moved, gradient)[0])
    assert np.linalg.norm(moved - best) <= bound + 1e-9


def differentiate_loss(loss: Loss, lipschitz: str | None, predictions: Any, targets: Any) -> Any:
    if isinstance(loss, LogisticLoss):
        return -targets * special.expit(-targets * predictions)
    most = math.inf if lipschitz is None else float(lipschitz)
    return np.clip(predictions - targets, -most, most)


def compute_loss(loss: Loss, lipschitz: str | None, predictions: Any, targets: Any) -> Any:
    if isinstance(loss, LogisticLoss):
        return loss.value(predictions, targets)
    if lipschitz is None:
        return (predictions - targets) ** 2 / 2
    return special.huber(float(lipschitz), predictions - targets)


def test_scipy_finds_the_same_weights() -> None:
    for seed, (loss, lipschitz) in enumerate(LOSSES * 4):
        rows, targets, start = make_records(20, 3, seed)
        radius = (0.25, 2.0)[seed // 3 % 2]
        weights, distance = solve_proximal(rows, targets, start, **describe(loss, lipschitz, radius=radius))
        begin = start * min(1.0, radius / float(np.linalg.norm(start)))

        def objective(w: Any, kind: Any = (loss, lipschitz, rows, targets, begin)) -> float:
            given, cut, features, wanted, near = kind
            mean = compute_loss(given, cut, features @ w, wanted).mean()
            return float(mean + 0.0625 * w @ w + 0.125 * (w - near) @ (w - near))

        inside: Any = {"type": "ineq", "fun": lambda w, radius=radius: radius**2 - w @ w}
        theirs = optimize.minimize(objective, np.full(3, 0.05), constraints=[inside], tol=1e-14).x
        assert distance < 1e-9
        assert weights == pytest.approx(theirs, abs=2e-5)
        assert np.linalg.norm(weights) <= radius * (1 + 1e-14)


@settings(max_examples=200)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(0, 2**32), st.sampled_from(range(3)))
def test_parties_together_are_parties_alone(counts: list[int], seed: int, place: int) -> None:
    parameters = describe(*LOSSES[place])
    rows, targets, start = make_records(sum(counts) + 1, 3, seed)
    rows, targets, ends = rows[:-1], targets[:-1], np.cumsum([0, *counts])
    weights, distances = ProximalSolver(rows, targets, ends, **parameters).step(start)
    assert (distances <= 1e-9).all()
    for party, (begin, end) in enumerate(itertools.pairwise(ends)):
        alone, _ = solve_proximal(rows[begin:end], targets[begin:end], start, **parameters)
        assert weights[party] == pytest.approx(alone, abs=1e-9)
        if begin == end:
            assert weights[party] == pytest.approx(start, abs=1e-15)
            assert distances[party] == 0.0


def test_a_start_for_each_party_and_from_outside() -> None:
    rows, targets, _ = make_records(4, 2, 3)
    solver = ProximalSolver(rows, targets, [0, 4, 4], **describe(SquaredLoss(), None))
    weights, _ = solver.step([[0.5, 0.25], [3.0, 4.0]])
    assert weights[0] == pytest.approx(solver.step([0.5, 0.25])[0][0], abs=1e-12)
    assert weights[1] == pytest.approx([0.6, 0.8], abs=1e-12)


def test_descent_and_the_closed_form_agree() -> None:
    own = OwnLoss(lambda prediction, target: prediction - target, lipschitz=2, smoothness=1)
    for seed in range(12):
        rows, targets, start = make_records(1 + seed, 1 + seed % 4, seed)
        radius = (0.2, 1.0)[seed % 2]
        exact, _ = solve_proximal(rows, targets, start, **describe(SquaredLoss(), None, radius=radius))
        steps, distance = solve_proximal(rows, targets, start, **describe(own, None, radius=radius))
        assert distance < 1e-9
        assert steps == pytest.approx(exact, abs=2e-9)
        begin = start * min(1.0, radius / float(np.linalg.norm(start)))
        matrix = rows.T @ rows / len(rows) + 0.375 * np.eye(rows.shape[1])
        vector = targets @ rows / len(rows) + 0.25 * begin
        assert exact == pytest.approx(quadratic_on_ball(matrix / 2, -vector, radius), abs=1e-9)


def test_rows_on_one_line_one_row_and_long_rows() -> None:
    line = np.outer([0.9, -0.4, 0.1], [0.6, 0.8])
    for loss, lipschitz in LOSSES:
        for rows in (line, line[:1], np.zeros((3, 2)), np.outer([1e200, -3.0, 1.0], [0.6, 0.8])):
            targets = np.array([1.0, -7.0, 1.0])[: len(rows)]
            weights, distance = solve_proximal(rows, targets, [0.3, 0.1], **describe(loss, lipschitz))
            assert distance < 1e-9
            short = rows / np.maximum(1.0, np.linalg.norm(rows / 1e100, axis=1) * 1e100)[:, None]
            same, _ = solve_proximal(short, np.clip(targets, -1, 1), [0.3, 0.1], **describe(loss, lipschitz))
            assert weights == pytest.approx(same, abs=1e-9)


def test_the_number_of_steps_is_enough_for_every_problem() -> None:
    # The theorems promise half the tolerance, whatever the records; rounding takes the rest.
    for mu in ("1e20", "4", "0.1", "0.002"):
        for loss, lipschitz in LOSSES[1:]:
            for seed in range(4):
                rows, targets, start = make_records(3, 2, seed)
                rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
                changes = {"mu": mu, "penalty": 0, "radius": 2}
                _, distance = solve_proximal(rows, targets, start, **describe(loss, lipschitz, **changes))
                assert distance <= 1e-9


def test_a_pull_too_weak_is_refused() -> None:
    rows, targets, _ = make_records(5, 2, 1)
    for loss, lipschitz in LOSSES:
        for changes in ({"mu": "1e-9", "penalty": 0}, {"tolerance": "1e-16"}):
            with pytest.raises(ParameterError, match="mu") as caught:
                solve_proximal(rows, targets, [0, 0], **describe(loss, lipschitz, **changes))
            assert caught.value.code == "federated.mu_too_small"


def test_bad_input_is_refused() -> None:
    rows, targets, start = make_records(4, 2, 1)
    parameters = describe(SquaredLoss(), None)
    for bad in (
        (rows[0], targets, [0, 4]),
        (rows, targets[:3], [0, 4]),
        (rows[:, :0], targets, [0, 4]),
        (rows, targets, [0, 3]),
        (rows, targets, [1, 4]),
        (rows, targets, [0, 3, 2, 4]),
        (rows, targets, [0]),
        (rows, targets, [0.0, 3.5, 4.0]),
        (rows, targets, [[0], [4]]),
        (rows, targets, [0, math.nan, 4]),
        (rows, targets, [0, [4]]),
        (rows * np.nan, targets, [0, 4]),
        (rows, targets * math.inf, [0, 4]),
        ([["one", "two"]] * 4, targets, [0, 4]),
    ):
        with pytest.raises(CelosiaError):
            ProximalSolver(*bad, **parameters)
    for name, value in {"mu": 0, "penalty": -1, "radius": 0, "tolerance": 0, "lipschitz": 0}.items():
        with pytest.raises(ParameterError):
            ProximalSolver(rows, targets, [0, 4], **parameters | {name: value})
    for name, text in {"mu": "1e90", "radius": "1e-90", "penalty": "1e90"}.items():
        with pytest.raises(ParameterError, match=name):
            ProximalSolver(rows, targets, [0, 4], **parameters | {name: text})
    solver = ProximalSolver(rows, targets, [0, 4], **parameters)
    before = solver.step(start)[0]
    for begin in ([0.0], [[0.0, 0.0]] * 2, [math.nan, 0.0], [math.inf, 0.0], "start"):
        with pytest.raises(CelosiaError):
            solver.step(begin)
    assert (solver.step(start)[0] == before).all()
    assert repr(rows[0, 0])[:6] not in repr(solver)


def test_a_loss_that_fails_is_not_quoted() -> None:
    def fail(prediction: float, target: float) -> float:
        if abs(prediction) == 0.0625:  # at none of the probes of a loss
            raise ValueError("secret")
        return prediction - target

    own = OwnLoss(fail, lipschitz=2, smoothness=1)
    with pytest.raises(EngineError) as caught:
        solve_proximal([[0.5]], [1.0], [0.125], **describe(own, None))
    assert caught.value.code == "federated.local_step_failed"
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
