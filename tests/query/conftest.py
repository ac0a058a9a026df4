"""Tables that the tests of the SQL reader ask about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from celosia.data.schema.columns import Boolean, Category, Date, Integer, Real, Text, Timestamp
from celosia.data.schema.schema import Schema
from celosia.data.table import table

if TYPE_CHECKING:
    from celosia.data.table import Table


@pytest.fixture(scope="session")
def hospital() -> dict[str, Table]:
    """The tables of a session, by name."""
    deaths = table(
        pa.table(
            {
                "person_id": [1],
                "age": [34],
                "weight": [71.5],
                "sex": ["F"],
                "cause": ["E10"],
                "day": ["2021-01-01"],
                "alive": [True],
                "seen": ["2021-01-01 00:00:00"],
                "note": ["x"],
                "grade": [1],
            }
        ),
        name="deaths",
        person="person_id",
        max_groups_per_person=2,
        max_rows_per_group=3,
        schema=Schema(
            age=Integer(0, 120),
            weight=Real(0, 300, grid="0.1"),
            sex=Category("F", "M"),
            cause=Category("E10", "E11", "I21"),
            day=Date("2021-01-01", "2021-12-31"),
            alive=Boolean(),
            seen=Timestamp("2021-01-01", "2021-12-31"),
            note=Text(),
            grade=Category(1, 2, 3),
        ),
    )
    visits = table(
        pa.table({"pid": [1], "cost": [3], "sex": ["F"]}),
        name="visits",
        person="pid",
        max_groups_per_person=2,
        max_rows_per_group=3,
        schema=Schema(cost=Integer(0, 1000), sex=Category("F", "M")),
    )
    icd = table(
        pa.table({"code": ["E10", "E11"], "chapter": ["I", "II"], "sex": ["F", "M"]}),
        name="icd",
        public=True,
        key="code",
        schema=Schema(code=Category("E10", "E11"), chapter=Category("I", "II"), sex=Category("F", "M")),
    )
    rows = table(
        pa.table({"x": [1], "y": [0.5], "Group": ["a"]}),
        name="measurements",
        schema=Schema({"x": Integer(0, 10), "y": Real(-1, 1), "Group": Category("a", "b")}),
    )
    return {"deaths": deaths, "visits": visits, "icd": icd, "measurements": rows}
