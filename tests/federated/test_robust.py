"""Robust rules: against plain definitions, with bounds on what bad parties can do, and in whole trainings."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import celosia as cl
from celosia.core import EngineError, InputError, ParameterError
from celosia.federated import (
    SGD,
    ClippedSum,
    CoordinateMedian,
    Federation,
    Krum,
    Masks,
    OneShot,
    Party,
    Proximal,
    TrimmedMean,
    training,
)
from celosia.federated.robust import plan_robust
from celosia.federated.training import ask
from celosia.learn import LinearRegression
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded

LINE = LinearRegression(bounds=(-1, 1), bounds_y=(-2, 2))
RULES = [ClippedSum(), TrimmedMean(2), CoordinateMedian(), Krum(2), Krum(2, keep=1)]
UPDATES: list[tuple[Any, int]] = [
    (OneShot(LINE), 1),
    (SGD(estimator=LINE, records=300, step_size=3, clip="0.25"), 15),
    (SGD(estimator=LINE, records=300, steps=4, step_size=2, clip="0.25"), 8),
    (Proximal(estimator=LINE, mu="0.2"), 8),
]
LARGE = 2**62 // 9
MESSAGES = st.integers(3, 9).flatmap(
    lambda count: st.tuples(
        st.lists(st.lists(st.integers(-LARGE, LARGE), min_size=2, max_size=2), min_size=count, max_size=count),
        st.lists(st.integers(1, 1000), min_size=count, max_size=count),
    )
)


def make_records(count: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (count, 2))
    return features, features @ [0.9, -0.5] + 0.3 + rng.normal(size=count) * 0.1


def federate(update: Any, rounds: int, *, count: int = 9, rows: int = 300, **given_: Any) -> Federation:
    parties = {f"party {number}": make_records(rows, number) for number in range(count)}
    defaults: dict[str, Any] = {"epsilon": 20, "delta": "1e-5", "source": Seeded(7)}
    return Federation(parties=parties, update=update, rounds=rounds, **(defaults | given_))


# ------------------------------------------------------------------------------------------------------------- rules


def combine(rule: Any, messages: Any, weights: Any = None, center: Any = (0, 0)) -> Any:
    rows = np.array(messages, dtype=np.int64)
    shares = np.ones(len(rows), dtype=np.int64) if weights is None else np.array(weights, dtype=np.int64)
    found = rule.combine(rows, shares, None if center is None else np.array(center, dtype=np.float64))
    assert all(type(one) is int for one in found)
    return found.tolist()


def find_middle_plainly(column: list[int], weights: list[int], cut: int) -> Fraction:
    ranked = sorted(zip(column, weights, strict=True), key=lambda pair: pair[0] / pair[1])
    kept = ranked[cut : len(ranked) - cut]
    return Fraction(sum(value for value, _ in kept) * sum(weights), sum(weight for _, weight in kept))


@given(MESSAGES)
def test_ranks_are_those_of_plain_statistics(drawn: tuple[list[list[int]], list[int]]) -> None:
    rows, weights = drawn
    for place in (0, 1):
        column = [row[place] for row in rows]
        middle = Fraction(statistics.median(map(Fraction, column)))
        assert abs(combine(CoordinateMedian(), rows)[place] - middle * len(rows)) <= Fraction(1, 2)
        for shares in (weights, [1] * len(rows)):
            wanted = find_middle_plainly(column, shares, 1)
            assert abs(combine(TrimmedMean(1), rows, shares)[place] - wanted) <= Fraction(1, 2)


@given(MESSAGES, st.randoms(use_true_random=False))
def test_honest_parties_of_different_weights_agree(drawn: tuple[list[list[int]], list[int]], random: Any) -> None:
    """If all propose the same, a rule returns their sum; and no rule looks at their order."""
    rows, weights = drawn
    proposal = [value // 2**20 for value in rows[0]]
    sent = [[weight * value for value in proposal] for weight in weights]
    longer = 1 + int(math.hypot(*proposal) * (1 + 2**-30))
    for rule in (TrimmedMean(1), CoordinateMedian(), ClippedSum(longer)):
        assert combine(rule, sent, weights) == [sum(weights) * value for value in proposal]
    order = random.sample(range(len(rows)), len(rows))
    for rule in (ClippedSum(), ClippedSum("1000.5")):
        assert combine(rule, [rows[place] for place in order]) == combine(rule, rows)


@given(MESSAGES)
def test_no_message_is_cut_that_is_short(drawn: tuple[list[list[int]], list[int]]) -> None:
    rows, weights = drawn
    assert combine(ClippedSum(2**70), rows, weights) == [sum(row[place] for row in rows) for place in (0, 1)]


@given(MESSAGES, st.lists(st.integers(-LARGE, LARGE), min_size=2, max_size=2), st.floats(-1000, 1000))
def test_one_party_moves_a_clipped_mean_by_its_share_of_the_length(
    drawn: tuple[list[list[int]], list[int]], bad: list[int], middle: float
) -> None:
    """Against a message of no change, by at most length * weight / weights."""
    rows, weights = drawn
    length, center = 500, [middle, -middle]
    rows[0] = np.rint(np.array(center) * weights[0]).astype(int).tolist()
    still = combine(ClippedSum(length), rows, weights, center)
    moved = combine(ClippedSum(length), [bad, *rows[1:]], weights, center)
    distance = np.linalg.norm([float(one - other) for one, other in zip(moved, still, strict=True)])
    assert distance <= length * weights[0]


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 2))
def test_bad_parties_do_not_move_a_rule_beyond_the_honest(seed: int, bad: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 50, 7)
    honest = rng.integers(-1000, 1000, (7 - bad, 3))
    wild = rng.integers(-LARGE, LARGE, (bad, 3)) // 50
    rows = np.concatenate([honest, wild]) * weights[:, None]
    for rule in (TrimmedMean(2), CoordinateMedian()):
        mean = np.array(combine(rule, rows, weights, (0, 0, 0)), dtype=float) / weights.sum()
        assert (mean >= honest.min(axis=0) - 1).all()
        assert (mean <= honest.max(axis=0) + 1).all()
    for center in ((0, 0, 0), None):
        longest = np.linalg.norm(honest, axis=1).max() if center else 2 * np.linalg.norm([1000, 1000, 1000])
        clipped = np.array(combine(ClippedSum(), rows, weights, center), dtype=float) / weights.sum()
        middle = np.zeros(3) if center else np.median(rows / weights[:, None], axis=0)
        assert np.linalg.norm(clipped - middle) <= longest + 1


def find_krum_plainly(rows: Any, bad: int) -> int:
    scores = []
    for place, row in enumerate(rows):
        apart = sorted(((row - other) ** 2).sum() for number, other in enumerate(rows) if number != place)
        scores.append(sum(apart[: len(rows) - bad - 2]))
    return int(np.argmin(scores))


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_krum_is_that_of_the_paper(seed: int, bad: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(-10_000, 10_000, (2 * bad + 3 + int(rng.integers(3)), 4))
    best = rows[find_krum_plainly(rows, bad)]
    assert combine(Krum(bad, keep=1), rows, center=(0,) * 4) == (best * len(rows)).tolist()


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_the_noise_of_a_total_is_no_more_than_stated(rule: Any) -> None:
    """Noise of honest parties alone: 4000 numbers, whose variance is right to about 2.3 % (a standard error)."""
    draws = np.random.default_rng(1).normal(size=(2000, 9, 2)) * 10_000
    totals = np.array([combine(rule, np.rint(one)) for one in draws], dtype=float)
    assert float((totals**2).mean()) / 10_000**2 <= float(rule.find_spread(9)) * 1.13


# --------------------------------------------------------------------------------------------------- whole trainings


def attack(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """Let two parties send what ``change`` makes of an honest message."""

    def ask_badly(plan: Any, names: Any, state: Any, sources: Any) -> dict[str, Any]:
        sent: dict[str, Any] = ask(plan, names, state, sources)
        return sent | {name: change(sent[name]) for name in ("party 1", "party 4")}

    monkeypatch.setattr(training, "ask", ask_badly)


ATTACKS = {"flipped": lambda sent: -10 * sent, "huge": lambda sent: np.full_like(sent, -(10**15))}


@pytest.mark.parametrize(("update", "rounds"), UPDATES, ids=lambda given_: f"{given_}")
def test_two_bad_parties_of_nine(monkeypatch: pytest.MonkeyPatch, update: Any, rounds: int) -> None:
    test = make_records(1000, 99)
    honest = {repr(rule): federate(update, rounds, combine=rule).run().score(*test) for rule in [None, *RULES]}
    assert min(honest.values()) > 0.95
    for change in ATTACKS.values():
        with monkeypatch.context() as patched:
            attack(patched, change)
            assert federate(update, rounds).run().score(*test) < 0.2
            for rule in RULES:
                model = federate(update, rounds, combine=rule).run()
                assert model.score(*test) > 0.85, rule
                assert len(model.history_[0]["accepted"]) == 9  # nothing says that they are bad


def test_rules_cost_nothing_and_travel() -> None:
    for update, rounds in UPDATES:
        plain = federate(update, rounds, epsilon=2).preview()
        for rule in RULES:
            preview = federate(update, rounds, epsilon=2, combine=rule).preview()
            assert (preview.event, preview.guarantee) == (plain.event, plain.guarantee)
            assert preview.bytes_per_party == plain.bytes_per_party
            assert preview.noise_scale == pytest.approx(plain.noise_scale * (float(rule.find_spread(9)) / 9) ** 0.5)
    budget = InMemoryBudget(cl.ApproxDP(epsilon=2, delta="1e-5"))
    model = federate(SGD(estimator=LINE, records=300), 5, epsilon=2, combine=Krum(1), budget=budget, source=None).run()
    assert model.guarantee_ == budget.spent


def test_sums_of_unequal_parties_are_weighed_by_what_they_state() -> None:
    sizes = [3000, 300, 900, 300, 2000]
    records = [make_records(size, seed) for seed, size in enumerate(sizes)]
    parties = [Party(str(place), *one, records=len(one[0])) for place, one in enumerate(records)]
    test = make_records(1000, 99)
    defaults: dict[str, Any] = {"parties": parties, "update": OneShot(LINE), "epsilon": 20, "delta": "1e-5"}
    for rule in (TrimmedMean(1), CoordinateMedian(), Krum(1), ClippedSum()):
        federation = Federation(**defaults, source=Seeded(7), combine=rule)
        assert federation.plan().find_weights(["3", "0"]).tolist() == [300, 3000]
        assert federation.run().score(*test) > 0.9, rule
    unstated = Federation(**defaults | {"parties": [*parties[:4], Party("4", *records[4])]})
    assert unstated.plan().find_weights(["3", "0"]).tolist() == [1, 1]


def test_a_training_goes_on_with_its_own_rule_only(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "progress.json"

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(training, "ask", stop)
        with pytest.raises(KeyboardInterrupt):
            federate(*UPDATES[1], combine=Krum(1)).run(file)
    with pytest.raises(InputError, match="another training"):
        federate(*UPDATES[1]).run(file)
    assert federate(*UPDATES[1], combine=Krum(1)).run(file).history_[0]["rejected"]["party 0"] == "lost"


def test_too_few_messages_end_a_training(monkeypatch: pytest.MonkeyPatch) -> None:
    attack(monkeypatch, lambda _: None)
    found = federate(*UPDATES[0], combine=TrimmedMean(3)).run().history_[0]["rejected"]
    assert found == {"party 1": "silent", "party 4": "silent"}
    with pytest.raises(EngineError, match="at least 9"):
        federate(*UPDATES[0], combine=TrimmedMean(4)).run()


def test_bad_input_is_named() -> None:
    bad: list[tuple[Any, str]] = [
        (lambda: TrimmedMean(0), "trim"),
        (lambda: TrimmedMean(1.5), "trim"),  # type: ignore[arg-type]
        (lambda: Krum(0), "bad"),
        (lambda: Krum(1, keep=0), "keep"),
        (lambda: ClippedSum(0), "length"),
        (lambda: ClippedSum("long"), "length"),
        (lambda: federate(*UPDATES[0], combine="median"), "combine must be"),
        (lambda: federate(*UPDATES[0], combine=Krum), "combine must be"),
        (lambda: federate(*UPDATES[0], combine=CoordinateMedian(), masks=Masks()), "separate messages"),
        (lambda: federate(*UPDATES[0], combine=Krum(4)).plan(), "at least 11 parties, not 9"),
        (lambda: federate(*UPDATES[0], combine=Krum(1, keep=8)).plan(), "at least 11 parties, not 9"),
        (lambda: federate(*UPDATES[0], combine=TrimmedMean(5)).plan(), "at least 11 parties, not 9"),
        (lambda: plan_robust(federate(*UPDATES[0]).plan(), Krum(1), 3000), "at most 2048, not 3000"),
    ]
    for make, words in bad:
        with pytest.raises(ParameterError, match=words) as caught:
            make()
        assert caught.value.code
