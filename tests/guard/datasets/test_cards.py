from __future__ import annotations

import json

import pyarrow as pa

import celosia as cl
from celosia.data.schema.schema import KINDS
from celosia.data.sources.classify import Frame
from celosia.guard.datasets.cards import make_table_card
from celosia.guard.schema.replies import DatasetCard

SCHEMA = cl.Schema(
    age=cl.Integer(0, 120, null=0),
    weight=cl.Real("0.5", 300, grid="0.1"),
    third=cl.Real(0, 1, null="1/3"),
    hale=cl.Boolean(),
    sex=cl.Category("F", "M"),
    size=cl.Category(["small", "large"], ordered=True),
    place=cl.Text(null="unknown"),
    day=cl.Date("2021-01-01", "2021-12-31"),
    at=cl.Timestamp("2021-01-01", "2021-12-31 23:59:59"),
)


def visits() -> cl.data.Table:
    columns = {name: pa.array([], pa.string()) for name in ("person", "age")}
    return cl.table(
        pa.table(columns),
        schema={"age": cl.Text()},
        name="visits",
        person="person",
        max_groups_per_person=2,
        max_rows_per_group=3,
    )


def test_a_card_can_be_sent_and_says_what_was_declared() -> None:
    table = cl.data.Table(name="people", source=Frame(None), schema=SCHEMA)
    sent = json.loads(
        json.dumps(DatasetCard(name="p", title="t", version="3", tables=(make_table_card(table),)).to_json())
    )
    columns = {column["name"]: column for column in sent["tables"][0]["columns"]}
    assert {column["kind"] for column in columns.values()} == set(KINDS)
    assert columns["age"]["fields"] == {"low": 0, "high": 120}
    assert columns["age"]["null"] == 0
    assert columns["weight"]["fields"] == {"low": "0.5", "high": 300, "grid": "0.1"}
    assert columns["third"]["null"] == "1/3"
    assert columns["size"]["fields"] == {"values": ["small", "large"], "ordered": True}
    assert columns["day"]["fields"]["high"] == "2021-12-31"
    assert columns["at"]["fields"]["high"] == "2021-12-31 23:59:59"
    assert columns["hale"]["fields"] == {}


def test_the_schema_can_be_made_again_from_the_card() -> None:
    table = cl.data.Table(name="people", source=Frame(None), schema=SCHEMA)
    assert cl.Schema.from_toml(make_table_card(table).schema_toml) == SCHEMA


def test_the_unit_is_told() -> None:
    card = make_table_card(visits())
    assert (card.unit, card.person, card.max_groups_per_person, card.max_rows_per_group) == ("person", "person", 2, 3)
    assert (card.adjacency, card.public, card.key) == ("add-remove", False, ())


def test_a_card_tells_nothing_of_rows_or_places() -> None:
    frame = pa.table({"age": [34, 71, 108]})
    card = DatasetCard(
        name="d",
        title="",
        version="1",
        tables=(make_table_card(cl.table(frame, schema=cl.Schema(age=cl.Integer(0, 120)), name="d")),),
    )
    text = json.dumps(card.to_json())
    assert not any(word in text for word in ("34", "71", "108", 'rows": 3', "source", "path"))
