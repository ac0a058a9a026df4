"""Steps are logged, undone and repeated; a plan with a seed gives one file, and none that breaks its models."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from celosia.anonymity import (
    AddNoise,
    Generalize,
    History,
    Intervals,
    KAnonymity,
    Microdata,
    Mondrian,
    Plan,
    ProbabilisticSwap,
    Roles,
    Step,
    Suppress,
    TopCode,
    read_microdata,
)
from celosia.core.errors import CelosiaError, InfeasibleError, ParameterError


@pytest.fixture
def data() -> Microdata:
    lot = np.random.default_rng(1)
    frame = pa.table(
        {
            "name": [f"person {place}" for place in range(60)],
            "age": lot.integers(18, 90, 60),
            "sex": lot.choice(["F", "M"], 60),
            "pay": lot.normal(2000, 300, 60).round(2),
            "illness": lot.choice(["flu", "asthma", "none"], 60),
        }
    )
    roles = Roles(identifiers=["name"], quasi_identifiers=["age", "sex"], sensitive=["illness", "pay"])
    return read_microdata(frame, roles=roles, hierarchies={"age": Intervals.of_widths(0, 100, [5, 10])})


def test_each_step_is_logged_with_what_it_did(data: Microdata) -> None:
    history = History.of(data, seed=1).apply(Generalize(levels={"age": 2})).apply(Mondrian(k=4))
    first, second = history.log
    assert first.step == {"kind": "Generalize", "levels": {"age": 2}}
    assert first.after == second.before
    assert (first.before.k, first.before.loss, first.before.suppressed) == (1, 0, 0)
    after = np.array([[one.k, one.loss, one.risk] for one in (first.before, first.after, second.after)], dtype=float)
    assert after[2, 0] >= 4
    assert (np.diff(after[:, 1]) > 0).all()
    assert (np.diff(after[:, 2]) < 0).all()
    assert "k 1 -> " in str(second)
    assert str(first).startswith("Generalize: uniques ")
    assert first.to_dict()["after"]["records"] == 60


def test_generalized_columns_are_generalized_further(data: Microdata) -> None:
    twice = Generalize(levels={"age": 1}).apply(Generalize(levels={"age": 1}).apply(data))
    once = Generalize(levels={"age": 2}).apply(data)
    assert twice.table.equals(once.table)
    assert twice.spreads["age"].tolist() == once.spreads["age"].tolist()
    assert "age" not in Mondrian(k=3).apply(data).hierarchies  # its ranges have no hierarchy
    assert "age" in data.hierarchies


def test_undo_and_replay_give_the_same_records(data: Microdata) -> None:
    steps: list[Step] = [AddNoise(columns=["pay"], alpha=0.1), ProbabilisticSwap(columns=["age"], k=3)]
    history = History.of(data, seed=5)
    for step in steps:
        history = history.apply(step)
    undone = history.undo()
    assert undone.steps == (steps[0],)
    assert undone.apply(steps[1]).data.table.equals(history.data.table)
    assert undone.undo().data is data
    assert undone.undo().undo().data is data
    assert not History.of(data, seed=6).apply(steps[0]).data.table.equals(undone.data.table)
    assert not History.of(data).apply(steps[0]).data.table.equals(History.of(data).apply(steps[0]).data.table)


def test_every_step_has_a_stream_of_its_own(data: Microdata) -> None:
    words = [History.of(data, seed=seed).make_source(place).word() for seed in (5, 6) for place in range(3)]
    assert len(set(words)) == len(words)


def test_a_plan_with_a_seed_gives_the_same_file_every_time(data: Microdata) -> None:
    plan = Plan(steps=[AddNoise(columns=["pay"], alpha=0.1), Mondrian(k=3)], require=[KAnonymity(3)], seed=9)
    once, again = plan.apply(data), plan.apply(data)
    assert once.to_release().equals(again.to_release())
    assert once.to_release().column_names == ["age", "sex", "pay", "illness"]
    shuffled = data.keep_rows(np.random.default_rng(3).permutation(60))
    rows = [sorted(map(str, outcome.data.table.to_pylist())) for outcome in (once, plan.apply(shuffled))]
    assert rows[0] == rows[1]  # whatever the order of the records was


def test_a_failed_step_or_model_changes_nothing(data: Microdata) -> None:
    history = History.of(data).apply(Mondrian(k=3))
    with pytest.raises(CelosiaError):
        history.apply(Suppress(columns=["none"]))
    assert len(history.steps) == 1
    with pytest.raises(InfeasibleError, match="KAnonymity"):
        Plan(steps=[Mondrian(k=3)], require=[KAnonymity(59)]).apply(data)
    with pytest.raises(ParameterError, match="not of str"):
        Plan(steps=["Mondrian"])  # type: ignore[list-item]


def test_a_seed_is_not_shown(data: Microdata) -> None:
    assert "4242" not in repr(Plan(seed=4242)) + repr(History.of(data, seed=4242))


@pytest.mark.parametrize(
    "step",
    [TopCode(column="pay", at=2300, label="high"), TopCode(column="pay", at=2300), AddNoise(columns=["pay"], alpha=1)],
)
def test_a_sensitive_column_may_change_its_type(data: Microdata, step: Step) -> None:
    whole = data.replace_columns({"pay": data.get_column("pay").cast(pa.int64(), safe=False)})
    outcome = Plan(steps=[step, Mondrian(k=4)], require=[KAnonymity(k=4)]).apply(whole)
    assert outcome.log[-1].after.k == 4
    assert outcome.log[0].after.t is not None


def test_a_log_writes_counts_in_full_and_a_frame_without_roles_is_refused() -> None:
    frame = pa.table({"age": list(range(30_162))})
    data = read_microdata(frame, roles=Roles(quasi_identifiers=["age"]))
    assert "uniques 30,162 -> 0" in str(History.of(data).apply(Suppress(columns=["age"])).log[0])
    with pytest.raises(CelosiaError) as caught:
        History.of(frame)
    assert caught.value.code == "anonymity.not_microdata"
