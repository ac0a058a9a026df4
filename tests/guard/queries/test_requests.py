from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import FormatError
from celosia.guard.queries.requests import Answer, QueryRequest

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
        {"error": {"count": 1}},
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


def test_an_answer_is_plain_json() -> None:
    answer = Answer(
        id="0f",
        state="committed",
        dataset="deaths",
        question=SQL,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        cost={"kind": "PureDP"},
        release={"version": 1},
        repeated=True,
    )
    read = json.loads(json.dumps(answer.to_json()))
    assert datetime.fromisoformat(read.pop("at")) == answer.at
    assert read["repeated"] is True
    assert read["release"] == {"version": 1}


def test_a_stored_release_is_put_into_the_text_as_it_is() -> None:
    at, stored = datetime(2026, 1, 1, tzinfo=UTC), '{"guarantee":{"epsilon":"0.1"},"name":"Espa\\u00f1a"}'
    plain: dict[str, Any] = {"id": "0f", "state": "committed", "dataset": "d", "question": 'say "ñ"', "at": at}
    spliced = Answer(**plain, release=json.loads(stored), text=stored)
    assert stored in spliced.to_text()
    assert json.loads(spliced.to_text()) == spliced.to_json()
    assert spliced == Answer(**plain, release=json.loads(stored))
    assert "text" not in spliced.to_json()
