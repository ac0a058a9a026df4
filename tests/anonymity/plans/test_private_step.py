"""Private steps in plans: paid before data are read, never seeded, reported with their guarantee."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import celosia as cl
from celosia.anonymity import (
    Description,
    History,
    InsensitiveMicroaggregation,
    KAnonymity,
    Microdata,
    Mondrian,
    NoisyHistogramSampling,
    Plan,
    Roles,
    Round,
    load_plan,
    make_report,
    measure_guesses,
    measure_table_error,
    read_microdata,
    suggest,
    write_plan,
)
from celosia.core.errors import BudgetExceededError, CelosiaError, ParameterError
from celosia.ledger import InMemoryBudget

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = cl.Schema(age=cl.Integer(0, 99), sex=cl.Category("F", "M"))
ROLES = Roles(quasi_identifiers=["age", "sex"], sensitive=["illness"], identifiers=["name"])
SAMPLING = NoisyHistogramSampling(schema=SCHEMA, epsilon="0.5", bins={"age": 10})


@pytest.fixture
def data() -> Microdata:
    lot = np.random.default_rng(1)
    frame = pa.table(
        {
            "name": [f"person {place}" for place in range(400)],
            "age": lot.integers(18, 90, 400),
            "sex": lot.choice(["F", "M"], 400),
            "illness": lot.choice(["flu", "none"], 400),
        }
    )
    return read_microdata(frame, roles=ROLES)


def test_a_private_step_is_paid_and_its_guarantee_kept(data: Microdata) -> None:
    budget = InMemoryBudget(cl.PureDP(epsilon=1))
    outcome = Plan(steps=[SAMPLING], seed=3).apply(data, budget=budget)
    assert outcome.guarantees == (cl.PureDP(epsilon="0.5"),)
    assert budget.spent == cl.PureDP(epsilon="0.5")
    assert outcome.data.is_synthetic
    assert outcome.to_release().column_names == ["age", "sex"]
    again = Plan(steps=[SAMPLING], seed=3).apply(data, budget=budget)
    assert not again.to_release().equals(outcome.to_release())  # the seed is not for noise that hides people
    with pytest.raises(BudgetExceededError):
        Plan(steps=[SAMPLING]).apply(data, budget=budget)
    assert budget.spent == cl.PureDP(epsilon=1)


def test_synthetic_records_have_no_classes_and_no_originals(data: Microdata) -> None:
    outcome = Plan(steps=[SAMPLING], require=[KAnonymity(10**6)]).apply(data)
    (entry,) = outcome.log
    assert entry.after.to_dict().keys() == entry.before.to_dict().keys()
    assert [value for value in entry.after.list_values() if value is not None] == [len(outcome.data)]
    assert entry.after.records == len(outcome.data)
    only = read_microdata(data.table.select(["age", "sex"]), roles=Roles(quasi_identifiers=["age"], sensitive=["sex"]))
    made = Plan(steps=[SAMPLING]).apply(only).data
    assert 0 < measure_table_error(only, made) < 0.5
    assert 0 <= measure_guesses(only, made, column="sex").success <= 1
    with pytest.raises(CelosiaError):
        cl.anonymity.compare_files(data, outcome.data)


@pytest.mark.parametrize("audience", ["inside", "outside"])
def test_a_report_states_the_guarantee(data: Microdata, audience: str) -> None:
    only = read_microdata(data.table.select(["age", "sex"]), roles=Roles(quasi_identifiers=["age", "sex"]))
    outcome = Plan(steps=[SAMPLING]).apply(only)
    page = make_report(outcome, audience=audience)  # type: ignore[arg-type]
    assert "satisfies differential privacy: PureDP(epsilon=" in page
    assert "not differential privacy" not in page
    if audience == "outside":  # everything in it follows from the private file: other data with it give the same page
        other = read_microdata(only.table.slice(0, 7), roles=only.roles)
        history = dataclasses.replace(outcome.history, states=(other, outcome.data))
        assert make_report(dataclasses.replace(outcome, history=history), audience="outside") == page


def test_a_private_step_comes_first(data: Microdata) -> None:
    # Mondrian's cuts move with one record, and change all others: noise for one record does not hide that.
    mondrian = Mondrian(k=5)
    for act in (
        lambda: Plan(steps=[mondrian, SAMPLING]),
        lambda: History.of(data).apply(mondrian).apply(SAMPLING),
    ):
        with pytest.raises(ParameterError) as caught:
            act()
        assert caught.value.code == "anonymity.private_step_not_first"
    first = Plan(steps=[SAMPLING, Round(column="age", to=5), SAMPLING]).apply(
        data
    )  # what follows sees synthetic records
    assert len(first.guarantees) == 2


@pytest.mark.parametrize("adjacency", [cl.AddRemove, cl.ReplaceOne])
def test_a_plan_file_keeps_the_neighbours(tmp_path: Path, adjacency: cl.Adjacency) -> None:
    step = dataclasses.replace(SAMPLING, adjacency=adjacency)
    text = write_plan(Description(roles=ROLES, plan=Plan(steps=[step]), columns=SCHEMA))
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    (found,) = load_plan(tmp_path / "plan.toml").plan.steps
    assert isinstance(found, NoisyHistogramSampling)
    assert (found.guarantee, found.event) == (step.guarantee, step.event)
    assert found == step
    for wrong in ("both", cl.core.adjacency.SameChanges):
        with pytest.raises(ParameterError):
            dataclasses.replace(SAMPLING, adjacency=wrong)


def test_a_plan_file_names_the_columns_of_its_schema(tmp_path: Path, data: Microdata) -> None:
    sampling = NoisyHistogramSampling(schema=SCHEMA, epsilon="0.1", bins={"age": 10}, marginals=[["age"], ["sex"]])
    aggregation = InsensitiveMicroaggregation(schema={"age": cl.Integer(0, 99, null=0)}, k=5, epsilon=1)
    for step, columns in ((sampling, SCHEMA), (aggregation, aggregation.schema)):
        description = Description(roles=ROLES, plan=Plan(steps=[step]), columns=columns)
        (tmp_path / "plan.toml").write_text(write_plan(description), encoding="utf-8")
        found = load_plan(tmp_path / "plan.toml")
        assert found.plan == description.plan
        assert found.plan.is_private
        assert found.plan.apply(data).guarantees == description.plan.apply(data).guarantees


def test_a_population_is_a_file_beside_the_plan(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age\n" + "30\n" * 6 + "40\n" * 2, encoding="utf-8")
    text = '[roles]\nquasi_identifiers = ["age"]\n[[require]]\nkind = "KMap"\nk = 2\npopulation = "people.csv"\n'
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    found = load_plan(tmp_path / "plan.toml")
    assert found.plan.apply(found.read(pa.table({"age": [30, 40]}))).data
    assert str(tmp_path / "people.csv") in write_plan(found)
    with pytest.raises(CelosiaError):
        Plan(require=[type(found.plan.require[0])(3, found.plan.require[0].population)]).apply(
            found.read(pa.table({"age": [30, 40]}))
        )


def test_suggestions_compare_private_plans_on_the_same_axes(data: Microdata) -> None:
    both = read_microdata(
        data.table.select(["age", "sex", "illness"]),
        roles=Roles(quasi_identifiers=["age", "sex"], sensitive=["illness"]),
    )
    schema = {**SCHEMA, "illness": cl.Category("flu", "none")}
    names: list[str] = []
    found = suggest(both, target=[KAnonymity(4)], schema=schema, seed=1, on_trial=lambda name: names.append(str(name)))
    private = [trial for trial in found.trials if trial.family == "private"]
    assert len(private) == 2
    for trial in private:  # as many records as there are: then the number must be public
        (step,) = trial.plan.steps
        assert isinstance(step, NoisyHistogramSampling)
        assert (step.records, step.guarantee.adjacency) == (len(both), cl.ReplaceOne)
    assert names == [str(trial.name) for trial in found.trials]
    assert all(trial.risk is not None and trial.error is not None and trial.k is None for trial in private)
    assert found.recommended is not None
    assert found.recommended.satisfied
    drawn = {row["group"] for row in found.draw().data.values}  # type: ignore[union-attr]
    assert drawn == {"classes of like records", "changed values", "differential privacy", "original"}


def test_a_file_without_quasi_identifiers_is_logged_and_reported_after_it_was_paid() -> None:
    data = read_microdata(pa.table({"sex": ["F", "M"] * 20}), roles=Roles(sensitive=["sex"]))
    step = NoisyHistogramSampling(schema={"sex": cl.Category("F", "M")}, epsilon=1)
    outcome = Plan(steps=[step]).apply(data, budget=InMemoryBudget(cl.PureDP(epsilon=1)))
    assert [entry.after.records for entry in outcome.log] == [len(outcome.data)]
    assert make_report(outcome, audience="inside")
    assert make_report(Plan().apply(data), audience="inside")
