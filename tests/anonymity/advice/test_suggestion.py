"""Suggestions: the recommended plan satisfies the target with the least loss, and troubles are told."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from celosia.anonymity import DistinctDiversity, Intervals, KAnonymity, Roles, read_microdata, suggest
from celosia.core.errors import ParameterError

LOT = np.random.default_rng(2)
FRAME = pa.table(
    {
        "age": LOT.integers(18, 90, 240),
        "sex": LOT.choice(["F", "M"], 240),
        "illness": LOT.choice(["flu", "none", "asthma"], 240),
    }
)
ROLES = Roles(quasi_identifiers=["age", "sex"], sensitive=["illness"])


def test_the_recommended_plan_satisfies_the_target_with_the_least_error() -> None:
    target = [KAnonymity(6), DistinctDiversity("illness", 2)]
    found = suggest(FRAME, ROLES, hierarchies={"age": Intervals.of_widths(0, 99, [10, 50])}, target=target, seed=1)
    best = found.recommended
    assert best is not None
    assert best.satisfied
    good = [trial for trial in found.trials if trial.satisfied and trial.error is not None]
    assert best.error == min(trial.error for trial in good if trial.error is not None)
    plan = found.make_description().plan
    outcome = plan.apply(read_microdata(FRAME, roles=ROLES, hierarchies=found.hierarchies))
    assert outcome.log[-1].after.k == best.k
    assert str(best.name) in found.describe()
    assert "Recomendado" in found.describe("es")


def test_the_same_seed_gives_the_same_suggestion() -> None:
    once, again = (suggest(FRAME, ROLES, seed=4) for _ in range(2))
    assert once.describe() == again.describe()


def test_plans_that_do_not_suit_the_file_tell_why() -> None:
    frame = FRAME.set_column(0, "age", pa.array([None, *FRAME["age"].to_pylist()[1:]], pa.int64()))
    found = suggest(frame, ROLES, seed=1)
    troubled = [trial for trial in found.trials if trial.trouble is not None]
    assert troubled
    assert all("'age'" in str(trial.trouble) for trial in troubled)
    assert all(str(trial.trouble) in found.describe() for trial in troubled)


def test_an_impossible_target_recommends_nothing() -> None:
    found = suggest(FRAME, ROLES, target=[KAnonymity(10_000)])
    assert found.recommended is None
    assert "No plan satisfies" in found.describe()
    with pytest.raises(ParameterError):
        found.make_description()


def test_without_a_sensitive_column_there_is_no_chart() -> None:
    found = suggest(FRAME.select(["age", "sex"]), Roles(quasi_identifiers=["age", "sex"]))
    assert found.recommended is not None
    assert len(found.sentences) == 2
    with pytest.raises(ParameterError):
        found.draw()
    with pytest.raises(ParameterError):
        suggest(FRAME)
