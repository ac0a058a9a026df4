"""Plans round trip through TOML, and what a plan says wrongly is named."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.anonymity import (
    Categories,
    Dates,
    Description,
    DistinctDiversity,
    Generalize,
    Intervals,
    KAnonymity,
    Mondrian,
    Plan,
    Prefixes,
    Recode,
    Roles,
    load_plan,
    write_plan,
)
from celosia.anonymity.plans.description import parse_plan
from celosia.anonymity.plans.sections import describe, list_models, list_steps, make_hierarchy, make_step
from celosia.anonymity.plans.toml import write_toml
from celosia.core.errors import CelosiaError, ParameterError

plain = st.one_of(
    st.text(), st.integers(-(2**60), 2**60), st.booleans(), st.floats(allow_nan=False), st.dates(date.min, date.max)
)
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))


@given(st.dictionaries(st.text(), st.dictionaries(st.text(), values, max_size=4), max_size=3))
def test_whatever_is_written_is_read_again(tables: dict[str, dict[str, Any]]) -> None:
    assert tomllib.loads(write_toml(tables)) == tables


@given(st.lists(st.dictionaries(st.text(), values, max_size=3), min_size=1, max_size=3))
def test_lists_of_tables_too(tables: list[dict[str, Any]]) -> None:
    assert tomllib.loads(write_toml({"steps": tables})) == {"steps": tables}


ROLES = Roles(
    identifiers=["name"], quasi_identifiers=["age", "postal code"], sensitive=["illness"], weight="w", nulls="wildcard"
)
WHOLE = Description(
    roles=ROLES,
    plan=Plan(
        steps=[
            Generalize(levels={"age": 1}),
            Recode(column="illness", values={"flu": "cold"}),
            Mondrian(k=5, labels="hierarchy"),
        ],
        require=[KAnonymity(5), DistinctDiversity("illness", 2)],
        seed=3,
    ),
    hierarchies={
        "age": Intervals([[0, 18, 65, 99], [0, 65, 99]], names=[["minor", "adult", "old"], ["young", "old"]]),
        "postal code": Prefixes(5, keep=[3]),
        "illness": Categories({"flu": ["cold"], "asthma": ["lungs"]}),
        "born": Dates(["year"], low=date(1900, 1, 1), high=date(2020, 1, 1)),
    },
)


def test_a_plan_round_trips(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(write_plan(WHOLE), encoding="utf-8")
    found = load_plan(tmp_path / "plan.toml")
    assert found.roles == WHOLE.roles
    assert found.plan == WHOLE.plan
    assert found.hierarchies == WHOLE.hierarchies
    assert write_plan(found) == write_plan(WHOLE)


def test_paths_are_relative_to_the_plan(tmp_path: Path) -> None:
    (tmp_path / "ages.csv").write_text("30;low;*\n40;high;*\n", encoding="utf-8")
    (tmp_path / "in.csv").write_text("age\n30\n40\n", encoding="utf-8")
    text = '[file]\ninput = "in.csv"\noutput = "out.csv"\n[roles]\nquasi_identifiers = ["age"]\n'
    (tmp_path / "plan.toml").write_text(text + '[hierarchies]\nage = {file = "ages.csv"}\n', encoding="utf-8")
    found = load_plan(tmp_path / "plan.toml")
    assert found.output == tmp_path / "out.csv"
    data = found.read()
    assert data.get_column("age").to_pylist() == [30, 40]
    assert data.hierarchies["age"].height == 3
    assert found.read(pa.table({"age": [40]})).get_column("age").to_pylist() == [40]


def test_every_step_and_model_can_be_written() -> None:
    assert {"Mondrian", "Microaggregate", "Generalize", "Pram"} <= set(list_steps())
    assert {"KAnonymity", "EqualCloseness"} <= set(list_models())
    assert describe(Mondrian(k=5)) == {"kind": "Mondrian", "k": 5}  # defaults are left out


def test_what_a_plan_says_wrongly_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[plan", encoding="utf-8")
    quasi = {"quasi_identifiers": ["age"]}
    cases: dict[str, list[Any]] = {
        "anonymity.file_not_found": [lambda: load_plan(tmp_path / "none.toml")],
        "anonymity.plan_not_toml": [lambda: load_plan(tmp_path / "bad.toml")],
        "anonymity.unknown_setting": [
            lambda: parse_plan({"step": []}),
            lambda: parse_plan({"roles": {"quasi": ["age"]}}),
            lambda: parse_plan({"plan": {"sed": 1}}),
            lambda: make_step({"kind": "Mondrian", "k": 5, "q": 1}, where="steps[1]"),
            lambda: make_hierarchy(
                {"kind": "Intervals", "low": 0, "high": 1, "widths": [1], "x": 0}, where="h", folder=tmp_path
            ),
        ],
        "anonymity.setting_missing": [
            lambda: make_step({"kind": "Mondrian"}, where="steps[1]"),
            lambda: make_step({"k": 1}, where="steps[1]"),
            lambda: make_hierarchy({"kind": "Intervals", "widths": [1]}, where="h", folder=tmp_path),
            lambda: parse_plan({"roles": quasi}).read(),
        ],
        "anonymity.unknown_kind": [
            lambda: make_step({"kind": "Magic"}, where="steps[1]"),
        ],
        "anonymity.not_a_section": [
            lambda: make_step(["Mondrian"], where="steps[1]"),
            lambda: parse_plan({"roles": ["age"]}),
            lambda: parse_plan({"steps": {"kind": "Mondrian"}}),
        ],
    }
    for code, acts in cases.items():
        for act in acts:
            with pytest.raises(CelosiaError) as caught:
                act()
            assert caught.value.code == code, code


def test_errors_name_the_section_that_they_are_about(tmp_path: Path) -> None:
    (tmp_path / "sex.csv").write_text("F;x\nF;y\n", encoding="utf-8")
    roles = '[roles]\nquasi_identifiers = ["sex"]\n'
    cases = {
        '[[steps]]\nkind = "Mondrian"\nk = 2\n[[steps]]\nkind = "Mondrian"\nk = "3"\n': "steps[2].k has another type",
        "[[steps]]\nk = 2\n": "steps[1].kind is missing",
        '[hierarchies.sex]\nfile = "sex.csv"\n': "hierarchies.sex: The hierarchy has two lines",
        '[hierarchies.sex]\nkind = "Categories"\nlines = 5\n': "hierarchies.sex.lines has another type",
        '[hierarchies.sex]\nkind = "Intervals"\nlow = "0"\nhigh = 9\nwidths = [1]\n': "hierarchies.sex.low has",
        '[hierarchies.b]\nkind = "Dates"\nunits = ["year"]\nlow = "1950"\nhigh = 2000-01-01\n': "hierarchies.b.low",
        '[[require]]\nkind = "KAnonymity"\nk = 0\n': "require[1]: k must be",
    }
    for text, sentence in cases.items():
        (tmp_path / "plan.toml").write_text(roles + text, encoding="utf-8")
        with pytest.raises(ParameterError) as caught:
            load_plan(tmp_path / "plan.toml")
        assert sentence in str(caught.value), text


def test_the_plan_file_of_the_documentation_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/api/anonymity.md").read_text(encoding="utf-8")
    text = page.partition("```toml\n")[2].partition("```")[0]
    (tmp_path / "postal_codes.csv").write_text("28013;28\n", encoding="utf-8")
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    found = load_plan(tmp_path / "plan.toml")
    assert found.plan.seed == 2026
    assert set(found.hierarchies) == {"age", "postal code"}
    assert found.input == tmp_path / "survey.csv"
