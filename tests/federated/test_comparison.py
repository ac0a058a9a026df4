"""Comparisons: equal cost, noise that does not depend on what else is compared, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import celosia as cl
from celosia.core import CelosiaError, EngineError, InputError, ParameterError
from celosia.federated import SGD, Comparison, Federation, OneShot, Party, Proximal, compare_methods, make_debt
from celosia.federated.comparison import CENTRAL, NON_PRIVATE
from celosia.learn import GaussianNB, LinearRegression, LogisticRegression
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded

DEBT = make_debt(rows=300)
TEST = make_debt(seed=1).together()
LINE = LinearRegression(bounds=DEBT.bounds, bounds_y=DEBT.bounds_y)
METHODS: dict[str, Any] = {"one-shot": OneShot(LINE), "SGD": SGD(estimator=LINE, step_size=4)}


def compare(**given: Any) -> Comparison:
    usual: dict[str, Any] = {"methods": METHODS, "rounds": 8, "repetitions": 2, "source": Seeded(7)}
    return compare_methods(given.pop("parties", DEBT.parties), given.pop("test", TEST), **(usual | given))


def by_method(found: Comparison) -> dict[str, Any]:
    return {one.method: one for one in found.results}


def test_every_method_is_trained_at_every_epsilon_beside_both_references() -> None:
    found = compare(epsilons=["0.5", 2], repetitions=3)
    ways = [*METHODS, CENTRAL]
    assert [one.method for one in found.results] == [*ways, *ways, NON_PRIVATE]
    assert [one.epsilon for one in found.results] == [0.5] * 3 + [2] * 3 + [None]
    assert (found.metric, found.parties, found.repetitions, found.seeded) == ("R²", 7, 3, True)
    for one in found.results:
        assert len(one.scores) == (1 if one.epsilon is None else 3)
        assert len(one.round_scores) == one.rounds == (8 if one.method == "SGD" else 1)
        assert one.round_scores[-1] == pytest.approx(one.score)
        assert one.band[0] <= np.median(one.scores) <= one.band[1]
        assert one.seconds > 0
    table = found.to_arrow()
    assert table["score"].to_pylist() == [one.score for one in found.results]
    assert table["epsilon"].to_pylist()[-1] is None
    assert str(found).count("\n") == len(found.results)


def test_results_are_those_of_the_federation_and_of_the_estimator() -> None:
    found = by_method(compare(epsilons=[1000]))
    each = Federation(
        parties=DEBT.parties, update=METHODS["SGD"], epsilon=1, delta="1e-5", adjacency="replace-one", rounds=8
    ).preview()
    assert found["SGD"].bytes_sent == 7 * 8 * each.bytes_per_party
    rows, targets = DEBT.together()
    assert found[CENTRAL].bytes_sent == found[NON_PRIVATE].bytes_sent == 8 * (rows.size + targets.size)
    plain = LinearRegression(epsilon=float("inf")).fit(rows, targets).score(*TEST)
    assert found[NON_PRIVATE].score == plain
    assert found["one-shot"].score == pytest.approx(plain, abs=1e-3)  # almost no noise: all are the same line
    assert found[CENTRAL].score == pytest.approx(plain, abs=1e-3)


def test_all_are_trained_at_the_same_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    guarantees = []
    run = Federation.run

    def watch(self: Federation, *given: Any, **named: Any) -> Any:
        model = run(self, *given, **named)
        guarantees.append(model.guarantee_)
        return model

    monkeypatch.setattr(Federation, "run", watch)
    compare(methods=METHODS | {"proximal": Proximal(estimator=LINE, mu="0.3")}, epsilons=["0.5"], repetitions=1)
    assert guarantees == [cl.ApproxDP(epsilon="0.5", delta="1e-5", adjacency=cl.ReplaceOne)] * 3


def test_a_seeded_training_does_not_depend_on_the_others() -> None:
    one, other = by_method(compare()), by_method(compare(methods={"SGD": METHODS["SGD"]}, repetitions=3))
    assert one["SGD"].scores == other["SGD"].scores[:2]
    assert len(set(other["SGD"].scores)) == 3  # each repetition has noise of its own
    assert by_method(compare(source=Seeded(8)))["SGD"].scores != one["SGD"].scores
    assert not compare(source=None).seeded


def test_classes_are_scored_by_accuracy_and_rounds_may_differ() -> None:
    rng = np.random.default_rng(3)

    def clinic(rows: int) -> tuple[Any, Any]:
        features = rng.uniform(-1, 1, (rows, 2))
        return features, features[:, 0] > features[:, 1]

    logistic = LogisticRegression(bounds=(-1, 1), classes=[False, True])
    found = compare(
        parties={"a": clinic(600), "b": clinic(600)},
        test=clinic(500),
        methods={
            "bayes": OneShot(GaussianNB(bounds=(-1, 1), classes=[False, True])),
            "slow": SGD(estimator=logistic, step_size=8),
            "quick": SGD(estimator=logistic, step_size=8),
        },
        epsilons=[3],
        rounds={"slow": 20, "quick": 3},
        reference=logistic,
    )
    assert found.metric == "accuracy"
    assert [one.rounds for one in found.results] == [1, 20, 3, 1, 1]
    assert all(one.score > 0.8 for one in found.results)


def test_who_watches_is_told_how_much_is_done() -> None:
    shares: list[float] = []
    compare(watch=shares.append, repetitions=1)
    assert shares == [0.0, 0.25, 0.5, 0.75, 1]


def test_a_listener_hears_every_round_and_sees_released_models_only() -> None:
    told: list[tuple[int, Any]] = []
    budget = InMemoryBudget(cl.ApproxDP(epsilon=2, delta="1e-5", adjacency=cl.ReplaceOne))
    given: dict[str, Any] = {
        "parties": DEBT.parties,
        "update": METHODS["SGD"],
        "epsilon": 1,
        "delta": "2e-6",
        "adjacency": "replace-one",
        "rounds": 4,
    }
    model = Federation(**given, source=Seeded(1)).run(on_round=lambda number, model: told.append((number, model)))
    assert [number for number, _ in told] == [1, 2, 3, 4]
    assert np.array_equal(told[-1][1].coef_, model.coef_)
    assert len({tuple(one.coef_) for _, one in told}) == 4  # each model stays as it was told
    assert [len(one.history_) for _, one in told] == [1, 2, 3, 4]
    assert all(one.guarantee_ == model.guarantee_ for _, one in told)
    same = Federation(**given, source=Seeded(1)).run()
    assert np.array_equal(same.coef_, model.coef_)  # listening changes nothing

    def stop(*_: object) -> None:
        raise KeyError

    with pytest.raises(EngineError, match="stays paid"):
        Federation(**given, budget=budget).run(on_round=stop)
    assert budget.spent == cl.ApproxDP(epsilon=1, delta="2e-6", adjacency=cl.ReplaceOne)


def test_bad_input_is_named() -> None:
    bad: list[tuple[dict[str, Any], type[CelosiaError], str]] = [
        ({"methods": {}}, ParameterError, "mapping from names"),
        ({"methods": [OneShot(LINE)]}, ParameterError, "mapping from names"),
        ({"methods": {3: OneShot(LINE)}}, ParameterError, "mapping from names"),
        ({"methods": {CENTRAL: OneShot(LINE)}}, ParameterError, "are taken"),
        ({"methods": {"line": LINE}}, ParameterError, "update must be"),
        ({"epsilons": []}, ParameterError, "epsilons must be"),
        ({"epsilons": [1, "1.0"]}, ParameterError, "epsilons must be"),
        ({"epsilons": [0]}, ParameterError, "epsilon"),
        ({"repetitions": 0}, ParameterError, "repetitions"),
        ({"rounds": 0}, ParameterError, "rounds"),
        ({"rounds": {"other": 3}}, ParameterError, "rounds 'SGD' has"),
        ({"delta": None}, ParameterError, "delta"),
        ({"parties": [Party("a", *TEST), Party("b", records=9)]}, InputError, "elsewhere"),
        ({"parties": {"a": TEST}}, ParameterError, "parties"),
    ]
    for given, error, words in bad:
        with pytest.raises(error, match=words):
            compare(**given)
