"""Trainings whose parties share one noise under masks: the sum, the noise in it, its price, and silence."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import celosia as cl
from celosia.accounting import best
from celosia.core import CelosiaError, EngineError, ParameterError
from celosia.federated import SGD, Federation, Masks, OneShot, Proximal, training
from celosia.federated.parties.party import PartySources
from celosia.federated.training import ask
from celosia.learn import LinearRegression, Ridge, StandardScaler, load
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded

LINE = LinearRegression(bounds=(-1, 1), bounds_y=(-2, 2))
UPDATES = [
    (OneShot(LINE), 1),
    (OneShot(StandardScaler(bounds=(-1, 1))), 1),
    (SGD(estimator=LINE, records=50), 5),
    (SGD(estimator=LINE, records=50, sampling_rate="0.5"), 5),
    (Proximal(estimator=LINE, mu="0.2"), 5),
]


def federate(
    update: Any = UPDATES[0][0], rounds: int = 1, *, count: int = 5, rows: int = 50, **given: Any
) -> Federation:
    rng = np.random.default_rng(3)
    features = rng.uniform(-1, 1, (count, rows, 2))
    parties = {f"party {place}": (one, one @ [1.0, -1.0]) for place, one in enumerate(features)}
    defaults: dict[str, Any] = {"masks": Masks(), "epsilon": 2, "delta": "1e-5", "source": Seeded(7)}
    return Federation(parties=parties, update=update, rounds=rounds, **(defaults | given))


@pytest.mark.parametrize(("update", "rounds"), UPDATES, ids=lambda given: f"{given}")
@pytest.mark.parametrize("masks", [Masks(colluders=0), Masks(), Masks(colluders=2, silent=1)])
def test_masks_lessen_the_noise_and_keep_the_target(update: Any, rounds: int, masks: Masks, tmp_path: Any) -> None:
    plain, masked = federate(update, rounds, masks=None).preview(), federate(update, rounds, masks=masks)
    preview, model = masked.preview(), masked.run()
    parts = 5 - masks.colluders - masks.silent
    assert preview.noise_ratio == pytest.approx((5 / parts) ** 0.5)
    if not isinstance(plain.event, cl.core.LaplaceEvent):  # which may be smaller than Gaussian noise
        assert preview.noise_scale / plain.noise_scale == pytest.approx(parts**-0.5, rel=1e-3)
    assert preview.guarantee == model.guarantee_ == plain.guarantee
    assert preview.event == model.event_
    assert f"SummedGaussianEvent(parts={parts}," in repr(model.event_)
    assert best(model.event_, "1e-5").guarantee.epsilon <= 2
    assert model.history_[0]["bytes"] == 5 * preview.bytes_per_party
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model with seeded noise is stored with a warning
        model.save(tmp_path / "model.json")
    kept = load(tmp_path / "model.json")
    assert kept.event_ == model.event_
    assert "5 parties" in kept.card()
    assert f"holds against {preview.against}" in kept.card()


@pytest.mark.parametrize(("assumed", "fits"), [(1.0, True), (1.21, False)])  # the mutant's scale is off by a tenth
def test_the_total_has_one_noise(*, assumed: float, fits: bool) -> None:
    federation = federate(rows=2, masks=Masks(colluders=1))
    plan: Any = federation.plan()
    sums = plan.compute(federation.names, plan.start(), [Seeded(1)] * len(federation.names))
    exact = sum(np.asarray(one, dtype=object) for one in sums)
    variance = float(plan.find_spread(5) * plan.inner.noise.event.variance)
    assert variance == pytest.approx(float(plan.inner.noise.event.variance) * 5 / 4)
    noise = []
    for number in range(250):
        sources = PartySources(Seeded(number))
        sent = ask(plan, federation.names, plan.start(), [sources.get(name, 1) for name in federation.names])
        found = plan.add_up(sent, parties=5, number=1, source=Seeded(1000 + number))
        noise.append(np.asarray(found.total - exact, dtype=np.float64))
    values = np.concatenate(noise) / (variance * assumed) ** 0.5
    below = stats.chi2(len(values)).cdf(float(values @ values))
    close = stats.kstest(values, stats.norm.cdf).pvalue > 1e-7
    assert bool(close and 1e-7 < below < 1 - 1e-7) is fits


def test_silent_parties_are_left_out_or_end_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    honest, quiet = training.ask, {"party 1"}

    def ask_with_silence(*given: Any) -> dict[str, object]:
        return {name: None if name in quiet else numbers for name, numbers in honest(*given).items()}

    monkeypatch.setattr(training, "ask", ask_with_silence)
    budget = InMemoryBudget(cl.ApproxDP(epsilon=4, delta="1e-4"))
    model = federate(masks=Masks(silent=1), budget=budget, least_parties=4).run()
    assert model.history_[0]["rejected"] == {"party 1": "silent"}
    spent = budget.spent
    quiet.add("party 2")
    with pytest.raises(EngineError):
        federate(masks=Masks(silent=1), budget=budget).run()
    assert budget.spent > spent  # masked numbers have left the parties
    assert [one.state for one in budget.history] == ["committed", "failed"]


def test_the_noise_of_those_who_answered_is_stated() -> None:
    plan: Any = federate(masks=Masks(colluders=0, silent=2)).plan()
    assert plan.find_spread(3) * plan.inner.noise.event.variance == plan.shares.variance
    assert plan.find_spread(5) == plan.find_spread(3) * Fraction(5, 3)
    assert plan.shares.parts == 3
    assert plan.settings.max_silent == 2


def test_bad_input_is_named() -> None:
    bad: list[tuple[Any, str]] = [
        (lambda: Masks(colluders=-1), "colluders"),
        (lambda: Masks(silent="two"), "silent"),  # type: ignore[arg-type]
        (lambda: federate(masks=Masks(colluders=5)), "nobody is left"),
        (lambda: federate(masks=Masks(silent=3)), "at most 2 may fall silent"),
        (lambda: federate(masks=True), "masks must be"),
        (lambda: federate(delta=None), "delta"),
        (lambda: federate(participation="0.5"), "participation=1"),
        (lambda: federate(SGD(estimator=LINE, records=50, steps=2), 2), "steps=1"),
        # Three noises, of which one would be added and paid for.
        (
            lambda: federate(OneShot(LinearRegression(bounds=(-1, 1), bounds_y=(-2, 2), method="adassp"))),
            "several noises",
        ),
        (
            lambda: federate(OneShot(Ridge(bounds=(-1, 1), bounds_y=(-2, 2), method="adassp")), masks=None),
            "several noises",
        ),
    ]
    budget = InMemoryBudget(cl.ApproxDP(epsilon=2, delta="1e-5"))
    for make, words in bad:
        with pytest.raises(CelosiaError, match=words) as caught:
            make().run()
        assert isinstance(caught.value, ParameterError)
    assert budget.spent == cl.ApproxDP(epsilon=0, delta=0)
