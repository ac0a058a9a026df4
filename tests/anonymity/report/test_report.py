"""Reports: the one for inside has the risk, the one for outside nothing that helps to take the protection back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from celosia.anonymity import (
    AddNoise,
    DropRecords,
    Generalize,
    HashIdentifiers,
    Intervals,
    KAnonymity,
    Outcome,
    Plan,
    RankSwap,
    Roles,
    Step,
    TopCode,
    make_report,
    read_microdata,
    write_report,
)
from celosia.anonymity.plans.sections import list_steps
from celosia.anonymity.report.charts import draw_class_sizes, draw_column
from celosia.anonymity.report.methods import describe_step, list_limits, name_step
from celosia.core.errors import ParameterError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def outcome(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    monkeypatch.setenv("SURVEY_KEY", "k" * 32)
    lot = np.random.default_rng(1)
    frame = pa.table(
        {
            "number": [f"N{place}" for place in range(300)],
            "age": lot.integers(18, 90, 300),
            "sex": lot.choice(["F", "M"], 300),
            "pay": lot.normal(2000, 300, 300).round(2),
            "illness": lot.choice(["flu", "asthma", "none"], 300),
            "wave": ["<2>"] * 300,
            "home": np.arange(300) // 3,
        }
    )
    roles = Roles(
        identifiers=["number"],
        quasi_identifiers=["age", "sex"],
        sensitive=["illness", "pay"],
        others=["wave"],
        household="home",
    )
    data = read_microdata(frame, roles=roles, hierarchies={"age": Intervals.of_widths(0, 100, [5, 20])})
    steps: list[Step] = [
        HashIdentifiers(columns=["number"], key="env:SURVEY_KEY", pseudonyms=True),
        Generalize(levels={"age": 2}),
        DropRecords(k=3),
        RankSwap(columns=["pay"], share=0.0417),
        AddNoise(columns=["pay"], alpha=0.0123),
    ]
    return Plan(steps=steps, require=[KAnonymity(3)], seed=424242).apply(data)


@pytest.mark.parametrize("language", ["en", "es"])
def test_the_report_for_outside_gives_nothing_away(outcome: Outcome, language: str) -> None:
    page = make_report(outcome, audience="outside", language=language, title="Survey <1>")
    for secret in ("424242", "0.0417", "0,0417", "0.0123", "0,0123", "SURVEY_KEY"):
        assert secret not in page, secret
    assert "Survey &lt;1&gt;" in page
    assert "<2>" not in page
    assert {"en": "not differential privacy", "es": "no son privacidad diferencial"}[language] in page
    assert {"en": "Risk", "es": "Riesgo"}[language] not in page
    assert f'<html lang="{language}">' in page


@pytest.mark.parametrize("language", ["en", "es"])
def test_the_report_for_inside_has_the_steps_and_the_risk(outcome: Outcome, language: str) -> None:
    page = make_report(outcome, audience="inside", language=language)
    for step in outcome.log:
        assert str(step.step["kind"]) in page
    assert "424242" not in page
    assert {"en": "confidential", "es": "confidencial"}[language] in page
    assert page.count("data:image/svg+xml") >= 3
    assert "anonymity_report." not in page


def test_the_report_for_outside_has_no_number_of_the_original() -> None:
    pay = [*range(1000, 1100), 987_654]
    frame = pa.table({"age": [30, 40] * 50 + [30], "pay": pay})
    data = read_microdata(frame, roles=Roles(quasi_identifiers=["age"], sensitive=["pay"]))
    outcome = Plan(steps=[TopCode(column="pay", at=1099)]).apply(data)
    page = re.sub(r"\D", "", make_report(outcome, audience="outside"))
    for value in (np.mean(pay), np.std(pay), max(pay)):
        assert str(int(value))[:4] not in page


def test_a_report_is_written_whole_or_not_at_all(outcome: Outcome, tmp_path: Path) -> None:
    path = write_report(outcome, tmp_path / "inside.html", audience="inside")
    assert path.read_text("utf-8").startswith("<!DOCTYPE html>")
    with pytest.raises(ParameterError, match="folder"):
        write_report(outcome, tmp_path / "none" / "a.html", audience="inside")
    with pytest.raises(ParameterError, match="audience"):
        write_report(outcome, tmp_path / "b.html", audience="all")  # type: ignore[arg-type]
    assert [file.name for file in tmp_path.iterdir()] == ["inside.html"]


def test_every_step_has_a_name_and_a_sentence() -> None:
    for name, kind in list_steps().items():
        assert name_step(object.__new__(kind)) != name or name == "Mondrian"
        assert describe_step(object.__new__(kind)).code != "anonymity_report.did_something", name
    assert describe_step(object()).fields["kind"] == "object"


def test_limits_follow_from_what_was_done(outcome: Outcome) -> None:
    codes = {limit.code.partition(".")[2] for limit in list_limits(outcome.original, outcome.plan.steps)}
    assert codes == {
        "limit_not_private",
        "limit_knowledge",
        "limit_other_files",
        "limit_sensitive",
        "limit_others",
        "limit_households",
        "limit_perturbed",
        "limit_hashes",
    }


def test_a_plan_without_steps_or_records_is_reported_too() -> None:
    data = read_microdata(pa.table({"age": [1, 2, 3]}), roles=Roles(quasi_identifiers=["age"]))
    assert make_report(Plan().apply(data), audience="inside")
    assert make_report(Plan().apply(data), audience="outside")


def test_charts_show_both_files(outcome: Outcome) -> None:
    sizes: Any = draw_class_sizes(np.array([1, 1, 4, 200]), np.array([5, 5, 5]))
    shown = {(row["name"], row["series"]): row["value"] for row in sizes.data.values}
    assert shown["1", "before"] == 0.5
    assert shown["3-4", "before"] == shown["100+", "before"] == 0.25
    assert shown["5-9", "after"] == 1
    for name in ("sex", "pay"):
        chart: Any = draw_column(outcome.original, outcome.data, name)
        assert chart is not None
        assert sum(row["value"] for row in chart.data.values) == pytest.approx(2)
    assert draw_column(outcome.original, outcome.data, "age") is None  # generalized


def test_released_weights_and_strata_are_named() -> None:
    table = pa.table({"age": [30, 30], "region": ["N", "S"], "weight": [1.5, 20.5]})
    found = []
    for quasi in (["age"], ["age", "region"]):
        roles = Roles(quasi_identifiers=quasi, stratum="region", weight="weight")
        limits = list_limits(read_microdata(table, roles=roles), [])
        found.append([limit.code for limit in limits if limit.code.endswith(("weights", "stratum"))])
    assert found == [
        ["anonymity_report.limit_weights", "anonymity_report.limit_stratum"],
        ["anonymity_report.limit_weights"],
    ]
