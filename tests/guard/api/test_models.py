"""The shapes of what comes in: strict, and numbers exactly as written."""

from __future__ import annotations

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
from celosia.guard.api.models import AskBody, BoundsBody, KeyBody, LimitBody, NewUserBody, PolicyBody, WindowBody

ASK: dict[str, Any] = {"dataset": "deaths", "sql": "SELECT COUNT(*) FROM deaths", "epsilon": "0.1"}


@given(st.decimals(min_value=Decimal("1e-9"), max_value=1000, allow_nan=False, places=9))
def test_a_json_number_is_the_decimal_that_was_written(number: Decimal) -> None:
    text = f"{number:f}"
    body = f'{{"dataset": "d", "sql": "SELECT 1", "epsilon": {text}}}'
    read = read_json(body.encode(), decimal=DecimalText)
    asked = AskBody.model_validate(read).request()
    assert asked.epsilon is not None
    assert exact(asked.epsilon, name="epsilon") == Fraction(text)


def test_a_number_and_its_text_are_one_request() -> None:
    digests = {
        AskBody.model_validate(read_json(body, decimal=DecimalText)).request().digest
        for body in (
            b'{"dataset": "d", "sql": "SELECT 1", "epsilon": 0.1}',
            b'{"epsilon": "0.1", "sql": "SELECT 1", "dataset": "d", "plan": null}',
        )
    }
    assert len(digests) == 1


def test_another_shape_is_refused() -> None:
    cases: list[dict[str, Any]] = [
        {"dataset": ""},
        {"dataset": 7},
        {"dataset": "a\0b"},
        {"dataset": "x" * 201},
        {"sql": 7},
        {"sql": ""},
        {"sql": "a\0b"},
        {"sql": "SELECT '\ud800'"},
        {"sql": "x" * 50_001},
        {"plan": []},
        {"plan": "x"},
        {"epsilon": True},
        {"epsilon": []},
        {"epsilon": {}},
        {"epsilon": ""},
        {"epsilon": "1" * 401},
        {"epsilon": 0.5},  # a double: nothing that strict JSON gives
        {"error": []},
        {"error": {}},
        {"error": {"n": None}},
        {"error": {"": 1}},
        {"error": {"n" * 201: 1}},
        {"error": True},
        {"error": dict.fromkeys(map(str, range(1_001)), 1)},
        {"unknown": 1},
        {"Dataset": "deaths"},
    ]
    for wrong in cases:
        with pytest.raises((ValidationError, FormatError)):
            AskBody.model_validate(ASK | wrong).request()


def test_sql_or_a_plan() -> None:
    for both in ({"plan": {"version": 1}}, {"sql": None}):
        with pytest.raises(FormatError, match="sql or plan"):
            AskBody.model_validate(ASK | both).request()


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
    ]
    for model, wrong in cases:
        with pytest.raises(ValidationError):
            model.model_validate(wrong)
