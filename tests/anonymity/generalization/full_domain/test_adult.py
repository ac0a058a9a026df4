"""Optimal full-domain generalization of the Adult table, as ARX 3.9.2 finds it.

Levels, suppressed records, loss (arithmetic mean of ARX's Loss) and classes come from runs of ARX; the table and the
hierarchies are those of its distribution.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow.csv as pc
import pytest

from celosia.anonymity.generalization import FullDomain
from celosia.anonymity.hierarchies import read_hierarchy
from celosia.anonymity.microdata import Microdata, Roles, read_microdata
from celosia.anonymity.models import KAnonymity, measure

FOLDER = Path(os.environ.get("CELOSIA_DATA", "-")) / "adult"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="CELOSIA_DATA does not name the folder of the Adult table")


@pytest.fixture(scope="module")
def adult() -> Any:
    table = pc.read_csv(FOLDER / "adult.csv", parse_options=pc.ParseOptions(delimiter=";"))
    found = {name: read_hierarchy(FOLDER / f"adult_hierarchy_{name}.csv") for name in table.column_names}
    return table, found


def read(adult: Any, count: int) -> Microdata:
    table, found = adult
    names = table.column_names
    roles = Roles(quasi_identifiers=names[:count], others=names[count:])
    return read_microdata(table, roles=roles, hierarchies=found)


@pytest.mark.parametrize(
    ("count", "k", "limit", "levels", "expected"),
    [
        (9, 5, 0.0, "041132210", (0, 0.635544, 24)),
        (9, 5, 0.05, "030021120", (1346, 0.269635, 397)),
        (9, 10, 0.05, "030121120", (1437, 0.317842, 196)),
        (6, 10, 0.05, "030021", (1259, 0.175009, 170)),
    ],
)
def test_levels_suppression_and_loss_are_those_of_arx(
    adult: Any, count: int, k: int, limit: float, levels: str, expected: tuple[int, float, int]
) -> None:
    data = read(adult, count)
    step = FullDomain(models=(KAnonymity(k),), limit=limit)
    found = step.search(data)
    assert "".join(map(str, found.levels.values())) == levels
    assert (found.suppressed, round(found.loss, 6), found.classes) == expected
    assert found.optimal
    assert found.nodes < 500  # of 12,960
    result = step.apply(data)
    measures = measure(result)
    assert len(result) == len(data) - found.suppressed
    assert (measures.classes, measures.k >= k) == (found.classes, True)
    spread = sum(result.spreads[name].sum() for name in data.roles.quasi_identifiers) / count
    assert (spread + found.suppressed) / len(data) == pytest.approx(found.loss)
