"""What a plan file says wrongly is refused with the name of the setting or section, and never a raw error."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import celosia as cl
from celosia.anonymity.plans.description import parse_plan
from celosia.anonymity.plans.sections import list_steps, make_step
from celosia.core.errors import CelosiaError

COLUMNS = {"a": cl.Integer(0, 9, null=0)}
WHOLE: dict[str, dict[str, Any]] = {
    "AddNoise": {"columns": ["a"], "alpha": 0.1},
    "BottomCode": {"column": "a", "at": 1},
    "DropRecords": {"k": 2},
    "FullDomain": {},
    "Generalize": {"levels": {"a": 1}},
    "HashIdentifiers": {"columns": ["a"], "key": "env:X"},
    "InsensitiveMicroaggregation": {"k": 2, "epsilon": 1},
    "LocalSuppression": {"k": 2},
    "Microaggregate": {"columns": ["a"], "k": 2},
    "Mondrian": {"k": 2},
    "NoisyHistogramSampling": {"epsilon": 1},
    "Pram": {"columns": ["a"]},
    "Recode": {"column": "a", "values": {"1": "2"}},
    "Suppress": {"columns": ["a"]},
    "SuppressRisky": {"column": "a", "threshold": 0.1},
    "SwapHouseholds": {"geography": ["a"], "keys": ["b"]},
    "TopCode": {"column": "a", "at": 1},
}
ODD: tuple[Any, ...] = (
    *("x", -1, 0, 1.5, float("nan"), float("inf"), True, [], ["a", 1], [[1]], {}, {"a": "x"}, {"a": [1]}, {"a": -1.5}),
    *({"x": {"y": 1}}, {"a": {"a": {"a": 1}}}, {"kind": "KAnonymity"}, [{"kind": "KAnonymity", "k": 2}]),
)


@pytest.mark.parametrize("kind", sorted(WHOLE))
def test_no_value_of_a_setting_raises_a_raw_error(kind: str) -> None:
    make_step({"kind": kind, **WHOLE[kind]}, where="steps[3]", columns=COLUMNS)
    for name in inspect.signature(list_steps()[kind]).parameters:
        for value in ODD:
            assert "steps[3]" in _try({"kind": kind, **WHOLE[kind], name: value}), (name, value)


def _try(section: dict[str, Any]) -> str:
    """Return what is wrong with a section, or where it stands."""
    try:
        make_step(section, where="steps[3]", columns=COLUMNS)
    except CelosiaError as error:
        return str(error)
    return "steps[3]"


@pytest.mark.parametrize(
    "sections",
    [
        {"roles": {"identifiers": 5}},
        {"roles": {"weight": 5}},
        {"roles": {"quasi_identifiers": [1]}},
        {"plan": {"seed": "x"}},
        {"plan": {"seed": -1}},
        {"file": {"input": 5}},
        {"hierarchies": {"a": {"kind": "Intervals", "cuts": 5}}},
        {"hierarchies": {"a": {"kind": "Intervals", "low": "a", "high": 2, "widths": [1]}}},
        {"hierarchies": {"a": {"kind": "Intervals", "low": 0, "high": 2, "widths": 5}}},
        {"hierarchies": {"a": {"kind": "Categories", "lines": [5]}}},
        {"hierarchies": {"a": {"kind": "Prefixes", "length": "x"}}},
        {"hierarchies": {"a": {"kind": "Dates", "units": ["month"], "low": "1", "high": "2"}}},
        {"require": [{"kind": ["x"]}]},
        {"require": [{"kind": "KAnonymity", "k": "x"}]},
        {"steps": [{"kind": "Mondrian", "k": 2, "relaxed": "no"}]},
    ],
)
def test_sections_of_other_types_are_refused(sections: dict[str, Any]) -> None:
    with pytest.raises(CelosiaError):
        parse_plan(sections)


def test_a_column_may_be_called_kind() -> None:
    (generalize, recode) = parse_plan(
        {
            "steps": [
                {"kind": "Generalize", "levels": {"kind": 1}},
                {"kind": "Recode", "column": "kind", "values": {"kind": "KAnonymity"}},
            ]
        }
    ).plan.steps
    assert generalize.levels == {"kind": 1}  # type: ignore[union-attr]
    assert recode.values == {"kind": "KAnonymity"}  # type: ignore[union-attr]


def test_sizes_of_combinations_are_numbers_again() -> None:
    (step,) = parse_plan({"steps": [{"kind": "LocalSuppression", "combinations": {"2": 3}}]}).plan.steps
    assert step.combinations == {2: 3}  # type: ignore[union-attr]
