"""The shapes of what comes in: strict, and numbers exactly as written."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from celosia.core import ZCDP, ApproxDP, GaussianDP, PureDP
from celosia.core.errors import FormatError, ParameterError
from celosia.core.exact import exact
from celosia.core.strict_json import DecimalText, read_json
from celosia.guard.schema.requests import (
    BoundsBody,
    DatasetBody,
    DecisionBody,
    FitRequest,
    KeyBody,
    LimitBody,
    NewUserBody,
    PolicyBody,
    QueryRequest,
    WindowBody,
)

SQL = "SELECT COUNT(*) FROM deaths"
GOOD: dict[str, Any] = {"dataset": "deaths", "sql": SQL, "epsilon": "0.5"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def test_the_target_is_all_that_a_query_may_cost() -> None:
    request = QueryRequest(**GOOD, delta="1e-06", rows="1000", level="0.9", confidence="0.95")
    assert request.target() == {"epsilon": "0.5", "delta": "1e-06", "confidence": "0.95", "rows": "1000"}
    assert QueryRequest(dataset="deaths", sql=SQL, error={"count": "50"}).target() == {"error": {"count": "50"}}


def test_what_is_not_of_the_shape_is_refused() -> None:
    cases: list[dict[str, Any]] = [
        {"dataset": None},
        {"dataset": ""},
        {"dataset": "x" * 201},
        {"dataset": 7},
        {"dataset": "a\0b"},
        {"sql": None},
        {"sql": ""},
        {"sql": 7},
        {"sql": "a\0b"},
        {"sql": "SELECT '\ud800'"},
        {"sql": "x" * 50_001},
        {"plan": {}},
        {"sql": None, "plan": []},
        {"sql": None, "plan": "SELECT"},
        {"epsilon": True},
        {"epsilon": 0.1},
        {"epsilon": "1" * 401},
        {"epsilon": ""},
        {"epsilon": []},
        {"delta": {}},
        {"rows": [1]},
        {"error": []},
        {"error": {}},
        {"error": {"count": None}},
        {"error": {"count": 0.5}},
        {"error": {"n" * 201: "1"}},
        {"error": dict.fromkeys(map(str, range(1_001)), "1")},
        {"unknown": 1},
        {"Dataset": "deaths"},
        {"error": {"": "1"}},
        {"error": True},
    ]
    for wrong in cases:
        with pytest.raises(FormatError):
            QueryRequest(**GOOD | wrong)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("dataset", "sql", "plan", "epsilon", "error", "rows"), JSON)))
def test_any_other_value_raises_a_format_error(given: dict[str, Any]) -> None:
    try:
        request = QueryRequest(**{"dataset": None, **given})
        again = QueryRequest(**json.loads(json.dumps(request.to_json())))
        assert again.digest == request.digest
    except FormatError:
        pass


def test_the_digest_does_not_depend_on_how_the_same_was_written() -> None:
    plan = {"version": 1, "relation": {"kind": "base", "table": "deaths"}}
    turned = {"relation": {"table": "deaths", "kind": "base"}, "version": 1}
    one = QueryRequest(dataset="deaths", plan=plan, epsilon="0.5")
    assert one.digest == QueryRequest(dataset="deaths", plan=turned, epsilon="0.5").digest
    assert len(one.digest) == 64


@pytest.mark.parametrize(
    "other", [{"sql": SQL + " "}, {"dataset": "births"}, {"epsilon": "0.50"}, {"delta": "0"}, {"level": "0.9"}]
)
def test_the_digest_depends_on_everything_that_was_sent(other: dict[str, Any]) -> None:
    assert QueryRequest(**GOOD).digest != QueryRequest(**GOOD | other).digest


def test_a_plan_that_is_no_json_has_no_digest() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    for plan in ({"x": float("nan")}, {"x": object()}, deep):
        with pytest.raises(FormatError, match="no plain JSON"):
            _ = QueryRequest(dataset="deaths", plan=plan, epsilon="1").digest


def test_digests_are_those_of_the_first_version() -> None:
    """Stored requests are recognized by them."""
    fit: dict[str, Any] = {
        "model": "PCA",
        "parameters": {"epsilon": "0.1"},
        "features": ["age", "weight"],
        "where": "age > 1",
    }
    assert QueryRequest(**GOOD, rows="7").digest == "a1fc54b3adac7eaba39b75d9125f79a38aab4483c2ac0d0c63bdede28be57709"
    assert (
        FitRequest(dataset="deaths", **fit).digest == "ff5927a42a0049b3d2fae6fa1edb20691c596bfff80d54474931db14cc9aeeda"
    )


def test_messages_name_the_field_and_no_internals() -> None:
    for wrong, said in (
        ({"sql": None}, "Give sql or plan"),
        ({"plan": {}}, "Give sql or plan"),
        ({"epsilon": "1" * 401}, "epsilon must be a text of 1 to 400 characters"),
        ({"error": {}}, "error must be a number"),
        ({"error": True}, "error is not a string. error is not a JSON object.$"),
    ):
        with pytest.raises(FormatError, match=said) as caught:
            QueryRequest(**GOOD | wrong)
    assert caught.value.message.render("es").endswith("error no es una cadena. error no es un objeto de JSON.")


def test_features_are_some_names() -> None:
    for features in ("age", [], [7], [""], ["age"] * 1_001, None):
        with pytest.raises(FormatError, match="features"):
            FitRequest(dataset="deaths", model="PCA", parameters={}, features=features)  # type: ignore[arg-type]


@given(st.decimals(min_value=Decimal("1e-9"), max_value=1000, allow_nan=False, places=9))
def test_a_json_number_is_the_decimal_that_was_written(number: Decimal) -> None:
    text = f"{number:f}"
    body = f'{{"dataset": "d", "sql": "SELECT 1", "epsilon": {text}}}'
    read = read_json(body.encode(), decimal=DecimalText)
    asked = QueryRequest(**read)
    assert asked.epsilon is not None
    assert exact(asked.epsilon, name="epsilon") == Fraction(text)


def test_a_number_and_its_text_are_one_request() -> None:
    digests = {
        QueryRequest(**read_json(body, decimal=DecimalText)).digest
        for body in (
            b'{"dataset": "d", "sql": "SELECT 1", "epsilon": 0.1}',
            b'{"epsilon": "0.1", "sql": "SELECT 1", "dataset": "d", "plan": null}',
        )
    }
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ({"epsilon": "1"}, PureDP(epsilon=1)),
        ({"epsilon": 1, "delta": "1e-6"}, ApproxDP(epsilon=1, delta="1e-6")),
        ({"rho": "1/3"}, ZCDP(rho="1/3")),
        ({"mu": 2}, GaussianDP(mu=2)),
    ],
)
def test_limits(given: dict[str, Any], limit: object) -> None:
    assert LimitBody.model_validate(given).guarantee() == limit
    assert PolicyBody.model_validate(given | {"dataset": "d"}).policy().limit == limit


def test_a_limit_is_one_thing() -> None:
    cases: list[dict[str, Any]] = [{}, {"delta": "0.1"}, {"epsilon": "1", "rho": "1"}, {"mu": 1, "delta": 1}]
    for bad in cases:
        with pytest.raises(ParameterError, match="A limit is"):
            LimitBody.model_validate(bad).guarantee()


def test_a_window_beside_the_limit() -> None:
    body = {"dataset": "d", "rho": 1, "accountant": "zcdp", "window": {"seconds": 86_400, "rho": "0.1"}}
    policy = PolicyBody.model_validate(body).policy()
    assert policy.window is not None
    assert policy.window.limit == ZCDP(rho="0.1")
    for wrong in ({"seconds": 0, "rho": 1}, {"seconds": "60", "rho": 1}, {"seconds": 1.5, "rho": 1}):
        with pytest.raises(ValidationError):
            WindowBody.model_validate(wrong)


def test_only_the_rules_that_are_sent_change() -> None:
    body = {"dataset": "d", "epsilon": 1, "least_cost": "0.01", "approval_above": None}
    assert PolicyBody.model_validate(body).rules() == {"least_cost": "0.01", "approval_above": None}
    assert PolicyBody.model_validate({"dataset": "d", "epsilon": 1}).rules() == {}


CONTROLS = ("\0", "a\n", "\x1b[31mred", "\x7f", "\x9b", "a\u2028b")


def test_other_bodies_are_strict_too() -> None:
    cases: list[tuple[Any, dict[str, Any]]] = [
        (BoundsBody, {"low": 0}),
        (BoundsBody, {"low": 0, "high": "1" * 401}),
        (LimitBody, {"epsilon": ""}),
        (LimitBody, {"epsilon": "1" * 401}),
        (BoundsBody, {"low": None, "high": 1}),
        (NewUserBody, {"name": "Ana", "role": "analyst"}),
        (NewUserBody, {"name": "ana", "role": "king"}),
        (NewUserBody, {"name": "ana", "role": "analyst", "days": 0}),
        (NewUserBody, {"name": "ana", "role": "analyst", "days": "7"}),
        (KeyBody, {"days": True}),
        (PolicyBody, {"dataset": "d", "epsilon": 1, "allow_real": "yes"}),
        (PolicyBody, {"dataset": "d", "epsilon": 1, "accountant": "pld"}),
        *((DecisionBody, {"granted": True, "reason": wrong}) for wrong in CONTROLS),
        *((DatasetBody, {"title": wrong}) for wrong in CONTROLS),
    ]
    DatasetBody.model_validate({"title": "Niñas y niños, 2021\N{EN DASH}2024"})
    for model, wrong in cases:
        with pytest.raises(ValidationError):
            model.model_validate(wrong)
