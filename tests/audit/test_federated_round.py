"""Whole rounds of federations keep their claims, and rounds with too little noise or without a clip are found."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from celosia.audit import audit_round
from celosia.core import EngineError, InputError, ParameterError
from celosia.federated import SGD, Federation, Masks, OneShot, Proximal
from celosia.federated.masked import MaskedPlan
from celosia.federated.updates import local_descent, one_shot
from celosia.federated.updates.moments import sums
from celosia.federated.updates.moments.sums import MomentSums
from celosia.federated.updates.plan import UpdatePlan
from celosia.federated.updates.proximal import update as proximal
from celosia.federated.updates.proximal.bounds import half_spread
from celosia.federated.updates.proximal.step import ProximalSolver
from celosia.federated.updates.sgd_plan import SGDPlan
from celosia.learn import LinearRegression, StandardScaler

LINE = LinearRegression(bounds=(-1, 1), bounds_y=(-2, 2))
FAR = np.ones((5, 2)), np.full(5, 2.0)
FEWER = np.ones((4, 2)), np.full(4, 2.0)
MIRRORED = np.ones((5, 2)), np.array([2.0, 2.0, 2.0, 2.0, -2.0])
NEAR = np.array([[0.1, 0.2], [-0.3, 0.5]]), np.array([0.1, 0.0])
FAILURE = 1e-8  # of each of fewer than fifty audits of honest rounds


def federate(update: Any, **given: Any) -> Federation:
    defaults: dict[str, Any] = {"parties": {"north": FAR, "south": NEAR}, "rho": "0.5"}
    return Federation(update=update, **(defaults | given))


def make_sgd(**given: Any) -> SGD:
    return SGD(estimator=LINE, records=5, step_size="0.2", **given)


THREE = {"north": FAR, "south": NEAR, "west": NEAR}
LONELY = {"north": (np.ones((1, 2)), np.full(1, 2.0)), "south": NEAR}  # samples of others would blur it
CASES: dict[str, tuple[Federation, Any]] = {
    "sums, Laplace": (
        federate(
            OneShot(StandardScaler(bounds=(-1, 1))), epsilon=2, rho=None, parties={"north": FAR[0], "south": NEAR[0]}
        ),
        FEWER[0],
    ),
    "sums, Gaussian": (federate(OneShot(LINE)), FEWER),
    "sums, replaced": (federate(OneShot(LINE), adjacency="replace-one"), MIRRORED),
    "gradients": (federate(make_sgd()), FEWER),
    "gradients, replaced": (federate(make_sgd(), adjacency="replace-one"), MIRRORED),
    "gradients of a sample": (
        federate(make_sgd(sampling_rate="0.5"), rho=None, epsilon=4, delta="1e-5", parties=LONELY),
        (np.zeros((0, 2)), np.zeros(0)),
    ),
    "two local steps": (federate(make_sgd(steps=2)), FEWER),
    "moments": (federate(make_sgd(moments="0.9"), rounds=2), FEWER),
    "moments with a number": (federate(SGD(estimator=LINE, moments="0.9"), rounds=2), FEWER),
    "moments before local steps": (federate(make_sgd(moments="0.9", steps=2), rounds=2), FEWER),
    "control variates": (federate(make_sgd(steps=2, control_variates=True)), FEWER),
    "minima": (federate(Proximal(estimator=LINE, mu=1)), MIRRORED),
    "masks": (federate(OneShot(LINE), masks=Masks(colluders=1), parties=THREE), FEWER),
}
SLOW = {"sums, replaced"}
GAUSSIAN = [
    pytest.param(name, marks=pytest.mark.thorough) if name in SLOW else name
    for name in CASES
    if name not in {"sums, Laplace", "gradients of a sample"}
]


def audit(name: str, *, samples: int = 6000, **given: Any) -> Any:
    federation, records = CASES[name]
    if federation.masks is not None:  # whose noise is drawn party by party
        samples = min(samples, 6000)
    return audit_round(federation, "north", records, samples=samples, failure=FAILURE, **given)


@pytest.mark.parametrize("name", CASES)
def test_a_round_keeps_its_claim(name: str, *, thorough: bool) -> None:
    found = audit(name, samples=100_000 if thorough else 6000)
    assert not found.is_broken, str(found)
    assert found.found.epsilon > 0.15 * found.claimed  # it was looked at
    assert str(found).startswith("Nothing found")


@pytest.mark.parametrize("name", ["gradients", "two local steps", "minima"])
def test_a_later_state_keeps_it_too(name: str) -> None:
    found = audit(name, state=np.array([0.3, -0.4, 0.1]))
    assert not found.is_broken


def test_variates_of_earlier_rounds_leave_the_claim() -> None:
    found = audit("control variates", state=np.array([0.3, -0.4, 0.1, 0.2, 0.1, -0.3, -0.1, 0.4, 0.2]))
    assert not found.is_broken


def plant_noise(monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    """Divide all noise by a number; 0 removes it."""

    def less(noise: Any) -> Any:
        return noise // part if part else 0 * noise

    for plan in (UpdatePlan, MaskedPlan):
        honest = plan.add_noise

        def add_noise(self: Any, exact: Any, sources: Any, honest: Any = honest) -> Any:
            noisy = honest(self, exact, sources)
            return [one + less(other - one) for one, other in zip(exact, noisy, strict=True)]

        monkeypatch.setattr(plan, "add_noise", add_noise)
    drawn = SGDPlan._draw_noise
    monkeypatch.setattr(SGDPlan, "_draw_noise", lambda *given: less(drawn(*given)))


@pytest.mark.parametrize("name", ["sums, Laplace", "gradients of a sample", "two local steps", "minima"])
def test_a_round_without_noise_is_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    if name == "two local steps":  # UpdatePlan.add_noise adds none there
        monkeypatch.setattr(SGDPlan, "_draw_noise", lambda _, parties, width, __: np.zeros((parties, width), np.int64))
    else:
        plant_noise(monkeypatch, 0)
    assert audit(name, samples=2000).is_broken


@pytest.mark.parametrize("name", GAUSSIAN)
def test_a_round_with_half_the_noise_is_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    plant_noise(monkeypatch, 2)
    found = audit(name)
    assert found.is_broken, str(found)


def remove_clips(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let records contribute several times as much as is paid for."""
    honest: Any = local_descent.add_gradients, one_shot._sum_records, local_descent.add_columns

    def add_gradients(*given: Any, **others: Any) -> Any:
        *arrays, run = given
        return honest[0](*arrays, run._replace(bound=4 * run.bound, most=4 * run.most), **others)

    def solve(*given: Any, lipschitz: Any, **others: Any) -> Any:  # noqa: ARG001 - left out
        return ProximalSolver(*given, **others)

    monkeypatch.setattr(local_descent, "add_gradients", add_gradients)
    monkeypatch.setattr(sums, "add_columns", lambda *given: 3 * honest[2](*given))
    monkeypatch.setattr(one_shot, "_sum_records", lambda *given: 3 * honest[1](*given))
    monkeypatch.setattr(proximal, "ProximalSolver", solve)
    monkeypatch.setattr(proximal, "half_spread", lambda loss, radius, _: half_spread(loss, radius, Fraction(1, 4)))


@pytest.mark.parametrize("name", [*GAUSSIAN, "gradients of a sample"])
def test_a_round_without_a_clip_is_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    remove_clips(monkeypatch)
    found = audit(name, samples=5000)
    assert found.is_broken, str(found)


@pytest.mark.parametrize("name", ["moments", "moments with a number"])
def test_moments_on_a_grid_that_costs_more_are_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """What is stated is a quarter of the length that a record really has."""
    honest: Any = vars(MomentSums)["sensitivity_squared"].fget
    monkeypatch.setattr(MomentSums, "sensitivity_squared", property(lambda one: honest(one) // 16))
    found = audit(name)
    assert found.is_broken, str(found)


def test_bad_input_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    federation, records = CASES["minima"]
    bad: list[tuple[Any, type[Exception], str]] = [
        (lambda: audit_round(federation, "east", records), ParameterError, "no party 'east'"),
        (lambda: audit_round(federation, "north", FEWER), ParameterError, "no neighbours"),
        (lambda: audit_round(federation, "north", records, samples=1), ParameterError, "samples"),
        (lambda: audit_round(federation, "north", records, delta=2), ParameterError, "delta"),
        (lambda: audit_round(federation, "north", records, failure=0), ParameterError, "failure"),
        (lambda: audit_round(federation, "north", records, state=[0, 0]), InputError, "finite numbers"),
        (lambda: audit_round(federation, "north", (FAR[0] * np.nan, FAR[1])), InputError, "NaN"),
    ]
    for run, error, words in bad:
        with pytest.raises(error, match=words):
            run()
    monkeypatch.setattr(proximal.ProximalPlan, "compute", lambda *_: [None])
    with pytest.raises(EngineError, match="no result"):
        audit("minima")
