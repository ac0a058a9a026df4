"""Two worlds that differ by one row or one person, each behind a guard of its own, and what may be seen of them.

The rows hold whatever a file can hold: NaN, infinities, nulls, negative zeros, the ends of 64 bits, values out of
bounds, categories that nobody declared, lines that are no rows. Whatever a reply shows beside noisy numbers has to be
the same in both worlds: ``visible`` is what is compared.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import celosia as cl
from celosia.core import ZCDP, ApproxDP, PureDP
from celosia.guard.datasets.dataset import PublicTable
from tests.reliability.inside import LOCAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from celosia.core import Guarantee
    from celosia.guard.service import Guard
    from tests.reliability.serving import Reply

    Row = dict[str, Any]

__all__ = ["BUDGETS", "SCHEMA", "UGLY", "World", "populate", "same", "visible", "worlds"]

SCHEMA = cl.Schema(
    i=cl.Integer(-5, 10, null=3),
    r=cl.Real(-3, 3, grid="0.25"),
    b=cl.Boolean(),
    c=cl.Category("a", "b", "zz"),
    o=cl.Category("lo", "mid", "hi", ordered=True),
    n=cl.Category(1, 2, 3, null=2),
    t=cl.Text(null="none"),
    d=cl.Date("2020-01-01", "2020-12-31"),
    s=cl.Timestamp("2020-01-01", "2021-01-01", null="2020-07-01"),
)
BUDGETS: Mapping[str, Guarantee] = {
    "rows": ApproxDP(epsilon=60_000, delta="0.5"),
    "persons": ApproxDP(epsilon=60_000, delta="0.5"),
    "alone": PureDP(epsilon=60_000),
    "swapped": ZCDP(rho=60_000),
    "lines": ApproxDP(epsilon=60_000, delta="0.5"),
    "poor": PureDP(epsilon=2),
}
"""The data sets and what may be spent on each; the last runs dry."""

DAY, NOON = dt.date(2020, 5, 5), dt.datetime(2020, 5, 5, 12, tzinfo=dt.UTC)
PLAIN: Row = {"i": 4, "r": 0.5, "b": True, "c": "a", "o": "mid", "n": 1.0, "t": "x", "d": DAY, "s": NOON}
NOTHING: Row = dict.fromkeys(PLAIN)
WILD: Row = {
    "i": -(2**63), "r": math.nan, "b": None, "c": "nowhere", "o": "", "n": math.inf, "t": "ñ" * 400,
    "d": dt.date(9999, 12, 31), "s": dt.datetime(1, 1, 1, tzinfo=dt.UTC),
}  # fmt: skip
WILDER: Row = {
    "i": 2**63 - 1, "r": -math.inf, "b": False, "c": "A", "o": "HI", "n": -0.0, "t": "",
    "d": dt.date(1, 1, 1), "s": dt.datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC),
}  # fmt: skip
ODD: Row = PLAIN | {"i": 11, "r": -0.0, "c": "b", "n": 2.5, "t": "x\0y'\"; DROP TABLE rows; --"}
TINY: Row = PLAIN | {"i": 2**53 + 1, "r": 5e-324, "c": "zz", "o": "hi", "n": math.nan, "t": None}
ORDINARY = [PLAIN, ODD, PLAIN | {"c": "b", "i": 0}, PLAIN | {"b": False, "r": 1.75, "t": "y"}, TINY, PLAIN]

TYPES = {
    "i": pa.int64(), "r": pa.float64(), "b": pa.bool_(), "c": pa.string(), "o": pa.string(), "n": pa.float64(),
    "t": pa.string(), "d": pa.date32(), "s": pa.timestamp("us", tz="UTC"),
}  # fmt: skip
OTHER_TYPES = TYPES | {"i": pa.float64(), "r": pa.float32(), "b": pa.float64(), "d": pa.timestamp("us")}
HEADER = b"i,r,b,c,o,n,t,d,s\n"
LINES = b"4,0.5,true,a,mid,1,x,2020-05-05,2020-05-05 12:00:00\n" * 5
UGLY = [
    b'"9e999",nan,maybe,"a""b",\xff\xfe,0x1,"\x00",2020-02-30,never\n',
    b"1,2,3\n",
    b"1,2,true,a,lo,1,x,2020-05-05,2020-05-05 12:00:00,and,more,fields\n",
    b'7,"unclosed,true,a,lo\n',
    b"\n",
]


@dataclass(frozen=True, slots=True)
class World:
    """The rows of every data set in one world."""

    rows: Sequence[Row]
    persons: Sequence[Row]
    alone: Sequence[Row]
    swapped: Sequence[Row]
    lines: bytes
    poor: Sequence[Row]


def worlds(ugly: int = 0) -> tuple[World, World]:
    """Two neighbours: the second has a row, a person, a line more, or another row in the place of one."""
    anna = [PLAIN | {"p": 1}, ODD | {"p": 1}]
    nobody = [WILD | {"p": None}]
    more = [{**row, "p": -(2**63)} for row in (WILD, WILDER, NOTHING, PLAIN, PLAIN, PLAIN, ODD)]
    first = World(
        rows=[*ORDINARY, WILD],
        persons=[*anna, *nobody],
        alone=[],
        swapped=[*ORDINARY, PLAIN],
        lines=HEADER + LINES,
        poor=[PLAIN],
    )
    second = World(
        rows=[*ORDINARY, WILD, WILDER],
        persons=[*more, *anna, *nobody],
        alone=[NOTHING],
        swapped=[WILDER, *ORDINARY],
        lines=HEADER + LINES + UGLY[ugly],
        poor=[PLAIN, WILD],
    )
    return first, second


def _write(rows: Sequence[Row], types: Mapping[str, pa.DataType], path: Path) -> None:
    columns = {name: pa.array([_fitting(row[name], type_) for row in rows], type_) for name, type_ in types.items()}
    pq.write_table(pa.table(columns), path)


def _fitting(value: Any, type_: pa.DataType) -> Any:
    if value is not None and pa.types.is_floating(type_):
        return float(value)
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime) and pa.types.is_timestamp(type_):
        return dt.datetime.combine(value, dt.time(23, 59, 59, 999_999))
    return value


def populate(guard: Guard, world: World, folder: Path, *, only: Sequence[str] | None = None) -> None:
    """Put the data sets of a world, or only some of them, behind a guard, each with its budget."""
    folder.mkdir(parents=True, exist_ok=True)
    book = folder / "codes.csv"
    book.write_text("code,w,g\na,1,u\nb,9,v\nzz,3,u\n")
    person = "[table]\nperson = 'p'\nmax_groups_per_person = 2\nmax_rows_per_group = 3\n\n"
    heads = {"persons": person, "swapped": "[table]\nadjacency = 'replace-one'\n\n"}
    types = {"persons": {"p": pa.int64(), **TYPES}, "swapped": OTHER_TYPES}
    for name in only or BUDGETS:
        if name == "lines":
            path = folder / f"{name}.csv"
            path.write_bytes(world.lines)
        else:
            path = folder / f"{name}.parquet"
            _write(getattr(world, name), types.get(name, TYPES), path)
        codes = PublicTable(source=str(book), key=("code",), name="k")
        guard.add_dataset(LOCAL, name, str(path), heads.get(name, "") + SCHEMA.to_toml(), public=[codes])
        guard.set_budget(LOCAL, BUDGETS[name], dataset=name)


# ------------------------------------------------------------------------------------------------- what can be seen

UNSEEN = {"date", "x-request-id"}


def visible(reply: Reply, *, private_keys: bool = False) -> dict[str, Any]:
    """All of a reply but the time, the numbers of requests and answers, and what noise was added to."""
    answered = reply.status in {200, 202} and "release" in reply.json
    # How long an answer is depends on the digits of noisy numbers.
    hidden = UNSEEN | ({"content-length", "location"} if answered else set())
    headers = {name: value for name, value in reply.headers.items() if name not in hidden}
    body = reply.json
    if answered:
        release = body["release"]
        body = body | {"id": "", "at": "", "release": release and _form(release, private_keys=private_keys)}
    elif "request" in body:
        body = body | {"request": ""}
    return {"status": reply.status, "headers": headers, "body": body}


def _form(release: Mapping[str, Any], *, private_keys: bool) -> dict[str, Any]:
    """A release without its numbers: names, types, and how many rows there are if that is public."""
    if "model" in release:
        return _form_of_model(release)
    columns = [(one["name"], one["type"], None if private_keys else len(one["values"])) for one in release["columns"]]
    keys = [] if private_keys else [one["values"] for one in release["columns"] if one["name"] in release["keys"]]
    intervals = [(one["column"], one["type"], [it["level"] for it in one["levels"]]) for one in release["intervals"]]
    # Whether a noisy minimum or maximum is the bound follows from the numbers.
    notes = [note for note in release["notes"] if "the bound of its column" not in note]
    return {**release, "columns": columns, "intervals": intervals, "values of keys": keys, "notes": notes}


def _form_of_model(document: Mapping[str, Any]) -> dict[str, Any]:
    """A model without its learned numbers, and without the time at which it was written."""
    arrays = {
        name: value["array"] | {"arrow": ""} if isinstance(value, dict) and "array" in value else type(value)
        for name, value in document["learned"].items()
    }
    return {**document, "learned": arrays, "provenance": document["provenance"] | {"written": ""}}


def same(first: Reply, second: Reply, *, private_keys: bool = False) -> None:
    """Raise AssertionError if two replies can be told apart otherwise than by noise."""
    one, two = (visible(reply, private_keys=private_keys) for reply in (first, second))
    told = [f"{place}: {this!r} here, {that!r} there" for place, this, that in _differences(one, two)]
    assert not told, "; ".join(told)


def _differences(one: Any, two: Any, place: str = "reply") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(two, dict) and one.keys() == two.keys():
        for name in one:
            yield from _differences(one[name], two[name], f"{place}.{name}")
    elif one != two:
        yield place, one, two
