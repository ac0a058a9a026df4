"""Tables of unusual values for the checks of engines.

Extreme integers, NaN, infinities, subnormal numbers, halves between two steps, unknown categories, quotes and
backslashes, days before 1970, nulls everywhere, persons with one row and with many. The tables are fixed: two runs of a
check see the same.
"""

import datetime as dt
import functools
import itertools
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from celosia.data.schema.columns import Boolean, Category, Date, Integer, Real, Text, Timestamp
from celosia.data.schema.schema import Schema
from celosia.data.table import Table, table

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 240
SEXES: Final = ("F", "M", "d'Artagnan", "back\\slash", "ñandú")
"""The values of a category; what needs an escape somewhere is among them."""

LEVELS: Final = ("low", "middle", "high")
"""The values of an ordered category."""

_CITIES: Final = (
    "",
    "Lima",
    "São Paulo",
    "O'Higgins",
    "100 %",
    'a "b"',
    "tab\tand\nline",
    "東京",
    " LIMA ",
    "são paulo",
    "Straße",
    "İIıi",
    "ΑΣς",
    "ёлка",
    "a_b\\",
    "\xa0lima",
    "🦩 x",
    "e\u0301\xc9",
    "ﬁ ŉ ǅ µ",
)

SCHEMA: Final = Schema(
    age=Integer(0, 120),
    dose=Integer(-(10**12), 10**12, null=7),
    weight=Real(0, 300, grid="0.1"),
    fine=Real(-1, 1, null="0.5"),
    coarse=Real(-1000, 100_000, grid=16),
    price=Real(0, 500, grid="0.01"),
    alive=Boolean(),
    flag=Boolean(null=False),
    sex=Category(SEXES),
    code=Category(1, 2, 30, null=2),
    level=Category(LEVELS, ordered=True, null="low"),
    city=Text(),
    born=Date("1900-01-01", "2021-12-31"),
    seen=Timestamp("1969-12-31 23:00:00", "2021-12-31 12:00:00"),
)
"""One column for each way in which a kind can go wrong."""


def nasty_rows() -> "pa.Table":
    """Return the rows, with persons as ``person`` (integers) and ``pid`` (texts)."""
    import pyarrow as pa

    def column(values: "list[Any]", type_: Any, stride: int) -> "pa.Array":
        found = itertools.islice(itertools.cycle(values), 0, _ROWS * stride, stride)
        return pa.array(list(found), type=type_)

    near, big = math.nextafter(0.25, 1), 2**63 - 1
    reals = [
        1.5,
        math.nan,
        299.95,
        math.inf,
        1e308,
        -4.0,
        None,
        5e-324,
        0.05,
        0.15,
        -0.0,
        -math.inf,
        near,
        2.675,
        300.0,
    ]
    return pa.table(
        {
            "person": column(
                [1, 2, 2, 3, 3, 3, -7, None, big, -big - 1, 11, 12, 13, 3, 3, 2**31 - 1, 0], pa.int64(), 1
            ),
            "pid": column(["ana", "béa", "", None, "O'Neil", "ana", "x|y", "béa", "béa", "a\\b", "z"], pa.string(), 1),
            "age": column([10, 200, None, -5, 30, 40, big, -big - 1, 0, 120, 119, 35, 36], pa.int64(), 1),
            "dose": column([big, -big - 1, 5, None, 10**12, -(10**12) - 1, 512, -512, 1536], pa.int64(), 1),
            "weight": column(reals, pa.float64(), 1),
            "fine": column(
                [0.5, -0.5, 2.0**-31, 3 * 2.0**-31, -(2.0**-31), None, math.nan, -2.0, 1 / 3], pa.float64(), 1
            ),
            "coarse": column(
                [8.0, -8.0, 24.0, 5e-324, -1e-310, 1e300, 99_999.0, None, 7.999999999999999], pa.float64(), 1
            ),
            "price": column(
                [Decimal("0.0050"), Decimal("-3.2000"), None, Decimal("499.9950"), Decimal("1e9")],
                pa.decimal128(18, 4),
                1,
            ),
            "alive": column([True, None, False, True], pa.bool_(), 3),
            "flag": column([0, 1, 2, None, -1, 1, 1], pa.int16(), 1),
            "sex": column([*SEXES, None, "X", "f", "", "F", "F", "M "], pa.string(), 1),
            "code": column([1, 2, 3, None, 30, -1, 2, 31], pa.int32(), 1),
            "level": column([*LEVELS, None, "LOW", "high"], pa.string(), 5),
            "city": column([*_CITIES, None, "Lima", "Lima"], pa.string(), 3),
            "born": column(
                [
                    dt.date(1900, 2, 28),
                    dt.date(1, 1, 1),
                    None,
                    dt.date(9999, 12, 31),
                    dt.date(2000, 2, 29),
                    dt.date(1969, 12, 31),
                ],
                pa.date32(),
                1,
            ),
            "seen": column(
                [
                    dt.datetime(1969, 12, 31, 23, 59, 58, 700_000, tzinfo=dt.UTC),
                    dt.datetime(1, 1, 1, tzinfo=dt.UTC),
                    None,
                    dt.datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC),
                    dt.datetime(2020, 2, 29, 12, 30, tzinfo=dt.UTC),
                ],
                pa.timestamp("us"),
                1,
            ),
        }
    )


def written_rows() -> "pa.Table":
    """Return rows in which every column is of strings: numbers, booleans, dates and times, in many spellings."""
    import pyarrow as pa

    values = {
        "pid": ["ana", "NA", "-", "béa", None, "béa", "x", "na"],
        "number": ["7", " 7 ", "-1.5", "1,5", "+.5", "2.", "1e1", "1e400", "NA", "1_0", "nan", "0x1", "7\n", "", None],
        "flag": ["yes", "No", " TRUE ", "f", "1", "0", "on", "2", "-", "Y\n", "n", "sí", "SÍ", "s", "sì", "V", None],
        "code": ["1", "2.0", "3", "NA", " 30", "1,0", None],
        "sex": ["F", "M", "NA", "-", "f", None],
        "day": ["2021-12-31", "2021/1/5", "2021-02-30", "31/12/2021", "5/1/2021", "30/02/2021", "31/12/21", "01.02.03",
                "NA", "2021-12-31 23:00-05", "infinity", "9999-12-31", "12021-01-01", "", None],
        "moment": ["2021-12-31", "2021-12-31T10:30Z", "2021-12-31 10:30:59.999999999", "2021-1-5 1:02:03+01:30",
                   "31/12/2021 9:05", "31/12/2021", "1.2.03 24:00", "2021-02-29 10:00", "2021-12-31 10:30:59-05",
                   "2021/12/31 10:60", "1969-12-31 23:59:58.7", "epoch", "NA", None],
    }  # fmt: skip
    return pa.table(
        {name: pa.array((texts * _ROWS)[:_ROWS], pa.string()) for name, texts in values.items()}  # cut to one length
    )


def _written_tables() -> dict[str, Table]:
    """Return tables of strings, in ISO and in a declared format."""
    schema = Schema(
        number=Real(-5, 20, grid="0.5", null=3),
        flag=Boolean(),
        code=Category(1, 2, 30),
        sex=Category("F", "M", "-"),
        day=Date("1990-01-01", "2030-12-31"),
        moment=Timestamp("1990-01-01", "2030-12-31", null="2000-01-01"),
    )
    declared = {
        "decimal": ",",
        "date_format": ["%d/%m/%Y", "%d/%m/%Y %H:%M", "%d.%m.%y", "%Y/%m/%d"],
        "null_values": ["NA", "-"],
    }
    limits = {"person": "pid", "max_groups_per_person": 2, "max_rows_per_group": 3}
    return {
        "iso": table(written_rows(), schema=schema, name="iso"),
        "written": table(written_rows(), schema=schema, name="written", **limits, **declared),  # type: ignore[arg-type] # by name
    }


def nasty_tables() -> dict[str, Table]:
    """Return the tables: ``visits`` of rows; ``people``, ``texts`` and ``notes`` of persons; ``book``, which is public.

    ``iso`` and ``written`` are of strings alone, in ISO of rows and in a declared format of persons.
    """
    import pyarrow as pa

    rows = nasty_rows()
    of_persons = functools.partial(table, max_groups_per_person=2, max_rows_per_group=3)
    notes = pa.table({"who": [1, 2, 2, 3, None, -7, 99], "score": [1.25, 2.5, None, 9.75, 3.0, -1.0, 5.0]})
    book = pa.table({"code": [1, 2, 31], "title": ["one", "two", "other"], "factor": [0.5, 1.5, 9.0]})
    return {
        **_written_tables(),
        "visits": table(rows, schema=SCHEMA, name="visits"),
        "people": of_persons(rows, schema=SCHEMA, name="people", person="person"),
        "texts": of_persons(rows, schema=SCHEMA, name="texts", person="pid"),
        "notes": of_persons(notes, schema=Schema(score=Real(0, 10, grid="0.25")), name="notes", person="who"),
        "book": table(
            book,
            schema=Schema(code=Category(1, 2, 31), title=Text(), factor=Real(0, 10, grid="0.5")),
            name="book",
            public=True,
            key="code",
        ),
    }
