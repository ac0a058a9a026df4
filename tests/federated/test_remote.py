"""A federation described to a node that holds one party's records, or none: the same plan and the same integers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from celosia.core import CelosiaError
from celosia.federated import SGD, Federation, OneShot, Party, Proximal
from celosia.federated.contributions import add_contributions
from celosia.federated.parties.party import PartySources
from celosia.federated.training import ask
from celosia.learn import GaussianNB, LinearRegression, LogisticRegression
from celosia.noise import Seeded

BOUNDS = ([-1.0, -1.0], [1.0, 1.0])
LINE = LinearRegression(bounds=BOUNDS, bounds_y=(-2, 2))
CLASSES = LogisticRegression(bounds=BOUNDS, classes=[0, 1])
UPDATES = [
    OneShot(LINE),
    OneShot(GaussianNB(bounds=BOUNDS, classes=[0, 1])),
    SGD(estimator=CLASSES, records=30),
    SGD(estimator=LINE, steps=3, sampling_rate="0.5"),
    Proximal(estimator=LINE, mu="0.1"),
]


def make_records(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    parties = {name: rng.uniform(-1, 1, (size, 2)) for name, size in (("a", 30), ("b", 20), ("c", 40))}
    return {name: (features, (features[:, 0] > 0).astype(int)) for name, features in parties.items()}


def describe(update: Any, holds: str) -> Federation:
    """Return the federation as a node sees it that holds the records of these parties."""
    records = make_records(1)
    parties = [
        Party(name, held[0], held[1], records=len(held[0])) if name in holds else Party(name, records=len(held[0]))
        for name, held in records.items()
    ]
    rounds = 1 if isinstance(update, OneShot) else 3
    return Federation(
        parties=parties,
        update=update,
        epsilon=2,
        delta="1e-5",
        rounds=rounds,
        adjacency="replace-one",
        source=Seeded(3),
    )


@pytest.mark.parametrize("update", UPDATES, ids=lambda update: f"{update}")
def test_every_node_has_the_same_plan_and_sends_the_same_integers(update: Any) -> None:
    whole, server = describe(update, "abc"), describe(update, "")
    plan, served = whole.plan(), server.plan()
    nodes = {name: describe(update, name).plan() for name in "abc"}
    assert served.event == plan.event
    assert served.guarantee == plan.guarantee
    assert server.preview().noise_scale == whole.preview().noise_scale
    state, sources = plan.start(), PartySources(Seeded(3))
    for number in range(1, plan.rounds + 1):
        together = ask(plan, ("a", "b", "c"), state, [sources.get(name, number) for name in "abc"])
        apart: dict[str, object] = {}
        for name, node in nodes.items():
            assert node.event == plan.event
            apart |= ask(node, (name,), state, [PartySources(Seeded(3)).get(name, number)])
        for name in "abc":
            assert np.array_equal(np.asarray(together[name]), np.asarray(apart[name]))
        found = add_contributions(apart, width=served.width, parties=3)
        assert found.accepted == ("a", "b", "c")
        assert np.array_equal(served.advance(state, found), plan.advance(state, found))
        state = served.advance(state, found)
    models = [one.finish([state], Fraction(3), seeded=True) for one in (plan, served)]
    assert repr(models[0].card()) == repr(models[1].card())
    features, _ = make_records(5)["a"]
    assert np.array_equal(models[0].predict(features), models[1].predict(features))


def test_what_a_node_must_know_is_asked_for() -> None:
    features, target = make_records(1)["a"]
    remote = [Party("b", records=20), Party("c", records=40)]

    def plan(first: Party, update: Any, **given: Any) -> Any:
        return Federation(
            parties=[first, *remote], update=update, epsilon=2, delta="1e-5", adjacency="replace-one", **given
        )

    local = Party("a", features, target)
    bad: list[tuple[Any, str]] = [
        (lambda: plan(local, UPDATES[4]).run(), "records of party 'b' are elsewhere"),
        (lambda: plan(Party("a"), UPDATES[4]).plan(), "how many records party 'a' has"),
        (lambda: plan(Party("a", features, target, 31), UPDATES[4]).plan(), "stated to have 31 records"),
        (lambda: plan(Party("a", records=0), UPDATES[4]).plan(), "records"),
        (
            lambda: plan(Party("a", records=30), OneShot(LinearRegression(bounds=(0, 1), bounds_y=(0, 1)))).plan(),
            "bounds for each feature",
        ),
    ]
    for act, words in bad:
        with pytest.raises(CelosiaError, match=words):
            act()
