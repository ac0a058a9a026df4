"""What a guard says is read as far as it is understood, and refused otherwise."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

import celosia as cl
from celosia.core.errors import FormatError
from celosia.guard.client.replies import read_budget, read_past_query, read_tables
from celosia.guard.datasets.cards import make_table_card
from celosia.guard.schema.replies import Answer, DatasetCard
from celosia.query.serial.records import record_to_json
from tests.query.samples import code_book, persons_table, rows_table

CARD: dict[str, Any] = json.loads(
    json.dumps(
        DatasetCard(
            name="deaths",
            title="",
            version="1",
            tables=tuple(make_table_card(table) for table in (persons_table(adjacency=cl.ReplaceOne), code_book())),
        ).to_json()
    )
)
WRONG: list[Any] = [None, 7, True, "x", [], {}, [None], [7], "?"]


def test_tables_come_back_without_their_rows() -> None:
    for table in (rows_table(), persons_table(adjacency=cl.ReplaceOne), code_book()):
        card = DatasetCard(name="d", title="", version="1", tables=(make_table_card(table),))
        [again] = read_tables(json.loads(json.dumps(card.to_json()))).values()
        for field in ("name", "person", "max_groups_per_person", "max_rows_per_group", "adjacency", "public", "key"):
            assert getattr(again, field) == getattr(table, field)
        assert dict(again.schema) == dict(table.schema)
        assert again.source.frame is None  # type: ignore[union-attr]


def test_what_a_newer_guard_adds_is_left_alone() -> None:
    newer = copy.deepcopy(CARD)
    newer["licence"] = "…"
    newer["tables"][0]["rows"] = {"unknown": True}
    assert list(read_tables(newer)) == ["deaths", "towns"]


def test_cards_that_are_not_understood() -> None:
    for wrong in WRONG:
        with pytest.raises(FormatError):
            read_tables(wrong)
        with pytest.raises(FormatError):
            read_tables(CARD | {"tables": wrong})
        for name in CARD["tables"][0]:
            changed = copy.deepcopy(CARD)
            changed["tables"][0][name] = wrong
            try:
                read_tables(changed)
            except FormatError:
                pass
            else:
                assert (name, wrong) in _ALLOWED
            del changed["tables"][0][name]
            with pytest.raises(FormatError, match="lacks"):
                read_tables(changed)


_ALLOWED: list[tuple[str, Any]] = [
    *((name, None) for name in ("person", "max_groups_per_person", "max_rows_per_group", "max_rows_per_person")),
    *((name, 7) for name in ("max_groups_per_person", "max_rows_per_group", "max_rows_per_person")),
    *((name, text) for name in ("name", "person", "unit") for text in ("x", "?")),
    *((name, []) for name in ("key", "columns")),
    ("public", True),
]


def test_a_name_twice_is_refused() -> None:
    with pytest.raises(FormatError, match="own name"):
        read_tables(CARD | {"tables": [CARD["tables"][0]] * 2})


# ------------------------------------------------------------------------------------------------------------ budgets


def line(remaining: cl.Guarantee, dataset: str | None = "deaths", analyst: str | None = None, **more: Any) -> Any:
    whole = record_to_json(cl.ApproxDP(epsilon=9, delta="1e-5"))
    left = record_to_json(remaining)
    return {
        "dataset": dataset,
        "analyst": analyst,
        "accountant": "basic",
        "allow_real": False,
        "limit": whole,
        "spent": whole,
        "remaining": left,
        "window": None,
        **more,
    }


def window(remaining: cl.Guarantee | None) -> Any:
    left = None if remaining is None else record_to_json(remaining)
    limit = record_to_json(cl.ApproxDP(epsilon=9, delta="1e-5"))
    return {"seconds": 60, "limit": limit, "spent": None, "remaining": left, "renews": None}


def approx(epsilon: object, delta: object) -> cl.ApproxDP:
    return cl.ApproxDP(epsilon=str(epsilon), delta=str(delta))


@pytest.mark.parametrize(
    ("others", "least"),
    [
        ([], approx(3, "1e-6")),
        ([line(approx(2, "1e-5"), None, "ana")], approx(2, "1e-6")),
        ([line(approx(2, "1e-5"), None, "ana"), line(approx(5, "1e-7"), "deaths", "ana")], approx(2, "1e-7")),
        ([line(approx(1, "1e-9"), "births")], approx(3, "1e-6")),
        ([line(cl.ZCDP(rho=0), None, "ana")], approx(3, "1e-6")),
        (
            [line(approx(5, "1e-6"), None, "ana", window=window(approx("0.5", 0)))],
            approx("0.5", 0),
        ),
        ([line(approx(5, "1e-6"), None, "ana", window=window(None))], approx(3, "1e-6")),
    ],
)
def test_what_is_left_is_the_least_of_what_can_be_compared(others: list[Any], least: cl.Guarantee) -> None:
    for lines in ([line(approx(3, "1e-6")), *others], [*others, line(approx(3, "1e-6"))]):
        budget = read_budget({"lines": lines}, "deaths")
        assert budget.remaining == least
        assert budget.limit == budget.spent == cl.ApproxDP(epsilon=9, delta="1e-5")


def test_a_data_set_without_a_budget_is_told() -> None:
    for lines in ([], [line(approx(1, 0), None, "ana")]):
        with pytest.raises(FormatError, match="no budget"):
            read_budget({"lines": lines}, "deaths")


def test_budgets_that_are_not_understood() -> None:
    for wrong in WRONG:
        for reply in (wrong, {"lines": wrong}, {"lines": [line(approx(1, 0)) | {"remaining": wrong}]}):
            with pytest.raises(FormatError):
                read_budget(reply, "deaths")


# --------------------------------------------------------------------------------------------------------------- past

PAST = {
    "id": "0f",
    "dataset": "deaths",
    "question": "SELECT COUNT(*) FROM deaths",
    "at": "2026-01-01T00:00:00+00:00",
    "state": "committed",
    "repeated": False,
    "cost": record_to_json(cl.PureDP(epsilon="0.1")),
    "release": None,
}


def test_questions_of_the_past() -> None:
    assert read_past_query(Answer.read(PAST)).state == "answered"
    assert read_past_query(Answer.read(PAST)).cost == cl.PureDP(epsilon="0.1")
    assert read_past_query(Answer.read(PAST | {"state": "failed", "cost": None})).state == "failed"
    assert read_past_query(Answer.read(PAST | {"state": "reserved"})).state == "reserved"
    assert read_past_query(Answer.read(PAST | {"repeated": True})).state == "repeated"


def test_questions_that_are_not_understood() -> None:
    cases: list[Any] = [7, [], {}, [None], True]
    for wrong in cases:
        for name in PAST:
            if name == "release" or (name == "repeated" and wrong is True):
                continue
            with pytest.raises(FormatError):
                read_past_query(Answer.read(PAST | {name: wrong}))
            with pytest.raises(FormatError, match="lacks"):
                Answer.read({other: value for other, value in PAST.items() if other != name})
        with pytest.raises(FormatError):
            Answer.read(wrong)
        with pytest.raises(FormatError, match="a time"):
            read_past_query(Answer.read(PAST | {"at": "yesterday"}))
